//! The facts that a stream contains about its run, as TOML text that `strings` shows.

use core::fmt::{self, Write};

use crate::memory::pool;
use crate::memory::record::Owner;
use crate::run::clock;
use crate::run::settings;
use crate::run::state;
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sys::text::{Buffer, Region, Shown};

/// Maximum length of the facts from the start: all that are always written, and 8 KiB of arguments
/// and variables.
pub(crate) const MAX_START_LEN: usize = 12 << 10;

/// The facts from the start, which every stream of the session repeats. Their memory is never
/// freed.
static KEPT: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static KEPT_LEN: AtomicUsize = AtomicUsize::new(0);

/// The duration of an emission in picoseconds, or 0 before it is measured.
static EMISSION_COST: AtomicU64 = AtomicU64::new(0);

/// Whether peers of sinks may ask.
static HAS_BACK_CHANNEL: AtomicBool = AtomicBool::new(false);

/// Sets whether peers of sinks may ask, before the facts from the start are written.
pub(crate) fn set_back_channel(is_on: bool) {
    HAS_BACK_CHANNEL.store(is_on, Ordering::Relaxed);
}

/// Returns the duration of an emission in picoseconds, or 0 before it is measured.
pub(crate) fn emission_cost() -> u64 {
    EMISSION_COST.load(Ordering::Relaxed)
}

/// Sets the duration of an emission in picoseconds.
pub(crate) fn set_emission_cost(picoseconds: u64) {
    EMISSION_COST.store(picoseconds, Ordering::Relaxed);
}

/// Keeps the text that [`of_start`] has written, for [`session`].
pub(crate) fn keep(text: &'static [u8]) {
    KEPT_LEN.store(text.len(), Ordering::Relaxed);
    KEPT.store(text.as_ptr().cast_mut(), Ordering::Release);
}

/// Maximum length of what [`session`] adds to the facts from the start.
const ADDED: usize = 96;

/// Returns the payload of the session block, for a stream. It states the words of a sink that has
/// its own. By them, readers know which events the stream may lack.
pub(crate) fn session_text(ticks_per_second: u64, sink_words: Option<&dyn fmt::Display>) -> String {
    // With its full capacity at once: a text that grows leaves holes in the heap.
    let mut text = String::with_capacity(kept().map_or(0, <[u8]>::len) + ADDED);
    let _ = session(&mut text, Some(ticks_per_second));
    if let Some(words) = sink_words {
        text += "sink_words = \"";
        let _ = write!(InString(&mut text), "{words}");
        text += "\"\n";
    }
    text
}

/// Writes the payload of the session block. Does not allocate.
pub(crate) fn session(out: &mut impl Write, ticks_per_second: Option<u64>) -> fmt::Result {
    match kept() {
        Some(text) => write!(out, "{}", Shown(text))?,
        None => say_now(out)?,
    }
    if let Some(rate) = ticks_per_second {
        writeln!(out, "ticks_per_second = {rate}")?;
    }
    match emission_cost() {
        0 => Ok(()),
        picoseconds => writeln!(out, "emission_ps = {picoseconds}"),
    }
}

/// Writes the facts from the start, if they were not kept.
// A function of its own, because the text would be on the drain's stack.
#[inline(never)]
fn say_now(out: &mut impl Write) -> fmt::Result {
    let mut bytes = [0; 1024];
    let mut text = Region::new(&mut bytes);
    of_start(&mut text, None, &[]);
    write!(out, "{}", Shown(text.as_bytes()))
}

#[allow(unsafe_code)]
fn kept() -> Option<&'static [u8]> {
    let at = KEPT.load(Ordering::Acquire);
    // SAFETY: `keep` was given these bytes, which are never freed.
    (!at.is_null()).then(|| unsafe { core::slice::from_raw_parts(at, KEPT_LEN.load(Ordering::Relaxed)) })
}

