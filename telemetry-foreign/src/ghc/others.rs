//! Events of other registries in an eventlog.
//!
//! Of a type that they do not know, GHC's tools show only its description. So events become things
//! that they do show: messages with the event's name and values, markers where spans begin and end,
//! and capabilities and threads with names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;

use telemetry_decode::{Event, Value};

use super::blocks::Blocks;
use super::encode;
use super::layout::NO_CAP;
use super::types::Types;

const CREATE_THREAD: u16 = 0;
const RUN_THREAD: u16 = 1;
const STOP_THREAD: u16 = 2;
const GC_START: u16 = 9;
const GC_END: u16 = 10;
const USER_MSG: u16 = 19;
const CAPSET_CREATE: u16 = 25;
const CAPSET_ASSIGN_CAP: u16 = 27;
const RTS_IDENTIFIER: u16 = 29;
const PROGRAM_ARGS: u16 = 30;
const OSPROCESS_PID: u16 = 32;
const WALL_CLOCK_TIME: u16 = 43;
const THREAD_LABEL: u16 = 44;
const CAP_CREATE: u16 = 45;
const USER_MARKER: u16 = 58;
/// Makes tools that know the quirks of old versions take numbers as they are now.
const HACK_BUG_T9003: u16 = 59;

const WRITTEN: &[u16] = &[
    CREATE_THREAD,
    RUN_THREAD,
    STOP_THREAD,
    GC_START,
    GC_END,
    18,
    USER_MSG,
    CAPSET_CREATE,
    CAPSET_ASSIGN_CAP,
    RTS_IDENTIFIER,
    PROGRAM_ARGS,
    OSPROCESS_PID,
    WALL_CLOCK_TIME,
    THREAD_LABEL,
    CAP_CREATE,
    USER_MARKER,
    HACK_BUG_T9003,
];

/// The kind of set for a process, and the reason why a finished thread stops.
const OS_PROCESS: u64 = 2;
const FINISHED: u64 = 5;
/// Capabilities of other threads, if the log has some of GHC's, too.
const BEHIND_GHC: u16 = 4096;
/// The most bytes of a message.
const MAX_TEXT: usize = 65_535;
/// The names of spans that are collections.
const COLLECTIONS: [&str; 2] = ["gc", "collection"];

/// The state of writing other registries' events.
pub(super) struct Others {
    first_cap: u16,
    names_sessions: bool,
    /// The set of capabilities of a session, by its id.
    sessions: BTreeMap<u64, u32>,
    /// The capability of a thread, by session and number.
    threads: BTreeMap<(u64, u32), u16>,
    /// Capabilities in a collection.
    collecting: BTreeSet<u16>,
    last: u64,
    text: String,
    event: Vec<u8>,
}

impl Others {
    pub(super) fn new(has_ghc: bool, names_sessions: bool) -> Others {
        Others {
            first_cap: if has_ghc { BEHIND_GHC } else { 0 },
            names_sessions,
            sessions: BTreeMap::new(),
            threads: BTreeMap::new(),
            collecting: BTreeSet::new(),
            last: 0,
            text: String::new(),
            event: Vec::new(),
        }
    }

    /// Returns true for types that are needed.
    pub(super) fn writes(tag: u16) -> bool {
        WRITTEN.contains(&tag)
    }

    /// Writes an event.
    pub(super) fn event(
        &mut self,
        event: &Event<'_>,
        time: u64,
        types: &Types,
        blocks: &mut Blocks<'_>,
    ) -> io::Result<()> {
        self.last = self.last.max(time);
        let capset = match self.sessions.get(&event.session().id) {
            Some(capset) => *capset,
            None => self.begin_session(event, time, types, blocks)?,
        };
        let key = (event.session().id, event.thread());
        let cap = match self.threads.get(&key) {
            Some(cap) => *cap,
            None => self.begin_thread(event, capset, time, types, blocks)?,
        };
        let registry = event.registry();
        let index = registry.event_index(event.schema().code);
        let begins = registry.spans.iter().find(|span| Some(span.begin) == index);
        let ends = registry.spans.iter().find(|span| Some(span.end) == index);
        let is_collection = |name: &str| COLLECTIONS.contains(&name.to_lowercase().as_str());
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if let Some(span) = ends {
            text.extend(["end ", &span.name, ": "]);
        } else if let Some(span) = begins {
            text.extend(["begin ", &span.name, ": "]);
        }
        append_event(&mut text, event);
        text.truncate(
            (0..=MAX_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0),
        );
        if begins.is_some_and(|span| is_collection(&span.name)) && self.collecting.insert(cap) {
            self.append(cap, time, GC_START, &[], types, blocks)?;
        }
        let tag = if begins.or(ends).is_some() { USER_MARKER } else { USER_MSG };
        self.append(cap, time, tag, &[Value::String(text.as_str().into())], types, blocks)?;
        if ends.is_some_and(|span| is_collection(&span.name)) && self.collecting.remove(&cap) {
            self.append(cap, time, GC_END, &[], types, blocks)?;
        }
        self.text = text;
        Ok(())
    }

