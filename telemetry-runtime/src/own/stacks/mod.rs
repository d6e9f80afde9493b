//! Call stacks as values of events: walked by frame pointers, and interned beside the labels.

mod arena;
mod bounds;
mod modules;
mod store;
#[cfg(test)]
mod tests;
#[cfg(all(feature = "unwind", target_env = "gnu"))]
mod unwind;
mod walk;

use core::ffi::c_void;
use core::mem::MaybeUninit;

use self::arena::MAX_CHUNKS;
use self::store::Stacks;
use self::walk::{Low, Walk};
use crate::control::switches as control;
use crate::control::switches::Listed;
use crate::memory::registry::Registry;
use crate::model::variety::{VARIETY, Variety};
use crate::own::labels;
use crate::sys::timers::Interrupted;

static STACKS: Stacks = Stacks::new(MAX_CHUNKS);

/// Returns the number of the call stack of the function that this is inlined into. It is for an
/// event of a registry, which has this switch. For generated code.
///
/// Returns 0 if the stack could not be recorded. The stream says how often that happened.
#[inline(always)]
#[must_use]
pub fn stack(registry: &'static Registry, index: usize) -> u32 {
    let (code, frame) = walk::here();
    number(registry, index, code, frame, Low::here())
}

/// Returns the same of a function in C, by the place of its code, and its frame. Both may be
/// anything. For generated code.
#[must_use]
pub fn stack_at(registry: &'static Registry, index: usize, code: *const c_void, frame: *const c_void) -> u32 {
    let frame = frame.expose_provenance() as u64;
    number(registry, index, code.addr() as u64, frame, Low::of(frame))
}

#[inline(never)]
fn number(registry: &'static Registry, index: usize, code: u64, frame: u64, low: Low) -> u32 {
    if matches!(VARIETY, Variety::Rash) {
        return 0;
    }
    let mut place = MaybeUninit::uninit();
    let walk = Walk::new(&mut place);
    walk.take(code, frame, low);
    match STACKS.known(walk) {
        Some(number) => number,
        None => keep(registry, index, walk),
    }
}

/// Returns the number of the call stack of code that this handler interrupts, by its place, its
/// frame, and its stack pointer.
pub(crate) fn stack_of(registry: &'static Registry, index: usize, at: &Interrupted) -> u32 {
    let mut place = MaybeUninit::uninit();
    let walk = Walk::new(&mut place);
    walk.take_above(at.code, at.frame, at.stack);
    match STACKS.known(walk) {
        Some(number) => number,
        None => keep(registry, index, walk),
    }
}

/// Finds out where this thread's stack is, so that handlers need not.
pub(crate) fn prepare() {
    bounds::prepare();
}

/// Gives a stack a number, if the event turns out to be on: until its registry is in use, all
/// events seem so.
#[cold]
#[inline(never)]
fn keep(registry: &'static Registry, index: usize, walk: &Walk) -> u32 {
    let is_on = registry.is_listed() || control::list(registry) == Listed::Yes && registry.is_on(index);
    match labels::lane() {
        Some(lane) if is_on => STACKS.intern(lane, walk),
        _ => 0,
    }
}
