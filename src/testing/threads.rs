//! The captures of a thread, and how another thread takes them over.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use telemetry_runtime::__private::testing::{Beginning, Numbers, watch};

use super::positions::Positions;
use super::recording::{End, Recording};
use super::sink::add_thread;

thread_local! {
    /// The captures of this thread, from the outermost.
    static CURRENT: RefCell<Vec<Arc<Recording>>> = const { RefCell::new(Vec::new()) };
    static NUMBERS: Cell<Option<&'static Numbers>> = const { Cell::new(None) };
}

/// Returns the numbers of this thread, which the runtime keeps up to date.
fn numbers() -> &'static Numbers {
    NUMBERS.get().unwrap_or_else(|| {
        // Eight bytes for each thread of a test. They are never freed: the thread may still get a
        // number when all that it could own is gone.
        let numbers: &Numbers = Box::leak(Box::default());
        NUMBERS.set(Some(numbers));
        watch(numbers);
        numbers
    })
}

/// Returns the captures of this thread. None while it ends.
fn current() -> Vec<Arc<Recording>> {
    CURRENT.try_with(|current| current.borrow().clone()).unwrap_or_default()
}

/// Runs a closure whose events belong to captures, in addition to those of this thread.
pub(super) fn run<R>(recordings: &[Arc<Recording>], f: impl FnOnce() -> R) -> R {
    let numbers = numbers();
    let before = current();
    let new = recordings.iter().filter(|one| !before.iter().any(|other| Arc::ptr_eq(one, other)));
    let mut open: Vec<Opened> = new
        .map(|recording| Opened {
            range: add_thread(recording, || recording.open(numbers, End::Open)),
            recording: Arc::clone(recording),
            begin: Positions::with_room(),
            end: Positions::with_room(),
        })
        .collect();
    let all = before.iter().cloned().chain(open.iter().map(|open| Arc::clone(&open.recording))).collect();
    let ranges = Ranges { before: Some(before), open: &mut open };
    CURRENT.with(|current| current.replace(all));
    ranges.open.iter_mut().for_each(|open| open.begin.set());
    f()
}

/// A range that a closure runs in.
struct Opened {
    recording: Arc<Recording>,
    range: usize,
    begin: Positions,
    end: Positions,
}

/// Ends ranges, also when the closure panics.
struct Ranges<'o> {
    before: Option<Vec<Arc<Recording>>>,
    open: &'o mut Vec<Opened>,
}

impl Drop for Ranges<'_> {
    fn drop(&mut self) {
        // First, and in one go: what follows may emit.
        self.open.iter_mut().for_each(|open| open.end.set());
        let before = self.before.take().unwrap_or_default();
        let _ = CURRENT.try_with(|current| current.replace(before));
        for Opened { recording, range, begin, end } in self.open.drain(..) {
            recording.close(range, begin, end);
        }
    }
}

/// Returns what a thread does first that this one is starting: it takes over the captures.
pub(super) fn beginning() -> Option<Beginning> {
    let recordings = current();
    if recordings.is_empty() {
        return None;
    }
    Some(Box::new(move || {
        let numbers = numbers();
        for recording in &recordings {
            add_thread(recording, || recording.open(numbers, End::OfThread));
        }
        let _ = CURRENT.try_with(|current| current.replace(recordings));
    }))
}

/// The captures of a thread, for another one: see [`inherit`].
#[derive(Debug, Clone)]
pub struct Inherit(Vec<Arc<Recording>>);

impl Inherit {
    /// Runs a closure. Its events also belong to the captures of the thread that called
    /// [`inherit`], as far as they have not ended.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        run(&self.0, f)
    }
}

/// Returns the captures of the calling thread, so that a thread that was started before can do
/// work for them: one of a pool, for example.
///
/// ```
/// use telemetry::testing;
///
/// let (to_worker, work) = std::sync::mpsc::channel::<Box<dyn FnOnce() + Send>>();
/// let worker = std::thread::spawn(move || work.iter().for_each(|work| work()));
///
/// let captured = testing::capture(|| {
///     let inherit = testing::inherit();
///     let (done, is_done) = std::sync::mpsc::channel();
///     let work = move || done.send(inherit.run(|| 6 * 7)).unwrap();
///     to_worker.send(Box::new(work)).unwrap();
///     is_done.recv().unwrap()
/// });
/// assert_eq!(captured.result, 42);
/// # drop(to_worker);
/// # worker.join().unwrap();
/// ```
#[must_use = "`run` uses it"]
pub fn inherit() -> Inherit {
    Inherit(current())
}
