//! Tasks with numbers, for the events of any executor.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::events;

thread_local! {
    /// The task that this thread runs; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A future with a number, which its events carry on whatever thread they are emitted.
pub(crate) struct Task<F> {
    // Fields are dropped in this order: what the future holds ends before the task.
    future: Pin<Box<F>>,
    alive: Alive,
}

/// A task's number, until the task is done or the executor drops it.
struct Alive(u64);

impl<F: Future> Task<F> {
    /// Gives a future the next number.
    pub(crate) fn new(name: &str, future: F) -> Task<F> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        events::task_start!(number, name);
        Task { future: Box::pin(future), alive: Alive(number) }
    }
}

impl<F: Future> Future for Task<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _running = Running::new(self.alive.0);
        self.future.as_mut().poll(context)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        events::task_end!(self.0);
    }
}

/// A task that this thread runs. Its end is in `drop`, in case the task panics.
struct Running {
    before: u64,
}

impl Running {
    fn new(task: u64) -> Running {
        events::poll_start!(task);
        Running { before: CURRENT.replace(task) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let task = CURRENT.replace(self.before);
        events::poll_end!(task);
    }
}

/// A step of the current task. It ends when it is dropped, also if the task is.
pub(crate) struct Step {
    task: u64,
}

impl Step {
    /// Begins a step of the task that this thread runs.
    pub(crate) fn new(number: u32) -> Step {
        let task = CURRENT.get();
        events::step_start!(task, number);
        Step { task }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        events::step_end!(self.task);
    }
}