/// Writes the facts that are known at the start: those that are always written, and those on
/// request. Leaves out a line that does not fit. Does not allocate.
pub(crate) fn of_start(
    out: &mut Region<'_>,
    configured: Option<&str>,
    switches: &[(&str, &dyn fmt::Display)],
) {
    let mut line = |key: &str, value: &dyn fmt::Display| {
        out.whole(0, |out| writeln!(out, "{key} = {value}"));
    };
    let mut host = Buffer::<256>::new();
    sys::host(&mut host);
    let mut executable = Buffer::<1024>::new();
    sys::program(&mut executable);
    let program = executable.as_str().rsplit(['/', '\\']).next().unwrap_or_default();
    line("program", &Quoted(program.as_bytes()));
    line("host", &Quoted(host.as_bytes()));
    line("os", &Quoted(std::env::consts::OS.as_bytes()));
    line("arch", &Quoted(std::env::consts::ARCH.as_bytes()));
    line("variety", &Quoted(crate::model::variety::VARIETY.name().as_bytes()));
    line("telemetry", &Quoted(env!("CARGO_PKG_VERSION").as_bytes()));
    line("clock", &Quoted(clock::name().as_bytes()));
    line("pid", &std::process::id());
    line("cpus", &sys::cpus());
    line("word_bits", &usize::BITS);
    line("buffer", &pool::POOL.bytes());
    if HAS_BACK_CHANNEL.load(Ordering::Relaxed) {
        line("back_channel", &true);
    }
    switches.iter().for_each(|(key, words)| of_words(out, key, words));
    of_clocks(out);
    of_machine(out, executable.as_bytes());
    on_request(out, configured);
}

/// Writes the reading that `CLOCK_MONOTONIC_RAW` had at the start. It places what tracers of the
/// system have recorded.
fn of_clocks(out: &mut Region<'_>) {
    if let Some(raw) = sys::monotonic_raw_ns() {
        // Between the start and now, the two clocks drift apart by less than the system call takes.
        let since = sys::wall_ns().wrapping_sub(state::moment().wall);
        out.whole(0, |out| writeln!(out, "monotonic_raw_ns = {}", raw.saturating_sub(since)));
    }
}

/// Writes facts about the machine and the build of the program. Leaves out what the system does not
/// tell.
// A function of its own, because paths take much of a stack.
#[inline(never)]
fn of_machine(out: &mut Region<'_>, executable: &[u8]) {
    if let Some(size) = sys::page_size() {
        out.whole(0, |out| writeln!(out, "page_size = {size}"));
    }
    let mut say = |key: &str, text: &[u8]| {
        if !text.is_empty() {
            out.whole(0, |out| writeln!(out, "{key} = {}", Quoted(text)));
        }
    };
    let mut kernel = Buffer::<160>::new();
    sys::kernel(&mut kernel);
    say("kernel", kernel.as_bytes());
    say("cpu", cpu::model(&mut [0; 48]));
    say("executable", executable);
    let mut id = Buffer::<128>::new();
    let digit = |four: u8| b"0123456789abcdef"[usize::from(four)];
    for byte in sys::build_id().unwrap_or_default().iter().take(64) {
        let _ = id.push(&[digit(byte >> 4), digit(byte & 15)]);
    }
    say("build_id", id.as_bytes());
}

/// Writes the words that switch events at the start, if there are any. By them, readers know which
/// events are off.
fn of_words(out: &mut Region<'_>, key: &str, words: &dyn fmt::Display) {
    out.whole(0, |out| {
        write!(out, "{key} = \"")?;
        let before = out.as_bytes().len();
        write!(InString(&mut *out), "{words}")?;
        if out.as_bytes()[before..].trim_ascii().is_empty() {
            return Err(fmt::Error);
        }
        out.write_str("\"\n")
    });
}

/// Writes facts that may be secret. Each of them is written only if the configuration names it.
#[inline(never)]
fn on_request(out: &mut Region<'_>, configured: Option<&str>) {
    let expected = "`args`, `cwd` or `env:NAME`, with spaces or commas between them";
    let named = settings::text_setting(c"TELEMETRY_FACTS", expected, |words| {
        say_words(out, words);
        split(words).all(|word| Word::of(word).is_some()).then_some(())
    });
    if named.is_none() && sys::with_env(c"TELEMETRY_FACTS", |_| ()).is_none() {
        say_words(out, configured.unwrap_or_default());
    }
}

