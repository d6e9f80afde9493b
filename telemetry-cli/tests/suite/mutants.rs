//! Damaged memory images and core dumps through `recover`, and damaged streams through `sql`: never
//! a panic, a hang, unlimited memory, or damage that passes as complete. `TELEMETRY_MUTANTS=20000`
//! tries more.

use std::process::Command;

use rusqlite::{Connection, OpenFlags};
use telemetry_decode::Reader;
use telemetry_decode::completeness::Reason;

use crate::run::{Folder, Run, run};
use crate::streams::{blocks, gc, image, labeled, lossy};

/// Pseudorandom numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

fn mutants() -> usize {
    std::env::var("TELEMETRY_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// Changes some bytes as damage or an attacker would: bits, runs, lengths, pieces moved, repeated,
/// truncated.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let len = bytes.len();
        let (at, other) = (random.below(len), random.below(len));
        let run = random.below(300).min(len - at.max(other));
        match random.below(8) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at..at + run].fill([0, 0xff, 0x80][random.below(3)]),
            3 => {
                let number = [0, 1, u32::MAX, 1 << 24, 0x7fff_ffff][random.below(5)].to_le_bytes();
                bytes[at..(at + 4).min(len)].copy_from_slice(&number[..(len - at).min(4)]);
            }
            4 => bytes.copy_within(at..at + run, other),
            5 => drop(bytes.drain(at..at + run)),
            6 => {
                let piece = bytes[at..at + run].to_vec();
                bytes.splice(other..other, piece);
            }
            _ => bytes.truncate(len - run),
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

/// Reorders whole blocks and repeats some. Some get another number in the header and a valid
/// checksum.
fn forge(stream: &[u8], random: &mut Random) -> Vec<u8> {
    let mut all = blocks(stream);
    for _ in 0..random.below(4) {
        let (one, other) = (random.below(all.len()), random.below(all.len()));
        match random.below(3) {
            0 => all.swap(one, other),
            1 => all.push(all[one].clone()),
            _ => {
                let mut header = telemetry_format::Header::decode(&all[one], crc32c::crc32c).unwrap();
                match random.below(7) {
                    0 => header.events = header.events.wrapping_add(random.below(5) as u32),
                    1 => header.base_ticks = u64::MAX - random.below(9) as u64,
                    2 => header.before = u64::MAX - random.below(9) as u64,
                    3 => header.thread = random.below(4) as u32,
                    4 => header.seq = u32::MAX - random.below(2) as u32,
                    5 => header.session = random.below(3) as u64,
                    _ => header.lost.pool = u64::MAX - random.below(2) as u64,
                }
                let head = header.encode(crc32c::crc32c);
                all[one][..head.len()].copy_from_slice(&head);
            }
        }
    }
    all.concat()
}

/// Runs the command with little memory. It ends by itself.
fn limited(folder: &Folder, args: &str) -> Run {
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_telemetry");
    command.args(["-c", &format!("ulimit -v 600000; ulimit -t 20; exec '{program}' {args}")]);
    run(command.current_dir(folder.path("")), &[])
}

#[track_caller]
fn is_sound(run: &Run, what: &str) {
    assert!(matches!(run.code, Some(0..=2)), "{what}: {:?}: {}", run.code, run.stderr);
    assert!(!run.stderr.contains("panicked") && !run.stderr.is_empty(), "{what}: {}", run.stderr);
}

/// Makes a core dump: other bytes, a pool, a copy of some of it, and the stream that was being
/// written.
fn core(stream: &[u8]) -> Vec<u8> {
    let (pool, noise) =
        (image(stream, 2), |len: usize| (0..len).map(|n| ((n * n) >> 3) as u8).collect::<Vec<_>>());
    [
        b"\x7fELF".to_vec(),
        noise(5_000),
        pool.clone(),
        noise(777),
        pool[pool.len() / 2..].to_vec(),
        stream.to_vec(),
    ]
    .concat()
}

#[test]
fn recover_survives_mutants() {
    let streams = [gc(), labeled(), lossy()];
    let seeds: Vec<_> =
        streams.iter().flat_map(|stream| [image(stream, 0), image(stream, 3), core(stream)]).collect();
    let mut random = Random(5);
    for number in 0..mutants() {
        let folder = Folder::new();
        let mut bytes = seeds[number % seeds.len()].clone();
        mutate(&mut bytes, &mut random);
        std::fs::write(folder.path("image"), &bytes).unwrap();
        let run = limited(&folder, "recover image -o out.tel");
        let keep = || {
            let path = std::env::temp_dir().join(format!("telemetry-mutant-{number}"));
            std::fs::write(&path, &bytes).unwrap();
            format!("mutant {number}, kept as {}", path.display())
        };
        if !matches!(run.code, Some(0..=2)) || run.stderr.contains("panicked") {
            is_sound(&run, &keep());
        }
        if !folder.path("out.tel").exists() {
            assert!(run.code != Some(0), "{}: {}", keep(), run.stderr);
            assert!(run.stderr.contains("nothing"), "{}: {:?} {}", keep(), run.code, run.stderr);
            continue;
        }
        // For any image, the output is a stream without damage.
        let mut events = Reader::open(folder.path("out.tel")).unwrap().events().unwrap();
        while events.next().unwrap().is_some() {}
        let found = events.completeness();
        assert_eq!(found.damaged_ranges, 0, "{}: {found}", keep());
        // The image may lack a block that a part needs; another stream may have it.
        let needs = |reason| matches!(reason, Reason::NoPredecessor | Reason::NoRegistry(_));
        assert!(found.undecodable.iter().all(|part| needs(part.reason)), "{}: {found}", keep());
    }
}

#[test]
fn sql_survives_mutants() {
    let streams = [gc(), labeled(), lossy()];
    let mut random = Random(6);
    for number in 0..mutants() {
        let folder = Folder::new();
        let stream = &streams[number % streams.len()];
        let mut bytes = stream.clone();
        if number % 2 == 0 {
            mutate(&mut bytes, &mut random);
        } else {
            bytes = forge(stream, &mut random);
        }
        std::fs::write(folder.path("mutant.tel"), &bytes).unwrap();
        let what = || {
            let path = std::env::temp_dir().join(format!("telemetry-mutant-sql-{number}"));
            std::fs::write(&path, &bytes).unwrap();
            format!("mutant {number}, kept as {}", path.display())
        };
        let sql = limited(&folder, "sql -o out.db mutant.tel");
        let print = limited(&folder, "print mutant.tel");
        for run in [&sql, &print] {
            if !matches!(run.code, Some(0..=2)) || run.stderr.contains("panicked") {
                is_sound(run, &what());
            }
        }
        // Both commands agree on whether the input is complete, and whether it is an input.
        assert_eq!(sql.code, print.code, "{}: {}{}", what(), sql.stderr, print.stderr);
        if !folder.path("out.db").exists() {
            assert!(sql.code != Some(0), "{}: {}", what(), sql.stderr);
            continue;
        }
        let database =
            Connection::open_with_flags(folder.path("out.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let number = |query: &str| database.query_row(query, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(number("PRAGMA integrity_check"), "ok", "{}", what());
        let mut events = Reader::from_slice(&bytes).events().unwrap();
        let mut count = 0;
        while events.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(number("SELECT CAST(count(*) AS TEXT) FROM event"), count.to_string(), "{}", what());
    }
}
