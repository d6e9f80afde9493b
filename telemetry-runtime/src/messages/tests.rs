//! Properties of every message, tested with channels that no registry has.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::memory::failing;
use super::{Channel, Either};
use crate::model::channel::Form;
use crate::model::posted::Posted;

/// The values of a pair: its key and a number at the begin, both and another number at the end.
type Begin = (u64, u64);
type End = (Begin, u64);
type Pairs<const LIMIT: usize> = Channel<Begin, End, LIMIT>;

const fn pairs<const LIMIT: usize>() -> Pairs<LIMIT> {
    Channel::new(Form { registry: "test", name: "Pair", is_pair: true, is_keyed: true })
}

const fn unkeyed() -> Pairs<1> {
    Channel::new(Form { registry: "test", name: "Lone", is_pair: true, is_keyed: false })
}

const fn single() -> Channel<u64, core::convert::Infallible, 1> {
    Channel::new(Form { registry: "test", name: "Single", is_pair: false, is_keyed: false })
}

fn begin<const LIMIT: usize>(channel: &Pairs<LIMIT>, key: u64, number: u64) {
    channel.begin(key, (key, number));
}

fn end<const LIMIT: usize>(channel: &Pairs<LIMIT>, key: u64, number: u64) {
    channel.end(key, |begin| (begin, number));
}

/// Returns what is queued: each key with `+` for a begin and `-` for an end.
fn fetched<const LIMIT: usize>(channel: &Pairs<LIMIT>) -> String {
    let mut text = String::new();
    while let Some(message) = channel.get() {
        text += &match message {
            Either::Begin(begin) => format!("+{} ", begin.0),
            Either::End(end) => format!("-{} ", end.0.0),
        };
    }
    text.trim_end().to_string()
}

/// Checks the numbers of queued and dropped messages.
#[track_caller]
fn check_counts<const LIMIT: usize>(channel: &Pairs<LIMIT>, queued: u64, dropped: u64) {
    assert_eq!((channel.queued(), channel.dropped()), (queued, dropped), "queued and dropped");
}

#[test]
fn no_allocation_at_begin_time() {
    let channel = pairs::<4>();
    assert!(channel.enable());
    for round in 0..10_000 {
        failing::at(0, u64::MAX);
        (0..4).for_each(|key| begin(&channel, key, round));
        // The planned failures were not reached.
        failing::at(u64::MAX, 0);
        (0..4).for_each(|key| end(&channel, key, round));
    }
    check_counts(&channel, 80_000, 0);
    channel.disable();
}

#[test]
fn messages_queue_without_limit_and_in_their_order() {
    let channel = pairs::<2>();
    channel.enable();
    let most = if cfg!(miri) { 1000 } else { 300_000 };
    for key in 0..most {
        begin(&channel, key, key + 1);
        end(&channel, key, key + 2);
    }
    check_counts(&channel, 2 * most, 0);
    let mut last = 0;
    for key in 0..most {
        match (channel.get(), channel.get()) {
            (Some(Either::Begin(begin)), Some(Either::End(end))) => {
                assert_eq!((*begin, *end), ((key, key + 1), ((key, key + 1), key + 2)));
                assert!(last < Posted::ticks(&begin) && Posted::ticks(&begin) < Posted::ticks(&end));
                last = Posted::ticks(&end);
            }
            other => panic!("{other:?} for {key}"),
        }
    }
    assert!(channel.get().is_none());
    // The memory of read messages is freed, except what is kept for the next ones.
    assert!(failing::held() < 3 << 20, "{}", failing::held());
    channel.disable();
    assert_eq!(failing::held(), 0);
}

#[test]
fn half_read_queues_go_on() {
    let channel = pairs::<3>();
    channel.enable();
    let (mut posted, mut read, mut seed) = (0, 0, 7_u64);
    for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        for _ in 0..seed >> 61 {
            begin(&channel, 1, posted);
            end(&channel, 1, posted);
            posted += 1;
        }
        for _ in 0..seed >> 58 & 7 {
            let Some(Either::Begin(begin)) = channel.get() else { break };
            assert_eq!(begin.1, read);
            let Some(Either::End(end)) = channel.get() else { panic!("no end of {read}") };
            assert_eq!(end.0.1, read);
            read += 1;
        }
    }
    check_counts(&channel, 2 * (posted - read), 0);
    channel.disable();
    assert_eq!(failing::held(), 0);
}

