//! The cost of an event as a ratio to the floor F: `cargo bench --bench record`.
//!
//! Absolute times differ between machines and between hours. So every round measures the floor and
//! each workload once, and takes the ratios within the round.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use common::{Goal, Row, at_most, fields, floor, near, of_another, of_floor, opaque, table, time};
use telemetry::telemetry_event;

#[telemetry_event("telemetry-derive/tests/scopes.toml")]
pub mod scopes {}

#[telemetry_event("tests/registries/work.toml")]
pub mod events {}

#[telemetry_event("tests/registries/counters.toml")]
pub mod counters {}

#[telemetry_event("tests/registries/usual.toml")]
pub mod hinted {}

#[telemetry_event("tests/registries/limits.toml")]
pub mod limited {}

const EVENTS: u64 = 3_000_000;
const ROUNDS: usize = 9;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--to-file") {
        return to_file(&args[at + 1], args[at + 2].parse().unwrap_or(EVENTS));
    }
    if let Some(at) = args.iter().position(|arg| arg == "--count") {
        return counted(&args[at + 1], args[at + 2].parse().unwrap_or(EVENTS));
    }
    if let Some(at) = args.iter().position(|arg| arg == "--steps") {
        return steps(&args[at + 1]);
    }
    if args.iter().any(|arg| arg == "--instructions") {
        return assert!(instructions(), "the hot path has become longer");
    }
    if args.iter().any(|arg| arg == "--resident") {
        return resident_child();
    }
    let null = if cfg!(unix) { "/dev/null" } else { "NUL" };
    // Small enough that its blocks stay in the cache, like the floor's buffer.
    telemetry::Config::new().output(null).buffer(1 << 20).start().unwrap();
    let mut rows = rows();
    for _ in 0..ROUNDS {
        let base = time(EVENTS, floor());
        let disk = disk();
        let figures = [
            (base, 1.0),
            (recorded(), 1.0),
            (output(), 1.0),
            (inherit(), 1.0),
            (inherit_hinted(), 1.0),
            (recording(emit_near), 1.0),
            (named(), 1.0),
            (off(), 1.0),
            (counter(), 1.0),
            (limit(), 1.0),
            (two_threads(emit), 1.0),
            (two_threads(|n| floor()(n)), 1.0),
            (disk.0, 1.0),
            (disk.1, base),
            (disk.2, 1.0),
            (first_event(), 1.0),
            (resident(), 1.0),
        ];
        for (row, (figure, base)) in rows.iter_mut().zip(figures) {
            row.add(figure, base);
        }
    }
    table(rows);
    println!(
        "\nW: an event of a pointer, an address, a word and a u32. F: cycle counter and 36 bytes of stores."
    );
    assert!(instructions(), "the hot path has become longer");
}

fn rows() -> Vec<Row> {
    vec![
        Row::new("floor F", "ns", Goal::Less),
        Row::new("W recorded", "F", Goal::AtMost(1.25)),
        Row::new("W recorded, and output to /dev/null", "F", Goal::Less),
        Row::new("W recorded, inherited clock", "F", Goal::AtMost(0.7)),
        Row::new("the same, with usual lengths", "F", Goal::AtMost(0.7)),
        Row::new("W of one-byte values, inherited clock", "F", Goal::AtMost(0.7)),
        Row::new("W and a 16-byte string, recorded", "F", Goal::AtMost(1.6)),
        Row::new("W off at run time", "F", Goal::Less),
        Row::new("a counter's add", "F", Goal::AtMost(0.15)),
        Row::new("a limit of W that is not reached", "F", Goal::AtMost(0.15)),
        Row::new("W on two threads, each", "of one thread", Goal::MedianAtMost(1.1)),
        Row::new("the floor on two threads, each", "of one thread", Goal::Less),
        Row::new("W to a file, with all headers", "bytes", Goal::AtMost(11.0)),
        Row::new("W to a file, CPU of the whole process", "F", Goal::AtMost(1.8)),
        Row::new("W to a file, lost", "percent", Goal::Less),
        Row::new("first event of a thread", "ns", Goal::AtMost(5000.0)),
        Row::new("memory beyond a pool of 1 MiB", "KiB", Goal::AtMost(64.0)),
    ]
}

