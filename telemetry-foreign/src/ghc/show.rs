//! Events as the command `ghc-events show` prints them.

use std::collections::HashMap;
use std::fmt::Write;

use telemetry_decode::{Event, Value};
use telemetry_schema::Registry;

use super::haskell::{append_printable, append_shown};
use super::header::append_size;
use super::layout::{EVENT_TYPE, NO_CAP};
use super::survey::thread_of;

/// How events are printed, by tag. A parameter in braces is its value; what stands in brackets is printed if the event
/// has the parameters in it. What comes behind a colon is a form of [`Form`]; without one it is the usual one of the
/// value.
const LINES: &[(u16, &str)] = &[
    (0, "creating thread {thread}"),
    (1, "running thread {thread}"),
    (2, "stopping thread {thread} ({status:stop})"),
    (3, "thread {thread} is runnable"),
    (4, "migrating thread {thread} to cap {new_cap}"),
    (7, "shutting down"),
    (8, "waking up thread {thread} on cap {other_cap}"),
    (9, "starting GC"),
    (10, "finished GC"),
    (11, "requesting sequential GC"),
    (12, "requesting parallel GC"),
    (15, "creating spark thread {spark_thread}"),
    (16, "{msg}"),
    (17, "startup: {caps} capabilities"),
    (18, "event block: cap {cap}, end time: {end_time}\n"),
    (19, "{msg}"),
    (20, "GC idle"),
    (21, "GC working"),
    (22, "GC done"),
    (23, "compiler version is {version}"),
    (24, "program invocation: {cmdline}"),
    (25, "created capset {capset} of type {kind:capset}"),
    (26, "deleted capset {capset}"),
    (27, "assigned cap {cap} to capset {capset}"),
    (28, "removed cap {cap} from capset {capset}"),
    (29, "capset {capset}: RTS version \"{rts}\""),
    (30, "capset {capset}: args: {args:list}"),
    (31, "capset {capset}: env: {env:list}"),
    (32, "capset {capset}: pid {pid}"),
    (33, "capset {capset}: parent pid {ppid}"),
    (
        34,
        "spark stats: {created} created, {converted} converted, {remaining} remaining ({overflowed} overflowed, \
         {dud} dud, {gcd} GC'd, {fizzled} fizzled)",
    ),
    (35, "spark created"),
    (36, "dud spark discarded"),
    (37, "overflowed spark discarded"),
    (38, "running a local spark"),
    (39, "stealing a spark from cap {victim_cap}"),
    (40, "spark fizzled"),
    (41, "spark GCed"),
    (42, "Interned string: \"{str}\" with id {id}"),
    (43, "capset {capset}: wall clock time {sec}s {nsec}ns (unix epoch)"),
    (44, "thread {thread} has label \"{label}\""),
    (45, "created cap {cap}"),
    (46, "deleted cap {cap}"),
    (47, "disabled cap {cap}"),
    (48, "enabled cap {cap}"),
    (49, "allocated on heap capset {capset}: {bytes} total bytes till now"),
    (50, "size of heap capset {capset}: {bytes} bytes"),
    (51, "live data in heap capset {capset}: {bytes} bytes"),
    (
        52,
        "heap stats for heap capset {capset}: generations {generations}, {max_heap} bytes max heap size, {alloc_area} \
         bytes alloc area size, {mblock} bytes mblock size, {block} bytes block size",
    ),
    (
        53,
        "GC stats for heap capset {capset}: generation {generation}, {copied} bytes copied, {slop} bytes slop, {frag} \
         bytes fragmentation, {par_threads} par threads, {par_max_copied} bytes max par copied, {par_tot_copied} bytes \
         total par copied[, {par_balanced_copied} bytes balanced par copied]",
    ),
    (54, "all caps stopped for GC"),
    (55, "task 0x{task:hex} created on cap {cap} with OS kernel thread {kernel_thread}"),
    (56, "task 0x{task:hex} migrated from cap {cap} to cap {new_cap}"),
    (57, "task 0x{task:hex} deleted"),
    (58, "marker: {marker}"),
    (90, "memory returned (mblocks): current({current}) needed({needed}) returned({returned})"),
    (91, "blocks size of heap capset {capset}: {bytes} bytes"),
    (140, "perf event {perf} named \"{name}\""),
    (141, "perf event counter {perf} incremented by {period:next} in OS thread {kernel_thread}"),
    (142, "perf event tracepoint {perf} reached in OS thread {kernel_thread}"),
    (
        160,
        "start heap profiling {profile} at sampling period {period} broken down by {breakdown:breakdown}\
         {module_filter:filters}",
    ),
    (161, "cost centre {id} {label} in {module_name} at {srcloc}{flags:caf}"),
    (162, "start heap prof sample {era}"),
    (163, "heap prof sample {profile}, residency {residency}, cost centre stack {stack}"),
    (164, "heap prof sample {profile}, residency {residency}, label {label}"),
    (165, "end prof sample {era}"),
    (166, "start heap prof sample {era} at time {time}"),
    (167, "cap no {cap}, prof sample {ticks}, cost centre stack {stack}"),
    (168, "start time profiling, tick interval {tick} (ns)"),
    (169, "Info Table: {info:hex}:{closure_descr}:{table} - {srcloc}"),
    (181, "binary message {data:printable}"),
    (200, "concurrent mark began"),
    (201, "concurrent mark ended: marked {marked_objects} objects"),
    (202, "post-mark synchronization began"),
    (203, "post-mark synchronization ended"),
    (204, "concurrent sweep began"),
    (205, "concurrent sweep ended"),
    (206, "update remembered set flushed by {cap}"),
    (
        207,
        "nonmoving heap census {block_size}: {active_segs} active segments, {filled_segs} filled segments, \
         {live_blocks} live blocks",
    ),
    (
        210,
        "ticky counter definition {id}, arity: {arity}, def kinds: {kinds}, name: {name}, itbl: {info_table:hex}",
    ),
    (211, "ticky counter sample {id}: entry count: {entries}, {allocs} allocs, {allocd} allocd"),
    (212, "ticky begin counter sample"),
];

