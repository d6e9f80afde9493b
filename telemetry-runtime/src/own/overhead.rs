//! Measures the cost of an emission on this machine, with a lane that the drain does not know.
#![allow(unsafe_code)]

use core::hint::black_box;

use crate::emit::lane::{Lanes, Site};
use crate::emit::record::{record, record_long};
use crate::memory::block::{Block, PAGE};
use crate::memory::facts;
use crate::model::fields::{Unsigned32, Unsigned64};
use crate::own::registry as own;
use crate::run::clock;
use crate::sys;

/// Number of emissions that are timed together. The block has room for all of them, so none takes
/// another block.
const EMISSIONS: u64 = 128;
/// Number of rounds. The fastest one counts, since nothing interrupted it.
const ROUNDS: usize = 4;

std::thread_local! {
    static SCRATCH: Lanes<1, 0> = const { Lanes::new() };
}

/// Measures how long an emission of two numbers takes, once in a process. It takes some
/// microseconds, so a thread that writes a stream does it.
pub(crate) fn measure(ticks_per_second: u64) {
    if facts::emission_cost() > 0 {
        return;
    }
    let Some(at) = sys::map(PAGE) else { return };
    let best = (0..ROUNDS).map(|_| round(at)).min().unwrap_or_default();
    // SAFETY: the lane does not use the block any more.
    unsafe { sys::unmap(at, PAGE) };
    facts::set_emission_cost(cost(best, ticks_per_second));
}

/// Returns the picoseconds of each emission in a round of this number of ticks.
fn cost(ticks: u64, ticks_per_second: u64) -> u64 {
    let picoseconds = u128::from(ticks) * 1_000_000_000_000 / u128::from(ticks_per_second.max(1) * EMISSIONS);
    // At least 1, because 0 means that it was not measured.
    u64::try_from(picoseconds).unwrap_or(u64::MAX >> 1).max(1)
}

/// Fills a block, and returns how many ticks that took.
fn round(at: *mut u8) -> u64 {
    // SAFETY: the memory is a page that this code owns.
    let block = unsafe { Block::scratch(at.cast()) };
    SCRATCH.with(|lanes| {
        lanes.lane(0).time.set(clock::ticks());
        lanes.lane(0).set_block(Some(&block));
    });
    let start = clock::ticks();
    for number in 0..EMISSIONS {
        let fields = || (Unsigned64(black_box(number)), (Unsigned32(black_box(number as u32)), ()));
        let site = Site::<0, false> { code: 1, index: 0 };
        if !record(&SCRATCH, site, fields()) {
            record_long(&SCRATCH, own::registry(), site, fields());
        }
    }
    let took = clock::ticks().wrapping_sub(start);
    SCRATCH.with(|lanes| lanes.lane(0).set_block(None));
    took
}

#[cfg(test)]
mod tests {
    use super::{EMISSIONS, cost};

    #[test]
    fn the_cost_of_an_emission_is_in_picoseconds() {
        // 20 ticks of a third of a nanosecond.
        assert_eq!(cost(20 * EMISSIONS, 3_000_000_000), 6_666);
        assert_eq!(cost(7 * EMISSIONS, 1_000_000_000), 7_000);
        assert_eq!((cost(0, 1_000_000_000), cost(u64::MAX, 0)), (1, u64::MAX >> 1));
    }
}
