//! Writes events as a log of the MPS.

use std::collections::HashMap;
use std::io::{self, Write};

use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, Events, Value};
use telemetry_schema::{self as schema, Count, NameBy, Named, Naming};

use super::known::{NAME, known};
use super::layout::{Form, HEAD, MAX_STRING, Role};
use super::pieces::Pieces;
use super::run::{LATE, read_late};
use super::unknown::UNKNOWN_REGISTRY;
use super::{unknown, version};
use crate::common::written::Written;

/// The size of the MPS's buffer of a kind. When one is full, the MPS writes those of all kinds.
const BUFFER: usize = 4096;

/// Writes events, which come by time, as a log of the MPS, in batches as the MPS would have written
/// them.
///
/// From a log of the MPS, or a stream made from one, the batches stay the same, and so does
/// everything that `mpseventcnv` prints. From other sources, only events with the name and
/// parameters of an event of the MPS are written, and labels. EventInit and EventClockSync are made
/// for them. A log is one run of one program: events of further sessions are left out.
///
/// # Errors
/// Those of the input and of the output.
pub fn write(events: &mut Events<'_>, out: &mut dyn Write) -> telemetry_decode::Result<Written> {
    let mut written = Written::default();
    let mut plans = Plans::default();
    let mut log: Option<Output<'_>> = None;
    // Taken when the first event comes.
    let mut out = Some(out);
    while let Some(event) = events.next()? {
        let log = match (&mut log, out.take()) {
            (None, Some(out)) => log.insert(Output::new(&event, out)?),
            (Some(log), _) => log,
            (None, None) => break,
        };
        if event.session().id != log.session {
            written.leave_out("of further sessions, since such a log has only one");
            continue;
        }
        match log.event(&event, plans.of(&event))? {
            Ok(()) => written.events += 1,
            Err(why) => written.leave_out(why),
        }
    }
    if let Some(log) = log {
        log.end()?;
    }
    Ok(written)
}

/// The way in which an event is written.
#[derive(Debug, Clone, Copy)]
enum Plan {
    /// Index of the event of the MPS.
    Known(usize),
    Unknown,
    /// A label, or an address that gets one.
    Label(Naming),
    None(&'static str),
}

/// Plans by registry and code.
#[derive(Default)]
struct Plans {
    all: HashMap<(u64, u16), Plan>,
    last: Option<((u64, u16), Plan)>,
}

impl Plans {
    fn of(&mut self, event: &Event<'_>) -> Plan {
        let key = (event.known_registry().fingerprint, event.schema().code);
        if let Some((last, plan)) = self.last
            && last == key
        {
            return plan;
        }
        let plan = *self.all.entry(key).or_insert_with(|| plan(event));
        self.last = Some((key, plan));
        plan
    }
}

fn plan(event: &Event<'_>) -> Plan {
    if event.registry().name == UNKNOWN_REGISTRY {
        return Plan::Unknown;
    }
    let own = known().registry.events.iter().position(|own| own.name == event.schema().name);
    match own.filter(|index| is_like(&known().registry.events[*index], event.schema())) {
        Some(index) => Plan::Known(index),
        None if event.registry().name == NAME => Plan::None("of another version of the MPS"),
        None => match event.schema().namings().find(is_label) {
            Some(naming) => Plan::Label(naming),
            None if event.registry().name == RUNTIME_REGISTRY => {
                Plan::None("of the runtime, which the MPS does not have")
            }
            None => Plan::None("that the MPS does not have"),
        },
    }
}

/// Returns true if an event gives a label its string, or gives something a label.
fn is_label(naming: &Naming) -> bool {
    naming.named == Named::Label || naming.name == NameBy::Label
}

/// Returns true if an event has the parameters of another. Those of the MPS have sorts without a
/// type.
fn is_like(own: &schema::Event, event: &schema::Event) -> bool {
    let params = own.params.iter().zip(&event.params);
    own.params.len() == event.params.len()
        && params.into_iter().all(|(a, b)| a.name == b.name && a.sort == b.sort && b.count == Count::One)
}

/// A log that is being written.
struct Output<'o> {
    out: &'o mut dyn Write,
    session: u64,
    pieces: Pieces,
    /// True if the source is a log of the MPS, or a stream made from one. Then it has the events
    /// that begin and end batches.
    is_mps: bool,
    clocks_per_sec: u64,
    /// Clock reading and time of the last event.
    last: (u64, i64),
    event: Vec<u8>,
}

impl<'o> Output<'o> {
    fn new(first: &Event<'_>, out: &'o mut dyn Write) -> io::Result<Self> {
        let facts = &first.session().facts;
        let is_mps = facts.text("format") == Some(NAME);
        let late = facts.text(LATE).filter(|_| is_mps).map(read_late).unwrap_or_default();
        let clocks_per_sec = facts.number("clocks_per_sec").filter(|number| is_mps && *number > 0);
        let mut output = Output {
            out,
            session: first.session().id,
            pieces: Pieces::new(late),
            is_mps,
            clocks_per_sec: clocks_per_sec.unwrap_or(1_000_000),
            last: (first.ticks(), first.time_ns()),
            event: Vec::new(),
        };
        if !is_mps {
            output.init()?;
        }
        Ok(output)
    }