/// How a value is printed that is not printed as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Numbers decimal, text as it is, arrays with commas.
    Usual,
    Hex,
    /// The number behind it.
    Next,
    /// Why a thread stopped.
    Stop,
    CapsetKind,
    Breakdown,
    /// The filters of a heap profile, of which this is the first.
    Filters,
    /// Whether a cost centre is a constant applicative form.
    Caf,
    /// Text ended by NULs, as a list in Haskell.
    List,
    /// Bytes as text, with dots for what cannot be printed.
    Printable,
}

const FORMS: &[(&str, Form)] = &[
    ("", Form::Usual),
    ("hex", Form::Hex),
    ("next", Form::Next),
    ("stop", Form::Stop),
    ("capset", Form::CapsetKind),
    ("breakdown", Form::Breakdown),
    ("filters", Form::Filters),
    ("caf", Form::Caf),
    ("list", Form::List),
    ("printable", Form::Printable),
];

/// A piece of a line: text, and the parameter behind it.
#[derive(Debug, Clone)]
struct Piece {
    text: &'static str,
    value: Option<(usize, Form)>,
}

/// Prints events, in the order of time, as `ghc-events show` 0.21 does.
#[derive(Default)]
pub struct Show {
    /// The lines of the registry with this fingerprint, by index of the event.
    lines: Vec<Option<Vec<Piece>>>,
    of: Option<u64>,
    /// What the log calls its types.
    descriptions: HashMap<u16, Vec<u8>>,
    /// What was printed last.
    part: Part,
}

#[derive(Default, PartialEq, Eq)]
enum Part {
    #[default]
    Nothing,
    Types,
    Events,
}

