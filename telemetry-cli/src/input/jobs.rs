//! Jobs for several threads. Their results are taken in the order of the jobs.
//!
//! The thread that gives jobs also does some, and takes results, while it would wait. So `N`
//! threads are busy, and at most `N + 1` jobs are there at once.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls `give` with a place for jobs. `work` does them on this many threads, and `take` gets the
/// results in order, on one thread at a time. Jobs that are not begun are dropped when `give`
/// returns, or when `take` fails.
///
/// # Panics
/// If `work` or `take` panics.
pub(crate) fn in_order<J: Send, R: Send, E: Send, T>(
    threads: NonZeroUsize,
    work: impl Fn(J) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E> + Send,
    give: impl FnOnce(&mut Jobs<'_, J, R, E>) -> T,
) -> T {
    let state = State {
        queue: VecDeque::new(),
        given: 0,
        done: BTreeMap::new(),
        taken: 0,
        take: Some(&mut take),
        failed: None,
        is_over: false,
    };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), work: &work };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| shared.serve());
        }
        // A single thread does each job at once.
        let most = if threads.get() == 1 { 0 } else { threads.get() as u64 };
        // Also ends the threads if `give` panics.
        give(&mut Jobs { shared: &shared, most })
    })
}

/// A place for jobs.
pub(crate) struct Jobs<'s, J, R, E> {
    shared: &'s Shared<'s, J, R, E>,
    /// The most jobs that may wait when [`Jobs::push`] returns.
    most: u64,
}

impl<J, R, E> Jobs<'_, J, R, E> {
    /// Gives a job.
    ///
    /// # Errors
    /// The failure of `take` for an earlier result.
    pub(crate) fn push(&mut self, job: J) -> Result<(), E> {
        let mut state = self.shared.lock();
        let number = state.given;
        state.queue.push_back((number, job));
        state.given += 1;
        self.shared.changed.notify_all();
        self.shared.help(state, self.most)
    }

    /// Waits for all results to be taken.
    ///
    /// # Errors
    /// The failure of `take` for one of them.
    pub(crate) fn finish(&mut self) -> Result<(), E> {
        self.shared.help(self.shared.lock(), 0)
    }
}

impl<J, R, E> Drop for Jobs<'_, J, R, E> {
    fn drop(&mut self) {
        self.shared.end(&mut self.shared.lock());
    }
}

/// What the threads share.
struct Shared<'w, J, R, E> {
    state: Mutex<State<'w, J, R, E>>,
    changed: Condvar,
    work: &'w (dyn Fn(J) -> R + Sync),
}

type Take<'w, R, E> = &'w mut (dyn FnMut(R) -> Result<(), E> + Send);

struct State<'w, J, R, E> {
    /// Jobs that no thread has begun, with their numbers.
    queue: VecDeque<(u64, J)>,
    /// Number of all jobs so far.
    given: u64,
    /// Results that are not taken yet, by number.
    done: BTreeMap<u64, R>,
    /// Number of results that were taken.
    taken: u64,
    /// None while a thread takes a result.
    take: Option<Take<'w, R, E>>,
    /// Why the jobs ended early.
    failed: Option<Failed<E>>,
    is_over: bool,
}

enum Failed<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

