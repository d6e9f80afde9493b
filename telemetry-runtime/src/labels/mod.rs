//! Labels: strings with numbers, and addresses with names.

mod block;
mod store;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use self::store::{Lock, Position};
use telemetry_format::{Header, Label};

use self::store::{MAX_BLOCKS, Store};
use crate::sync::{AtomicU64, Ordering};
use crate::values::Address;
use crate::{VARIETY, Variety, control, own, start};

static STORE: Store = Store::new(MAX_BLOCKS);

/// The label of a string: the same one for equal strings, from 1 in the order in which strings come.
///
/// An event with a parameter of sort `label` takes it in place of the string, which is in the stream
/// once. It is there whenever the string was interned: every stream begins with all labels so far.
///
/// ```
/// let label = telemetry_runtime::intern("nursery");
/// assert_eq!(telemetry_runtime::intern(&format!("nurs{}", "ery")), label);
/// ```
///
/// A string that is known is found without a lock. Strings are kept for good: at most a million, and
/// together with the labels of addresses at most 64 MiB. Strings are cut to 4096 bytes at a border
/// between characters, and counted as cut.
///
/// [`Label::NONE`] comes back, and the stream tells how often, where there is no more room, and in a
/// signal handler that interrupts a thread just as this function adds a string. Beyond that it may be
/// called everywhere an event may: before `main`, inside the program's allocator, in signal handlers.
/// It does not allocate through that allocator. After the end of the run, and in a program that was
/// built without events (`rash`), unknown strings have no label.
pub fn intern(text: &str) -> Label {
    if is_compiled_out() {
        return Label::NONE;
    }
    match STORE.known(text) {
        Some(label) => label,
        None if is_ready() => STORE.intern(text),
        None => Label::NONE,
    }
}

/// Gives an address a name, for readers of the stream: until it gets another one.
///
/// ```
/// let heap = Box::new([0u8; 64]);
/// telemetry_runtime::label(&*heap, telemetry_runtime::intern!("nursery"));
/// ```
///
/// Callable wherever [`intern`] is, and kept in the same 64 MiB, each call some ten bytes of them; what
/// does not fit is counted in the stream. [`Label::NONE`] names nothing, and nothing happens.
pub fn label(address: impl Address, label: Label) {
    if !is_compiled_out() && label != Label::NONE && is_ready() {
        STORE.label(address.address(), label);
    }
}

/// The label of a constant string, as [`intern`](fn@intern) gives it, looked up once: from then on
/// a load.
///
/// ```
/// assert_eq!(telemetry_runtime::intern!("nursery"), telemetry_runtime::intern("nursery"));
/// ```
#[macro_export]
macro_rules! intern {
    ($text:expr) => {{
        // Items, so that the string cannot depend on a generic parameter, of which the site knows nothing;
        // with names that no argument has.
        const __TELEMETRY_TEXT: &str = $text;
        static __TELEMETRY_LABEL: $crate::__private::AtomicU64 = $crate::__private::AtomicU64::new(0);
        $crate::__private::interned(&__TELEMETRY_LABEL, __TELEMETRY_TEXT)
    }};
}

/// The label that the site keeps, or, as long as it has none, that of the string.
#[inline(always)]
pub fn interned(site: &AtomicU64, text: &'static str) -> Label {
    match site.load(Ordering::Relaxed) {
        0 => keep(site, text),
        number => Label(number),
    }
}

#[cold]
#[inline(never)]
fn keep(site: &AtomicU64, text: &str) -> Label {
    let label = intern(text);
    site.store(label.0, Ordering::Relaxed);
    label
}

/// What a stream at `position` has not been told yet, in parts for it: of the lane of labels, which has no
/// thread and the same blocks in every stream. Positions begin as their default, anew in each segment;
/// a copy takes back what could not be written.
pub(crate) fn parts(position: &mut Position) -> impl Iterator<Item = (Header, &'static [u8])> {
    core::iter::from_fn(|| STORE.next_part(position))
}

/// A new session begins: in the child of a fork it has the labels of the parent.
pub(crate) fn begin() {
    STORE.renew(start::session());
}

/// Has nobody add labels while a process forks.
pub(crate) fn hold() -> Option<Lock<'static>> {
    STORE.lock()
}

const fn is_compiled_out() -> bool {
    matches!(VARIETY, Variety::Rash)
}

/// Has the runtime started, which gives the blocks their session, and the registry listed, so that words
/// find it. False if nothing can be recorded.
fn is_ready() -> bool {
    if !start::ensure() {
        if !start::is_over() {
            STORE.count_nested();
        }
        return false;
    }
    // Where this interrupts who has the lock of the list, a later call does it.
    control::list(own::registry());
    true
}