    /// Takes an event. Returns the reason if such a log has no room for it.
    fn event(&mut self, event: &Event<'_>, plan: Plan) -> io::Result<Result<(), &'static str>> {
        self.last = (event.ticks(), event.time_ns());
        let why = match plan {
            Plan::None(why) => Some(why),
            Plan::Known(index) => {
                let Some(form) = known().layout.form(index) else { return Ok(Ok(())) };
                let appended = pack(form, event.values(), &mut self.event);
                if appended.is_ok() && form.role == Some(Role::ClockSync) {
                    self.sync(index, event.ticks())?;
                    return Ok(Ok(()));
                }
                match appended {
                    Ok(()) => return self.push(index, form.kind, event.ticks()).map(Ok),
                    Err(why) => Some(why),
                }
            }
            Plan::Unknown => {
                let Some((kind, bytes)) = unknown::bytes(event) else { return Ok(Err("of no form")) };
                self.event = bytes;
                return self.push_bytes(kind, event.ticks()).map(Ok);
            }
            Plan::Label(label) => return self.label(event, label),
        };
        Ok(why.map_or(Ok(()), Err))
    }

    /// Writes a label. An address gets two events, because to the MPS it may also be a pointer.
    fn label(&mut self, event: &Event<'_>, naming: Naming) -> io::Result<Result<(), &'static str>> {
        let (Some(first), Some(second)) = (event.value(naming.of), event.value(naming.by)) else {
            return Ok(Err("of no form"));
        };
        let names: &[&str] = match naming.named {
            Named::Label | Named::Number => &["Intern"],
            Named::Pointer | Named::Addr => &["Label", "LabelPointer"],
        };
        for name in names {
            let index = known().registry.events.iter().position(|own| own.name == *name);
            let Some((index, form)) = index.and_then(|index| Some((index, known().layout.form(index)?)))
            else {
                continue;
            };
            if let Err(why) = pack(form, [first, second].into_iter(), &mut self.event) {
                return Ok(Err(why));
            }
            self.push(index, form.kind, event.ticks())?;
        }
        Ok(Ok(()))
    }

    /// Begins a log for another source.
    fn init(&mut self) -> io::Result<()> {
        let schema::Version { major, median, minor } = known().registry.version;
        let of_most = |number: fn(&schema::Event) -> usize| {
            known().registry.events.iter().map(number).max().unwrap_or_default() as u64
        };
        let (max_code, max_name) = (of_most(|event| event.code.into()), of_most(|event| event.name.len()));
        let numbers = [major, median, minor].map(u64::from).into_iter();
        let numbers = numbers.chain([max_code, max_name, version::WIDTH, self.clocks_per_sec]);
        let Some((index, form)) = own(Role::Init) else { return Ok(()) };
        pack(form, numbers.map(Value::Unsigned), &mut self.event).ok();
        self.push(index, form.kind, self.last.0)?;
        self.make_sync()
    }

    /// Ends a batch with the EventClockSync that was packed.
    fn sync(&mut self, index: usize, ticks: u64) -> io::Result<()> {
        self.pieces.write(ticks, self.out)?;
        head(&mut self.event, known().registry.events[index].code, ticks);
        self.out.write_all(&self.event)
    }

    /// Ends a batch with an EventClockSync that the source does not have.
    fn make_sync(&mut self) -> io::Result<()> {
        let Some((index, form)) = own(Role::ClockSync) else { return Ok(()) };
        let (ticks, ns) = self.last;
        let clock = u128::from(ns.max(0).unsigned_abs()) * u128::from(self.clocks_per_sec) / 1_000_000_000;
        pack(form, [Value::Word(clock as u64)].into_iter(), &mut self.event).ok();
        self.sync(index, ticks)
    }

    fn push(&mut self, index: usize, kind: u8, ticks: u64) -> io::Result<()> {
        head(&mut self.event, known().registry.events[index].code, ticks);
        self.push_bytes(kind, ticks)
    }

    fn push_bytes(&mut self, kind: u8, ticks: u64) -> io::Result<()> {
        self.event[8..HEAD].copy_from_slice(&ticks.to_le_bytes());
        // A full buffer of the MPS was written. If no event says so, that event was filtered or
        // damaged. An unknown event may be in the wrong buffer.
        let most = if self.is_mps { 2 * BUFFER } else { BUFFER };
        if self.pieces.would_fill(kind, self.event.len(), most) {
            let event = std::mem::take(&mut self.event);
            self.make_sync()?;
            self.event = event;
        }
        self.pieces.push(kind, ticks, &self.event);
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        if !self.is_mps {
            self.make_sync()?;
        }
        self.pieces.write_all(self.out)?;
        self.out.flush()
    }
}

/// Returns the index and the form of an event that has a part in the log itself.
fn own(role: Role) -> Option<(usize, &'static Form)> {
    let layout = &known().layout;
    let mut forms = (0..known().registry.events.len()).filter_map(|index| Some((index, layout.form(index)?)));
    forms.find(|(_, form)| form.role == Some(role))
}

/// Makes the bytes of an event, except for its head.
fn pack<'v>(
    form: &Form,
    values: impl Iterator<Item = Value<'v>>,
    event: &mut Vec<u8>,
) -> Result<(), &'static str> {
    event.clear();
    event.resize(form.size(), 0);
    for (param, value) in values.enumerate() {
        if let Value::String(text) = value {
            if text.0.len() > MAX_STRING {
                return Err("with strings of more than 255 bytes");
            }
            if text.0.contains(&0) {
                return Err("with strings that have a NUL in them");
            }
            event.resize(form.size_with(Some(text.0)), 0);
            form.put_string(event, text.0);
            continue;
        }
        let number = match value {
            Value::F64(x) => x.to_bits(),
            value => value.as_i128().unwrap_or_default() as u64,
        };
        form.put(event, param, number);
    }
    Ok(())
}

fn head(event: &mut [u8], code: u16, ticks: u64) {
    let size = event.len() as u16;
    if let Some(head) = event.first_chunk_mut::<HEAD>() {
        head[..2].copy_from_slice(&code.to_le_bytes());
        head[2..4].copy_from_slice(&size.to_le_bytes());
        head[8..].copy_from_slice(&ticks.to_le_bytes());
    }
}
