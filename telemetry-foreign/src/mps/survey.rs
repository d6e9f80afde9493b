//! Scans a log, event by event.
//!
//! The MPS has a buffer for each kind, which it fills from the end. When one is full, it writes the
//! buffers of all kinds that are output, one after the other. So a log is a sequence of *batches*.
//! A batch has the events of one kind after the other, the newest of each first, and an
//! EventClockSync at the end.

use std::io;
use std::ops::Range;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::{LogBytes, Survey};
use telemetry_schema::Event;

use super::chain::{NEED, is_border, next_border};
use super::extents::Cutter;
use super::known::Known;
use super::layout::{Form, HEAD, Head, Layout, Role};
use super::run::{self, Run};
use super::{unknown, version};

/// Bytes that are scanned together: the heads of some events of any size.
const WINDOW: usize = 512 << 10;

/// Bytes at the end of a window for looking ahead only. Checks of what follows an event need fewer.
const AHEAD: usize = 300 << 10;

/// Unknown events in a row that are accepted although no known event follows them.
const UNKNOWN_IN_A_ROW: usize = 3;

/// Scans a log.
pub(super) fn survey(known: &Known, is_lenient: bool, bytes: &mut LogBytes<'_>) -> io::Result<Survey> {
    let len = bytes.len();
    let mut walk = Walk {
        layout: &known.layout,
        names: &known.registry.events,
        is_lenient,
        len,
        cutter: Cutter::default(),
        runs: Vec::new(),
        counts: vec![0; known.registry.events.len()],
        unknown: 0,
        before: (Vec::new(), 0),
        damage: Vec::new(),
        is_lost: false,
    };
    let mut at = 0;
    while at < len {
        let window = bytes.at(at, WINDOW)?;
        let window = &window[..window.len().min(WINDOW)];
        if window.is_empty() {
            // The file was truncated.
            walk.damage(at..len, "the log was cut while it was read".to_string(), 0);
            break;
        }
        at = walk.window(at, window);
    }
    let mut survey = walk.end();
    survey.registries.push(known.registry.clone());
    if survey.counts.len() > unknown::INDEX {
        survey.registries.push(unknown::registry());
    }
    Ok(survey)
}

/// The state of a scan.
struct Walk<'l> {
    layout: &'l Layout,
    names: &'l [Event],
    is_lenient: bool,
    len: u64,
    cutter: Cutter,
    runs: Vec<Run>,
    /// By index of the event.
    counts: Vec<u64>,
    unknown: u64,
    /// The counts when the last run began.
    before: (Vec<u64>, u64),
    damage: Vec<Damage>,
    /// Nothing shows where the next event begins.
    is_lost: bool,
}

/// The content of a place.
enum Found<'l> {
    Event(Head, usize, &'l Form),
    Unknown(Head),
    Damage(Wrong),
}

/// The reason why an event cannot be read.
struct Wrong {
    why: String,
    /// The place where the next event certainly begins, by its size, unless one begins before.
    skip: Option<usize>,
    /// The number of events that the bytes certainly were.
    events: u32,
}

impl<'l> Walk<'l> {
    /// Scans the events of a window that begins at an offset, and returns the offset to continue
    /// from.
    fn window(&mut self, start: u64, window: &[u8]) -> u64 {
        let is_end = start + window.len() as u64 >= self.len;
        let until = if is_end { window.len() } else { window.len().saturating_sub(AHEAD).max(1) };
        if let Some(why) = self.full() {
            return self.leave_out(start, why);
        }
        let mut at = 0;
        while at < until {
            let (rest, offset) = (&window[at..], start + at as u64);
            let found = if self.is_lost { Found::lost() } else { look(self, rest, is_end) };
            match found {
                Found::Event(head, index, form) => {
                    let event = &rest[..head.size];
                    if self.runs.is_empty()
                        || form.role.is_some_and(|role| self.begins_run(role, form, event))
                    {
                        if let Some(why) = Survey::full_of_sessions(self.runs.len()) {
                            return self.leave_out(offset, why);
                        }
                        self.begin_run(offset, rest);
                    }
                    if !self.take(offset, &head) {
                        at += head.size;
                        continue;
                    }
                    self.counts[index] += 1;
                    if let Some(run) = self.runs.last_mut() {
                        run.event(form.kind, head.ticks);
                    }
                    if let Some(role) = form.role
                        && let Some(why) = self.own(role, form, head.ticks, event)
                    {
                        self.refuse(offset, why);
                        return self.len;
                    }
                    at += head.size;
                }
                Found::Unknown(head) => {
                    if self.runs.is_empty() {
                        self.begin_run(offset, rest);
                    }
                    self.unknown += u64::from(self.take(offset, &head));
                    at += head.size;
                }
                Found::Damage(Wrong { why, skip, events }) => {
                    if let Some(why) = self.full() {
                        return self.leave_out(offset, why);
                    }
                    // An event that was searched for in vain up to here may begin here.
                    let is_here = self.is_lost && is_border(self.layout, rest, is_end, NEED);
                    let within = skip.unwrap_or(usize::MAX).min(until - at);
                    let next = match is_here {
                        true => Some(0),
                        false => next_border(self.layout, rest, is_end, within).or(skip),
                    };
                    self.is_lost = next.is_none();
                    let next = next.unwrap_or(until - at);
                    self.damage(offset..offset + next as u64, why, events);
                    at += next;
                }
            }
        }
        start + at as u64
    }

