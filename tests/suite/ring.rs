//! A process that is killed leaves a ring file with every event whose emitter had returned.

pub(crate) mod kill;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use telemetry_decode::Reader;
use telemetry_decode::recover::Refusal;

use crate::ends::{optimized_ring, program};
use crate::support::process::{Numbers, Outcome, Process, child, ending};
use crate::support::stream::{Event, Owned, Stream};
use crate::support::system;

/// The events that the program's threads reported, and the events of each that were recovered.
fn recovered(run: &Outcome, images: &[impl AsRef<Path>]) -> Vec<(u64, Vec<Event>)> {
    let paths: Vec<PathBuf> = images.iter().map(|name| run.dir().join(name)).collect();
    let out = run.dir().join("recovered.tel");
    let mut file = std::fs::File::create(&out).expect("a file");
    let found = Reader::open_all(&paths).expect("images").recover(&mut file).expect("what is left");
    // A write that the kill interrupts leaves a partial block in the stream; the ring file still
    // has it whole.
    let cut = found.refused.get(&Refusal::Cut).map_or(0, |refused| refused.blocks);
    assert!(found.refused.len() <= 1 && cut <= u64::from(images.len() > 1), "{:?}", found.refused);
    let told = std::fs::read(run.dir().join("told")).expect("what the threads told");
    let mut events = Stream::read_what_is_left(&out).events;
    let threads = (0..4).map(|thread| {
        let number = u64::from_le_bytes(told[thread * 8..][..8].try_into().expect("8 bytes"));
        let is_its = |event: &Event| event.values.get(3) == Some(&Owned::Number(thread as i128));
        let (its, rest) = std::mem::take(&mut events).into_iter().partition(is_its);
        events = rest;
        (number, its)
    });
    threads.collect()
}

/// Checks that every reported event is there as it was emitted, from the first on if the recovery
/// is complete. Returns their number.
fn check(threads: &[(u64, Vec<Event>)], complete: bool) -> usize {
    for (told, events) in threads {
        let numbers: Vec<u64> = events
            .iter()
            .map(|event| match event.values[..] {
                [Owned::Number(pointer), Owned::Number(address), Owned::Number(size), _] => {
                    let number = u64::try_from(pointer).expect("a number");
                    assert_eq!((address, size), (i128::from(number << (number % 40)), pointer));
                    number
                }
                _ => panic!("{event:?}"),
            })
            .collect();
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
            assert_eq!(*told, 0, "nothing of {told} events");
            continue;
        };
        assert!(numbers.iter().copied().eq(first..=last), "a gap in {first}..={last}");
        // One event may have been in progress when the process was killed.
        assert!(last + 1 == *told || last == *told, "told {told}, last {last}");
        assert!(!complete || first == 0, "the first is {first}");
    }
    threads.iter().map(|(_, events)| events.len()).sum()
}

/// Runs the program for this time from its first event on.
fn run(pause: &str, millis: u64, setup: impl Fn(Process) -> Process) -> Outcome {
    let process = Process::new(program("ring")).arg(pause).env("TELEMETRY_RING", "app.ring");
    let has_told =
        |dir: &Path| std::fs::read(dir.join("told")).is_ok_and(|told| told.iter().any(|&byte| byte != 0));
    setup(process).killed_after_that(has_told, Duration::from_millis(millis))
}

