//! `spans`.

use serde_json::Value as Json;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, RawStr, Value};
use telemetry_format::{Loss, own};
use telemetry_testing::{made, reference};

use crate::run::Folder;
use crate::streams::{START, begun, blocks, events_blocks, facts_of_thread, gc, runtime_registry};

pub(crate) const REGISTRY: &str = include_str!("../data/spans.toml");

pub(crate) const PHASE_BEGIN: u16 = 1;
pub(crate) const PHASE_END: u16 = 2;
pub(crate) const JOB_BEGIN: u16 = 3;
const JOB_END: u16 = 4;
const ENTER: u16 = 5;
const LEAVE: u16 = 6;

/// Makes a run whose thread was sampled: outside of spans, and in two of them.
pub(crate) fn sampled() -> Vec<u8> {
    let (mut writer, Lane { registry: spans, .. }) =
        begun(5, START, "sampled", &telemetry_schema::parse(REGISTRY).unwrap());
    let runtime = writer.registry(5, &runtime_registry()).unwrap();
    writer.thread(5, 1, &facts_of_thread("main")).unwrap();
    let of = |registry| Lane { session: 5, thread: 1, registry };
    let job = [Value::Pointer(0xa0)];
    for (ticks, code, values) in
        [(20, 1, &[Value::Unsigned(1)][..]), (40, 3, &job), (70, 4, &job), (90, 2, &[])]
    {
        writer.event(of(spans), code, ticks, values).unwrap();
    }
    for (ticks, periods) in [(10, 1), (30, 2), (45, 1), (60, 4), (65, 1)] {
        let values = [Value::Unsigned(0), Value::Unsigned(periods)];
        writer.event(of(runtime), own::SAMPLED, ticks, &values).unwrap();
    }
    writer.end(5, 100).unwrap();
    writer.finish().unwrap()
}

/// A run whose ticks are nanoseconds.
struct Run {
    writer: Writer<Vec<u8>>,
    /// The lane without a thread.
    lane: Lane,
}

impl Run {
    fn new() -> Run {
        Run::of(REGISTRY)
    }

    fn of(registry: &str) -> Run {
        let registry = telemetry_schema::parse(registry).unwrap();
        let (writer, lane) = begun(7, 1_795_240_051_000_000_000, "spans", &registry);
        Run { writer: writer.block_size(64), lane: Lane { thread: 0, ..lane } }
    }

    /// Begins a session in which an emission costs some picoseconds.
    fn costing(emission_ps: i64) -> Run {
        let registry = telemetry_schema::parse(REGISTRY).unwrap();
        let mut facts = Facts::default();
        facts.set("clock", "os");
        facts.set("emission_ps", emission_ps);
        let mut writer = Writer::new(Vec::new());
        writer.session(7, &facts, 0, 1_795_240_051_000_000_000).unwrap();
        let registry = writer.registry(7, &registry).unwrap();
        Run { writer, lane: Lane { session: 7, thread: 0, registry } }
    }

    fn lane(&self, thread: u32) -> Lane {
        Lane { thread, ..self.lane }
    }

    fn event(&mut self, thread: u32, ns: u64, code: u16, values: &[Value]) -> &mut Run {
        let lane = self.lane(thread);
        self.writer.event(lane, code, ns, values).unwrap();
        self
    }

    fn phase(&mut self, thread: u32, ns: u64, is_begin: bool) -> &mut Run {
        match is_begin {
            true => self.event(thread, ns, PHASE_BEGIN, &[Value::Unsigned(1)]),
            false => self.event(thread, ns, PHASE_END, &[]),
        }
    }

    fn job(&mut self, thread: u32, ns: u64, is_begin: bool, job: u64) -> &mut Run {
        let code = if is_begin { JOB_BEGIN } else { JOB_END };
        self.event(thread, ns, code, &[Value::Pointer(job)])
    }

    fn queue(&mut self, thread: u32, ns: u64, code: u16, queue: i128, who: &str) -> &mut Run {
        self.event(
            thread,
            ns,
            code,
            &[Value::Named(EnumValue::new(queue)), Value::String(RawStr(who.as_bytes()))],
        )
    }