impl<'w, J, R, E> Shared<'w, J, R, E> {
    /// Does jobs and takes results until all is over.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.is_over {
            state = self.step(state);
        }
    }

    /// Does the same until at most this many results are not taken.
    fn help<'g>(&'g self, mut state: MutexGuard<'g, State<'w, J, R, E>>, most: u64) -> Result<(), E> {
        while !state.is_over && state.given - state.taken > most {
            state = self.step(state);
        }
        let failed = state.failed.take();
        drop(state);
        match failed {
            None => Ok(()),
            Some(Failed::Error(error)) => Err(error),
            Some(Failed::Panic(panic)) => resume_unwind(panic),
        }
    }

    /// Takes the next result, or does the next job, or waits until one of both is there.
    fn step<'g>(
        &'g self,
        mut state: MutexGuard<'g, State<'w, J, R, E>>,
    ) -> MutexGuard<'g, State<'w, J, R, E>> {
        let next = state.taken;
        if let Some(take) = state.take.take() {
            if let Some(result) = state.done.remove(&next) {
                drop(state);
                let taken = catch_unwind(AssertUnwindSafe(|| take(result)));
                state = self.lock();
                (state.take, state.taken) = (Some(take), next + 1);
                match taken {
                    Ok(Ok(())) => self.changed.notify_all(),
                    Ok(Err(error)) => self.fail(&mut state, Failed::Error(error)),
                    Err(panic) => self.fail(&mut state, Failed::Panic(panic)),
                }
                return state;
            }
            state.take = Some(take);
        }
        let Some((number, job)) = state.queue.pop_front() else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(job)));
        state = self.lock();
        match done {
            Ok(result) => {
                state.done.insert(number, result);
                self.changed.notify_all();
            }
            Err(panic) => self.fail(&mut state, Failed::Panic(panic)),
        }
        state
    }

    /// Ends all threads after a failure. The first one counts.
    fn fail(&self, state: &mut State<'w, J, R, E>, failed: Failed<E>) {
        if !state.is_over {
            state.failed = Some(failed);
        }
        self.end(state);
    }

    /// Ends all threads after what they do now.
    fn end(&self, state: &mut State<'w, J, R, E>) {
        state.is_over = true;
        state.queue.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<'w, J, R, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    use super::*;

    fn threads(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn results_are_taken_in_the_order_of_jobs() {
        for number in [1, 2, 3, 7] {
            for count in [0, 1, 2, 1000] {
                let (there, most) = (AtomicU64::new(0), AtomicU64::new(0));
                let mut results = Vec::new();
                let take = |result| {
                    there.fetch_sub(1, SeqCst);
                    results.push(result);
                    Ok::<_, ()>(())
                };
                let ended = in_order(
                    threads(number),
                    |job: u64| job * job,
                    take,
                    |jobs| {
                        for job in 0..count {
                            most.fetch_max(there.fetch_add(1, SeqCst) + 1, SeqCst);
                            jobs.push(job)?;
                        }
                        jobs.finish()
                    },
                );
                assert_eq!(ended, Ok(()));
                assert_eq!(results, (0..count).map(|job| job * job).collect::<Vec<_>>());
                let most = most.into_inner();
                assert!(most <= number as u64 + 1, "{most} jobs at once, for {number} threads");
            }
        }
    }

    #[test]
    fn a_failure_ends_all() {
        for number in [1, 2, 7] {
            let fail = |result| if result == 20 { Err("no space") } else { Ok(()) };
            let endless = |jobs: &mut Jobs<'_, _, _, _>| (0..).try_for_each(|job| jobs.push(job));
            assert_eq!(in_order(threads(number), |job: u64| job, fail, endless), Err("no space"));
            let last = |jobs: &mut Jobs<'_, _, _, _>| {
                (0..21).try_for_each(|job| jobs.push(job))?;
                jobs.finish()
            };
            assert_eq!(in_order(threads(number), |job: u64| job, fail, last), Err("no space"));
        }
    }

    #[test]
    fn the_caller_may_stop() {
        for number in [1, 2, 7] {
            let stop = |jobs: &mut Jobs<'_, _, _, ()>| jobs.push(1).is_ok();
            assert!(in_order(threads(number), |job: u64| job, |_| Ok(()), stop));
        }
    }

    #[test]
    fn a_panic_ends_all() {
        for number in [1, 2, 7] {
            let panics = [
                catch_unwind(|| {
                    let work = |job: u64| assert!(job != 20, "job 20 fails");
                    in_order(
                        threads(number),
                        work,
                        |()| Ok::<_, ()>(()),
                        |jobs| (0..).try_for_each(|job| jobs.push(job)),
                    )
                }),
                catch_unwind(|| {
                    let take = |job: u64| {
                        assert!(job != 20, "job 20 fails");
                        Ok::<_, ()>(())
                    };
                    in_order(
                        threads(number),
                        |job| job,
                        take,
                        |jobs| (0..).try_for_each(|job| jobs.push(job)),
                    )
                }),
            ];
            for panic in panics {
                assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"job 20 fails"));
            }
        }
    }
}
