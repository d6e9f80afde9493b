//! The drain stops lanes to seal their blocks. What a lane writes and what the drain takes never
//! overlap.

use crate::model;
use crate::sync::gate::Gate;
use crate::sys::atomic::{Ordering, without_barrier};
use crate::world::{Reader, World, Writer};

/// A lane emits while the drain seals its blocks and returns their memory.
///
/// The lane emits `before` events first. With none, the drain finds it inside the emission that
/// opens its block.
fn stop_a_lane(
    preemptions: usize,
    first: u64,
    is_stopped: impl Fn(&Gate<u8>) -> bool + Copy + Send + Sync + 'static,
) {
    model(preemptions, move || {
        let world = World::new(3, 1);
        let mut writer = Writer::new(&world, 0, false);
        assert!((0..first).all(|_| writer.emit()));
        let thread = loom::thread::spawn(move || {
            let emitted = first as usize + (first..4).filter(|_| writer.emit()).count();
            writer.close();
            emitted as u64
        });
        let mut reader = Reader::new(&world);
        let returned = world.lanes[0].emitted.load(Ordering::Acquire);
        reader.pass_that_seals(is_stopped);
        assert!(reader.lanes[0].events >= returned, "{} of {returned}", reader.lanes[0].events);
        let emitted = thread.join().expect("a lane");
        reader.pass();
        assert_eq!(reader.lanes[0].events, emitted);
    });
}

/// Each event is read once and in order, whichever thread seals a block.
#[test]
fn a_lane_that_is_stopped() {
    stop_a_lane(3, 1, Gate::is_stopped);
    stop_a_lane(3, 0, Gate::is_stopped);
}

/// Without the barrier, the drain does not see the flag of a thread that is inside, or the thread
/// does not see the mark.
#[test]
#[should_panic]
fn without_the_barrier_a_lane_is_not_stopped() {
    without_barrier();
    stop_a_lane(3, 1, Gate::is_stopped);
}

/// An emission in progress moves the address on and thereby removes the mark. The flag alone does
/// not show that.
#[test]
#[should_panic]
fn the_flag_alone_does_not_say_that_a_lane_is_stopped() {
    stop_a_lane(4, 0, |gate| !gate.is_busy());
}

/// The memory of a block that the drain has sealed goes to another lane at once.
#[test]
fn a_lane_that_is_stopped_for_another() {
    model(2, || {
        let world = World::new(2, 2);
        let writers = [0, 1].map(|lane| Writer::new(&world, lane, false));
        let threads = writers.map(|mut writer| {
            loom::thread::spawn(move || {
                let emitted = (0..2).filter(|_| writer.emit()).count();
                writer.close();
                emitted as u64
            })
        });
        let mut reader = Reader::new(&world);
        reader.pass_that_seals(Gate::is_stopped);
        let emitted = threads.map(|thread| thread.join().expect("a lane"));
        reader.pass();
        assert_eq!([reader.lanes[0].events, reader.lanes[1].events], emitted);
    });
}
