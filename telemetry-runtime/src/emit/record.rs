//! The hot path: an event of a thread goes into the thread's block for the event's kind.
//!
//! While its thread is inside a lane, the lane's flag is set. A signal handler that interrupts an
//! emission finds the flag set and counts its event as lost. In any other lane it records as usual.
//! All data belong to the thread, so nothing is locked. The only shared word that is written is the
//! one that publishes the block's committed length.
#![allow(unsafe_code)]

use std::thread::LocalKey;

use telemetry_format::put::{self, MAX_VARINT};

use crate::emit::lane::{Lane, Lanes, MARGIN, Site, View};
use crate::emit::refill::{refill, refilled};
use crate::memory::registry::Registry;
use crate::model::fields::Fields;
use crate::model::raw::{Ahead, Raw};
use crate::run::clock;
use crate::store::counters::{self, Stray};
use crate::sync::gate;

/// Maximum length of an event's code and time.
const PREFIX: usize = 3 + MAX_VARINT;

/// Records an event in the usual case, and returns true. The lane is then free and has room, each
/// value is at most four bytes long, and the clock is the cycle counter. Otherwise does nothing and
/// returns false, and the caller must call [`record_long`]. The caller has tested that the event is
/// on.
///
/// `KIND` is the index of the event's kind. With `INHERIT` the event gets the thread's latest clock
/// reading instead of a new one.
///
/// This function makes no call, and the macro calls `record_long` last. So the emitter needs no
/// frame and saves no register.
///
/// With debug assertions it is a function, whose frame is gone before `record_long` is called. Such
/// frames are large, and handlers of fatal signals have only a few kilobytes of stack.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn record<
    const KINDS: usize,
    const SLOTS: usize,
    const KIND: usize,
    const INHERIT: bool,
    F: Fields<SLOTS>,
>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
    site: Site<KIND, INHERIT>,
    fields: F,
) -> bool {
    const { assert!(KIND < KINDS, "the kind is one of the registry's") };
    let all = get(local);
    let lane = &all.lanes[KIND];
    // Read first: some processors finish all earlier instructions before they read the counter. A
    // signal handler may record a later time in between. Then the distance is not short, and
    // `record_long` reads the clock again.
    let reading = (!INHERIT).then(clock::counter);
    if !lane.enter() {
        return false;
    }
    let at = lane.gate.at();
    let need = PREFIX + fields.bound();
    // Most events need less than the margin that the limit keeps, so that nothing is added here.
    let beyond = if F::IS_FIXED { need.saturating_sub(MARGIN) } else { need.wrapping_sub(MARGIN) };
    if at.addr().wrapping_add(beyond) >= lane.limit.get() {
        return lane.leave(false);
    }
    let time = reading.unwrap_or_else(|| all.time.get());
    let since = time.wrapping_sub(lane.time.get());
    let Some(out) = put::short_pair(Ahead::new(at), site.code, since) else {
        return lane.leave(false);
    };
    let Some(out) = fields.put_short(out, &all.slots) else {
        return lane.leave(false);
    };
    fields.keep(&all.slots);
    lane.time.set(time);
    if !INHERIT {
        all.time.set(time);
    }
    lane.commit(out.end());
    lane.leave(true)
}

/// Records an event in all other cases, or counts it as lost.
#[inline(always)]
pub fn record_long<const KINDS: usize, const SLOTS: usize, const KIND: usize, const INHERIT: bool>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
    registry: &'static Registry,
    site: Site<KIND, INHERIT>,
    fields: impl Fields<SLOTS>,
) {
    let all = get(local);
    let lane = &all.lanes[KIND];
    if !lane.enter() {
        return reentrant(lane);
    }
    // An event that meets the limit ends the block. All after it would meet the limit, too.
    let need = (PREFIX + fields.bound()).max(MARGIN);
    let view = View { time: &all.time, lanes: &all.lanes, slots: &all.slots, link: &all.link };
    let is_full = !lane.has_room(need);
    if !is_full || refill(view, KIND, registry, site.index, need) {
        // One reading for both uses: a signal handler may read the clock later in between. An
        // inherited time would then be one that the lane has passed.
        let time = if INHERIT { all.time.get() } else { clock::ticks() };
        let time = time.max(lane.time.get());
        all.time.set(time);
        // The drain may ask a lane to stop while its thread is inside, which has no effect.
        let at = gate::unmarked(lane.gate.at());
        let out = put::unsigned(Raw::new(at), u64::from(site.code));
        let out = put::unsigned(out, time.wrapping_sub(lane.time.get()));
        let out = fields.put(out, &all.slots);
        lane.time.set(time);
        lane.commit(out.end());
        if fields.truncated() > 0 {
            lane.count(|account| &account.truncated, fields.truncated());
        }
    }
    if is_full {
        refilled(lane);
    }
    lane.leave(());
}

/// Returns the thread's lanes. A call of `with` around more code than this would not be inlined.
#[inline(always)]
fn get<const KINDS: usize, const SLOTS: usize>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
) -> &'static Lanes<KINDS, SLOTS> {
    // SAFETY: a thread-local without a destructor lives until its thread is gone, and this code
    // passes the reference to no other thread.
    unsafe { &*local.with(core::ptr::from_ref) }
}

/// Counts an event that interrupted an emission in its own lane.
#[cold]
#[inline(never)]
fn reentrant(lane: &Lane) {
    if !lane.count(|account| &account.reentrant, 1) {
        counters::lose(Stray::Reentrant);
    }
}