    /// Adds a loss to a thread's lane of a kind.
    fn lose(&mut self, thread: u32, kind: u8) -> &mut Run {
        let lane = self.lane(thread);
        self.writer.flush().unwrap();
        self.writer.lose(lane, kind, Loss { pool: 3, ..Loss::default() }).unwrap();
        self
    }

    fn finish(&mut self) -> Vec<u8> {
        let mut run = std::mem::replace(self, Run::new());
        run.writer.end(7, 1_000_000).unwrap();
        run.writer.finish().unwrap()
    }
}

/// Makes a stream with everything that can happen to a span.
pub(crate) fn stream() -> Vec<u8> {
    let mut run = Run::new();
    // Nested spans, and a job that ends on another thread meanwhile.
    run.phase(1, 100, true).job(1, 150, true, 0xa0).phase(1, 200, true).phase(1, 300, false);
    run.job(2, 350, false, 0xa0).phase(1, 1_100, false);
    // An end without a begin, a begin without an end, and a second begin.
    run.phase(2, 1_200, false).job(1, 1_300, true, 0xb0).job(1, 1_400, true, 0xb0).job(1, 1_450, false, 0xb0);
    run.phase(2, 1_500, true);
    run.queue(1, 2_000, ENTER, 1, "me").queue(1, 2_500, LEAVE, 1, "me");
    run.queue(1, 3_000, ENTER, 2, "say, \"you\"").queue(2, 3_700, LEAVE, 2, "say, \"you\"");
    run.finish()
}

/// Makes a session whose spans nest, overlap, end on other threads, never end, and often begin or
/// end at the same time.
pub(crate) fn tangled() -> Vec<u8> {
    tangled_of(3_000)
}

/// Makes such a session of this many events.
pub(crate) fn tangled_of(events: u64) -> Vec<u8> {
    let mut run = Run::new();
    let (mut state, mut ns) = (12_345_u64, 0);
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..events {
        ns += random(3) * random(40);
        let (thread, is_begin, number) = (1 + random(3) as u32, random(9) < 5, random(6));
        match random(4) {
            0 => run.job(thread, ns, is_begin, number),
            1 => {
                let code = if is_begin { ENTER } else { LEAVE };
                run.queue(
                    thread,
                    ns,
                    code,
                    1 + i128::from(number % 2),
                    ["me", "you", "they"][number as usize / 2],
                )
            }
            _ => run.phase(thread, ns, is_begin),
        };
    }
    run.finish()
}

/// Makes a session with two versions of one registry, whose spans differ in number.
pub(crate) fn two_versions() -> Vec<u8> {
    let mut first = Run::new();
    let newer = REGISTRY.replacen("minor = 0", "minor = 10", 1);
    assert_ne!(newer, REGISTRY);
    let newer = first.writer.registry(7, &telemetry_schema::parse(&newer).unwrap()).unwrap();
    first.phase(1, 100, true).phase(1, 200, false);
    first.lane.registry = newer;
    first.phase(1, 300, true).phase(1, 700, false).phase(1, 800, true).phase(1, 900, false);
    first.finish()
}

#[test]
fn spans() {
    let folder = Folder::new().with("spans.tel", stream()).with("gc.tel", gc());
    let folder = folder.with("empty", "").with("text.txt", "no stream");
    folder.check(
        "spans",
        &[
            "spans spans.tel",
            "spans --strict --span Phase --limit 1 spans.tel",
            "spans --csv spans.tel",
            "spans --span Nothing spans.tel",
            "spans --json --span Job --limit 1 spans.tel",
            "spans --kind Job - < spans.tel",
            "spans gc.tel",
            "spans empty",
            "validate text.txt",
            "validate .",
        ],
    );
}

/// Checks the spans of a stream, by name.
#[track_caller]
fn check(stream: &[u8], args: &str, expected: &[(&str, &str, Json)]) {
    let folder = Folder::new().with("x.tel", stream);
    let run = folder.run(&format!("spans --json {args} x.tel"));
    let told: Json = serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    for (name, path, value) in expected {
        let span = told["spans"].as_array().unwrap().iter().find(|span| span["span"] == *name).unwrap();
        assert_eq!(span.pointer(path), Some(value), "{name}{path}: {span:#}");
    }
}