/// The ring of a process that was killed.
pub(crate) fn killed() -> Vec<u8> {
    let run = run("2000", 0, |process| process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all"));
    std::fs::read(run.dir().join("app.ring")).expect("a ring")
}

/// Kills it at many moments, with everything recorded and nothing output.
#[test]
fn killed_with_the_flight_recorder_on() {
    let mut found = 0;
    for millis in (0..240).step_by(20) {
        let run = run("2000", millis, |process| {
            process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all")
        });
        found += check(&recovered(&run, &["app.ring"]), true);
    }
    assert!(found > 1000, "{found} events are none to speak of");
}

/// The same with a stream beside the ring file, which has the events whose blocks were freed.
#[test]
fn killed_while_it_writes_a_stream() {
    let mut found = 0;
    for millis in [30, 60, 120, 240, 480] {
        let run = run("0", millis, |process| {
            let process = process.env("TELEMETRY_BUFFER", "4M").env("TELEMETRY_LATENCY", "0.02");
            process.env("TELEMETRY_POLICY", "wait:30")
        });
        let images: &[&str] = match run.path().exists() {
            true => &["app.ring", "stream.tel"],
            false => &["app.ring"],
        };
        found += check(&recovered(&run, images), true);
    }
    assert!(found > 1000, "{found} events are none to speak of");
}

/// The stream states the losses of a lane with the number of its next block, which only the ring
/// file has.
#[test]
fn killed_after_the_stream_stated_losses() {
    let run = ending(
        "ring::killed_after_the_stream_stated_losses",
        |process| process.env("TELEMETRY_RING", "app.ring").env("TELEMETRY_LATENCY", "3600"),
        || {
            crate::hinted::far!(1_u16, 2_i64, "a name that is longer than its limit");
            assert!(telemetry::flush());
            crate::hinted::far!(3_u16, 4_i64, "short");
            system::send(libc::SIGKILL);
            Numbers::new()
        },
    );
    let out = run.dir().join("recovered.tel");
    let mut file = std::fs::File::create(&out).expect("a file");
    let images = Reader::open_all([run.dir().join("app.ring"), run.path()]).expect("images");
    let found = images.recover(&mut file).expect("what is left");
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    let stream = Stream::read_what_is_left(&out);
    let numbers: Vec<_> = stream.events.iter().map(|event| event.values[0].clone()).collect();
    assert_eq!(numbers, [Owned::Number(1), Owned::Number(3)]);
    assert_eq!(stream.completeness.lost().truncated, 1);
}

/// Any file name, also with bytes that are not text, for the file and for an earlier one.
#[test]
fn a_path_that_is_no_text() {
    let name = OsStr::from_bytes(b"r\xff.ring");
    let earlier = killed();
    let run = run("2000", 20, |process| {
        std::fs::write(process.dir().join(name), &earlier).expect("a file");
        process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").env("TELEMETRY_RING", name)
    });
    assert!(check(&recovered(&run, &[name]), true) > 0);
    let old = run.dir().join(OsStr::from_bytes(b"r\xff.ring.old"));
    assert!(std::fs::read(old).expect("the ring of before") == earlier);
    assert_eq!(run.stderr, "");
    let beside = OsStr::from_bytes(b"/no/such/\xff%p");
    let run = Process::new(program("ends")).arg("return").env("TELEMETRY_RING", beside).run();
    assert!(
        run.stderr.starts_with("telemetry: [ring-failed 2] no ring file `/no/such/\\xff"),
        "{}",
        run.stderr
    );
}

/// The flight recorder retains the latest events of a long run.
#[test]
fn killed_after_the_ring_went_round() {
    let run = run("0", 700, |process| {
        process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").env("TELEMETRY_BUFFER", "512k")
    });
    assert!(check(&recovered(&run, &["app.ring"]), false) > 1000);
}

/// Another process of the same user, or of root, overwrites the whole file while the program
/// records. The content is lost, but the program follows nothing in it and continues.
#[test]
fn a_file_that_another_writes() {
    for (program, mask) in [
        (optimized_ring(), "TELEMETRY_RECORD"),
        (optimized_ring(), "TELEMETRY_CONTROL"),
        (program("ring"), "TELEMETRY_RECORD"),
    ] {
        let process = Process::new(program).arg("0").env("TELEMETRY_RING", "app.ring");
        let process = process.without("TELEMETRY_CONTROL").env(mask, "all").env("TELEMETRY_BUFFER", "1M");
        let seed = std::cell::Cell::new(0x9e37_79b9_7f4a_7c15_u64);
        let run = process.killed_after_that(
            |dir| {
                let mut random = seed.get();
                let image = dir.join("app.ring");
                let Ok(len) = std::fs::metadata(&image).map(|metadata| metadata.len()) else { return false };
                // As root can, and the owner after a change of the mode.
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                std::fs::set_permissions(&image, mode).expect("a change of the mode");
                let file = std::fs::File::options().write(true).open(&image).expect("a file to write to");
                for _ in 0..40 {
                    let mut bytes = vec![0; len as usize];
                    for word in bytes.chunks_mut(8) {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        word.copy_from_slice(&random.rotate_left(29).to_le_bytes()[..word.len()]);
                    }
                    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0)
                        .expect("bytes written over it");
                    std::thread::sleep(Duration::from_millis(5));
                }
                seed.set(random);
                true
            },
            Duration::from_millis(100),
        );
        // Our kill ended it, and nothing before.
        let signal = std::os::unix::process::ExitStatusExt::signal(&run.status);
        assert_eq!(signal, Some(libc::SIGKILL), "{mask}: {}\n{}", run.status, run.stderr);
    }
}

/// The number of processes to kill: `TELEMETRY_KILLS` for a long run.
fn kills() -> u64 {
    std::env::var("TELEMETRY_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// Kills at any moment, from the start on, with pools that wrap. The latest events of each thread
/// are there, and every missing event was evicted.
#[test]
fn killed_at_any_moment() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let (mut wrapped, mut early) = (0, 0);
    for number in 0..kills() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let buffer = ["256k", "256k", "1M", "1M", "4M", "16M", "64M"][(number % 7) as usize];
        let killed = kill::kill(buffer, kill::moment(number, random), None);
        wrapped += killed.wrapped;
        early += killed.early;
    }
    eprintln!("of {} processes: {wrapped} threads with events evicted, {early} at their start", kills());
    assert!(wrapped > 0);
}