    /// Writes the facts of a session.
    fn begin_session(
        &mut self,
        event: &Event<'_>,
        time: u64,
        types: &Types,
        blocks: &mut Blocks<'_>,
    ) -> io::Result<u32> {
        let session = event.session();
        let number = self.sessions.len() as u32;
        self.sessions.insert(session.id, number);
        let capset = Value::Unsigned(number.into());
        let mut say = |tag: u16, values: &[Value<'_>]| self.append(NO_CAP, time, tag, values, types, blocks);
        say(CAPSET_CREATE, &[capset, Value::Unsigned(OS_PROCESS)])?;
        say(RTS_IDENTIFIER, &[capset, Value::String("telemetry".into())])?;
        if let Some(pid) = session.facts.number("pid").filter(|pid| *pid <= u32::MAX.into()) {
            say(OSPROCESS_PID, &[capset, Value::Unsigned(pid)])?;
        }
        let mut args = session.facts.text("program").unwrap_or_default().to_string();
        args.push('\0');
        for arg in session.facts.get("args").and_then(|args| args.as_list()).into_iter().flatten().skip(1) {
            args.push_str(arg.as_str().unwrap_or_default());
            args.push('\0');
        }
        if args.len() < MAX_TEXT - 4 {
            say(PROGRAM_ARGS, &[capset, Value::String(args.as_str().into())])?;
        }
        if session.clock.start_wall() > 0
            && let Ok(wall) = u64::try_from(event.wall_ns())
        {
            let (sec, nsec) = (wall / 1_000_000_000, wall % 1_000_000_000);
            say(WALL_CLOCK_TIME, &[capset, Value::Unsigned(sec), Value::Unsigned(nsec)])?;
        }
        Ok(number)
    }

    /// Gives a thread a capability, and a thread of GHC on it.
    fn begin_thread(
        &mut self,
        event: &Event<'_>,
        capset: u32,
        time: u64,
        types: &Types,
        blocks: &mut Blocks<'_>,
    ) -> io::Result<u16> {
        // A log cannot tell more apart: later ones share the last.
        let number = (self.threads.len() as u16).min(NO_CAP - 1 - self.first_cap);
        let cap = self.first_cap + number;
        self.threads.insert((event.session().id, event.thread()), cap);
        let thread = Value::Unsigned(u64::from(number) + 1);
        let cap_value = Value::Unsigned(cap.into());
        self.append(NO_CAP, time, CAP_CREATE, &[cap_value], types, blocks)?;
        let assigned = [Value::Unsigned(capset.into()), cap_value];
        self.append(NO_CAP, time, CAPSET_ASSIGN_CAP, &assigned, types, blocks)?;
        let name = event.thread_name().map_or_else(|| format!("#{}", event.thread()), str::to_string);
        let program = event.session().facts.text("program").filter(|_| self.names_sessions);
        let name = program.map_or_else(|| name.clone(), |program| format!("{program} {name}"));
        self.append(cap, time, CREATE_THREAD, &[thread], types, blocks)?;
        self.append(cap, time, THREAD_LABEL, &[thread, Value::String(name.as_str().into())], types, blocks)?;
        self.append(cap, time, RUN_THREAD, &[thread], types, blocks)?;
        Ok(cap)
    }

    /// Ends all threads.
    pub(super) fn end(&mut self, types: &Types, blocks: &mut Blocks<'_>) -> io::Result<()> {
        let caps: BTreeSet<u16> = self.threads.values().copied().collect();
        for cap in caps {
            let thread = Value::Unsigned(u64::from(cap - self.first_cap) + 1);
            let values = [thread, Value::Unsigned(FINISHED), Value::Unsigned(0)];
            self.append(cap, self.last, STOP_THREAD, &values, types, blocks)?;
        }
        Ok(())
    }

    fn append(
        &mut self,
        cap: u16,
        time: u64,
        tag: u16,
        values: &[Value<'_>],
        types: &Types,
        blocks: &mut Blocks<'_>,
    ) -> io::Result<()> {
        self.event.clear();
        let Some((size, layout)) = types.declared(tag) else { return Ok(()) };
        // All of these fit.
        if encode::append(&mut self.event, tag, time, size, layout, values.iter().copied()).is_ok() {
            blocks.append(cap, time, &self.event)?;
        }
        Ok(())
    }
}

/// Appends an event as text: its name, and the names and values of its parameters.
fn append_event(text: &mut String, event: &Event<'_>) {
    text.push_str(event.name());
    for param in event.params() {
        // A string takes any text.
        let _ = match param.value {
            Value::Label(number) => match event.label(number) {
                Some(label) => write!(text, " {}:{label}", param.schema.name),
                None => write!(text, " {}:{number}", param.schema.name),
            },
            value => write!(text, " {}:{value}", param.schema.name),
        };
    }
}
