//! The functions that a compiler at run time made: `/tmp/perf-PID.map`, as `perf` reads it.

use std::io::{BufRead, BufReader};
use std::path::Path;

use super::table::Table;

/// The most lines that are read.
const MAX_LINES: usize = 4_000_000;

/// Returns the functions of a process. There are none without a file.
pub(super) fn of(pid: u64) -> Table {
    read(Path::new(&format!("/tmp/perf-{pid}.map")))
}

fn read(path: &Path) -> Table {
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    match is_file.then(|| std::fs::File::open(path)) {
        Some(Ok(file)) => of_text(BufReader::new(file)),
        _ => Table::default(),
    }
}

/// Returns the functions of a text, up to the first line that is not UTF-8.
pub(super) fn of_text(text: impl BufRead) -> Table {
    let lines = text.lines().map_while(Result::ok).take(MAX_LINES);
    Table::new(lines.filter_map(|line| range(&line)))
}

/// Reads a line: start, size and name, the numbers hexadecimal.
fn range(line: &str) -> Option<(u64, u64, Box<str>)> {
    let mut words = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let (start, size) = (number()?, number()?);
    Some((start, start.checked_add(size)?, words.next()?.into()))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_map_names_what_was_compiled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("perf.map");
        std::fs::write(&path, "1000 20 int Cache::find(int)\n0x2000 0x8 b\nno line\n3000 zz c\n").unwrap();
        let table = read(&path);
        assert_eq!(table.name(0x101f), Some("int Cache::find(int)"));
        assert_eq!(table.name(0x1020), None);
        assert_eq!(table.name(0x2007), Some("b"));
        assert_eq!(table.name(0x3000), None);
        assert_eq!(read(&dir.path().join("none")).name(0x1000), None);
        assert_eq!(read(dir.path()).name(0x1000), None);
    }
}