    /// Returns why nothing can be added to the lists, if they are full.
    fn full(&self) -> Option<String> {
        Survey::full(self.cutter.extents.len(), self.damage.len())
    }

    /// Leaves out the rest of the log. Returns its end.
    #[cold]
    fn leave_out(&mut self, from: u64, why: String) -> u64 {
        self.cutter.close();
        self.damage.push(Damage::new(from..self.len, Cause::LeftOut(why), 0));
        self.len
    }

    /// Adds an event to the extents. Returns false if there is no lane for it: then it is damage.
    #[inline]
    fn take(&mut self, at: u64, head: &Head) -> bool {
        match self.cutter.event(at, head.size as u32, head.ticks) {
            Ok(()) => true,
            Err(why) => {
                self.damage(at..at + head.size as u64, why, 1);
                false
            }
        }
    }

    /// Takes the facts of an event about the log itself. Returns why it cannot be read, if it
    /// cannot.
    fn own(&mut self, role: Role, form: &Form, ticks: u64, event: &[u8]) -> Option<String> {
        if role == Role::Init
            && !self.is_lenient
            && let Some(why) = version::refusal(form, event)
        {
            return Some(why);
        }
        if let Some(run) = self.runs.last_mut() {
            run.own(role, form, ticks, event);
        }
        if role == Role::ClockSync {
            self.cutter.batch_end();
        }
        None
    }

    /// Returns true if an event about the log itself belongs to another run than those before. An
    /// event that a log has once occurs again if two logs were put together.
    fn begins_run(&self, role: Role, form: &Form, event: &[u8]) -> bool {
        let Some(run) = self.runs.last() else { return true };
        match role {
            Role::Init => run.has_init,
            Role::Label(mark) => {
                run.named_by.is_some() && run::is_of_version(&mark, form.number(event, mark.naming.of))
            }
            Role::ClockSync => false,
        }
    }

    #[cold]
    fn begin_run(&mut self, at: u64, rest: &[u8]) {
        self.cutter.session(self.runs.len());
        let label_room = self.runs.last().map_or(run::LABEL_ROOM, |run| run.label_room);
        self.runs.push(Run::new(at, rest, label_room));
        self.before = (self.counts.clone(), self.unknown);
    }

    /// Discards a run that another version of the MPS wrote, and says why.
    #[cold]
    fn refuse(&mut self, at: u64, why: String) {
        let from = self.runs.last().map_or(0, |run| run.start);
        self.cutter.undo(from);
        (self.counts, self.unknown) = std::mem::take(&mut self.before);
        self.damage.retain(|damage| damage.range.start < from);
        let why = format!("EventInit at {at} says {why}; help: --lenient reads what has a known form");
        self.damage(from..self.len, why, 0);
    }

    fn damage(&mut self, range: Range<u64>, why: String, events: u32) {
        if range.is_empty() {
            return;
        }
        self.cutter.close();
        match self.damage.last_mut() {
            Some(last) if last.range.end == range.start => {
                last.range.end = range.end;
                last.events = last.events.saturating_add(events);
            }
            _ => self.damage.push(Damage::new(range, Cause::Log(why), events)),
        }
    }

    fn end(mut self) -> Survey {
        self.cutter.close();
        let mut counts = vec![self.counts];
        if self.unknown > 0 {
            counts.push(vec![self.unknown]);
        }
        let mut survey = Survey::default();
        survey.sessions = self.runs.into_iter().map(Run::session).collect();
        survey.counts = counts;
        survey.lanes = self.cutter.lanes;
        survey.extents = self.cutter.extents;
        survey.damage = self.damage;
        survey
    }
}