/// A file at the ring's path, the files afterwards, and the notices: for a process that is killed,
/// and for one that ends normally and removes its ring file.
#[test]
fn files_that_are_there_already() {
    let (one, other) = (killed(), killed());
    let notes = b"notes".to_vec();
    let check = |before: [Option<&[u8]>; 2], after: [Option<&[u8]>; 2], complaint: &str| {
        let process = Process::new(program("ends")).arg("return").env("TELEMETRY_RING", "app.ring");
        let paths = ["app.ring", "app.ring.old"].map(|name| process.dir().join(name));
        for (path, bytes) in paths.iter().zip(before) {
            bytes.iter().for_each(|bytes| std::fs::write(path, bytes).expect("a file"));
        }
        let run = process.run().succeeded();
        let found = paths.map(|path| std::fs::read(path).ok());
        assert!(found.iter().map(Option::as_deref).eq(after), "{complaint}");
        let complaint = match complaint {
            "" => String::new(),
            why => {
                format!(
                    "telemetry: [ring-failed] no ring file `app.ring`: {why}; events are lost if the process is killed\n"
                )
            }
        };
        assert_eq!(run.stderr, complaint);
        assert_eq!(run.stream().events.len(), 2000, "the program goes on");
    };
    // At a normal end the stream has everything, so the file is removed.
    check([None, None], [None, None], "");
    check([Some(b""), None], [None, None], "");
    // One earlier ring file is kept.
    check([Some(&one), None], [None, Some(&one)], "");
    check([Some(&one), Some(&other)], [None, Some(&one)], "");
    check([None, Some(&other)], [None, Some(&other)], "");
    // Any other file stays unchanged in its place.
    let foreign = "found something else there, expected nothing or the ring of an earlier process";
    check([Some(&notes), None], [Some(&notes), None], foreign);
    check([Some(&notes), Some(&one)], [Some(&notes), Some(&one)], foreign);
    let old = "found one of an earlier process, and behind `.old`, where that would go, something else, expected \
               nothing or an older ring";
    check([Some(&one), Some(&notes)], [Some(&one), Some(&notes)], old);

    let said = |ring: &str| {
        let process = Process::new(program("ends")).arg("return").env("TELEMETRY_RING", ring);
        process.run().stderr.clone()
    };
    let complaint = "telemetry: [ring-failed 2] no ring file `/no/such/app.ring`: No such file or directory (os error 2); \
                     events are lost if the process is killed\n";
    assert_eq!(said("/no/such/app.ring"), complaint);
    let complaint = format!(
        "telemetry: [ring-failed] no ring file `/dev/full`: {foreign}; events are lost if the process is killed\n"
    );
    assert_eq!(said("/dev/full"), complaint);
}

/// A process that ends normally does not touch another file that has the name of its ring by then.
#[test]
fn a_path_that_is_another_file_at_the_end() {
    let run = child(
        "ring::a_path_that_is_another_file_at_the_end",
        |process| process.env("TELEMETRY_RING", "app.ring"),
        || {
            crate::work::tick!();
            std::fs::rename("app.ring", "moved.ring").expect("a ring");
            std::fs::write("app.ring", "another's").expect("a file");
            vec![]
        },
    );
    assert_eq!(std::fs::read(run.dir().join("app.ring")).expect("a file"), b"another's");
}

/// A program that changes its directory still removes its ring file.
#[test]
fn a_directory_that_changes() {
    let run = child(
        "ring::a_directory_that_changes",
        |process| process.env("TELEMETRY_RING", "app.ring"),
        || {
            crate::work::tick!();
            assert!(Path::new("app.ring").exists());
            std::env::set_current_dir("/").expect("a directory");
            vec![]
        },
    );
    assert!(!run.dir().join("app.ring").exists());
}

/// There is no space for a ring file: the program reports that and continues.
#[test]
fn a_disk_that_is_full() {
    let run = child(
        "ring::a_disk_that_is_full",
        |process| process.env("TELEMETRY_RING", "disk/app.ring"),
        || {
            let disk = std::path::Path::new("disk");
            if let Err(error) = system::mount_small_disk(disk, 512 << 10) {
                eprintln!("SKIPPED: cannot mount a small disk: {error}");
                return vec![];
            }
            for number in 0..1000_u64 {
                crate::work::alloc!(number, number, number, 7);
            }
            assert!(!disk.join("app.ring").exists());
            vec![]
        },
    );
    if run.stderr.contains("SKIPPED") {
        eprint!("{}", run.stderr);
        return;
    }
    assert_eq!(run.stream().events.len(), 1000);
    assert!(
        run.stderr
            .contains("telemetry: [ring-failed 28] no space for the ring file: No space left on device"),
        "{}",
        run.stderr
    );
}

