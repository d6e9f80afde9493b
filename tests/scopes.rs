//! Scopes: the end of a span is emitted on every way out, and only after its begin.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use telemetry::sinks::Memory;
use telemetry::{Config, telemetry_event};
use telemetry_decode::Reader;

#[telemetry_event("telemetry-derive/tests/scopes.toml")]
mod events {}

/// Runs a program on a thread of its own, and compares the events of that thread.
#[track_caller]
fn check(expected: &[&str], program: impl FnOnce() + Send) {
    static MEMORY: OnceLock<Memory> = OnceLock::new();
    let memory = MEMORY.get_or_init(|| {
        let memory = Memory::new(1 << 20);
        Config::new().sink(memory.clone()).control("Collector Task").start().expect("the first call");
        memory
    });
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("check {}", NUMBER.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.clone());
        thread.spawn_scoped(scope, program).expect("a thread").join().expect("no panic");
    });
    telemetry::flush();
    let bytes = memory.to_vec();
    let mut events = Reader::from_slice(&bytes).events().expect("a stream");
    let mut found = Vec::new();
    while let Some(event) = events.next().expect("a readable stream") {
        if event.thread_name() == Some(name.as_str()) {
            let values: Vec<String> = event.values().map(|value| value.to_string()).collect();
            found.push(format!("{} {}", event.name(), values.join(" ")).trim().to_string());
        }
    }
    assert_eq!(found, expected);
}

#[derive(Debug, PartialEq)]
struct Failed;

/// The line of the panic below.
const PANIC: u32 = line!() + 10;

/// Leaves a span in one of four ways.
fn collect(way: u8, freed: &Cell<usize>) -> Result<u8, Failed> {
    let heap = 0x10_usize;
    let _gc = events::gc_scope!(events::Why::Full, heap, 1_u64; 7, freed.get());
    freed.set(64);
    match way {
        0 => return Ok(0),
        1 => Err(Failed)?,
        2 => panic!("the heap is damaged"),
        _ => {}
    }
    Ok(3)
}

#[test]
fn the_end_comes_on_every_way_out() {
    let panicked = format!("Panicked the heap is damaged {} {PANIC}", file!());
    for way in 0..4 {
        let panicked = (way == 2).then_some(panicked.as_str());
        let expected: Vec<_> =
            ["GcBegin Full 0x10 1"].into_iter().chain(panicked).chain(["GcEnd 7 0x10 64"]).collect();
        check(&expected, || {
            let left = catch_unwind(AssertUnwindSafe(|| collect(way, &Cell::new(0))));
            assert_eq!(left.ok(), [Some(Ok(0)), Some(Err(Failed)), None, Some(Ok(3))][usize::from(way)]);
        });
    }
}

#[test]
fn scopes_nest() {
    let expected = ["TaskBegin 1 outer", "TaskBegin 2 inner", "TaskEnd 2", "TaskEnd 1"];
    check(&expected, || {
        let _outer = events::task_scope!(1, "outer");
        let name = String::from("inner");
        let inner = events::task_scope!(2_u64, &name,);
        drop(name);
        drop(inner);
    });
}

/// Arguments of a begin that is off are not evaluated. An end whose begin was off would be an end
/// without a begin, so it is not emitted either.
#[test]
fn what_is_off_does_nothing() {
    let expected = [
        "ControlChange Output Set Quiet",
        "StepBegin 0",
        "StepEnd 1",
        "StepBegin 2",
        "ControlChange Output Reset Quiet",
    ];
    check(&expected, || {
        let count = Cell::new(0);
        let next = || count.replace(count.get() + 1);
        let off = events::step_scope!(next(); next());
        telemetry::set("Quiet");
        let on = events::step_scope!(next(); next());
        drop(off);
        drop(on);
        let left = events::step_scope!(next(); next());
        telemetry::reset("Quiet");
        drop(left);
        assert_eq!(count.get(), 3);
    });
}

#[telemetry::span(events::Task(number, name))]
fn task<'n>(number: u64, name: &'n str, fail: bool) -> Result<&'n str, Failed> {
    if fail {
        return Err(Failed);
    }
    Ok(name)
}

struct Heap {
    freed: AtomicUsize,
}

static HEAP: Heap = Heap { freed: AtomicUsize::new(0) };

impl Heap {
    /// The attribute takes methods, generics and visibility as they are.
    #[telemetry::span(events::Gc(why, self, before.into(); 1, self.freed.load(Ordering::Relaxed)))]
    pub(crate) fn collect<T: Into<u64> + Copy>(&self, why: events::Why, before: T) -> u64 {
        self.freed.store(5, Ordering::Relaxed);
        before.into()
    }
}

#[test]
fn functions_are_spans() {
    check(&["TaskBegin 1 a", "TaskEnd 1", "TaskBegin 2 b", "TaskEnd 2"], || {
        assert_eq!(task(1, "a", false), Ok("a"));
        assert_eq!(task(2, "b", true), Err(Failed));
    });
    let heap = &raw const HEAP;
    check(&[&format!("GcBegin Asked {heap:p} 7"), &format!("GcEnd 1 {heap:p} 5")], || {
        assert_eq!(HEAP.collect(events::Why::Asked, 7_u8), 7);
    });
}

#[telemetry::span(events::Task(number, "async"))]
async fn wait(number: u64, mut polls: u32) -> u64 {
    std::future::poll_fn(|_| {
        polls -= 1;
        if polls == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    number
}

/// An async function is a span from its first poll, also across threads, until it ends or is
/// dropped.
#[test]
fn async_functions_are_spans() {
    let mut context = Context::from_waker(Waker::noop());
    check(&["TaskBegin 1 async", "TaskEnd 1"], || {
        let mut done = pin!(wait(1, 2));
        let never = wait(2, 1);
        assert_eq!(done.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        assert_eq!(done.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(1));
        drop(never);
    });
    let mut moved = Box::pin(wait(3, 9));
    check(&["TaskBegin 3 async"], || {
        assert!(moved.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    assert!(moved.as_mut().poll(&mut context).is_pending());
    check(&["TaskEnd 3"], || drop(moved));
}