impl Found<'_> {
    /// Returns the content of a place where nothing shows that an event begins.
    fn lost() -> Self {
        Found::Damage(Wrong { why: String::new(), skip: None, events: 0 })
    }
}

/// Returns the item at the beginning of the bytes. `is_end` says that there are no more.
#[inline]
fn look<'l>(walk: &Walk<'l>, rest: &[u8], is_end: bool) -> Found<'l> {
    let layout = walk.layout;
    let Some(head) = Head::read(rest) else {
        let (found, expected) = (rest.len(), HEAD);
        return wrong(
            format!("the log ends {found} bytes into the head of an event, which has {expected}"),
            None,
        );
    };
    if let Some((index, form)) = layout.of_code(head.code)
        && let Some(event) = rest.get(..head.size)
        && form.is_size_of(event)
    {
        let behind = &rest[head.size..];
        return match Head::read(behind) {
            Some(next) if !layout.of_code(next.code).is_some_and(|(_, form)| form.has_size(next.size)) => {
                before_strange(walk, head, index, form, rest, is_end)
            }
            _ => Found::Event(head, index, form),
        };
    }
    strange(walk, head, rest, is_end)
}

/// Examines an event that is followed by something else. It is whole, unless events begin inside
/// it: then it was cut off, and the log of another run was appended.
#[cold]
fn before_strange<'l>(
    walk: &Walk<'l>,
    head: Head,
    index: usize,
    form: &'l Form,
    rest: &[u8],
    is_end: bool,
) -> Found<'l> {
    match next_border(walk.layout, rest, is_end, head.size) {
        None => Found::Event(head, index, form),
        Some(at) => {
            let name = walk.names.get(index).map_or("", |event| event.name.as_str());
            let why = format!("{name} of size {} has other events in it after {at} bytes", head.size);
            Found::Damage(Wrong { why, skip: Some(at), events: 1 })
        }
    }
}

/// Examines bytes that are not an event of a known form.
#[cold]
fn strange<'l>(walk: &Walk<'l>, head: Head, rest: &[u8], is_end: bool) -> Found<'l> {
    let layout = walk.layout;
    let Head { code, size, .. } = head;
    let is_there = size <= rest.len();
    let follows = |need| {
        head.is_sane() && rest.get(size..).is_some_and(|behind| is_border(layout, behind, is_end, need))
    };
    let Some((index, form)) = layout.of_code(code) else {
        let what = format!("code {code}, size {size}");
        return if !head.is_sane() {
            wrong(
                format!(
                    "{what}, expected a code from 1 to {} and a multiple of 8 from 16",
                    walk.names.last().map_or(0, |event| event.code)
                ),
                None,
            )
        } else if !is_there {
            wrong(format!("{what}, where the log ends after {} bytes", rest.len()), None)
        } else if follows(2) || is_row_of_unknown(layout, rest, is_end) {
            Found::Unknown(head)
        } else {
            wrong(format!("{what}, and no event behind it"), None)
        };
    };
    let name = walk.names.get(index).map_or("", |event| event.name.as_str());
    if form.has_size(size) && !is_there {
        let why = format!("the log ends {} bytes into {name}, which has {size}", rest.len());
        return Found::Damage(Wrong { why, skip: None, events: 1 });
    }
    if walk.is_lenient && size > form.size() && follows(1) {
        return Found::Event(head, index, form);
    }
    let expected = match form.most() {
        most if most == form.size() => most.to_string(),
        most if form.has_size(size) => format!("one that fits its string, up to {most}"),
        most => format!("{} to {most}", form.size()),
    };
    wrong(format!("{name} (code {code}) of size {size}, expected {expected}"), follows(2).then_some(size))
}

fn wrong<'l>(why: String, skip: Option<usize>) -> Found<'l> {
    Found::Damage(Wrong { why, skip, events: 0 })
}

/// Returns true if several events of unknown codes follow each other, or several and then a known
/// one.
fn is_row_of_unknown(layout: &Layout, rest: &[u8], is_end: bool) -> bool {
    let mut at = 0;
    for row in 0.. {
        let behind = rest.get(at..).unwrap_or_default();
        if row > 0 && is_border(layout, behind, is_end, 2) || row >= UNKNOWN_IN_A_ROW {
            return true;
        }
        let Some(head) = Head::read(behind) else { return false };
        if !head.is_sane() || layout.of_code(head.code).is_some() || head.size > behind.len() {
            return false;
        }
        at += head.size;
    }
    false
}