#[test]
fn self_time_is_that_of_the_innermost_span() {
    let mut run = Run::new();
    // 0..100 contains 10..40 and 50..90, which contains 60..70. Another thread's 0..1000 is not
    // part of it.
    run.phase(2, 0, true);
    for (ns, is_begin) in
        [(0, true), (10, true), (40, false), (50, true), (60, true), (70, false), (90, false), (100, false)]
    {
        run.phase(1, ns, is_begin);
    }
    run.phase(2, 1_000, false);
    let expected = [
        ("Phase", "/duration_ns/count", Json::from(5)),
        ("Phase", "/total_ns", Json::from(100 + 30 + 40 + 10 + 1_000)),
        ("Phase", "/total_self_ns", Json::from(100 + 1_000)),
        ("Phase", "/self_ns/max", Json::from(1_000)),
        ("Phase", "/self_ns/min", Json::from(10)),
    ];
    check(&run.finish(), "", &expected);
}

/// Spans with different values are counted apart: the first 1,000 values, and the others together.
#[test]
fn values_behind_the_name() {
    let registry = REGISTRY.replace("key = \"queue\"", "key = \"queue\"\nnamed_by = \"who\"");
    assert_ne!(registry, REGISTRY);
    let mut run = Run::of(&registry);
    let mut ns = 0;
    let mut wait = |run: &mut Run, who: &str, took: u64| {
        run.queue(1, ns, ENTER, 1, who).queue(2, ns + took, LEAVE, 1, "another");
        ns += 1_000;
    };
    wait(&mut run, "b, \"quoted\"", 7);
    wait(&mut run, "a", 10);
    wait(&mut run, "a", 30);
    (0..998).for_each(|number| wait(&mut run, &number.to_string(), 1));
    wait(&mut run, "one too many", 50);
    wait(&mut run, &"long".repeat(100), 60);
    let stream = run.finish();
    let expected = [
        ("Queueing [b, \"quoted\"]", "/total_ns", Json::from(7)),
        ("Queueing [a]", "/duration_ns/count", Json::from(2)),
        ("Queueing [a]", "/total_ns", Json::from(40)),
        ("Queueing [997]", "/total_ns", Json::from(1)),
        ("Queueing", "/total_ns", Json::from(50 + 60)),
    ];
    check(&stream, "", &expected);
    // Options and conditions take the name in the registry.
    check(&stream, "--span queueing --where duration>=10ns", &expected[2..3]);
    let folder = Folder::new().with("x.tel", &stream);
    let csv = String::from_utf8(folder.run("spans --csv x.tel").stdout).unwrap();
    assert!(csv.contains("\n\"Queueing [b, \"\"quoted\"\"]\",spans,"), "{csv}");
}

#[test]
fn pauses_are_marked() {
    let stream =
        Run::new().phase(1, 0, true).phase(1, 40, false).job(1, 50, true, 1).job(1, 60, false, 1).finish();
    let folder = Folder::new().with("x.tel", &stream);
    let told: Json = serde_json::from_slice(&folder.run("spans --json x.tel").stdout).unwrap();
    let marks =
        told["spans"].as_array().unwrap().iter().map(|span| (span["span"].clone(), span.get("pause")));
    assert_eq!(marks.collect::<Vec<_>>(), [("Phase".into(), Some(&true.into())), ("Job".into(), None)]);
}

