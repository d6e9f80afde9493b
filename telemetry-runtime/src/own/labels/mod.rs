//! Labels: strings with numbers, and addresses with names.

mod block;
mod store;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use self::store::{Lock, Position, Store};
// Not every system has call stacks, which need these.
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(unused_imports)
)]
pub(crate) use self::store::Slot;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(unused_imports)
)]
pub(crate) use self::table::{MAX_ENTRIES, Table};
use telemetry_format::{Header, Label};

use self::store::MAX_BLOCKS;
use crate::control::switches as control;
use crate::model::values::Address;
use crate::model::variety::VARIETY;
use crate::model::variety::Variety;
use crate::own::registry as own;
use crate::run::state;
use crate::sys::atomic::{AtomicU64, Ordering};

static STORE: Store = Store::new(MAX_BLOCKS);

/// Returns the label of a string. Equal strings have the same label. Labels are numbers from 1, in
/// the order in which strings are interned.
///
/// An event with a parameter of the type `label` contains it in place of the string, which is in
/// the stream only once. Every stream begins with all labels so far, so it contains the string
/// whenever that was interned.
///
/// ```
/// let label = telemetry_runtime::intern("nursery");
/// assert_eq!(telemetry_runtime::intern(&format!("nurs{}", "ery")), label);
/// ```
///
/// A known string is found without a lock. Strings are never freed. There can be a million of them,
/// and together with the labels of addresses they take at most 64 MiB. A string is truncated to
/// 4096 bytes between characters, and counted as such.
///
/// Returns [`Label::NONE`] if there is no more room. Does so, too, in a signal handler that
/// interrupts a thread while this function adds a string. The stream says how often that happened.
///
/// This function may be called wherever an event may be emitted: before `main`, inside the
/// program's allocator, and in signal handlers. It does not allocate with that allocator. Unknown
/// strings have no label after the end of the run, and in a program that was built without events
/// (`rash`).
#[must_use]
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

/// Gives an address a name, for readers of the stream, until it gets another one.
///
/// ```
/// let heap = Box::new([0u8; 64]);
/// telemetry_runtime::label(&*heap, telemetry_runtime::intern!("nursery"));
/// ```
///
/// May be called wherever [`intern`] may be. Each call takes some ten bytes of the same 64 MiB. The
/// stream says how many calls found no room. [`Label::NONE`] names nothing, and has no effect.
pub fn label(address: impl Address, label: Label) {
    if !is_compiled_out() && label != Label::NONE && is_ready() {
        STORE.label(address.address(), label);
    }
}

/// Returns the label of a constant string, as [`intern`](fn@intern) does. Looks the string up once;
/// from then on it is a load.
///
/// ```
/// assert_eq!(telemetry_runtime::intern!("nursery"), telemetry_runtime::intern("nursery"));
/// ```
#[macro_export]
macro_rules! intern {
    ($text:expr) => {{
        // Items, so that the string cannot depend on a generic parameter, which the site does not
        // know. No argument has their names.
        const __TELEMETRY_TEXT: &str = $text;
        static __TELEMETRY_LABEL: $crate::__private::AtomicU64 = $crate::__private::AtomicU64::new(0);
        $crate::__private::interned(&__TELEMETRY_LABEL, __TELEMETRY_TEXT)
    }};
}

/// Returns the label that the site stores. While it stores none, returns that of the string.
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

/// Returns the parts of the lane of labels that a stream at `position` does not contain. That lane
/// has no thread, and the same blocks in every stream. In each segment, the position begins as its
/// default. A caller that cannot write the parts restores a copy of it.
pub(crate) fn parts(position: &mut Position) -> impl Iterator<Item = (Header, &'static [u8])> {
    core::iter::from_fn(|| STORE.next_part(position))
}

/// Returns the number of bytes of all labels.
#[cfg(all(unix, not(miri)))]
pub(crate) fn bytes() -> usize {
    parts(&mut Position::default()).map(|(_, payload)| payload.len()).sum()
}

/// Returns the lane, for call stacks, if something can be recorded.
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(dead_code)
)]
pub(crate) fn lane() -> Option<&'static Store> {
    is_ready().then_some(&STORE)
}

/// Begins a new session. In the child of a fork it has the labels of the parent.
pub(crate) fn begin() {
    STORE.renew(state::session());
}

/// Keeps threads from adding labels while a process forks.
pub(crate) fn hold() -> Option<Lock<'static>> {
    STORE.lock()
}

const fn is_compiled_out() -> bool {
    matches!(VARIETY, Variety::Rash)
}

/// Starts the runtime, which gives the blocks their session, and lists the registry, so that words
/// find it. Returns false if nothing can be recorded.
fn is_ready() -> bool {
    if !own::ensure() {
        if !state::is_over() {
            STORE.count_reentrant();
        }
        return false;
    }
    // If this code interrupts the owner of the list's lock, a later call lists the registry.
    control::list(own::registry());
    true
}
