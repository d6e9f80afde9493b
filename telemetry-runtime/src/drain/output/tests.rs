//! What a sink is given, by a sink that remembers it and may refuse it.

use std::sync::{Arc, Mutex, MutexGuard};

use super::*;
use crate::memory::tests::{ACCESS, TRACE, local_registry, record, registry};
use crate::sinks::sink::{Batch, Start};

/// What a sink does, and what it was given.
#[derive(Default)]
struct State {
    given: Vec<String>,
    refuses: bool,
    is_new: bool,
    unsent: usize,
    forgotten: usize,
    lost: u64,
    wants_facts: bool,
    leaves_host: bool,
    starts_over: bool,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<State>>);

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Checks what the sink was given since the last call.
    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.state().given), expected);
    }
}

impl Sink for Fake {
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut state = self.state();
        if state.refuses {
            return Err(io::Error::other("full"));
        }
        state.given.extend(blocks.iter().map(|[head, _]| shown(head)));
        Ok(())
    }

    fn begin(&mut self, _: usize) -> io::Result<Start> {
        Ok(Start::new_if(std::mem::take(&mut self.state().is_new)))
    }

    fn unsent(&self) -> usize {
        self.state().unsent
    }

    fn forgotten(&mut self) -> usize {
        std::mem::take(&mut self.state().forgotten)
    }

    fn lost(&self) -> u64 {
        self.state().lost
    }

    fn wants_facts(&self) -> bool {
        self.state().wants_facts
    }

    fn leaves_host(&self) -> bool {
        self.state().leaves_host
    }

    fn after_fork(&mut self) -> bool {
        self.state().starts_over
    }

    fn name(&self) -> String {
        "fake".into()
    }
}

/// Returns what a header says, without what is 0: the block, and its place in the lane.
fn shown(head: &[u8]) -> String {
    let header = Header::decode(head, crc32c::crc32c).expect("a header");
    let mut text = match header.block_type {
        BlockType::Session => "session".to_owned(),
        BlockType::Registry => "registry".to_owned(),
        BlockType::Thread => format!("thread {}", header.thread),
        BlockType::Events => {
            format!("{}+{}: {} after {}", header.seq, header.offset, header.events, header.before)
        }
        BlockType::Sync => format!("sync {}", header.before),
        BlockType::Unknown(code) => format!("unknown {code}"),
    };
    let Loss { pool, sink, .. } = header.lost;
    for (what, number) in [("pool", pool), ("sink", sink), ("excluded", header.excluded)] {
        if number > 0 {
            text += &format!(" {what} {number}");
        }
    }
    if header.flags & flags::END != 0 {
        text += " end";
    }
    text
}

/// Returns the output of a sink for the kinds that words name, and the sink. The runtime's own
/// events, which other tests emit, are not among them.
fn output(words: &str, fake: &Fake) -> Output {
    let words = format!("{words} -telemetry:all");
    Output::new(1, Box::new(fake.clone()), Selection::of(Some(&words)))
}

/// Returns a sealed block of a lane. Each of its events has four bytes.
fn block(record: &'static LaneRecord, seq: u32, before: u64, events: u32) -> Source {
    let owner = record.owner();
    let header = Header {
        kind: owner.kind,
        registry: owner.registry.fingerprint(),
        thread: owner.thread,
        seq,
        before,
        lost: record.lost(),
        ..Header::new(BlockType::Events, 1)
    };
    Source::made(record, header, events, &vec![1; 4 * events as usize])
}

fn open(record: &'static LaneRecord, seq: u32, before: u64, events: u32) -> Source {
    let mut source = block(record, seq, before, events);
    (source.sealed, source.is_last) = (false, false);
    source
}

/// Gives the sink some sources. Returns which of them it wants.
fn write<const N: usize>(output: &mut Output, sources: [Source; N]) -> [bool; N] {
    let mut wanted = [false; N];
    output.write(&sources, &mut wanted);
    wanted
}

/// Returns how many events the sink has taken, and how many it has lost.
fn counts(output: &Output) -> (u64, u64) {
    let SinkCounters { written, lost, .. } = output.counters();
    (written, lost)
}

