//! Writes the events of the text as a stream.

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Value};

use super::header::{self, Anchor};
use super::line::{Frame, Head, Running, Switch};
use super::registry;
use crate::common::run_id::run_id;

/// The most bytes of a line. perf's own are much shorter.
const MAX_LINE: u64 = 64 << 10;

/// The most bytes of a stack in an event.
const MAX_STACK: usize = 8192;

/// Codes of events in the registry.
const SWITCH_OUT: u16 = 1;
const SWITCH_IN: u16 = 2;
const SAMPLE: u16 = 3;
const TRACEPOINT: u16 = 4;

/// Writes the events of a text as a stream, and returns their number. Their times are those of
/// `CLOCK_MONOTONIC_RAW`, and `anchor` places them. `first` is the beginning of the text, whose
/// header names the host.
///
/// # Errors
/// Those of the text and of the output. If a line is not one of `perf script`, or has an earlier
/// time than the line before, the error has its number.
pub fn write_stream(
    first: &[u8],
    text: &mut dyn BufRead,
    anchor: Anchor,
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut stream = Stream {
        writer: Writer::new(out),
        session: run_id(first),
        registry: 0,
        anchor,
        latest: None,
        threads: HashMap::new(),
        events: 0,
    };
    let host = header::value(first, "hostname").map(str::to_string);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut pending: Option<Pending> = None;
    while read_line(text, &mut line)? {
        number += 1;
        let said = String::from_utf8_lossy(&line);
        let said = said.trim_end();
        if said.is_empty() || said.starts_with('#') {
            continue;
        }
        if let Some(head) = Head::read(said) {
            if let Some(event) = pending.take() {
                stream.write(&event)?;
            }
            if stream.latest.is_some_and(|latest| head.ns < latest) {
                return Err(wrong(number, said, "a time that is not before the line above"));
            }
            stream.begin(head.ns, host.as_deref())?;
            let switch = match head.event {
                "sched:sched_switch" => {
                    let fields = Switch::read(head.rest);
                    Some(fields.ok_or_else(|| wrong(number, said, "the fields of sched_switch"))?)
                }
                _ => None,
            };
            pending = stream.take(&head, switch.as_ref())?;
        } else if let (Some(_), Some(frame)) = (stream.latest, Frame::read(said)) {
            if let Some(event) = &mut pending {
                event.push(&frame);
            }
        } else {
            return Err(wrong(number, said, "an event of `perf script`, such as `app 7 [000] 1.5: cycles:`"));
        }
    }
    if let Some(event) = pending.take() {
        stream.write(&event)?;
    }
    stream.begin(anchor.raw_ns, host.as_deref())?;
    stream.end()
}

/// Explains that a line is not what was expected.
fn wrong(number: u64, found: &str, expected: &str) -> io::Error {
    let short: String = found.trim().chars().take(60).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: found `{short}`, expected {expected}"))
}

/// Reads a line. Returns false at the end.
fn read_line(text: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    text.take(MAX_LINE).read_until(b'\n', line)?;
    Ok(!line.is_empty())
}

/// An event whose stack may follow.
struct Pending {
    lane: Lane,
    ns: u64,
    cpu: i32,
    event: String,
    of: PendingOf,
    /// From the innermost function on.
    stack: Vec<String>,
    stack_len: usize,
}

enum PendingOf {
    Sample { period: u64, place: Option<(u64, String, String)> },
    Tracepoint { text: String },
    Switch { state: String, next: i32, next_name: String },
}

impl Pending {
    fn push(&mut self, frame: &Frame<'_>) {
        if let PendingOf::Sample { place: place @ None, .. } = &mut self.of {
            *place = Some((frame.address, frame.symbol.to_string(), frame.object.to_string()));
        }
        // Semicolons are between functions.
        let symbol = frame.symbol.replace(';', ":");
        if self.stack_len + symbol.len() < MAX_STACK {
            self.stack_len += symbol.len() + 1;
            self.stack.push(symbol);
        }
    }
}

/// A stream that is being written.
struct Stream<'o> {
    writer: Writer<&'o mut dyn Write>,
    session: u64,
    registry: u64,
    anchor: Anchor,
    /// The time of the latest event. None before the session is written.
    latest: Option<u64>,
    /// Lanes by thread. The idle thread, number 0, is one per processor.
    threads: HashMap<(i32, i32), u32>,
    events: u64,
}

