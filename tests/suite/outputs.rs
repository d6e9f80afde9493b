//! Several sinks with their own kinds, some of which come late, leave early, or fail.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use telemetry::{
    Config,
    sinks::{Batch, File, Sink},
};
use telemetry_decode::completeness::Gaps;
use telemetry_decode::rules::{Broken, Checker};
use telemetry_decode::{Order, Reader};

use crate::support::process::{Numbers, child};
use crate::support::stream::{Counts, Stream};
use crate::{asked, second, work};

/// Collects its blocks, and writes them to a file at the end.
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
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut inside = self.0.lock().expect("no panic");
        if inside.1 {
            return Err(io::Error::other("told to fail"));
        }
        blocks.iter().flatten().for_each(|bytes| inside.0.extend_from_slice(bytes));
        Ok(())
    }
}

/// Emits this number of events of each of the four kinds.
fn emit(rounds: u64) {
    for number in 0..rounds {
        work::alloc!(number, number, number, 7);
        work::fix!(number, number, number, 7);
        work::tick!();
        second::alloc!(number);
    }
}

/// As [`emit`], on a thread that has ended when this returns, with its destructors.
fn emit_elsewhere(rounds: u64) {
    std::thread::spawn(move || emit(rounds)).join().expect("a thread that only emits");
}

fn names(path: PathBuf) -> Vec<(String, u64)> {
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
            telemetry::sinks::add_for("Other", ticks.clone()).unwrap();
            emit(100);
            let id = telemetry::sinks::add_for("all", all.clone()).expect("a sink");
            emit(100);
            emit_elsewhere(100);
            telemetry::sinks::remove(id);
            std::thread::sleep(std::time::Duration::from_millis(100));
            emit_elsewhere(100);
            telemetry::flush();
            assert_eq!(telemetry::control::enabled(), "work:Inherit", "the control is as it was");
            let counters = telemetry::counters::total();
            assert_eq!((counters.lost(), counters.retained), (0, 0), "{counters:?}");
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
    // Blocks that were open when the sink was added are there from their beginning.
    check("all.tel", &[("Alloc", 400), ("Fix", 400), ("Tick", 300)]);
    assert_eq!(run.number("emitted"), 500 + 400 + 2 * 200);
}

/// A sink with words of its own states them, and no other does. So a rule about an event that such
/// a sink does not get is not decided, although another sink gets it.
#[test]
fn each_with_its_own_words() {
    let check = |control: &str, words: &str, expected: [usize; 2]| {
        let run = child(
            "outputs::each_with_its_own_words",
            |process| process.env("TELEMETRY_CONTROL", control).env("WORDS", words),
            || -> Numbers {
                let words = std::env::var("WORDS").expect("the words of the sink");
                telemetry::sinks::add_for(&words, File::new("own.tel")).expect("a sink");
                telemetry::sinks::add(File::new("further.tel")).expect("a sink");
                asked::question!(1_u32);
                asked::question!(2_u32);
                asked::hint!(2_u32);
                asked::answer!(1_u32);
                vec![]
            },
        );
        let of = |name: &str| unanswered(run.dir().join(name));
        assert_eq!(of("own.tel"), (Some(words.to_owned()), expected), "{control:?}, {words:?}");
        if control == "all" {
            assert_eq!([of("stream.tel"), of("further.tel")], [(None, [1, 0]), (None, [1, 0])], "{words:?}");
        }
    };
    check("all", "all", [1, 0]);
    check("all", "Question Answering", [1, 0]);
    check("all", "Question", [0, 2]);
    // It gets the answer, which is of the kind of the hint, but only because others get it.
    check("all", "Question Hint", [0, 1]);
    check("all", "all -Answer", [0, 1]);
    check("", "Question Answer", [1, 0]);
    check("", "Question", [0, 2]);
    check("", "Question Hint", [0, 2]);
}

/// Returns the words that a stream states, and the number of questions without an answer: for
/// certain, and not decided.
fn unanswered(path: PathBuf) -> (Option<String>, [usize; 2]) {
    let mut events =
        Reader::open(path).expect("a stream").order(Order::Time).events().expect("a readable stream");
    let (mut checker, mut found) = (Checker::new(100), Vec::new());
    while let Some(batch) = events.next_batch().expect("a readable stream") {
        checker.take_batch(&batch, &mut found);
    }
    checker.finish(|_| true, &mut found);
    let gaps = Gaps::new(&events.gaps());
    let is_certain = |broken: &&Broken| broken.is_certain(&checker.rules()[broken.rule], &gaps);
    let certain = found.iter().filter(is_certain).count();
    let words = events.sessions()[0].facts.text("sink_words").map(str::to_owned);
    (words, [certain, found.len() - certain])
}

/// One sink fails for a while: only it loses blocks that are sealed meanwhile, and it reports that.
#[test]
fn one_fails_for_a_while() {
    let run = child(
        "outputs::one_fails_for_a_while",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let (sound, fails) = (Collects::default(), Collects::default());
            telemetry::sinks::add(sound.clone()).unwrap();
            telemetry::sinks::add_for("work:all", fails.clone()).unwrap();
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
            let counters = telemetry::counters::total();
            assert_eq!((counters.lost(), counters.retained), (0, 0), "some sink has each: {counters:?}");
            let of = telemetry::counters::by_sink();
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

/// A sink that fails, at first or later, while all threads are quiet gets all open blocks once it
/// works again. So the sweep that is the first to meet the failure must not seal them.
#[test]
fn one_fails_while_all_threads_are_quiet() {
    let run = child(
        "outputs::one_fails_while_all_threads_are_quiet",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let fails = Collects::default();
            fails.fail(true);
            telemetry::sinks::add(fails.clone()).unwrap();
            // Meanwhile the drain's thread registers for barriers. Without them it stops no lane.
            std::thread::sleep(std::time::Duration::from_millis(100));
            for _ in 0..3 {
                emit(10);
                fails.fail(true);
                telemetry::flush();
                fails.fail(false);
                telemetry::flush();
            }
            let of = telemetry::counters::by_sink();
            assert_eq!(of.iter().map(|sink| sink.lost).collect::<Vec<_>>(), [0, 0], "{of:?}");
            fails.save("fails.tel");
            vec![("emitted", telemetry::counters::total().emitted())]
        },
    );
    for name in ["stream.tel", "fails.tel"] {
        let counts = Counts::of(run.dir().join(name));
        assert_eq!((counts.decoded, counts.lost.events()), (run.number("emitted"), 0), "{name}: {counts:?}");
    }
}

/// A sink of the program that panics loses its blocks, without other effects.
#[test]
fn one_panics() {
    struct Panics;
    impl Sink for Panics {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            panic!("a sink with a mistake")
        }
    }
    let run = child(
        "outputs::one_panics",
        |process| process,
        || {
            telemetry::sinks::add(Panics).unwrap();
            emit(100);
            telemetry::flush();
            vec![("emitted", telemetry::counters::total().emitted())]
        },
    );
    assert_eq!(Counts::of(run.path()).decoded, run.number("emitted"));
}

/// A sink of the program in place of the file.
#[test]
fn instead_of_the_file() {
    let run = child(
        "outputs::instead_of_the_file",
        |process| process.without("TELEMETRY_FILENAME"),
        || -> Numbers {
            let sink = Collects::default();
            Config::new().sink(sink.clone()).control("all").start().unwrap();
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
        fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
            second::lonely!();
            self.0.write(blocks)
        }
    }
    let run = child(
        "outputs::one_emits",
        |process| process,
        || {
            let sink = Collects::default();
            telemetry::sinks::add(Emits(sink.clone())).unwrap();
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
