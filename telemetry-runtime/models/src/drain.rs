//! Lanes that open, fill and seal blocks while passes read the blocks, or take them away.

use crate::model;
use crate::sys::atomic::Ordering;
use crate::world::{Reader, World, Writer};

/// Every event of a lane is read once and in order, whether a pass finds open blocks, sealed ones,
/// or both.
#[test]
fn a_lane_and_a_pass() {
    model(3, || {
        let world = World::new(2, 1);
        let mut writer = Writer::new(&world, 0, false);
        let thread = loom::thread::spawn(move || {
            let emitted = (0..4).filter(|_| writer.emit()).count();
            writer.close();
            emitted
        });
        let mut reader = Reader::new(&world);
        // A flush writes all events whose emitters had returned before.
        let returned = world.lanes[0].emitted.load(Ordering::Acquire);
        reader.pass();
        assert!(reader.lanes[0].events >= returned, "{} of {returned}", reader.lanes[0].events);
        let is_closed = world.lanes[0].status.is_closed();
        reader.pass();
        let at_close = reader.lanes[0].events;
        let emitted = thread.join().expect("a lane") as u64;
        assert!(
            !is_closed || at_close == emitted,
            "a lane that is closed has nothing left: {at_close} of {emitted}"
        );
        reader.pass();
        assert_eq!(reader.lanes[0].events, emitted);
    });
}

/// Pages that a pass has read go to another lane, and the pass does not read or sort them again.
#[test]
fn two_lanes_and_a_pass() {
    model(3, || {
        let world = World::new(2, 2);
        let writers = [0, 1].map(|lane| Writer::new(&world, lane, false));
        let threads = writers.map(|mut writer| {
            loom::thread::spawn(move || {
                let emitted = (0..3).filter(|_| writer.emit()).count();
                writer.close();
                emitted
            })
        });
        let mut reader = Reader::new(&world);
        reader.pass();
        let emitted = threads.map(|thread| thread.join().expect("a lane") as u64);
        reader.pass();
        assert_eq!([reader.lanes[0].events, reader.lanes[1].events], emitted);
    });
}

/// A lane that finds no memory overwrites the oldest block that no sink has taken, while a pass
/// reads others. Every event is read or overwritten, never both, and a block that is being read is
/// never overwritten.
#[test]
fn a_lane_that_overwrites_and_a_pass() {
    model(2, || {
        let world = World::new(3, 1);
        let mut writer = Writer::new(&world, 0, true);
        // A block is open. The pass may pin it, and its lane may fill it, seal it, and find it
        // pinned.
        assert!(writer.emit());
        let thread = loom::thread::spawn(move || {
            let emitted = 1 + (0..7).filter(|_| writer.emit()).count();
            writer.close();
            emitted
        });
        let mut reader = Reader::new(&world);
        reader.pass();
        let emitted = thread.join().expect("a lane") as u64;
        reader.pass();
        let overwritten = world.lanes[0].overwritten.load(Ordering::Relaxed);
        assert_eq!(reader.lanes[0].events + overwritten, emitted);
    });
}

/// Blocks of the runtime's own registry wait for a stream and block nothing: a lane that finds no
/// memory reclaims them. The first pass that has a stream writes all that are left, in order.
#[test]
fn a_lane_that_waits_for_a_stream() {
    model(2, || {
        let world = World::with(2, vec![true]);
        let mut writer = Writer::new(&world, 0, true);
        assert!((0..3).all(|_| writer.emit()));
        let mut reader = Reader::new(&world);
        reader.pass_without_a_stream();
        assert_eq!(reader.lanes[0].events, 0);
        let thread = loom::thread::spawn(move || {
            let emitted = 3 + (0..4).filter(|_| writer.emit()).count();
            writer.close();
            emitted
        });
        reader.pass();
        let emitted = thread.join().expect("a lane") as u64;
        reader.pass();
        let overwritten = world.lanes[0].overwritten.load(Ordering::Relaxed);
        assert_eq!(reader.lanes[0].events + overwritten, emitted);
    });
}

/// The end of a process while a thread emits: the mask is cleared, and then the last pass is made.
/// That pass reads a prefix of what was emitted, with all events whose emitters had returned
/// before. The rest stays in memory.
#[test]
fn an_end_while_a_lane_emits() {
    model(3, || {
        let world = World::new(2, 1);
        let mut writer = Writer::new(&world, 0, false);
        let thread = loom::thread::spawn(move || {
            let is_on = |writer: &Writer| writer.world.is_on.load(Ordering::Relaxed);
            // The mask is tested first, and the event may be recorded much later.
            (0..3).filter(|_| is_on(&writer) && writer.emit()).count() as u64
        });
        let mut reader = Reader::new(&world);
        let returned = world.lanes[0].emitted.load(Ordering::Acquire);
        world.is_on.store(false, Ordering::Relaxed);
        reader.pass();
        let at_end = reader.lanes[0].events;
        let emitted = thread.join().expect("a lane");
        assert!((returned..=emitted).contains(&at_end), "{at_end} of {emitted}, {returned} had returned");
        reader.pass();
        assert_eq!(reader.lanes[0].events, emitted, "what the last pass has not is still in memory");
    });
}