/// The logs of other systems have the pauses of their collectors.
#[test]
fn pauses_of_real_logs() {
    let cases = [
        ("ghc", "small-nonmoving-census.eventlog", vec![("Collection", 26), ("ConcSync", 4)]),
        ("mono", "v17-small-alloc.mlpd", vec![("StoppedWorld", 3)]),
        ("mono", "v1-small-default.mlpd", vec![("StoppedWorld", 3)]),
        ("mps", "walkt0-hot.mpsio.log", vec![("Flip", 5), ("Poll", 70)]),
    ];
    for (system, name, expected) in cases {
        let Some(log) = reference::folder(system).and_then(|logs| reference::read(&logs.join(name))) else {
            continue;
        };
        let folder = Folder::new().with("a.log", log);
        // A stream that is made from a log has them, too.
        folder.run("convert --to telemetry -o a.tel a.log");
        for input in ["a.log", "a.tel"] {
            let told: Json =
                serde_json::from_slice(&folder.run(&format!("spans --json {input}")).stdout).unwrap();
            let spans = told["spans"].as_array().unwrap().iter().filter(|span| span.get("pause").is_some());
            let pauses = spans
                .map(|span| (span["span"].as_str().unwrap(), span["duration_ns"]["count"].as_u64().unwrap()));
            assert_eq!(pauses.collect::<Vec<_>>(), expected, "{name}, {input}");
        }
    }
}

/// Net times exclude the cost of emissions for the thread that began the span, and are never
/// negative.
#[test]
fn net_times_are_without_emissions() {
    let stream = || {
        let mut run = Run::costing(2_500);
        // Besides its begin, two events of the thread are within the outer span. One is on another
        // thread.
        run.phase(1, 0, true).phase(1, 10, true).phase(2, 20, true).phase(1, 40, false).phase(1, 100, false);
        run.phase(2, 21, false);
        // It ends on another thread, which has emitted more.
        run.job(1, 200, true, 9).job(2, 260, false, 9);
        run.finish()
    };
    let gross = [
        ("Phase", "/total_ns", Json::from(100 + 30 + 1)),
        ("Phase", "/total_self_ns", Json::from(100 + 1)),
        ("Job", "/total_ns", Json::from(60)),
    ];
    check(&stream(), "", &gross);
    let net = [
        ("Phase", "/duration_ns/max", Json::from(100 - 7)),
        ("Phase", "/duration_ns/min", Json::from(0)),
        ("Phase", "/total_ns", Json::from((100 - 7) + (30 - 3))),
        ("Phase", "/total_self_ns", Json::from(100 - 7)),
        ("Job", "/total_ns", Json::from(60 - 2)),
    ];
    check(&stream(), "--net", &net);
    let folder = Folder::new().with("x.tel", stream()).with("old.tel", Run::new().phase(1, 0, true).finish());
    let csv = String::from_utf8(folder.run("spans --net --csv x.tel").stdout).unwrap();
    assert!(csv.contains(",0,100,93,66,1,true,"), "{csv}");
    let told: Json = serde_json::from_slice(&folder.run("spans --net --json x.tel").stdout).unwrap();
    assert_eq!(told["net"], true);
    let told: Json = serde_json::from_slice(&folder.run("spans --json x.tel").stdout).unwrap();
    assert_eq!(told.get("net"), None);
    let said = folder.run("spans --net old.tel").stderr;
    let expected = "session 0000000000000007 does not state the cost of an emission (emission_ps): nothing is subtracted";
    assert!(said.contains(expected), "{said}");
}

/// Jobs that overlap without nesting share no time.
#[test]
fn overlapping_spans_share_no_time() {
    let mut run = Run::new();
    run.job(1, 0, true, 1).job(1, 10, true, 2).job(1, 30, false, 1).job(1, 60, false, 2);
    let expected = [("Job", "/total_ns", Json::from(30 + 50)), ("Job", "/total_self_ns", Json::from(60))];
    check(&run.finish(), "", &expected);
}

