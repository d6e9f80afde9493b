//! The format of a file in words, by its first bytes.

use std::path::Path;

use telemetry_foreign::Format;
use telemetry_format::{MAGIC, RING_MAGIC};

/// Files of other sorts by their first bytes: the words for them, and what to do with such a file.
/// `{}` stands for its path.
const BY_MAGIC: &[(&[u8], &str, &str)] = &[
    (&RING_MAGIC, "a ring file", "`telemetry recover {}`"),
    (b"\x1f\x8b", "compressed with gzip", "`gunzip -c {} | telemetry print -`"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "`zstd -dc {} | telemetry print -`"),
    (b"\xfd7zXZ\0", "compressed with xz", "`xz -dc {} | telemetry print -`"),
    (b"BZh", "compressed with bzip2", "`bzip2 -dc {} | telemetry print -`"),
    (b"PK\x03\x04", "a zip archive", "`unzip -p {} | telemetry print -`"),
    (b"SQLite format 3\0", "an SQLite database", "`sqlite3 {}`, if `telemetry sql` made it"),
    (b"\xc1\x1f\xfc\xc1", "a CTF trace, as of LTTng", "`babeltrace2` reads its directory"),
    (b"PERFILE2", "data of perf", "`perf script --ns --header -i {} >perf.txt` prints it; read perf.txt"),
    (b"FLR\0", "a Java flight recording", "`jfr print {}` reads it"),
    (
        b"telemetry-lock",
        "the lock file of a registry",
        "`telemetry check` compares its registry file with it",
    ),
    (b"MZ", "a program", RUNS_PROGRAM),
    (b"\xcf\xfa\xed\xfe", "a program", RUNS_PROGRAM),
];

const RUNS_PROGRAM: &str = "`telemetry doctor -- {}` runs it, and finds its stream";

/// The help for a file of which no command knows anything.
const NO_COMMAND: &str =
    "name the file that TELEMETRY_FILENAME names, by default telemetry.tel where the program was started";

/// A file that does not begin like a stream or a log.
pub(crate) struct Look {
    /// What it looks like, after `is`.
    pub(crate) what: &'static str,
    help: &'static str,
    /// It cannot be a stream with other bytes in front.
    pub(crate) is_certain: bool,
    pub(crate) is_text: bool,
}

impl Look {
    /// Guesses by the first bytes.
    pub(crate) fn of(first: &[u8]) -> Look {
        let of_magic = BY_MAGIC.iter().find(|(magic, ..)| first.starts_with(magic));
        let certain = |what, help| Look { what, help, is_certain: true, is_text: false };
        match (of_magic, first) {
            (Some((_, what, help)), _) => certain(what, help),
            (None, [0x7f, b'E', b'L', b'F', ..]) if is_core(first) => {
                certain("a core dump", "`telemetry recover {}`")
            }
            (None, [0x7f, b'E', b'L', b'F', ..]) => certain("an ELF program", RUNS_PROGRAM),
            _ => match text_of(first) {
                Some(text) => of_text(text),
                None => Look { what: "no stream", help: NO_COMMAND, is_certain: false, is_text: false },
            },
        }
    }

    /// Returns what to do with a file that looks so.
    pub(crate) fn help(&self, path: &Path) -> String {
        self.help.replace("{}", &path.display().to_string())
    }
}

/// Returns true for the type of core dumps, in the byte order of the file.
fn is_core(elf: &[u8]) -> bool {
    const CORE: u8 = 4;
    let is_big = elf.get(5) == Some(&2);
    elf.get(if is_big { 17 } else { 16 }) == Some(&CORE)
}

/// Returns the text at the beginning of a file, if the file is text. The last character may be cut.
fn text_of(first: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&first[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_text = text.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\r' | '\t' | '\x1b'));
    (is_text && !text.is_empty()).then_some(text)
}

/// Guesses by the lines of a text.
fn of_text(text: &str) -> Look {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_line = |of: fn(&str) -> bool| lines().next().is_some_and(of);
    let (what, help) = if lines().any(|line| matches!(line, "[registry]" | "[[event]]" | "[kinds]")) {
        ("a registry file", "`telemetry check {}`, or --registry FILE beside a stream")
    } else if is_line(is_cnv) {
        ("cnv text", "`telemetry txt --text {}`")
    } else if is_line(|line| line.starts_with('{') || line.starts_with("[{")) {
        ("JSON", "name the stream that it was made from; no command reads JSON")
    } else if is_line(is_toml) {
        ("TOML, but no registry file", "`telemetry init` writes a registry file to start from")
    } else {
        ("text", NO_COMMAND)
    };
    Look { what, help, is_certain: false, is_text: true }
}

/// Returns true for a line that `telemetry cnv` writes: a clock reading and a code.
fn is_cnv(line: &str) -> bool {
    let (clock, rest) = line.split_once(' ').unwrap_or_default();
    clock.len() == 16
        && clock.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
        && rest.split_whitespace().next().is_some()
}

/// Returns true for the head of a table, or for a key with a value.
fn is_toml(line: &str) -> bool {
    let is_key = |key: &str| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.\"".contains(&byte));
    let table = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let key = table.map(|table| table.trim_matches(['[', ']'])).or(line.split_once('=').map(|(key, _)| key));
    key.map(str::trim).is_some_and(|key| !key.is_empty() && is_key(key))
}

/// Names the format of a file that begins with these bytes, if it is a stream or another system's
/// log.
pub(crate) fn known_by(first: &[u8]) -> Option<String> {
    if first.starts_with(&MAGIC) {
        return Some("a telemetry stream".to_string());
    }
    Format::recognize(first).map(|format| format!("a log of format {}", format.name()))
}

#[cfg(test)]
mod tests {
    use super::Look;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let elf = |order: u8, at: usize, of: u8| {
            let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec();
            (elf[5], elf[at]) = (order, of);
            elf
        };
        let table: [(&[u8], &str); 17] = [
            (b"\x1f\x8b\x08", "compressed with gzip"),
            (b"\x89TELRING....", "a ring file"),
            (&elf(1, 16, 3), "an ELF program"),
            (&elf(1, 16, 4), "a core dump"),
            (&elf(2, 17, 4), "a core dump"),
            (&elf(2, 17, 3), "an ELF program"),
            (b"# events\n\n[registry]\nname = \"gc\"\n", "a registry file"),
            (b"[package]\nname = \"gc\"\n", "TOML, but no registry file"),
            (b"latency = 1\n", "TOML, but no registry file"),
            (b"{\"version\":1}\n", "JSON"),
            (b"00000000000F4628   10 7F001000\n", "cnv text"),
            (b"root:x:0:0:root:/root:/bin/bash\n", "text"),
            (b"int a = f(x) == 0;\n", "text"),
            ("caf\u{e9}".as_bytes(), "text"),
            (&"caf\u{e9}".as_bytes()[..4], "text"),
            (b"\0\x01\x02", "no stream"),
            (b"text\0and more", "no stream"),
        ];
        for (first, expected) in table {
            assert_eq!(Look::of(first).what, expected, "{:?}", String::from_utf8_lossy(first));
        }
    }
}
