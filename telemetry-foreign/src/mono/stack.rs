//! The open calls of a thread, from enters and leaves.

use std::collections::HashMap;

/// The most calls of all threads that are kept. Mono itself does not record more than 100 per
/// thread.
const MOST: usize = 1 << 20;

/// A call that has not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The address of the method.
    pub(super) method: u64,
    /// The caller's index of the method.
    pub(super) index: u32,
    pub(super) entered: u64,
    /// Time spent in calls from it.
    pub(super) in_callees: u64,
}

/// The open calls of a thread, outermost first.
#[derive(Debug, Default)]
pub(super) struct Stack {
    pub(super) frames: Vec<Frame>,
    /// The number of calls beyond the depth that is kept.
    deeper: u64,
    /// Clock reading at the end of the thread's last buffer.
    pub(super) last: u64,
}

/// A call that ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) index: u32,
    /// Time from its enter to its leave.
    pub(super) time: u64,
    pub(super) in_callees: u64,
    /// The clock went back during it.
    pub(super) is_backward: bool,
}

impl Stack {
    #[inline]
    pub(super) fn enter(&mut self, method: u64, index: u32, ticks: u64, room: &mut usize) {
        if *room == 0 || self.deeper > 0 {
            self.deeper += 1;
            return;
        }
        *room -= 1;
        self.frames.push(Frame { method, index, entered: ticks, in_callees: 0 });
    }

    /// Ends the innermost call, if it is of this method.
    #[inline]
    pub(super) fn leave(&mut self, method: u64, ticks: u64, room: &mut usize) -> Left {
        if self.deeper > 0 {
            self.deeper -= 1;
            return Left::Unknown;
        }
        let Some(frame) = self.frames.pop_if(|frame| frame.method == method) else {
            return Left::Unmatched;
        };
        *room += 1;
        let time = ticks.wrapping_sub(frame.entered);
        if let Some(caller) = self.frames.last_mut() {
            caller.in_callees = caller.in_callees.wrapping_add(time);
        }
        let Frame { index, in_callees, entered, .. } = frame;
        Left::Ended(Ended { index, time, in_callees, is_backward: ticks < entered })
    }
}

/// The result of a leave.
pub(super) enum Left {
    Ended(Ended),
    /// A call beyond the depth that is kept.
    Unknown,
    /// None: the innermost call is of another method.
    Unmatched,
}

/// The stacks of all threads, by pthread_self.
pub(super) struct Stacks {
    by_thread: HashMap<u64, usize>,
    /// In the order in which threads were first seen.
    pub(super) all: Vec<(u64, Stack)>,
    /// Frames that may still be kept.
    pub(super) room: usize,
}

impl Default for Stacks {
    fn default() -> Self {
        Stacks { by_thread: HashMap::new(), all: Vec::new(), room: MOST }
    }
}

impl Stacks {
    /// Returns the approximate number of bytes that the stacks take.
    pub(super) fn taken(&self) -> usize {
        let frames = (MOST - self.room) * size_of::<Frame>();
        frames + self.all.capacity() * size_of::<(u64, Stack)>() + self.by_thread.capacity() * 17
    }

    /// Returns the index of a thread.
    pub(super) fn of(&mut self, thread: u64) -> usize {
        *self.by_thread.entry(thread).or_insert_with(|| {
            self.all.push((thread, Stack::default()));
            self.all.len() - 1
        })
    }
}