/// Begins and ends pairs while the allocation with this index fails, and `failures` in all. Only
/// pairs must be posted.
fn run_with_failures(index: u64, failures: u64) -> u64 {
    let channel = pairs::<3>();
    failing::at(index, failures);
    channel.enable();
    let mut posted: HashMap<u64, bool> = HashMap::new();
    let mut take = |channel: &Pairs<3>, most: usize| {
        for _ in 0..most {
            match channel.get() {
                Some(Either::Begin(begin)) => assert_eq!(posted.insert(begin.1, false), None),
                Some(Either::End(end)) => assert_eq!(posted.insert(end.0.1, true), Some(false)),
                None => break,
            }
        }
    };
    for round in 0..400 {
        (0..3).for_each(|key| begin(&channel, key, 3 * round + key));
        (0..3).for_each(|key| end(&channel, key, round));
        if round % 100 == 99 {
            take(&channel, 7);
        }
    }
    let made = failing::made();
    take(&channel, usize::MAX);
    assert!(posted.values().all(|has_ended| *has_ended), "a begin without an end");
    let (messages, dropped) = (2 * posted.len() as u64, channel.dropped());
    assert_eq!(messages + dropped, 2400, "each message is posted or counted");
    if failures == 0 {
        assert_eq!(dropped, 0);
    }
    // With memory, messages are posted again.
    failing::at(u64::MAX, 0);
    channel.get();
    begin(&channel, 9, 0);
    end(&channel, 9, 0);
    assert_eq!(fetched(&channel), "+9 -9");
    channel.disable();
    assert_eq!(failing::held(), 0, "after failure {index}");
    made
}

#[test]
fn every_allocation_fails_in_turn_and_pairs_stay_whole() {
    let allocations = run_with_failures(u64::MAX, 0);
    assert!(allocations > 8, "{allocations}");
    for index in 0..=allocations {
        for failures in [1, 2, 50, u64::MAX] {
            run_with_failures(index, failures);
        }
    }
}

#[test]
fn a_pair_that_cannot_be_allocated_is_not_posted_and_counted() {
    let channel = pairs::<2>();
    failing::at(0, u64::MAX);
    assert!(!channel.enable());
    begin(&channel, 1, 0);
    check_counts(&channel, 0, 1);
    end(&channel, 1, 0);
    check_counts(&channel, 0, 2);
    failing::at(u64::MAX, 0);
    // The next fetch tries again.
    assert!(channel.get().is_none());
    begin(&channel, 1, 0);
    end(&channel, 1, 0);
    check_counts(&channel, 2, 2);
    channel.disable();
}

#[test]
fn not_enabled_is_discarded_at_once() {
    let channel = pairs::<2>();
    begin(&channel, 1, 0);
    end(&channel, 1, 0);
    check_counts(&channel, 0, 0);
    assert_eq!(failing::held(), 0);
    channel.enable();
    begin(&channel, 1, 0);
    channel.disable();
    end(&channel, 1, 0);
    check_counts(&channel, 0, 0);
    assert_eq!((fetched(&channel), failing::held()), (String::new(), 0));
    // An earlier begin has no meaning once the message is enabled again.
    channel.enable();
    end(&channel, 1, 0);
    check_counts(&channel, 0, 1);
    begin(&channel, 1, 0);
    end(&channel, 1, 0);
    assert_eq!(fetched(&channel), "+1 -1");
    channel.disable();
}

#[test]
fn what_cannot_be_a_pair_is_counted() {
    let channel = pairs::<2>();
    channel.enable();
    let mut dropped = 0;
    let mut check = |what: &str, work: &dyn Fn(), posted: &str, more: u64| {
        work();
        dropped += more;
        assert_eq!((fetched(&channel).as_str(), channel.dropped()), (posted, dropped), "{what}");
    };
    let (begin, end) = (|key| begin(&channel, key, 0), |key| end(&channel, key, 0));
    check("end without begin", &|| end(7), "", 1);
    check("begin", &|| begin(1), "+1", 0);
    check("begin twice with one key", &|| begin(1), "", 1);
    check("its end", &|| end(1), "-1", 0);
    check("another end", &|| end(1), "", 1);
    check("as many as the limit", &|| (1..=2).for_each(begin), "+1 +2", 0);
    check("more keys than the limit", &|| begin(3), "", 1);
    check("the end of what was dropped", &|| end(3), "", 1);
    check("the ends of the others", &|| (1..=2).for_each(end), "-1 -2", 0);
    check("and again", &|| begin(3), "+3", 0);
    check("with a pair that runs", &|| end(3), "-3", 0);
    channel.disable();
}

#[test]
fn a_pair_without_a_key_is_of_one_thread() {
    let channel = unkeyed();
    channel.enable();
    begin(&channel, 1, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| end(&channel, 1, 0));
    });
    check_counts(&channel, 1, 1);
    begin(&channel, 1, 0);
    check_counts(&channel, 1, 2);
    // The key is ignored.
    end(&channel, 2, 0);
    assert_eq!(fetched(&channel), "+1 -1");
    channel.disable();
}

