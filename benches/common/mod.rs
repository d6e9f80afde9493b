//! Shared by the benchmarks: the workload, the floor as the unit of time, and the table of results.

#![allow(dead_code, missing_docs, clippy::print_stdout)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod steps;

use std::process::Command;
use std::time::Instant;

/// The parameters of event `i`. The optimizer cannot compute them in advance.
#[inline(always)]
pub(crate) fn fields(i: u64) -> (u64, u64, u64, u32, &'static str) {
    const NAMES: [&str; 4] = ["page-fault-00000", "page-fault-00001", "alloc-slab-00002", "free-block-00003"];
    let i = opaque(i);
    let pointer = 0x7f3a_0000_0000_u64.wrapping_add(i.wrapping_mul(64));
    let address = 0x5581_0000_0000_u64 + (i.wrapping_mul(0x9E37) & 0xff_ffff);
    (pointer, address, 16 + (i & 0xfff), (i & 7) as u32, NAMES[(i & 3) as usize])
}

/// Parameters of event `i` that take one byte each, because they are near those of the last event.
#[inline(always)]
pub(crate) fn near(i: u64) -> (u64, u64, u64, u32) {
    let i = opaque(i);
    let pointer = 0x7f3a_0000_0000_u64.wrapping_add(i.wrapping_mul(16));
    let address = 0x5581_0000_0000_u64 + (i.wrapping_mul(0x9E37) & 0x3f);
    (pointer, address, 16 + (i & 0x3f), (i & 7) as u32)
}

/// Hides a value from the optimizer at no cost.
#[inline(always)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[allow(unsafe_code)]
pub(crate) fn opaque(mut x: u64) -> u64 {
    // SAFETY: an empty instruction that changes nothing.
    unsafe { core::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags)) };
    x
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn opaque(x: u64) -> u64 {
    std::hint::black_box(x)
}

/// Nanoseconds per event, for `n` events.
pub(crate) fn time(n: u64, work: impl FnOnce(u64)) -> f64 {
    let start = Instant::now();
    work(n);
    start.elapsed().as_nanos() as f64 / n as f64
}

/// Events per slice: about two milliseconds, and a dozen blocks with all their costs.
const SLICE: u64 = 100_000;

/// Time of `work` as a multiple of the floor, for `n` events each, in alternating slices.
///
/// The processor's frequency changes from second to second, and another program on the same core
/// comes and goes. The floor waits for its counter and is less affected than other code. So each
/// slice is compared with the adjacent one, and only the fastest quarter of the pairs counts.
pub(crate) fn of_floor(n: u64, mut work: impl FnMut(u64)) -> f64 {
    let mut floor = floor();
    of_another(n / SLICE, || time(SLICE, &mut floor), || time(SLICE, &mut work))
}

/// Time of `work` as a multiple of `base`, run in turn `slices` times each. As above, the fastest
/// quarter counts.
pub(crate) fn of_another(slices: u64, mut base: impl FnMut() -> f64, mut work: impl FnMut() -> f64) -> f64 {
    let mut pairs: Vec<[f64; 2]> = (0..slices).map(|_| [base(), work()]).collect();
    pairs.sort_by(|a, b| a.iter().sum::<f64>().total_cmp(&b.iter().sum()));
    let quickest = &pairs[..pairs.len().div_ceil(4)];
    let sum = |of: usize| quickest.iter().map(|pair| pair[of]).sum::<f64>();
    sum(1) / sum(0)
}

/// The floor F: one read of the cycle counter and 36 bytes of plain stores into a buffer that stays
/// in cache. The returned closure repeats it `n` times.
pub(crate) fn floor() -> impl FnMut(u64) {
    #[repr(C)]
    struct Record {
        ticks: u64,
        pointer: u64,
        address: u64,
        size: u64,
        level: u32,
    }
    const RECORDS: usize = 256 * 1024 / size_of::<Record>();
    let mut ring: Vec<Record> =
        (0..RECORDS).map(|_| Record { ticks: 1, pointer: 1, address: 1, size: 1, level: 1 }).collect();
    move |n| {
        let mut at = 0;
        for i in 0..n {
            let (pointer, address, size, level, _) = fields(i);
            ring[at] = Record { ticks: counter(), pointer, address, size, level };
            at += 1;
            if at == RECORDS {
                at = 0;
            }
            std::hint::black_box(&ring);
        }
    }
}