#[test]
fn facts_come_first_and_each_event_once() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    let record = record(registry(), ACCESS);
    output.sync(0, &Loss::default());
    output.sync(flags::END, &Loss::default());
    assert!(!output.has_begun());
    fake.check(&[]);

    assert_eq!(write(&mut output, [open(record, 0, 0, 2)]), [true]);
    fake.check(&["session", "registry", "thread 7", "0+0: 2 after 0"]);
    assert_eq!((output.has_begun(), output.threads(), counts(&output)), (true, 1, (2, 0)));
    assert_eq!(write(&mut output, [open(record, 0, 0, 2)]), [true]);
    fake.check(&[]);
    assert_eq!(write(&mut output, [block(record, 0, 0, 3), block(record, 1, 3, 2)]), [true; 2]);
    fake.check(&["0+8: 1 after 2", "1+0: 2 after 3"]);
    assert_eq!(counts(&output), (5, 0));

    output.sync(0, &Loss::default());
    fake.check(&["sync 5"]);
    output.sync(0, &Loss::default());
    fake.check(&[]);
    output.sync(flags::END, &Loss::default());
    fake.check(&["sync 5 end"]);

    // The next reader has nothing, and the open block begins again.
    write(&mut output, [open(record, 2, 5, 1)]);
    fake.check(&["2+0: 1 after 5"]);
    fake.state().is_new = true;
    write(&mut output, [open(record, 2, 5, 3)]);
    fake.check(&["session", "registry", "thread 7", "2+0: 3 after 5"]);
    assert_eq!((counts(&output), output.is_failing()), ((8, 0), false));
    // An ended thread is told again.
    output.forget_threads(&BTreeSet::from([8]));
    write(&mut output, [block(record, 2, 5, 4)]);
    fake.check(&["thread 7", "2+12: 1 after 8"]);
    assert!(output.result().is_ok());
}

#[test]
fn a_sink_has_the_kinds_that_it_selects() {
    let fake = Fake::default();
    let mut output = output("Access", &fake);
    let registry = registry();
    let (access, trace) = (record(registry, ACCESS), record(registry, TRACE));
    assert_eq!(write(&mut output, [block(trace, 0, 0, 1)]), [false]);
    output.write_losses(trace);
    fake.check(&[]);
    assert_eq!(write(&mut output, [block(trace, 1, 1, 1), block(access, 0, 0, 2)]), [false, true]);
    fake.check(&["session", "registry", "thread 7", "0+0: 2 after 0"]);
    // Another sink may want it.
    let mut wanted = [true];
    output.write(&[block(trace, 2, 2, 1)], &mut wanted);
    assert_eq!((wanted, counts(&output)), ([true], (2, 0)));
}

#[test]
fn a_sink_that_fails_loses_sealed_blocks() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    let record = record(registry(), ACCESS);
    fake.state().refuses = true;
    assert_eq!(write(&mut output, [block(record, 0, 0, 3), open(record, 1, 3, 2)]), [true; 2]);
    assert_eq!((output.is_failing(), output.has_begun(), counts(&output)), (true, false, (0, 3)));
    assert_eq!(output.counters().failure.as_deref(), Some("full"));
    fake.state().refuses = false;
    write(&mut output, [open(record, 1, 3, 2)]);
    fake.check(&["session", "registry", "thread 7", "1+0: 2 after 3 sink 3"]);
    assert_eq!((output.is_failing(), counts(&output)), (false, (2, 3)));
    // What the sink itself has lost was not written.
    fake.state().lost = 1;
    assert_eq!(counts(&output), (1, 4));
    assert_eq!(output.counters().name, "fake");
    assert!(output.result().is_err());
}

#[test]
fn losses_are_stated_once() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    let record = record(registry(), ACCESS);
    output.write_losses(crate::memory::tests::record(registry(), TRACE));
    fake.check(&[]);
    record.account().pool.store(3, Ordering::Relaxed);
    assert!(output.has_stated(record), "the sink knows nothing of the lane");
    output.write_losses(record);
    fake.check(&["session", "registry", "thread 7", "0+0: 0 after 0 pool 3"]);
    output.write_losses(record);
    fake.check(&[]);
    // Overwritten events come before the next block, as long as there may be one.
    record.account().recorded.store(5, Ordering::Relaxed);
    record.overwritten.store(2, Ordering::Relaxed);
    record.blocks.store(1, Ordering::Relaxed);
    output.write_losses(record);
    fake.check(&[]);
    record.blocks.store(0, Ordering::Relaxed);
    output.write_losses(record);
    fake.check(&["0+0: 0 after 5 pool 3 sink 2 excluded 3"]);
    assert_eq!(counts(&output), (0, 2));

    // What is not stated when the lane is gone becomes a loss without a lane.
    record.account().pool.store(7, Ordering::Relaxed);
    assert!(!output.has_stated(record));
    output.forget(record);
    assert!(output.has_stated(record));
    assert_eq!(counts(&output), (0, 2));
    output.sync(0, &Loss { pool: 1, ..Loss::default() });
    fake.check(&["sync 0 pool 5"]);
    output.sync(0, &Loss { pool: 1, ..Loss::default() });
    fake.check(&[]);
    output.sync(0, &Loss { pool: 2, ..Loss::default() });
    fake.check(&["sync 0 pool 6"]);
}

