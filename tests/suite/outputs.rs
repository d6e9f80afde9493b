//! Several sinks, each with kinds of its own, of which some come late, go early, or fail.

use std::io;
use std::sync::{Arc, Mutex};

use telemetry::{Blocks, Config, Sink};

use crate::support::process::{Numbers, child};
use crate::support::stream::{Counts, Stream};
use crate::{second, work};

/// Collects what it is given, and writes it to a file at the end.
#[derive(Clone, Default)]
struct Collects(Arc<Mutex<(Vec<u8>, bool)>>);

impl Collects {
    fn fail(&self, fails: bool) {
        self.0.lock().expect("no panic").1 = fails;
    }

    fn save(&self, path: &str) {
        std::fs::write(path, &self.0.lock().expect("no panic").0).expect("a file");
    }
}

impl Sink for Collects {
    fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
        let mut inside = self.0.lock().expect("no panic");
        if inside.1 {
            return Err(io::Error::other("told to fail"));
        }
        blocks.iter().flatten().for_each(|bytes| inside.0.extend_from_slice(bytes));
        Ok(())
    }
}

/// Emits so many events of each of the four kinds.
fn emit(rounds: u64) {
    for number in 0..rounds {
        work::alloc!(number, number, number, 7);
        work::fix!(number, number, number, 7);
        work::tick!();
        second::alloc!(number);
    }
}

/// As [`emit`], on a thread that has ended when this returns, with all that runs at its end.
fn emit_elsewhere(rounds: u64) {
    std::thread::spawn(move || emit(rounds)).join().expect("a thread that only emits");
}

fn names(path: std::path::PathBuf) -> Vec<(String, u64)> {
    let stream = Stream::read(path);
    stream.by_name().into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
fn each_with_its_own_kinds() {
    let run = child(
        "outputs::each_with_its_own_kinds",
        |process| process.env("TELEMETRY_CONTROL", "Inherit"),
        || {
            let (ticks, all) = (Collects::default(), Collects::default());
            emit(100);
            telemetry::add_sink(Some("Other"), ticks.clone());
            emit(100);
            let id = telemetry::add_sink(Some("all"), all.clone()).expect("a sink");
            emit(100);
            emit_elsewhere(100);
            telemetry::remove_sink(id);
            std::thread::sleep(std::time::Duration::from_millis(100));
            emit_elsewhere(100);
            telemetry::flush();
            assert_eq!(telemetry::get(), "work:Inherit", "the control is as it was");
            let counters = telemetry::counters();
            assert_eq!((counters.lost(), counters.held), (0, 0), "{counters:?}");
            ticks.save("ticks.tel");
            all.save("all.tel");
            vec![("emitted", counters.emitted())]
        },
    );
    let check = |name: &str, expected: &[(&str, u64)]| {
        let found = names(run.dir().join(name));
        let expected: Vec<_> = expected.iter().map(|(name, count)| (name.to_string(), *count)).collect();
        assert_eq!(found, expected, "{name}");
    };
    check("stream.tel", &[("Fix", 500)]);
    check("ticks.tel", &[("Tick", 400)]);
    // Blocks that were open when it came are there from their beginning.
    check("all.tel", &[("Alloc", 400), ("Fix", 400), ("Tick", 300)]);
    assert_eq!(run.number("emitted"), 500 + 400 + 2 * 200);
}

/// One sink fails for a while: it alone loses what was sealed meanwhile, and says so.
#[test]
fn one_fails_for_a_while() {
    let run = child(
        "outputs::one_fails_for_a_while",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let (sound, fails) = (Collects::default(), Collects::default());
            telemetry::add_sink(None, sound.clone());
            telemetry::add_sink(Some("work:all"), fails.clone());
            emit(10);
            telemetry::flush();
            fails.fail(true);
            emit(10);
            emit_elsewhere(5_000);
            telemetry::flush();
            fails.fail(false);
            emit(10);
            emit_elsewhere(100);
            telemetry::flush();
            let counters = telemetry::counters();
            assert_eq!((counters.lost(), counters.held), (0, 0), "some sink has each: {counters:?}");
            let of = telemetry::sink_counters();
            assert_eq!(of.iter().map(|sink| sink.lost).collect::<Vec<_>>(), [0, 0, 15_000], "{of:?}");
            sound.save("sound.tel");
            fails.save("fails.tel");
            vec![("emitted", counters.emitted())]
        },
    );
    for (name, lost) in [("stream.tel", 0), ("sound.tel", 0), ("fails.tel", 15_000)] {
        let counts = Counts::of(run.dir().join(name));
        assert_eq!(counts.lost.sink, lost, "{name}");
        let registries = if name == "fails.tel" { 3 } else { 4 };
        assert_eq!(counts.emitted() * 4, run.number("emitted") * registries, "{name}: {counts:?}");
    }
    assert_eq!(run.stderr.matches("telemetry:").count(), 1, "{}", run.stderr);
}

/// A sink of the program that panics loses what it was given, and nothing else happens.
#[test]
fn one_panics() {
    struct Panics;
    impl Sink for Panics {
        fn write(&mut self, _: &Blocks<'_>) -> io::Result<()> {
            panic!("a sink with a mistake")
        }
    }
    let run = child(
        "outputs::one_panics",
        |process| process,
        || {
            telemetry::add_sink(None, Panics);
            emit(100);
            telemetry::flush();
            vec![("emitted", telemetry::counters().emitted())]
        },
    );
    assert_eq!(Counts::of(run.path()).decoded, run.number("emitted"));
}

/// A program's own sink in place of the file.
#[test]
fn instead_of_the_file() {
    let run = child(
        "outputs::instead_of_the_file",
        |process| process.without("TELEMETRY_FILENAME"),
        || -> Numbers {
            let sink = Collects::default();
            assert!(Config::new().sink(sink.clone()).control("all").start());
            emit(100);
            telemetry::flush();
            sink.save("own.tel");
            vec![]
        },
    );
    assert_eq!(Counts::of(run.dir().join("own.tel")).decoded, 400);
    assert!(!run.dir().join("telemetry.tel").exists());
}

/// A sink that emits: its events are recorded, and written by the next pass.
#[test]
fn one_emits() {
    struct Emits(Collects);
    impl Sink for Emits {
        fn write(&mut self, blocks: &Blocks<'_>) -> io::Result<()> {
            second::lonely!();
            self.0.write(blocks)
        }
    }
    let run = child(
        "outputs::one_emits",
        |process| process,
        || {
            let sink = Collects::default();
            telemetry::add_sink(None, Emits(sink.clone()));
            emit(10);
            telemetry::flush();
            telemetry::flush();
            sink.save("own.tel");
            vec![]
        },
    );
    let found = names(run.dir().join("own.tel"));
    assert!(found.iter().any(|(name, count)| name == "Lonely" && *count > 0), "{found:?}");
}
