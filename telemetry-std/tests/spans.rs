//! Waits for locks, threads and tasks are spans.

use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use telemetry::Config;
use telemetry::decode::{Reader, Value};
use telemetry::sinks::Memory;
use telemetry_std::{Mutex, RwLock, events, task, thread};

/// Runs a program, and compares the events about it. `?` stands for a value that differs from run
/// to run.
#[track_caller]
fn check(expected: &[&str], program: impl FnOnce()) {
    static MEMORY: OnceLock<Memory> = OnceLock::new();
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let memory = MEMORY.get_or_init(|| {
        let memory = Memory::new(1 << 22);
        let config = Config::new().sink(memory.clone()).control("std:all -std:Memory -LockWaits");
        config.socket(false).start().expect("the first call");
        memory
    });
    telemetry::flush();
    let before = decode(memory).len();
    program();
    telemetry::flush();
    let found = decode(memory).split_off(before);
    let matches = |found: &String, expected: &&str| {
        let words = || found.split(' ').zip(expected.split(' '));
        found.split(' ').count() == expected.split(' ').count()
            && words().all(|(found, expected)| found == expected || expected == "?")
    };
    let is_equal = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| matches(found, expected));
    assert!(is_equal, "{found:#?}\ninstead of\n{expected:#?}");
}

fn decode(memory: &Memory) -> Vec<String> {
    let bytes = memory.to_vec();
    let mut events = Reader::from_slice(&bytes).events().expect("a stream");
    let mut found = Vec::new();
    while let Some(event) = events.next().expect("a readable stream") {
        if event.registry().name == "std" {
            let values: Vec<String> = event
                .values()
                .map(|value| match value {
                    Value::Label(label) => event.label(label).unwrap_or("no text").to_string(),
                    other => other.to_string(),
                })
                .collect();
            found.push(format!("{} {}", event.name(), values.join(" ")).trim().to_string());
        }
    }
    found
}

/// Waits until a thread waits for a lock.
fn until_waits(before: u64) {
    let since = Instant::now();
    while events::LOCK_WAITS.value() == before {
        std::thread::sleep(Duration::from_millis(1));
        assert!(since.elapsed() < Duration::from_secs(50), "no thread waits for the lock");
    }
}

#[test]
fn only_waits_are_recorded() {
    check(&["LockWaitBegin queue ? Mutex", "LockWaitEnd"], || {
        static QUEUE: Mutex<u32> = Mutex::new("queue", 0);
        *QUEUE.lock().expect("no panic") += 1;
        let waits = events::LOCK_WAITS.value();
        let taken = QUEUE.lock().expect("no panic");
        std::thread::scope(|scope| {
            scope.spawn(|| *QUEUE.lock().expect("no panic") += 1);
            until_waits(waits);
            drop(taken);
        });
        assert_eq!(*QUEUE.lock().expect("no panic"), 2);
        assert_eq!(events::LOCK_WAITS.value(), waits + 1);
    });
}

#[test]
fn readers_wait_for_writers() {
    let expected =
        ["LockWaitBegin table ? Read", "LockWaitEnd", "LockWaitBegin table ? Write", "LockWaitEnd"];
    check(&expected, || {
        let table = RwLock::new("table", 1);
        assert_eq!(*table.read().expect("no panic") + *table.read().expect("no panic"), 2);
        std::thread::scope(|scope| {
            let waits = events::LOCK_WAITS.value();
            let writes = table.write().expect("no panic");
            let reader = scope.spawn(|| *table.read().expect("no panic"));
            until_waits(waits);
            drop(writes);
            assert_eq!(reader.join().expect("no panic"), 1);
            let waits = events::LOCK_WAITS.value();
            let reads = table.read().expect("no panic");
            scope.spawn(|| *table.write().expect("no panic") = 2);
            until_waits(waits);
            drop(reads);
        });
        assert_eq!(table.into_inner().expect("no panic"), 2);
    });
}

#[test]
fn a_panic_poisons_as_in_the_standard_library() {
    check(&[], || {
        let lock = Mutex::new("poisoned", 7);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _taken = lock.lock();
            std::panic::resume_unwind(Box::new("quiet"));
        }));
        assert!(panic.is_err() && lock.is_poisoned());
        assert_eq!(lock.lock().map_err(|poisoned| *poisoned.into_inner()).err(), Some(7));
        lock.clear_poison();
        assert!(lock.lock().is_ok() && lock.try_lock().is_ok());
        assert!(format!("{lock:?}").contains("poisoned"), "{lock:?}");
    });
}

#[test]
fn threads_have_lives() {
    check(&["ThreadBegin worker", "ThreadEnd", "ThreadBegin unlucky", "ThreadEnd"], || {
        let worker = thread::spawn("worker", || 5).expect("a thread");
        assert_eq!(worker.join().expect("no panic"), 5);
        std::thread::scope(|scope| {
            let quiet = || -> () { std::panic::resume_unwind(Box::new("quiet")) };
            let unlucky = thread::spawn_scoped(scope, "unlucky", quiet).expect("a thread");
            assert!(unlucky.join().is_err());
        });
    });
}

#[test]
fn tasks_are_polled_by_any_executor() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let runtime = runtime.expect("an executor");
    let expected = ["TaskBegin ? request", "PollBegin ?", "PollEnd", "PollBegin ?", "PollEnd", "TaskEnd ?"];
    check(&expected, || {
        let request = task::watch("request", async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            42
        });
        assert_eq!(runtime.block_on(async { tokio::spawn(request).await }).expect("no panic"), 42);
    });
    // Dropped before it is done.
    check(&["TaskBegin ? endless", "PollBegin ?", "PollEnd", "TaskEnd ?"], || {
        let begun = std::sync::Arc::new(Barrier::new(2));
        let inside = begun.clone();
        let endless = runtime.spawn(task::watch("endless", async move {
            inside.wait();
            std::future::pending::<()>().await;
        }));
        begun.wait();
        endless.abort();
        assert!(runtime.block_on(endless).expect_err("it was aborted").is_cancelled());
    });
}
