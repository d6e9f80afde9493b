//! Jobs for several threads. Their results come in the order of the jobs.
//!
//! The thread that gives jobs also does some while it would wait. So `N` threads are busy, and at
//! most `N + 1` jobs are there at once.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls `give` with a place for jobs, which `work` does on this many threads. Jobs without a
/// thread are dropped when `give` returns.
///
/// # Panics
/// If `work` panics.
pub(crate) fn in_order<J: Send, R: Send, T>(
    threads: NonZeroUsize,
    work: impl Fn(J) -> R + Sync,
    give: impl FnOnce(&mut Jobs<'_, J, R>) -> T,
) -> T {
    let shared = Shared { state: Mutex::new(State::default()), changed: Condvar::new(), work: &work };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| shared.serve());
        }
        // Also ends the threads if `give` panics.
        let mut jobs = Jobs { shared: &shared, most: threads.get(), given: 0, taken: 0 };
        give(&mut jobs)
    })
}

/// The jobs that were given, and whose results are not taken yet.
pub(crate) struct Jobs<'s, J, R> {
    shared: &'s Shared<'s, J, R>,
    /// The most jobs that stay when another one is given.
    most: usize,
    given: u64,
    taken: u64,
}

impl<J, R> Jobs<'_, J, R> {
    /// Gives a job. Returns the result of the oldest job if there are enough.
    pub(crate) fn push(&mut self, job: J) -> Option<R> {
        if self.most == 1 {
            return Some((self.shared.work)(job));
        }
        self.shared.lock().queue.push_back((self.given, job));
        self.shared.changed.notify_all();
        self.given += 1;
        if self.given - self.taken > self.most as u64 { self.take() } else { None }
    }

    /// Returns the next result after the last job; `None` at the end.
    pub(crate) fn finish(&mut self) -> Option<R> {
        if self.taken < self.given { self.take() } else { None }
    }

    /// Waits for the oldest result, and does jobs until then.
    fn take(&mut self) -> Option<R> {
        let mut state = self.shared.lock();
        let result = loop {
            if let Some(result) = state.done.remove(&self.taken) {
                break result;
            }
            state = match state.queue.pop_front() {
                Some((number, job)) => {
                    drop(state);
                    self.shared.run(number, job)
                }
                None => self.shared.wait(state),
            };
        };
        drop(state);
        self.taken += 1;
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl<J, R> Drop for Jobs<'_, J, R> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.queue.clear();
        self.shared.changed.notify_all();
    }
}

/// What the threads share.
struct Shared<'w, J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
    work: &'w (dyn Fn(J) -> R + Sync),
}

struct State<J, R> {
    /// Jobs that no thread has begun, with their numbers.
    queue: VecDeque<(u64, J)>,
    /// Results that wait for those of earlier jobs, by number.
    done: BTreeMap<u64, thread::Result<R>>,
    is_over: bool,
}

impl<J, R> Default for State<J, R> {
    fn default() -> Self {
        State { queue: VecDeque::new(), done: BTreeMap::new(), is_over: false }
    }
}

impl<J, R> Shared<'_, J, R> {
    /// Does jobs until there are no more.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.is_over {
            state = match state.queue.pop_front() {
                Some((number, job)) => {
                    drop(state);
                    self.run(number, job)
                }
                None => self.wait(state),
            };
        }
    }

    /// Does a job. A panic is a result, so that no thread waits for one in vain.
    fn run(&self, number: u64, job: J) -> MutexGuard<'_, State<J, R>> {
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(job)));
        let mut state = self.lock();
        state.done.insert(number, result);
        self.changed.notify_all();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State<J, R>>) -> MutexGuard<'g, State<J, R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    /// Gives jobs. Returns their results, and how many jobs were there at most.
    fn squares(number: usize, jobs: u64) -> (Vec<u64>, u64) {
        in_order(
            threads(number),
            |job: u64| job * job,
            |all| {
                let (mut results, mut most) = (Vec::new(), 0);
                for job in 0..jobs {
                    most = most.max(job + 1 - results.len() as u64);
                    results.extend(all.push(job));
                }
                results.extend(std::iter::from_fn(|| all.finish()));
                (results, most)
            },
        )
    }

    #[test]
    fn results_come_in_the_order_of_jobs() {
        for number in [1, 2, 3, 7] {
            for jobs in [0, 1, 2, 1000] {
                let (results, most) = squares(number, jobs);
                assert_eq!(results, (0..jobs).map(|job| job * job).collect::<Vec<_>>());
                assert!(most <= number as u64 + 1, "{most} jobs at once");
            }
        }
    }

    #[test]
    fn the_rest_is_dropped() {
        for number in [1, 2, 7] {
            let first =
                in_order(threads(number), |job: u64| job, |jobs| (0..).find_map(|job| jobs.push(job)));
            assert_eq!(first, Some(0));
        }
    }

    #[test]
    fn a_panic_ends_all() {
        for number in [1, 2, 7] {
            let work = |job: u64| assert!(job != 20, "job 20 fails");
            let panic = catch_unwind(|| {
                in_order(threads(number), work, |jobs| {
                    (0..).find(|job| jobs.push(*job).is_some_and(|()| *job > 1000))
                })
            });
            assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"job 20 fails"));
        }
    }
}