impl Show {
    /// Appends what is printed of an event. Events of other systems are not printed: they give false.
    pub fn event(&mut self, out: &mut Vec<u8>, event: &Event<'_>) -> bool {
        let registry = event.registry;
        if self.of != Some(registry.fingerprint) {
            if registry.registry.name != "ghc" {
                return false;
            }
            self.lines =
                registry.registry.events.iter().map(|event| pieces(&registry.registry, event.code)).collect();
            self.of = Some(registry.fingerprint);
        }
        let code = event.schema.code;
        if code == EVENT_TYPE {
            self.declaration(out, event);
            return true;
        }
        self.begin_events(out);
        append_number(out, event.ticks);
        out.extend_from_slice(b": ");
        if event.thread != thread_of(NO_CAP) {
            out.extend_from_slice(b"cap ");
            append_number(out, event.thread.saturating_sub(1).into());
            out.extend_from_slice(b": ");
        }
        match self.lines.get(event.index()) {
            Some(Some(pieces)) => {
                for Piece { text, value } in pieces {
                    out.extend_from_slice(text.as_bytes());
                    if let Some((param, form)) = value {
                        append(out, event, *param, *form);
                    }
                }
            }
            _ => match self.descriptions.get(&code) {
                Some(description) => append_text(out, description),
                None => append_text(out, event.schema.doc.as_bytes()),
            },
        }
        out.push(b'\n');
        true
    }

    /// Appends what is printed behind all events.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        self.begin_events(out);
        out.push(b'\n');
    }

    fn declaration(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        self.begin_types(out);
        let number = |index: usize| event.value(index).and_then(|value| value.as_u64()).unwrap_or_default();
        let description = event.value(2).and_then(|value| value.as_bytes()).unwrap_or_default();
        append_number(out, number(0));
        out.extend_from_slice(b": ");
        append_text(out, description);
        out.extend_from_slice(b" (size ");
        append_size(out, number(1) as u16);
        out.extend_from_slice(b")\n");
        self.descriptions.insert(number(0) as u16, description.to_vec());
    }

    fn begin_types(&mut self, out: &mut Vec<u8>) {
        match self.part {
            Part::Nothing => out.extend_from_slice(b"Event Types:\n"),
            Part::Events => out.extend_from_slice(b"\nEvent Types:\n"),
            Part::Types => {}
        }
        self.part = Part::Types;
    }

    #[inline]
    fn begin_events(&mut self, out: &mut Vec<u8>) {
        if self.part != Part::Events {
            if self.part == Part::Nothing {
                self.begin_types(out);
            }
            out.extend_from_slice(b"\nEvents:\n");
            self.part = Part::Events;
        }
    }
}

/// The pieces of the line of an event; none if only its description is known.
fn pieces(registry: &Registry, code: u16) -> Option<Vec<Piece>> {
    let event = registry.event(code)?;
    if registry.kind_of(event).name == "Unknown" {
        return None;
    }
    let (_, mut line) = *LINES.iter().find(|(tag, _)| *tag == code)?;
    let index = |name: &str| event.params.iter().position(|param| param.name == name);
    if let Some((always, optional)) = line.split_once('[') {
        let name = optional.split(['{', ':', '}']).nth(1).unwrap_or_default();
        if index(name).is_none() {
            line = always;
        }
    }
    let mut pieces = Vec::new();
    for part in line.split_inclusive(['}', '[', ']']) {
        let part = part.trim_end_matches(['[', ']']);
        let (text, param) = match part.strip_suffix('}').and_then(|part| part.split_once('{')) {
            Some((text, param)) => (text, Some(param)),
            None => (part, None),
        };
        let value = param.and_then(|param| {
            let (name, form) = param.split_once(':').unwrap_or((param, ""));
            Some((index(name)?, FORMS.iter().find(|(name, _)| *name == form)?.1))
        });
        pieces.push(Piece { text, value });
    }
    Some(pieces)
}

