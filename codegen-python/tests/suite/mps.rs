//! The MPS's own recipe works with a generated module, on logs that real programs wrote.

use std::path::{Path, PathBuf};

use crate::python::{Module, Script, interpreters};

const REGISTRY: &str = include_str!("../mps.toml");

/// A folder of logs, each with the output of the real `mpseventcnv`: `NAME.mpsio.log` and
/// `NAME.cnv.txt`.
fn logs() -> Vec<PathBuf> {
    let named = std::env::var_os("TELEMETRY_REFERENCE_LOGS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/data"));
    let folders = named.into_iter().chain(beside).map(|folder| folder.join("mps"));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let found = files.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> = found.filter(|path| path.to_string_lossy().ends_with(".mpsio.log")).collect();
    found.sort();
    if found.is_empty() {
        eprintln!("SKIPPED: no reference logs of mps; help: name their folder by $TELEMETRY_REFERENCE_LOGS");
    }
    found
}

/// Returns the lines of `cnv` text with events that the registry has.
fn known(text: &str, codes: &[String]) -> Vec<String> {
    let code = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_string();
    text.lines().filter(|line| codes.contains(&code(line))).map(str::to_string).collect()
}

fn check(log: &Path, expected: &str) {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let codes: Vec<_> = registry.events.iter().map(|event| format!("{:X}", event.code)).collect();
    let expected = known(expected, &codes);
    assert!(!expected.is_empty());
    let module = Module::new(&registry);
    for interpreter in interpreters() {
        let mut script = Script::new(interpreter, "mps.py");
        let found = script.ask(&format!("{} {}", module.path("events.py").display(), log.display()));
        assert_eq!(found, expected, "{interpreter}, {}", log.display());
    }
}

#[test]
fn the_recipe_reads_real_logs() {
    for log in logs() {
        let text = PathBuf::from(log.to_string_lossy().replace(".mpsio.log", ".cnv.txt"));
        check(&log, &std::fs::read_to_string(text).unwrap());
    }
}

/// A log made by hand: an event with three bools and its padding, one with a string, one unknown,
/// and bytes of older events wherever the MPS leaves them.
#[test]
fn the_recipe_reads_a_small_log() {
    let header = |code: u16, size: u16, clock: u64| {
        [&code.to_le_bytes()[..], &size.to_le_bytes(), b"\xaa\xbb\xcc\xdd", &clock.to_le_bytes()].concat()
    };
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let log = [
        header(0x34, 56, 0x10),
        words(&[0x7f00_0000_1000, 65536, 32, 8]),
        b"\x01\x00\x01old\xff\xff".to_vec(),
        header(0x7fff, 24, 0x11),
        words(&[1]),
        header(0x21, 40, 0x12),
        words(&[2]),
        b"say \"a\\b\"\0\xff\xfe\0\0\0\0".to_vec(),
    ]
    .concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.mpsio.log");
    std::fs::write(&path, log).unwrap();
    let expected = "0000000000000010   34 7F0000001000 10000 20 8 1 0 1\n0000000000000012   21 2 \"say \\\"a\\\\b\\\"\"\n";
    check(&path, expected);
}
