//! What a stream says about its run, as TOML text that `strings` shows.

use core::fmt::Write;

use crate::record::Owner;
use crate::{clock, pool, start};

/// The payload of the session block.
pub(crate) fn session() -> String {
    let mut text = String::new();
    let mut fact = |key: &str, value: &str| _ = writeln!(text, "{key} = {}", quoted(value));
    let program = std::env::current_exe().ok();
    fact(
        "program",
        &program.as_ref().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy(),
    );
    fact("host", &host());
    fact("os", std::env::consts::OS);
    fact("arch", std::env::consts::ARCH);
    fact("variety", crate::VARIETY.name());
    fact("telemetry", env!("CARGO_PKG_VERSION"));
    fact("clock", clock::name());
    let mut number = |key: &str, value: u64| _ = writeln!(text, "{key} = {value}");
    number("ticks_per_second", ticks_per_second());
    number("pid", u64::from(std::process::id()));
    number("cpus", std::thread::available_parallelism().map_or(0, |n| n.get() as u64));
    number("word_bits", u64::from(usize::BITS));
    number("buffer", pool::POOL.bytes() as u64);
    text
}

/// The payload of a thread block.
pub(crate) fn thread(owner: &Owner) -> String {
    let name = owner.thread_name.split(|&byte| byte == 0).next().unwrap_or_default();
    format!("name = {}\ntid = {}\n", quoted(&String::from_utf8_lossy(name)), owner.thread_id)
}

/// The clock's rate by the two moments that we know, the start and now. Readers refine it with the
/// blocks' own moments.
fn ticks_per_second() -> u64 {
    let (start, now) = (start::moment(), clock::now());
    let (ticks, ns) = (now.ticks.wrapping_sub(start.ticks), now.wall.wrapping_sub(start.wall));
    let rate = u128::from(ticks) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX >> 1).max(1)
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