/// On disks of any size between too small and sufficient: either all events are recovered after a
/// kill, or the process reported at the start that it has no ring file. A pool alone would be
/// useless.
#[test]
fn disks_that_are_nearly_full() {
    let run = child(
        "ring::disks_that_are_nearly_full",
        |process| process.without("TELEMETRY_CONTROL"),
        || {
            let (mut recoveries, mut complaints) = (0, 0);
            for size in (320..=424_u32).step_by(8) {
                let disk = std::env::current_dir().expect("a directory").join(format!("disk {size}"));
                if let Err(error) = system::mount_small_disk(&disk, size << 10) {
                    eprintln!("SKIPPED: cannot mount a small disk: {error}");
                    return vec![];
                }
                let image = disk.join("app.ring");
                let run = run("2000", 10, |process| {
                    let process = process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all");
                    process.env("TELEMETRY_BUFFER", "256k").env("TELEMETRY_RING", &image)
                });
                if run.stderr.is_empty() {
                    recoveries += u64::from(check(&recovered(&run, &[&image]), false) > 0);
                } else {
                    let complaint = "telemetry: [ring-failed 28] no space for the ring file: No space left on device (os error 28); \
                                     events are lost if the process is killed\n";
                    assert_eq!((&*run.stderr, image.exists()), (complaint, false), "{size} KiB");
                    complaints += 1;
                }
            }
            vec![("recoveries", recoveries), ("complaints", complaints)]
        },
    );
    if run.stderr.contains("SKIPPED") {
        eprint!("{}", run.stderr);
        return;
    }
    assert!(run.number("recoveries") > 0 && run.number("complaints") > 0, "{}", run.stdout);
    assert_eq!(run.number("recoveries") + run.number("complaints"), 14);
}

/// A disk that fills later, when labels need more space: that is reported once, and the content of
/// the file stays valid.
#[test]
fn a_disk_that_becomes_full() {
    let run = child(
        "ring::a_disk_that_becomes_full",
        |process| {
            let process = process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all");
            process.env("TELEMETRY_BUFFER", "256k").env("TELEMETRY_RING", "disk/app.ring")
        },
        || {
            let disk = Path::new("disk");
            if let Err(error) = system::mount_small_disk(disk, 512 << 10) {
                eprintln!("SKIPPED: cannot mount a small disk: {error}");
                return vec![];
            }
            for number in 0..100_u64 {
                crate::work::alloc!(number, number, number, 7);
            }
            let labels =
                (0..10_000).map(|number| telemetry::intern(&format!("a label with number {number}")));
            let had = labels.filter(|label| *label != telemetry::Label::NONE).count();
            let mut stream = Vec::new();
            let image = Reader::open(disk.join("app.ring")).expect("an image");
            let found = image.recover(&mut stream).expect("what is in it");
            assert!(found.refused.is_empty(), "{:?}", found.refused);
            vec![("labels", had as u64), ("events", found.events)]
        },
    );
    if run.stderr.contains("SKIPPED") {
        eprint!("{}", run.stderr);
        return;
    }
    assert!((1..10_000).contains(&run.number("labels")), "{} labels", run.number("labels"));
    assert!(run.number("events") >= 100);
    let complaint = "telemetry: [ring-full 28] the ring file cannot grow: No space left on device (os error 28); new registries \
                     and labels are not in it\n";
    assert_eq!(run.stderr, complaint);
}

/// The flight recorder's events outlive the process, with the way in which it ended.
#[test]
fn a_process_that_ends_in_good_order() {
    for end in ["return", "panic and abort"] {
        let process = Process::new(program("ends")).arg(end).env("TELEMETRY_RING", "app.ring");
        let run = process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").run();
        let image = run.dir().join("app.ring");
        let mut stream = Vec::new();
        let found = Reader::open(&image).expect("an image").recover(&mut stream).expect("what is left");
        assert!(found.events > 0, "{end}");
        let [session] = &found.sessions[..] else { panic!("{:?}", found.sessions) };
        assert_eq!(session.ended, end == "return", "{end}");
        // So does the stream that is made of it.
        let mut events = Reader::from_slice(&stream).events().expect("a readable stream");
        while events.next().expect("a readable stream").is_some() {}
        assert_eq!(events.completeness().sessions[0].1, end == "return", "{end}");
    }
}