#[test]
fn a_message_without_an_end_stands_alone() {
    let channel = single();
    channel.enable();
    (0..1000).for_each(|number| channel.begin(0, number));
    let numbers: Vec<u64> = std::iter::from_fn(|| channel.get().map(|message| *message.single())).collect();
    assert!(numbers.into_iter().eq(0..1000));
    failing::at(0, u64::MAX);
    // Messages that were allocated ahead are posted. Then there are none until there is memory and
    // the program fetches.
    (0..1000).for_each(|number| channel.begin(0, number));
    let kept = channel.queued();
    assert!(0 < kept && kept + channel.dropped() == 1000, "{kept} and {}", channel.dropped());
    failing::at(u64::MAX, 0);
    while channel.get().is_some() {}
    channel.begin(0, 1);
    assert_eq!(channel.queued(), 1);
    channel.disable();
    assert_eq!(failing::held(), 0);
}

/// As a signal handler that interrupts its thread inside a message.
#[test]
fn what_interrupts_a_message_drops_begins_and_keeps_ends() {
    let channel = pairs::<4>();
    channel.enable();
    begin(&channel, 1, 0);
    begin(&channel, 2, 0);
    channel.interrupted(|| {
        begin(&channel, 3, 0);
        end(&channel, 1, 0);
        end(&channel, 3, 0);
        end(&channel, 2, 0);
        assert!(channel.get().is_none(), "who is inside gets nothing");
    });
    check_counts(&channel, 4, 2);
    assert_eq!(fetched(&channel), "+1 +2 -1 -2");
    // If the message is disabled there, the thread inside frees the memory.
    channel.interrupted(|| channel.disable());
    assert_eq!(failing::held(), 0);
}

#[test]
fn up_to_limit_keys_at_once_from_several_threads() {
    const THREADS: u64 = 4;
    let rounds: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let channel = pairs::<{ THREADS as usize }>();
    channel.enable();
    let is_over = AtomicBool::new(false);
    let (mut running, mut seen) = (HashMap::new(), [0; THREADS as usize]);
    let mut take = |message: Either<Begin, End>| match message {
        Either::Begin(begin) => assert_eq!(running.insert(begin.0, begin.1), None),
        Either::End(end) => {
            assert_eq!(running.remove(&end.0.0), Some(end.1));
            assert_eq!(seen[end.0.0 as usize], end.1, "in order");
            seen[end.0.0 as usize] += 1;
        }
    };
    std::thread::scope(|scope| {
        let posters: Vec<_> = (0..THREADS)
            .map(|key| {
                let channel = &channel;
                scope.spawn(move || {
                    for round in 0..rounds {
                        begin(channel, key, round);
                        end(channel, key, round);
                    }
                })
            })
            .collect();
        let is_over = &is_over;
        scope.spawn(move || {
            posters.into_iter().for_each(|poster| poster.join().unwrap());
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            channel.get().into_iter().for_each(&mut take);
        }
    });
    while let Some(message) = channel.get() {
        take(message);
    }
    assert!(running.is_empty());
    assert_eq!(seen, [rounds; THREADS as usize]);
    check_counts(&channel, 0, 0);
    channel.disable();
}

#[test]
fn enabling_and_disabling_while_others_post() {
    let channel = pairs::<2>();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for key in 0..2 {
            let (channel, is_over) = (&channel, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    begin(channel, key, 0);
                    end(channel, key, 0);
                }
            });
        }
        for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
            channel.enable();
            let mut running = std::collections::HashSet::new();
            for _ in 0..20 {
                match channel.get() {
                    Some(Either::Begin(begin)) => assert!(running.insert(begin.0)),
                    Some(Either::End(end)) => assert!(running.remove(&end.0.0), "an end without a begin"),
                    None => std::thread::yield_now(),
                }
            }
            channel.disable();
            assert!(channel.get().is_none());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    channel.disable();
    assert_eq!(channel.queued(), 0);
}

#[test]
fn waiting_ends_with_a_message_or_the_time() {
    let channel = pairs::<2>();
    channel.enable();
    let start = Instant::now();
    assert!(channel.wait(Duration::from_millis(30)).is_none());
    assert!(start.elapsed() >= Duration::from_millis(30));
    std::thread::scope(|scope| {
        let waiters: Vec<_> =
            (0..2).map(|_| scope.spawn(|| channel.wait(Duration::from_secs(60)).is_some())).collect();
        std::thread::sleep(Duration::from_millis(20));
        begin(&channel, 1, 0);
        end(&channel, 1, 0);
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()));
    });
    // No thread waits for a message that is not enabled.
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| channel.wait(Duration::from_secs(60)).is_none());
        std::thread::sleep(Duration::from_millis(20));
        channel.disable();
        assert!(waiter.join().unwrap());
    });
    assert!(start.elapsed() < Duration::from_secs(30));
}
