//! Finds a ring file that is not the one that its process uses.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use telemetry_decode::Reader;
use telemetry_format::{RING_MAGIC, RING_START, RingHead};

use super::environment::shown;
use super::finding::Finding;
use super::program;
use crate::text::grouped;

const HELP: &str = "start the program again, and name a ring where no tool truncates or replaces files, such as logrotate \
                    with copytruncate";

/// Finds what is wrong with the ring of a process. `session` is the number of its stream, in
/// hexadecimal.
pub(super) fn of_process(pid: u32, session: &str, ring: &Path) -> Option<Finding> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let there = fs::symlink_metadata(ring).ok();
    // A ring without its head may still have its name.
    let inode = opened(pid, session).or_else(|| there.as_ref().map(MetadataExt::ino))?;
    let end = mapped(&maps, inode)?;
    let there = there.filter(|there| there.ino() == inode);
    match there {
        None => Some(Finding::problem(
            "ring-removed",
            format!("its ring file {} was removed or replaced", shown(ring)),
            "the process still uses the old file, which has no name: its events are lost if the process is killed",
            HELP,
        )),
        Some(there) if there.len() < end => Some(Finding::problem(
            "ring-truncated",
            format!("its ring file {} has {} bytes, and {end} are in use", shown(ring), there.len()),
            "it was truncated: SIGBUS ends the process when it reaches the missing part",
            HELP,
        )),
        Some(_) => rotated(ring, &configurations()),
    }
}

/// Returns the inode number of the file that a process has open as the ring of a session, under any
/// name.
fn opened(pid: u32, session: &str) -> Option<u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    open.map(|entry| entry.path()).find_map(|path| {
        // A pipe would make us wait, and opening a device may change it.
        let metadata = fs::metadata(&path).ok().filter(|metadata| metadata.is_file())?;
        let mut head = [0; RingHead::LEN];
        fs::File::open(path).ok()?.read_exact(&mut head).ok()?;
        let head = RingHead::decode(&head, crc32c::crc32c)?;
        (format!("{:016x}", head.session) == session).then_some(metadata.ino())
    })
}

/// Returns the length that a process has mapped of this file for writing.
fn mapped(maps: &str, inode: u64) -> Option<u64> {
    let of_ring = maps.lines().filter_map(|line| {
        // The fields are range, permissions, offset, device, inode, name.
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let is_shared = words.next()?.ends_with('s');
        let [from, to, offset] = [from, to, words.next()?].map(|hex| u64::from_str_radix(hex, 16).ok());
        let is_ring = is_shared && words.nth(1)?.parse() == Ok(inode);
        is_ring.then_some(offset?.saturating_add(to?.saturating_sub(from?)))
    });
    of_ring.max()
}

/// Finds that the end of a ring file is missing: its facts about the session, or a part of the
/// pool, whose size is one of these facts.
pub(super) fn cut(path: &Path) -> Option<Finding> {
    if !program::begins_with(path, &RING_MAGIC) {
        return None;
    }
    let found = Reader::open(path).ok()?.recover(&mut std::io::sink()).ok()?;
    let len = path.metadata().map_or(0, |metadata| metadata.len());
    let missing = match found.sessions.iter().find(|session| session.declared) {
        None => "nothing about its session".to_owned(),
        Some(session) => {
            let pool =
                session.facts.number("buffer").filter(|pool| len < RING_START.saturating_add(*pool))?;
            format!("its pool has {}", grouped(pool))
        }
    };
    Some(Finding::problem(
        "ring-truncated",
        format!("it is a truncated ring file: it has {} bytes, and {missing}", grouped(len)),
        "it was truncated, which ends a running process with SIGBUS, or it was copied only in part",
        HELP,
    ))
}

/// Returns the configuration files of logrotate.
fn configurations() -> Vec<PathBuf> {
    let entries = fs::read_dir("/etc/logrotate.d").into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).chain([PathBuf::from("/etc/logrotate.conf")]).collect()
}

/// Finds that logrotate may truncate or move a ring.
fn rotated(ring: &Path, configurations: &[PathBuf]) -> Option<Finding> {
    let ring_text = ring.to_str()?;
    let names = |text: &str| {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut is_inside = false;
        lines.flat_map(str::split_ascii_whitespace).any(|word| {
            let (pattern, brace) = (word.trim_end_matches('{').trim_matches('"'), word.ends_with('{'));
            let is_pattern = !is_inside && pattern.starts_with('/');
            is_inside = (is_inside || brace) && word != "}";
            is_pattern && matches(pattern.as_bytes(), ring_text.as_bytes())
        })
    };
    let of = configurations.iter().find(|path| fs::read_to_string(path).is_ok_and(|text| names(&text)))?;
    Some(
        Finding::problem(
            "ring-rotated",
            format!("logrotate rotates its ring file {}", shown(ring)),
            format!("{} names it; `copytruncate` ends the process with SIGBUS", shown(of)),
            "put the ring elsewhere with TELEMETRY_RING, or remove it from there",
        )
        .noted(),
    )
}

/// Returns true if a pattern with `*` and `?` matches a path. Neither matches a `/`.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            matches(rest, path)
                || path.split_first().is_some_and(|(byte, path)| *byte != b'/' && matches(pattern, path))
        }
        ([b'?', rest @ ..], [byte, path @ ..]) if *byte != b'/' => matches(rest, path),
        ([byte, rest @ ..], [other, path @ ..]) if byte == other => matches(rest, path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_under_logrotate_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("app");
        let check = |text: &str, expected: bool| {
            fs::write(&config, text).unwrap();
            let found = rotated(Path::new("/var/log/app/a.17.ring"), std::slice::from_ref(&config));
            assert_eq!(found.is_some(), expected, "{text}");
        };
        check("/var/log/app/*.ring {\n  copytruncate\n}\n", true);
        check("\"/var/log/app/a.??.ring\" {\n}\n", true);
        check("/var/log/other.log\n/var/log/app/*\n{\n  weekly\n}\n", true);
        check("/var/log/*{\n}\n", false);
        check("# /var/log/app/*\n/var/log/x {\n  olddir /var/log/app/*\n}\n", false);
        check("", false);
    }

    #[test]
    fn mappings_of_a_ring_are_told_from_others() {
        let maps = "7f00-9f00 rw-s 00010000 fe:00 42      /tmp/a b.ring (deleted)\n\
                    9f00-af00 rw-s 00020000 fe:00 42      /tmp/a b.ring (deleted)\n\
                    af00-ff00 rw-p 00090000 fe:00 42      /tmp/a b.ring (deleted)\n\
                    f000-ff00 rw-s 00090000 fe:00 43      /tmp/b.ring\n\
                    7ffd-7fff rw-p 00000000 00:00 0       [stack]\n";
        assert_eq!(mapped(maps, 42), Some(0x21000));
        assert_eq!(mapped(maps, 44), None);
    }
}
