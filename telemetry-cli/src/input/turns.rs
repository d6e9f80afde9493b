//! Jobs that several threads read in turn. Their results are taken in the order of the jobs.
//!
//! The thread that reads a job also does it. So the job stays in the caches of one core, and only
//! the state of the reader goes from core to core.

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Calls `read` for each job until it returns `None`, on one of this many threads at a time. `work`
/// does the job there, and `take` gets the results in order, on one thread at a time. At most one
/// job more than the threads is there at once.
///
/// # Errors
/// The first failure of `read` or `take`. If `read` fails, the jobs before it are still done and
/// taken. If `take` fails, other jobs are dropped.
///
/// # Panics
/// If one of the functions panics.
pub(crate) fn in_turns<J, R: Send, E: Send>(
    threads: NonZeroUsize,
    mut read: impl FnMut() -> Result<Option<J>, E> + Send,
    work: impl Fn(J) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E> {
    let state = State {
        read: Some(&mut read),
        begun: 0,
        has_ended: false,
        done: BTreeMap::new(),
        take: Some(&mut take),
        taken: 0,
        failed: None,
        is_over: false,
    };
    let shared = Shared {
        state: Mutex::new(state),
        changed: Condvar::new(),
        work: &work,
        most: threads.get() as u64 + 1,
    };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            // With fewer threads it takes more time, and nothing else.
            if thread::Builder::new().spawn_scoped(scope, || shared.serve()).is_err() {
                break;
            }
        }
        shared.serve();
    });
    match shared.state.into_inner().unwrap_or_else(PoisonError::into_inner).failed {
        None => Ok(()),
        Some(Failed::Error(error)) => Err(error),
        Some(Failed::Panic(panic)) => resume_unwind(panic),
    }
}

/// What jobs use again, such as memory.
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Spare(Mutex::default())
    }
}

impl<T> Spare<T> {
    /// Takes what another job gave back, if there is something.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Gives something back.
    pub(crate) fn give(&self, used: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(used);
    }
}

/// What the threads share.
struct Shared<'w, J, R, E> {
    state: Mutex<State<'w, J, R, E>>,
    changed: Condvar,
    work: &'w (dyn Fn(J) -> R + Sync),
    /// The most jobs that are there at once.
    most: u64,
}

type Read<'w, J, E> = &'w mut (dyn FnMut() -> Result<Option<J>, E> + Send);
type Take<'w, R, E> = &'w mut (dyn FnMut(R) -> Result<(), E> + Send);

struct State<'w, J, R, E> {
    /// None while a thread reads.
    read: Option<Read<'w, J, E>>,
    /// Number of jobs that were read.
    begun: u64,
    /// There are no more jobs to read.
    has_ended: bool,
    /// Results that are not taken yet, by number.
    done: BTreeMap<u64, R>,
    /// None while a thread takes a result.
    take: Option<Take<'w, R, E>>,
    /// Number of results that were taken.
    taken: u64,
    /// Why the jobs ended early.
    failed: Option<Failed<E>>,
    is_over: bool,
}

enum Failed<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

type Guard<'g, 'w, J, R, E> = MutexGuard<'g, State<'w, J, R, E>>;