fn split(words: &str) -> impl Iterator<Item = &str> {
    words.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty())
}

/// A fact that is written on request.
enum Word<'w> {
    Arguments,
    Directory,
    Variable(&'w str),
}

impl<'w> Word<'w> {
    fn of(word: &'w str) -> Option<Word<'w>> {
        match word {
            "args" => Some(Word::Arguments),
            "cwd" => Some(Word::Directory),
            _ => word
                .strip_prefix("env:")
                .filter(|name| !name.is_empty() && !name.contains('='))
                .map(Word::Variable),
        }
    }
}

/// Number of bytes that stay free for the end of a list.
const LIST_END_LEN: usize = 64;

fn say_words(out: &mut Region<'_>, words: &str) {
    let has = |wanted: fn(&Word<'_>) -> bool| split(words).filter_map(Word::of).any(|word| wanted(&word));
    if has(|word| matches!(word, Word::Directory)) {
        let mut dir = Buffer::<1024>::new();
        sys::directory(&mut dir);
        out.whole(LIST_END_LEN, |out| writeln!(out, "cwd = {}", Quoted(dir.as_bytes())));
    }
    let mut before = "env = { ";
    for (at, word) in split(words).enumerate() {
        let Some(Word::Variable(name)) = Word::of(word) else { continue };
        if split(words).take(at).any(|earlier| earlier == word) {
            continue;
        }
        let mut text = Buffer::<256>::new();
        if write!(text, "{name}\0").is_err() {
            continue;
        }
        let Ok(variable) = core::ffi::CStr::from_bytes_with_nul(text.as_bytes()) else { continue };
        sys::with_env(variable, |value| {
            let name = Quoted(name.as_bytes());
            if out.whole(LIST_END_LEN, |out| write!(out, "{before}{name} = {}", Quoted(value))) {
                before = ", ";
            }
        });
    }
    if before == ", " {
        let _ = out.write_str(" }\n");
    }
    // Last, because they may be many.
    if has(|word| matches!(word, Word::Arguments)) {
        let (mut before, mut left_out) = ("args = [", 0);
        sys::each_argument(|argument| {
            let fits =
                left_out == 0 && out.whole(LIST_END_LEN, |out| write!(out, "{before}{}", Quoted(argument)));
            left_out += u32::from(!fits);
            before = if fits { ", " } else { before };
        });
        if before == ", " {
            let _ = out.write_str("]\n");
        }
        // The first arguments are more useful than none.
        if left_out > 0 {
            out.whole(0, |out| writeln!(out, "args_left_out = {left_out}"));
        }
    }
}

/// The model name of the processor.
mod cpu {
    /// Writes the name to the buffer. Writes nothing if the processor does not tell it to programs.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
    pub(super) fn model(into: &mut [u8; 48]) -> &[u8] {
        // Three leaves of 16 bytes, padded with NUL. Some processors put spaces before the name.
        if crate::sys::highest_extended() < 0x8000_0004 {
            return &[];
        }
        for (leaf, bytes) in (0x8000_0002..).zip(into.chunks_exact_mut(16)) {
            let found = crate::sys::cpuid(leaf);
            for (word, bytes) in
                [found.eax, found.ebx, found.ecx, found.edx].iter().zip(bytes.chunks_exact_mut(4))
            {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
        into.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii()
    }

    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri))))]
    pub(super) fn model(_: &mut [u8; 48]) -> &[u8] {
        &[]
    }
}

/// Returns the payload of a thread block.
pub(crate) fn thread(owner: &Owner) -> String {
    // As above: a name of 15 bytes, each of which may be written as six, and a number.
    let mut text = String::with_capacity(128);
    let _ = of_thread(&mut text, &owner.thread_name, owner.thread_id);
    text
}