/// W recorded in memory.
fn recorded() -> f64 {
    recording(emit)
}

/// W recorded and output: a thread of the runtime takes the blocks at the same time.
fn output() -> f64 {
    telemetry::set("all");
    let each = recorded();
    telemetry::reset("all");
    each
}

/// Events of a thread in a comparison of threads: few enough that all are equally undisturbed.
const SHARE: u64 = 300_000;

/// Time of each of two threads as a multiple of that of one thread. The same for the floor shows
/// the share of the machine.
fn two_threads(work: impl Fn(u64) + Sync) -> f64 {
    telemetry::set("all");
    let ratio = of_another(EVENTS / SHARE, || on_threads(1, &work), || on_threads(2, &work));
    telemetry::reset("all");
    ratio
}

/// Mean time of threads that run at once.
fn on_threads(threads: u64, work: &(impl Fn(u64) + Sync)) -> f64 {
    let times = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| time(SHARE, work))).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).sum::<f64>()
    });
    times / threads as f64
}

/// Emits `n` events W.
fn emit(n: u64) {
    for i in 0..n {
        let (pointer, address, size, level, _) = fields(i);
        events::alloc!(pointer, address, size, level);
    }
}

/// Emits `n` events W with a limit.
fn limited_w(n: u64) {
    for i in 0..n {
        let (pointer, address, size, level, _) = fields(i);
        limited::alloc!(pointer, address, size, level);
    }
}

/// What a limit adds to W.
fn limit() -> f64 {
    recording(limited_w) - recorded()
}

fn inherit() -> f64 {
    recording(|n| {
        for i in 0..n {
            let (pointer, address, size, level, _) = fields(i);
            events::fix!(pointer, address, size, level);
        }
    })
}

fn inherit_hinted() -> f64 {
    recording(|n| {
        for i in 0..n {
            let (pointer, address, size, level, _) = fields(i);
            hinted::fix!(pointer, address, size, level);
        }
    })
}

/// Emits `n` events whose values take one byte each.
fn emit_near(n: u64) {
    for i in 0..n {
        let (pointer, address, size, level) = near(i);
        events::fix!(pointer, address, size, level);
    }
}

fn named() -> f64 {
    recording(|n| {
        for i in 0..n {
            let (pointer, address, size, level, name) = fields(i);
            events::named!(pointer, address, size, level, name);
        }
    })
}

/// The time of an event while all are recorded, as a multiple of the floor.
fn recording(work: impl Fn(u64)) -> f64 {
    telemetry::recorder::set("all");
    let each = of_floor(EVENTS, work);
    telemetry::recorder::reset("all");
    each
}

fn off() -> f64 {
    of_floor(EVENTS, emit)
}

/// What `add` costs beyond the loop around it.
fn counter() -> f64 {
    let add = of_floor(EVENTS, |n| telemetry_hot_loop("counter", n));
    add - of_floor(EVENTS, |n| telemetry_hot_loop("counter-loop", n))
}