#[test]
fn a_loss_in_between_makes_a_span_uncertain() {
    const PHASE: u8 = 0;
    const JOB: u8 = 1;
    // The lane that loses events, and the number of uncertain spans. A lane reports its loss in its
    // next block, and the loss may be anywhere up to that block's end. The other half of a span
    // with a key may be on any thread.
    let table = [(1, PHASE, 1, 0), (2, PHASE, 1, 0), (1, JOB, 0, 2), (2, JOB, 0, 2)];
    for (thread, kind, phases, jobs) in table {
        let mut run = Run::new();
        let pairs = |run: &mut Run, ns: u64| {
            for thread in [1, 2] {
                run.phase(thread, ns, true).phase(thread, ns + 1, false);
                let job = thread.into();
                run.job(thread, ns + 2, true, job).job(thread, ns + 3, false, job);
            }
            run.writer.flush().unwrap();
        };
        pairs(&mut run, 0);
        run.phase(1, 10, true).job(1, 11, true, 0x20).lose(thread, kind);
        run.phase(2, 90, true).phase(2, 91, false).job(2, 92, true, 0x30).job(2, 93, false, 0x30);
        run.phase(1, 100, false).job(1, 101, false, 0x20);
        run.writer.flush().unwrap();
        pairs(&mut run, 200);
        let expected = [
            ("Phase", "/duration_ns/count", Json::from(6)),
            ("Phase", "/uncertain", Json::from(phases)),
            ("Job", "/duration_ns/count", Json::from(6)),
            ("Job", "/uncertain", Json::from(jobs)),
        ];
        check(&run.finish(), "", &expected);
    }
}

/// A sink may not get the events of a kind on a thread.
#[test]
fn excluded_events_make_spans_uncertain() {
    let mut run = Run::new();
    run.job(1, 10, true, 0x10).job(2, 50, false, 0x10).job(1, 60, true, 0x20).job(2, 90, false, 0x20);
    let stream = run.job(3, 30, true, 0x10).finish();
    let expected = [("Job", "/duration_ns/count", Json::from(2)), ("Job", "/uncertain", Json::from(1))];
    check(&made::exclude(&stream, |header| header.thread == 3), "", &expected);
}

/// If any block is damaged or missing, spans across the gap are uncertain, and no end is paired
/// with the wrong begin.
#[test]
fn damage_makes_spans_uncertain() {
    let mut run = Run::new();
    for number in 0..40 {
        run.job(1, 100 * number, true, 0x10).job(1, 100 * number + 50, false, 0x10);
    }
    let whole = run.finish();
    let parts = blocks(&whole);
    let events = events_blocks(&parts);
    for &number in &events[1..events.len() - 1] {
        let missing = [parts[..number].concat(), parts[number + 1..].concat()].concat();
        let mut damaged = whole.clone();
        let end = parts[..=number].concat().len();
        damaged[end - 1] ^= 1;
        for (what, stream) in [("missing", missing), ("damaged", damaged)] {
            let folder = Folder::new().with("x.tel", &stream);
            let run = folder.run("spans --json --limit 100 x.tel");
            let told: Json = serde_json::from_slice(&run.stdout).unwrap();
            for long in told["longest"].as_array().unwrap() {
                let is_right = long["duration_ns"] == 50;
                assert!(is_right || long["certain"] == false, "{what} {number}: {long}");
            }
            for one in told["unmatched"].as_array().unwrap() {
                assert_eq!(one["certain"], false, "{what} {number}: {one}");
            }
            assert!(told["spans"][0]["duration_ns"]["count"].as_u64().unwrap() >= 20, "{what} {number}");
        }
    }
}

/// Too many open spans take no memory: the oldest are dropped, and counted.
#[test]
fn the_oldest_are_dropped() {
    let mut run = Run::new();
    for job in 0..100 {
        run.job(1, job, true, job);
    }
    // The last ten jobs remain. Of nested phases, the outermost are dropped.
    for job in 0..100 {
        run.job(1, 100 + job, false, job);
    }
    for ns in 0..30 {
        run.phase(1, 200 + ns, true);
    }
    for ns in 0..30 {
        run.phase(1, 230 + ns, false);
    }
    let expected = [
        ("Job", "/duration_ns/count", Json::from(10)),
        ("Job", "/begins_dropped", Json::from(90)),
        ("Job", "/ends_without_begin", Json::from(90)),
        ("Phase", "/duration_ns/count", Json::from(10)),
        ("Phase", "/begins_dropped", Json::from(20)),
        ("Phase", "/duration_ns/min", Json::from(1)),
        ("Phase", "/duration_ns/max", Json::from(19)),
    ];
    check(&run.finish(), "--max-open 10", &expected);
}
