//! The lines of events: the words and values of each.

use telemetry_schema::Registry;

/// The line of each event, by tag. A parameter in braces stands for its value. Text in brackets is
/// printed if the event has the parameters in it. After a colon is a form of [`Form`]; without one,
/// the value has its usual form.
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

/// A form other than the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Numbers in decimal, text as it is, arrays with commas.
    Usual,
    Hex,
    /// The next number.
    Next,
    /// The reason why a thread stopped.
    Stop,
    CapsetKind,
    Breakdown,
    /// The filters of a heap profile, of which this is the first.
    Filters,
    /// Says whether a cost center is a constant applicative form.
    Caf,
    /// Text ended by NULs, as a list in Haskell.
    List,
    /// Bytes as text, with dots for those that cannot be printed.
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

/// A piece of a line: text, and the parameter after it.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) text: &'static str,
    pub(super) value: Option<(usize, Form)>,
}

/// Returns the pieces of an event's line. `None` if only its description is known.
pub(super) fn pieces(registry: &Registry, code: u16) -> Option<Vec<Piece>> {
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