/// W in a process of its own, to a file: bytes per event, CPU nanoseconds per event, percent lost.
fn disk() -> (f64, f64, f64) {
    let file = std::env::temp_dir().join(format!("telemetry-bench-{}.tel", std::process::id()));
    let Ok(this) = std::env::current_exe() else { return (f64::NAN, f64::NAN, f64::NAN) };
    let output = Command::new(this).arg("--to-file").arg(&file).arg(EVENTS.to_string()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    let mut figures = text.split_whitespace().map(|figure| figure.parse().unwrap_or(f64::NAN));
    let mut next = || figures.next().unwrap_or(f64::NAN);
    (next(), next(), next())
}

/// The child process of `disk`.
fn to_file(path: &str, n: u64) {
    telemetry::Config::new().output(path).control("all").start().unwrap();
    let before = cpu_ns();
    emit(n);
    telemetry::flush();
    let cpu = cpu_ns() - before;
    let written = telemetry::counters::total().written as f64;
    let bytes = std::fs::metadata(path).map_or(f64::NAN, |metadata| metadata.len() as f64);
    println!("{} {} {}", bytes / written, cpu / n as f64, 100.0 * (n as f64 - written) / n as f64);
}

/// Median time of the first event of a thread, over 100 threads.
fn first_event() -> f64 {
    telemetry::set("all");
    let first = || {
        let (pointer, address, size, level, _) = fields(1);
        let since = Instant::now();
        events::alloc!(pointer, address, size, level);
        since.elapsed().as_nanos() as f64
    };
    let mut times: Vec<f64> = (0..100).filter_map(|_| std::thread::spawn(first).join().ok()).collect();
    telemetry::reset("all");
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Memory beyond the pool, in KiB, of a process that uses its whole pool, as the kernel reports it.
/// The maximum of two cases: the flight recorder has the pool, or blocks wait for a sink.
fn resident() -> f64 {
    let Ok(this) = std::env::current_exe() else { return f64::NAN };
    let measure = |mask| {
        let mut child = Command::new(&this);
        child.arg("--resident").env("TELEMETRY_BUFFER", "1M");
        child.env_remove("TELEMETRY_CONTROL").env_remove("TELEMETRY_FILENAME").env(mask, "all");
        let output = child.output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().trim().parse().unwrap_or(f64::NAN)
    };
    ["TELEMETRY_RECORD", "TELEMETRY_CONTROL"].into_iter().map(measure).fold(f64::NAN, f64::max)
}

/// A sink that takes nothing until the pool is full, and then everything.
struct Late;

static DRY: AtomicBool = AtomicBool::new(false);

impl telemetry::sinks::Sink for Late {
    fn write(&mut self, _: &telemetry::sinks::Batch<'_>) -> std::io::Result<()> {
        while !DRY.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// The child process of `resident`.
fn resident_child() {
    let anonymous = || -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    // The first call touches the memory that the measurement itself needs.
    anonymous();
    let before = anonymous();
    telemetry::Config::new().sink(Late).start().unwrap();
    emit(EVENTS);
    DRY.store(true, Ordering::Relaxed);
    telemetry::flush();
    let after = anonymous();
    println!("{}", before.zip(after).map_or(f64::NAN, |(before, after)| after - before - 1024.0));
}

/// User and system time of all threads.
#[cfg(unix)]
#[allow(unsafe_code)]
fn cpu_ns() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(not(unix))]
fn cpu_ns() -> f64 {
    f64::NAN
}

/// Counts instructions: runs this program again under callgrind. Returns false if one of the counts
/// has become larger.
fn instructions() -> bool {
    println!();
    let mut is_short = true;
    // The largest counts, with the loop. Refills have a part below one.
    for (work, what, most) in [
        ("loop", "loop alone", f64::MAX),
        ("floor", "floor F", f64::MAX),
        ("off", "W off at run time", 7.01),
        ("w", "W recorded", 92.5),
        ("inherit", "W recorded, inherited clock", 85.5),
        ("w-usual", "W with usual lengths, recorded", 84.5),
        ("inherit-usual", "the same, inherited clock", 77.5),
        ("near", "W of one-byte values, inherited clock", 78.5),
        ("w2", "W and a 16-byte string, recorded", 105.0),
        ("pair", "begin and end of a span", 140.5),
        ("scope", "the same by a scope", 141.5),
        ("scope-off", "a scope off at run time", 7.01),
        ("mark", "a mark", 45.5),
        ("mark-off", "a mark off at run time", 5.01),
        ("counter-loop", "the loop around a counter", f64::MAX),
        ("counter", "a counter's add", 8.01),
        ("limit", "W with a limit, recorded", 100.5),
        ("sample", "W of which one in 1,000 is recorded", 31.5),
    ] {
        match at_most(work, what, most, [100_000, 300_000]) {
            Some(is_found) => is_short &= is_found,
            None => return true,
        }
    }
    is_short & stepped()
}

/// Counts the instructions of W by single steps, where its time has one byte, as it does natively.
fn stepped() -> bool {
    let mut is_short = true;
    for (work, what, most) in [
        ("w", "W recorded, by a clock as natively", 88.1),
        ("w-usual", "W with usual lengths, in the same way", 80.1),
    ] {
        let Ok(this) = std::env::current_exe() else { return true };
        let output = Command::new(this).args(["--steps", work]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let Ok(found) = text.unwrap_or_default().trim().parse::<f64>() else {
            println!("SKIPPED: instructions are not counted by steps: the system cannot");
            return true;
        };
        let beyond = if found <= most { String::new() } else { format!(", expected at most {most}") };
        println!("{what:<44} {found:>9.1} instructions{beyond}");
        is_short &= found <= most;
    }
    is_short
}

/// The child process of `stepped`.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn steps(work: &str) {
    telemetry::Config::new().start().unwrap();
    telemetry::recorder::set("all");
    // The least of several counts, which no refill is in.
    let count = |n| {
        // Steps are slow: the time of the first event would otherwise be a long one.
        telemetry_hot_loop(work, 1);
        common::steps::count(|| telemetry_hot_loop(work, n))
    };
    let least = |n| (0..9).filter_map(|_| count(n)).min();
    telemetry_hot_loop(work, 1_000);
    if let (Some(few), Some(many)) = (least(30), least(70)) {
        println!("{}", (many - few) as f64 / 40.0);
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn steps(_: &str) {}

/// The child process of `instructions`.
fn counted(work: &str, n: u64) {
    telemetry::Config::new().output("/dev/null").start().unwrap();
    match work {
        "mark-off" => {
            telemetry::reset("telemetry:Mark");
            telemetry::recorder::reset("telemetry:Mark");
        }
        _ if work.ends_with("off") => {}
        _ => telemetry::set("all"),
    }
    telemetry_hot_loop(work, n);
}

/// Not inlined: callgrind counts the instructions inside this function.
#[inline(never)]
fn telemetry_hot_loop(work: &str, n: u64) {
    match work {
        "floor" => floor()(n),
        "loop" => {
            // What the events below need of `fields`, in registers, as benches/c/loop.c has it.
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                let _ = [pointer, address, size, u64::from(level)].map(opaque);
            }
        }
        "inherit" => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                events::fix!(pointer, address, size, level);
            }
        }
        "w-usual" => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                hinted::alloc!(pointer, address, size, level);
            }
        }
        "inherit-usual" => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                hinted::fix!(pointer, address, size, level);
            }
        }
        "w2" => {
            for i in 0..n {
                let (pointer, address, size, level, name) = fields(i);
                events::named!(pointer, address, size, level, name);
            }
        }
        "pair" => {
            for i in 0..n {
                let (pointer, _, size, level, _) = fields(i);
                scopes::gc_begin!(scopes::Why::Full, pointer, size);
                std::hint::black_box(());
                scopes::gc_end!(level, pointer, size);
            }
        }
        "scope" | "scope-off" => {
            for i in 0..n {
                let (pointer, _, size, level, _) = fields(i);
                let _gc = scopes::gc_scope!(scopes::Why::Full, pointer, size; level, size);
                std::hint::black_box(());
            }
        }
        "mark" | "mark-off" => {
            for _ in 0..n {
                telemetry::mark!("a mark");
                std::hint::black_box(());
            }
        }
        "near" => emit_near(n),
        "limit" => limited_w(n),
        "sample" => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                limited::free!(pointer, address, size, level);
            }
        }
        "counter" => {
            for i in 0..n {
                counters::CACHE_HITS.add(opaque(i));
            }
        }
        "counter-loop" => {
            for i in 0..n {
                let _ = opaque(i);
            }
        }
        _ => {
            for i in 0..n {
                let (pointer, address, size, level, _) = fields(i);
                events::alloc!(pointer, address, size, level);
            }
        }
    }
}