impl<'w, J, R, E> Shared<'w, J, R, E> {
    /// Reads and does jobs, and takes results, until all is over.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.is_over {
            state = self.step(state);
        }
    }

    /// Takes the next result, or reads and does the next job, or waits until it may.
    fn step<'g>(&'g self, mut state: Guard<'g, 'w, J, R, E>) -> Guard<'g, 'w, J, R, E> {
        let next = state.taken;
        if state.take.is_some()
            && let Some(result) = state.done.remove(&next)
        {
            return self.take(state, result);
        }
        if !state.has_ended
            && state.begun - state.taken < self.most
            && let Some(read) = state.read.take()
        {
            return self.read(state, read);
        }
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn take<'g>(&'g self, mut state: Guard<'g, 'w, J, R, E>, result: R) -> Guard<'g, 'w, J, R, E> {
        let Some(take) = state.take.take() else { return state };
        drop(state);
        let taken = catch_unwind(AssertUnwindSafe(|| take(result)));
        let mut state = self.lock();
        state.take = Some(take);
        state.taken += 1;
        match taken {
            Ok(Ok(())) => self.changed.notify_all(),
            Ok(Err(error)) => self.fail(&mut state, Failed::Error(error)),
            Err(panic) => self.fail(&mut state, Failed::Panic(panic)),
        }
        state.is_over |= state.has_ended && state.taken == state.begun;
        state
    }

    fn read<'g>(&'g self, state: Guard<'g, 'w, J, R, E>, read: Read<'w, J, E>) -> Guard<'g, 'w, J, R, E> {
        drop(state);
        let job = catch_unwind(AssertUnwindSafe(&mut *read));
        let mut state = self.lock();
        state.read = Some(read);
        self.changed.notify_all();
        let job = match job {
            Ok(Ok(Some(job))) => job,
            Ok(ended) => {
                // What was read before an error is good.
                state.failed = ended.err().map(Failed::Error).or(state.failed.take());
                state.has_ended = true;
                state.is_over |= state.taken == state.begun;
                return state;
            }
            Err(panic) => {
                self.fail(&mut state, Failed::Panic(panic));
                return state;
            }
        };
        let number = state.begun;
        state.begun += 1;
        drop(state);
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(job)));
        let mut state = self.lock();
        match done {
            Ok(result) => {
                state.done.insert(number, result);
                self.changed.notify_all();
            }
            Err(panic) => self.fail(&mut state, Failed::Panic(panic)),
        }
        state
    }

    /// Ends all threads after what they do now. The first failure counts.
    fn fail(&self, state: &mut State<'w, J, R, E>, failed: Failed<E>) {
        if !state.is_over {
            state.failed = Some(failed);
        }
        state.is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> Guard<'_, 'w, J, R, E> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    use super::*;

    /// What fails, at job 20.
    #[derive(Clone, Copy, PartialEq)]
    enum Fails {
        Nothing,
        Read,
        Take,
        /// These panic.
        Reading,
        Working,
        Taking,
    }

    /// Squares this many numbers. Returns the results, and how all ended.
    fn squares(threads: usize, count: u64, fails: Fails) -> (Vec<u64>, Result<(), &'static str>) {
        let (there, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut numbers, mut results) = (0..count, Vec::new());
        let fails_at = |job, what| job == 20 && fails == what;
        let ended = in_turns(
            NonZeroUsize::new(threads).unwrap(),
            || {
                let Some(job) = numbers.next() else { return Ok(None) };
                assert!(!fails_at(job, Fails::Reading), "job 20 fails");
                most.fetch_max(there.fetch_add(1, SeqCst) + 1, SeqCst);
                if fails_at(job, Fails::Read) { Err("no input") } else { Ok(Some(job)) }
            },
            |job| {
                assert!(!fails_at(job, Fails::Working), "job 20 fails");
                job * job
            },
            |result| {
                there.fetch_sub(1, SeqCst);
                assert!(!(result == 400 && fails == Fails::Taking), "job 20 fails");
                results.push(result);
                if result == 400 && fails == Fails::Take { Err("no space") } else { Ok(()) }
            },
        );
        let most = most.into_inner();
        assert!(most <= threads as u64 + 1, "{most} jobs at once, for {threads} threads");
        (results, ended)
    }

    #[test]
    fn results_are_taken_in_the_order_of_jobs() {
        for threads in [1, 2, 3, 7] {
            for count in [0, 1, 2, 1000] {
                let expected = (0..count).map(|job| job * job).collect();
                assert_eq!(squares(threads, count, Fails::Nothing), (expected, Ok(())));
            }
        }
    }

    #[test]
    fn a_failure_ends_all() {
        for threads in [1, 2, 7] {
            for count in [21, u64::MAX] {
                let (results, ended) = squares(threads, count, Fails::Read);
                assert_eq!((results.len(), ended), (20, Err("no input")), "what was read is taken");
                let (results, ended) = squares(threads, count, Fails::Take);
                assert_eq!((results.len(), ended), (21, Err("no space")));
            }
        }
    }

    #[test]
    fn a_panic_ends_all() {
        for threads in [1, 2, 7] {
            for fails in [Fails::Reading, Fails::Working, Fails::Taking] {
                let panic = catch_unwind(|| squares(threads, u64::MAX, fails)).unwrap_err();
                assert_eq!(panic.downcast_ref::<&str>(), Some(&"job 20 fails"));
            }
        }
    }
}