/// Appends the value of a parameter.
#[inline]
fn append(out: &mut Vec<u8>, event: &Event<'_>, index: usize, form: Form) {
    let Some(value) = event.value(index) else { return };
    let number = || value.as_u64().unwrap_or_default();
    match (form, value) {
        (Form::Usual, Value::Array(array)) => {
            for (index, number) in array.iter().enumerate() {
                out.extend(if index == 0 { "" } else { ", " }.bytes());
                append_number(out, number.as_u64().unwrap_or_default());
            }
        }
        (Form::Usual, Value::String(_) | Value::Bytes(_)) => {
            append_text(out, value.as_bytes().unwrap_or_default())
        }
        (Form::Usual, _) => append_number(out, number()),
        (Form::Hex, _) => append_format(out, format_args!("{:x}", number())),
        (Form::Next, _) => append_number(out, number().wrapping_add(1)),
        (Form::Stop, _) => append_stop(out, number(), event.value(index + 1).and_then(|info| info.as_u64())),
        (Form::CapsetKind, _) => out.extend_from_slice(capset_kind(number()).as_bytes()),
        (Form::Breakdown, _) => match BREAKDOWNS.get(number().wrapping_sub(1) as usize) {
            Some(name) => out.extend_from_slice(name.as_bytes()),
            None => append_number(out, number()),
        },
        (Form::Filters, _) => {
            let filters =
                (index..event.schema.params.len()).filter_map(|index| event.value(index)?.as_bytes());
            let mut lead = " filtered by ";
            for filter in filters.filter(|filter| !filter.is_empty()) {
                out.extend_from_slice(lead.as_bytes());
                append_text(out, filter);
                out.extend_from_slice(b", ");
                lead = "";
            }
        }
        (Form::Caf, _) if number() & 1 == 1 => out.extend_from_slice(b" CAF"),
        (Form::Caf, _) => {}
        (Form::List, _) => append_shown(out, value.as_bytes().unwrap_or_default()),
        (Form::Printable, _) => append_printable(out, value.as_bytes().unwrap_or_default()),
    }
}

/// What heap profiles add up by, from 1.
const BREAKDOWNS: &[&str] = &[
    "cost centre",
    "module",
    "closure description",
    "type description",
    "retainer",
    "biography",
    "closure type",
    "info table",
    "era",
];

fn capset_kind(number: u64) -> &'static str {
    match number {
        1 => "CapsetCustom",
        2 => "CapsetOsProcess",
        3 => "CapsetClockDomain",
        _ => "CapsetUnknown",
    }
}

/// Why threads stop, from 0.
const STOPS: &[&str] = &[
    "No stop thread status",
    "heap overflow",
    "stack overflow",
    "thread yielding",
    "thread blocked",
    "thread finished",
    "making a foreign call",
    "blocked on an MVar",
    "blocked on a black hole",
    "blocked on I/O read",
    "blocked on I/O write",
    "blocked on threadDelay",
    "blocked in STM retry",
    "blocked on asyncDoProc",
    "blocked in a foreign call",
    "blocked in a foreign call",
    "blocked in throwTo",
    "thread migrating",
    "waiting for data to be globalised",
    "No stop thread status",
    "blocked reading an MVar",
];

fn append_stop(out: &mut Vec<u8>, status: u64, info: Option<u64>) {
    let why = STOPS.get(status as usize).copied().unwrap_or(STOPS[0]);
    match (status, info) {
        (2, Some(size)) => {
            out.extend_from_slice(b"stack overflow, size ");
            append_number(out, size);
        }
        (8, Some(thread)) => {
            out.extend_from_slice(b"blocked on black hole owned by thread ");
            append_number(out, thread);
        }
        _ => out.extend_from_slice(why.as_bytes()),
    }
}

/// Appends text; what is not UTF-8 is replaced.
fn append_text(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(_) => out.extend_from_slice(text),
        Err(_) => out.extend(String::from_utf8_lossy(text).bytes()),
    }
}

/// Appends a decimal number.
#[inline]
fn append_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    // Two at a time: most of a line are numbers, of which the time alone has ten digits.
    while number >= 10 {
        let two = (number % 100) as u8;
        first -= 2;
        digits[first] = b'0' + two / 10;
        digits[first + 1] = b'0' + two % 10;
        number /= 100;
    }
    if number > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[first..]);
}

fn append_format(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let mut string = String::new();
    // A string takes everything.
    let _ = string.write_fmt(text);
    out.extend_from_slice(string.as_bytes());
}
