//! What a stream says about its run, as TOML text that `strings` shows.

use core::fmt::{self, Write};

use crate::record::Owner;
use crate::text::Buffer;
use crate::{clock, pool, start, sys};

/// The payload of the session block, without an allocation. The clock's rate is not known at the start.
pub(crate) fn session(out: &mut impl Write, ticks_per_second: Option<u64>) -> fmt::Result {
    let (program, mut host) = (program(), Buffer::<256>::new());
    sys::host(&mut host);
    for (key, value) in [
        ("program", program.as_str()),
        ("host", host.as_str()),
        ("os", std::env::consts::OS),
        ("arch", std::env::consts::ARCH),
        ("variety", crate::VARIETY.name()),
        ("telemetry", env!("CARGO_PKG_VERSION")),
        ("clock", clock::name()),
    ] {
        writeln!(out, "{key} = {}", Quoted(value.as_bytes()))?;
    }
    if let Some(rate) = ticks_per_second {
        writeln!(out, "ticks_per_second = {rate}")?;
    }
    writeln!(out, "pid = {}", std::process::id())?;
    writeln!(out, "cpus = {}", sys::cpus())?;
    writeln!(out, "word_bits = {}", usize::BITS)?;
    writeln!(out, "buffer = {}", pool::POOL.bytes())
}

/// The name of the program, without its path.
// Apart: the path would stand on the drain's stack below all that writes the text.
#[inline(never)]
fn program() -> Buffer<256> {
    let (mut path, mut name) = (Buffer::<1024>::new(), Buffer::new());
    sys::program(&mut path);
    // Systems have names of up to 255 bytes.
    let _ = name.write_str(path.as_str().rsplit(['/', '\\']).next().unwrap_or_default());
    name
}

/// The payload of a thread block.
pub(crate) fn thread(owner: &Owner) -> String {
    let mut text = String::new();
    let _ = of_thread(&mut text, &owner.thread_name, owner.thread_id);
    text
}

/// The same, without an allocation.
pub(crate) fn of_thread(out: &mut impl Write, name: &[u8; 16], id: u64) -> fmt::Result {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    writeln!(out, "name = {}\ntid = {id}", Quoted(name))
}

/// The clock's rate by the two moments that we know, the start and now. Readers refine it with the
/// blocks' own moments.
pub(crate) fn ticks_per_second() -> u64 {
    let (start, now) = (start::moment(), clock::now());
    let (ticks, ns) = (now.ticks.wrapping_sub(start.ticks), now.wall.wrapping_sub(start.wall));
    let rate = u128::from(ticks) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX >> 1).max(1)
}

/// A TOML basic string. What is not UTF-8 shows as U+FFFD.
pub(crate) struct Quoted<'t>(pub(crate) &'t [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
                    c => f.write_char(c)?,
                }
            }
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        f.write_char('"')
    }
}