#[test]
fn a_sync_block_may_begin_a_stream() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    fake.state().wants_facts = true;
    output.sync(flags::END, &Loss::default());
    fake.check(&[]);
    output.sync(0, &Loss::default());
    fake.check(&["session", "sync 0"]);
    output.sync(flags::END, &Loss::default());
    fake.check(&["sync 0 end"]);
}

#[test]
fn withheld_events_leave_their_number() {
    let fake = Fake::default();
    fake.state().leaves_host = true;
    let mut output = output("all", &fake);
    let registry = local_registry();
    let (access, trace) = (record(registry, ACCESS), record(registry, TRACE));
    assert_eq!(write(&mut output, [block(access, 0, 0, 3), block(trace, 0, 0, 1)]), [false, true]);
    fake.check(&["session", "registry", "thread 7", "1+0: 0 after 3 excluded 3", "0+0: 1 after 0"]);
    assert_eq!(counts(&output), (1, 0));
    fake.state().refuses = true;
    assert_eq!(write(&mut output, [block(access, 1, 3, 2)]), [false]);
    fake.state().refuses = false;
    assert_eq!((counts(&output), output.has_stated(access)), ((1, 0), false));
    output.write_losses(access);
    fake.check(&["2+0: 0 after 5 excluded 5"]);
    // The next reader learns the number, too, even if nothing but the end follows.
    assert!(!output.renew() && output.has_stated(access));
    fake.state().is_new = true;
    assert!(output.renew() && !output.has_stated(access) && output.has_stated(trace));
    output.write_losses(access);
    output.sync(flags::END, &Loss::default());
    fake.check(&["session", "registry", "thread 7", "2+0: 0 after 5 excluded 5", "sync 1 end"]);
    // On the host nothing is withheld.
    let here = Fake::default();
    let mut output = self::output("all", &here);
    assert_eq!(write(&mut output, [block(access, 0, 0, 3)]), [true]);
    here.check(&["session", "registry", "thread 7", "0+0: 3 after 0"]);
}

#[test]
fn another_reader_gets_the_end() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    write(&mut output, [block(record(registry(), ACCESS), 0, 0, 3)]);
    output.sync(0, &Loss::default());
    fake.check(&["session", "registry", "thread 7", "0+0: 3 after 0", "sync 3"]);
    fake.state().is_new = true;
    assert!(output.renew());
    output.sync(flags::END, &Loss::default());
    fake.check(&["session", "sync 3 end"]);
}

#[test]
fn what_a_sink_forgets_was_not_written() {
    for is_sole in [false, true] {
        let fake = Fake::default();
        let mut output = output("all", &fake);
        output.is_sole = is_sole;
        let record = record(registry(), ACCESS);
        // Three facts and a block, of which the sink sends two and then forgets the others.
        fake.state().unsent = 4;
        write(&mut output, [block(record, 0, 0, 3)]);
        assert_eq!((output.held().count(), counts(&output)), (1, (3, 0)));
        fake.state().unsent = 2;
        assert!(output.flush());
        assert_eq!(output.held().count(), 1);
        fake.state().unsent = 0;
        fake.state().forgotten = 2;
        assert!(output.flush());
        assert_eq!((output.held().count(), counts(&output)), (0, (0, 3)));
        let lost = record.account().sink.load(Ordering::Relaxed);
        assert_eq!(lost, if is_sole { 3 } else { 0 });
        fake.check(&["session", "registry", "thread 7", "0+0: 3 after 0"]);
        output.sync(0, &Loss::default());
        fake.check(&["sync 0"]);
    }
}

#[test]
fn a_child_has_a_sink_that_starts_over() {
    let fake = Fake::default();
    let mut output = output("all", &fake);
    write(&mut output, [block(record(registry(), ACCESS), 0, 0, 3)]);
    fake.state().starts_over = true;
    let again = output.in_child().expect("the same sink");
    assert_eq!((again.id, again.has_begun(), counts(&again)), (1, false, (0, 0)));
    fake.state().starts_over = false;
    assert!(again.in_child().is_none());
}