/// The cycle counter, or the system's clock where there is none.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// One row: the figures of all rounds, their bases, and the goal.
pub(crate) struct Row {
    name: &'static str,
    unit: &'static str,
    goal: Goal,
    figures: Vec<f64>,
    bases: Vec<f64>,
}

pub(crate) enum Goal {
    AtMost(f64),
    /// For a ratio near 1, whose best value says little: a limit for the median.
    MedianAtMost(f64),
    AtLeast(f64),
    /// No limit: less is better, or more is better.
    Less,
    More,
}

impl Row {
    pub(crate) fn new(name: &'static str, unit: &'static str, goal: Goal) -> Row {
        Row { name, unit, goal, figures: Vec::new(), bases: Vec::new() }
    }

    /// Adds the figure of a round, and its base.
    pub(crate) fn add(&mut self, figure: f64, base: f64) {
        self.figures.push(figure);
        self.bases.push(base);
    }
}

/// Prints the best and the median of each row, and whether the best reaches its goal.
///
/// The best is the best figure divided by the best base, so that disturbed rounds do not count.
pub(crate) fn table(rows: Vec<Row>) {
    println!("{:<44} {:>9} {:>9}  {:<14} goal", "", "best", "median", "");
    for Row { name, unit, goal, mut figures, mut bases } in rows {
        figures.sort_by(f64::total_cmp);
        bases.sort_by(f64::total_cmp);
        let median = figures[figures.len() / 2] / bases[bases.len() / 2];
        let least = figures[0] / bases[0];
        let most = figures[figures.len() - 1] / bases[bases.len() - 1];
        let (best, goal, reached) = match goal {
            Goal::AtMost(limit) => (least, format!("at most {limit}"), Some(least <= limit)),
            Goal::MedianAtMost(limit) => (least, format!("median {limit}"), Some(median <= limit)),
            Goal::AtLeast(limit) => (most, format!("at least {limit}"), Some(most >= limit)),
            Goal::Less => (least, String::new(), None),
            Goal::More => (most, String::new(), None),
        };
        let verdict = match reached {
            Some(true) => "reached",
            Some(false) => "MISSED",
            None => "",
        };
        println!("{name:<44} {best:>9.2} {median:>9.2}  {unit:<14} {goal:<14} {verdict}");
    }
}

/// Counts the instructions of an event, from two numbers of events, and prints them. Returns
/// whether these are at most as many, or `None`, and says so, if they cannot be counted.
///
/// Runs this program again under callgrind, with `--count WORK EVENTS`. The instructions inside of
/// its function `telemetry_hot_loop` count.
pub(crate) fn at_most(work: &str, what: &str, most: f64, events: [u64; 2]) -> Option<bool> {
    let count = |events: u64| -> Option<f64> {
        let output = Command::new("valgrind")
            .args([
                "--tool=callgrind",
                "--callgrind-out-file=/dev/null",
                "--toggle-collect=*telemetry_hot_loop*",
            ])
            .arg(std::env::current_exe().ok()?)
            .args(["--count", work, &events.to_string()])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find(|line| line.contains("Collected :"))?;
        line.split_whitespace().last()?.parse().ok()
    };
    let [few, many] = events;
    let (Some(least), Some(all)) = (count(few), count(many)) else {
        println!("SKIPPED: instructions are not counted: valgrind failed or is not installed");
        return None;
    };
    let found = (all - least) / (many - few) as f64;
    let beyond = if found <= most { String::new() } else { format!(", expected at most {most}") };
    println!("{what:<44} {found:>9.1} instructions{beyond}");
    Some(found <= most)
}