impl Stream<'_> {
    /// Writes the session before its first event.
    fn begin(&mut self, ns: u64, host: Option<&str>) -> io::Result<()> {
        if self.latest.is_none() {
            let mut facts = Facts::default();
            facts.set("program", "perf");
            if let Some(host) = host {
                facts.set("host", host);
            }
            facts.set("os", "linux");
            facts.set("clock", "os");
            let Anchor { raw_ns, wall_ns } = self.anchor;
            let wall = wall_ns.wrapping_add(ns.wrapping_sub(raw_ns));
            self.writer.session(self.session, &facts, ns, wall).map_err(io::Error::other)?;
            self.registry = self.writer.registry(self.session, &registry()).map_err(io::Error::other)?;
            self.latest = Some(ns);
        }
        self.latest = self.latest.max(Some(ns));
        Ok(())
    }

    fn end(mut self) -> io::Result<u64> {
        let latest = self.latest.unwrap_or_default();
        self.writer.end(self.session, latest).map_err(io::Error::other)?;
        self.writer.finish().map_err(io::Error::other)?.flush()?;
        Ok(self.events)
    }

    /// Takes the first line of an event, whose stack may follow. None if the idle thread lost a
    /// processor: it neither runs nor waits.
    fn take(&mut self, head: &Head<'_>, switch: Option<&Switch<'_>>) -> io::Result<Option<Pending>> {
        let cpu = head.cpu.unwrap_or(-1);
        let mut thread = Running { name: head.thread_name, tid: head.tid };
        let mut of = match Frame::read(head.rest) {
            None if !head.rest.is_empty() => PendingOf::Tracepoint { text: head.rest.to_string() },
            _ => PendingOf::Sample { period: head.period, place: None },
        };
        if let Some(Switch { before, state, next }) = switch {
            if next.tid != 0 {
                let lane = self.lane(next, cpu)?;
                self.event(lane, SWITCH_IN, head.ns, &[Value::Signed(cpu.into())])?;
            }
            if before.tid == 0 {
                return Ok(None);
            }
            thread = Running { name: before.name, tid: before.tid };
            of = PendingOf::Switch {
                state: state.to_string(),
                next: next.tid,
                next_name: next.name.to_string(),
            };
        }
        let lane = self.lane(&thread, cpu)?;
        let event = head.event.to_string();
        let mut pending = Pending { lane, ns: head.ns, cpu, event, of, stack: Vec::new(), stack_len: 0 };
        if let (PendingOf::Sample { .. }, Some(frame)) = (&pending.of, Frame::read(head.rest)) {
            pending.push(&frame);
        }
        Ok(Some(pending))
    }

    fn write(&mut self, pending: &Pending) -> io::Result<()> {
        let stack: Vec<&str> = pending.stack.iter().rev().map(String::as_str).collect();
        let stack = stack.join(";");
        let (cpu, event, stack) =
            (Value::Signed(pending.cpu.into()), text(&pending.event, 128), text(&stack, MAX_STACK));
        match &pending.of {
            PendingOf::Switch { state, next, next_name } => {
                let values =
                    [cpu, text(state, 16), Value::Signed((*next).into()), text(next_name, 64), stack];
                self.event(pending.lane, SWITCH_OUT, pending.ns, &values)
            }
            PendingOf::Sample { period, place } => {
                let (address, symbol, object) = match place {
                    Some((address, symbol, object)) => (*address, symbol.as_str(), object.as_str()),
                    None => (0, "", ""),
                };
                let values = [
                    cpu,
                    event,
                    Value::Unsigned(*period),
                    Value::Addr(address),
                    text(symbol, 512),
                    text(object, 512),
                    stack,
                ];
                self.event(pending.lane, SAMPLE, pending.ns, &values)
            }
            PendingOf::Tracepoint { text: fields } => {
                self.event(pending.lane, TRACEPOINT, pending.ns, &[cpu, event, text(fields, 4096), stack])
            }
        }
    }

    fn event(&mut self, lane: Lane, code: u16, ns: u64, values: &[Value<'_>]) -> io::Result<()> {
        self.events += 1;
        self.writer.event(lane, code, ns, values).map_err(io::Error::other)
    }

    /// Returns the lane of a thread, whose facts are written before its first event.
    fn lane(&mut self, thread: &Running<'_>, cpu: i32) -> io::Result<Lane> {
        let key = (thread.tid, if thread.tid == 0 { cpu } else { 0 });
        let next = self.threads.len() as u32 + 1;
        let number = *self.threads.entry(key).or_insert(next);
        if number == next {
            let mut facts = Facts::default();
            facts.set("name", thread.name);
            facts.set("tid", i64::from(thread.tid));
            self.writer.thread(self.session, number, &facts).map_err(io::Error::other)?;
        }
        Ok(Lane { session: self.session, thread: number, registry: self.registry })
    }
}

/// Returns a string value of at most `max` bytes.
fn text(text: &str, max: usize) -> Value<'_> {
    let end = (0..=text.len().min(max)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    Value::String(RawStr(&text.as_bytes()[..end]))
}