/// Writes the payload of a thread block. Does not allocate.
pub(crate) fn of_thread(out: &mut impl Write, name: &[u8; 16], id: u64) -> fmt::Result {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    writeln!(out, "name = {}\ntid = {id}", Quoted(name))
}

/// Returns the clock's rate by the two known moments, the start and now. Readers refine it with the
/// moments of the blocks.
pub(crate) fn ticks_per_second() -> u64 {
    let (start, now) = (state::moment(), clock::now());
    let (ticks, ns) = (now.ticks.wrapping_sub(start.ticks), now.wall.wrapping_sub(start.wall));
    let rate = u128::from(ticks) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX >> 1).max(1)
}

/// Displays a TOML basic string. Bytes that are not UTF-8 become U+FFFD.
pub(crate) struct Quoted<'t>(pub(crate) &'t [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for chunk in self.0.utf8_chunks() {
            InString(&mut *f).write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        f.write_char('"')
    }
}

/// Writes text inside of a TOML basic string.
struct InString<'o, O>(&'o mut O);

impl<O: Write> Write for InString<'_, O> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Most texts need no escapes, so they are written in one piece.
        let mut rest = text;
        let is_escaped = |c: char| matches!(c, '"' | '\\') || c.is_control();
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_escaped(c)) {
            self.0.write_str(&rest[..at])?;
            match c {
                '"' | '\\' => write!(self.0, "\\{c}")?,
                c => write!(self.0, "\\u{:04x}", c as u32)?,
            }
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        let check = |text: &[u8], expected| assert_eq!(Quoted(text).to_string(), expected, "{text:?}");
        check(b"", r#""""#);
        check(b"/usr/bin/app", r#""/usr/bin/app""#);
        check(br#"a "b" \c"#, r#""a \"b\" \\c""#);
        check(b"\n\x7f\tend\0", r#""\u000a\u007f\u0009end\u0000""#);
        check("\u{85}\u{e9}\u{1f600}\"".as_bytes(), "\"\\u0085\u{e9}\u{1f600}\\\"\"");
        check(b"\xffa\"\xc3", "\"\u{fffd}a\\\"\u{fffd}\"");
    }

    #[test]
    fn a_stream_states_the_words_of_its_sink() {
        let check = |words: Option<&dyn fmt::Display>, expected: Option<&str>| {
            let text = session_text(1, words);
            assert_eq!(text.lines().find_map(|line| line.strip_prefix("sink_words = ")), expected);
        };
        check(None, None);
        check(Some(&""), Some(r#""""#));
        check(Some(&"Hit -*:0x20"), Some(r#""Hit -*:0x20""#));
        check(Some(&r#"Hit "\"#), Some(r#""Hit \"\\""#));
    }

    #[test]
    fn words_ask_for_facts() {
        let check = |words: &str, expected: &[&str]| {
            let shown = |word: &str| match Word::of(word) {
                Some(Word::Arguments) => "arguments".to_owned(),
                Some(Word::Directory) => "directory".to_owned(),
                Some(Word::Variable(name)) => format!("variable {name}"),
                None => format!("none {word}"),
            };
            assert_eq!(split(words).map(shown).collect::<Vec<_>>(), expected, "{words:?}");
        };
        check("", &[]);
        check(" ,\t\n,", &[]);
        check("args,cwd env:HOME", &["arguments", "directory", "variable HOME"]);
        check("env:a:b\tenv: env:A=B", &["variable a:b", "none env:", "none env:A=B"]);
        check("Args cwd/ HOME", &["none Args", "none cwd/", "none HOME"]);
    }

    #[test]
    fn a_thread_has_a_name_and_a_number() {
        let check = |name: &[u8; 16], expected: &str| {
            let mut text = String::new();
            of_thread(&mut text, name, 42).expect("room");
            assert_eq!(text, expected);
        };
        check(b"worker\0of\0others", "name = \"worker\"\ntid = 42\n");
        check(b"\0nothing of this", "name = \"\"\ntid = 42\n");
        check(b"1234567890123456", "name = \"1234567890123456\"\ntid = 42\n");
    }
}
