//! Backtraces, and the sums for each.

use hashbrown::HashMap;

use super::order;
use crate::mono::stack::Frame;

/// The most frames of a trace that are kept.
const FRAMES: usize = 6;

/// The most traces that are kept; of further ones, only sums are.
const MOST: usize = 4 << 20;

/// All backtraces, each once.
#[derive(Default)]
pub(super) struct Traces {
    numbers: HashMap<Box<[u64]>, u32>,
    all: Vec<Box<[u64]>>,
    /// Number of sums for traces.
    sums: usize,
}

/// The sums for some backtraces.
#[derive(Default)]
pub(super) struct Sums {
    index: HashMap<u32, usize>,
    /// The number of the trace and its sum, in the order in which they were first seen.
    sums: Vec<(u32, u64)>,
    /// The last addition was to an existing sum.
    was_known: bool,
}

/// The place of an event, for the sums of backtraces.
pub(super) struct Origin<'t> {
    /// The backtraces, if they are wanted.
    pub(super) traces: Option<&'t mut Traces>,
    /// The thread's open calls.
    pub(super) stack: &'t [Frame],
}

impl Origin<'_> {
    /// Adds to the sum of the event's backtrace, or of its thread's open calls if it has none.
    pub(super) fn add(self, sums: &mut Sums, frames: Option<&[u64]>, value: u64) {
        if let Some(traces) = self.traces {
            traces.add(sums, frames, self.stack, value);
        }
    }
}

impl Sums {
    /// Adds to the sum of a trace.
    fn add(&mut self, trace: u32, value: u64) {
        let len = self.sums.len();
        let index = *self.index.entry(trace).or_insert(len);
        self.was_known = index < len;
        match self.sums.get_mut(index) {
            Some((_, sum)) => *sum = sum.wrapping_add(value),
            None => self.sums.push((trace, value)),
        }
    }

    /// Adds all sums of another.
    pub(super) fn take(&mut self, others: Sums) {
        others.sums.into_iter().for_each(|(trace, value)| self.add(trace, value));
    }
}

impl Traces {
    /// Adds to the sum of a backtrace, of which the first frames count. If the event has none, adds
    /// to that of the thread's open calls.
    pub(super) fn add(&mut self, sums: &mut Sums, frames: Option<&[u64]>, stack: &[Frame], value: u64) {
        match frames {
            Some(frames) => self.add_to(sums, &frames[..frames.len().min(FRAMES)], value),
            None => self.add_stack(sums, stack, value),
        }
    }

    /// Adds to the sum of a thread's open calls, of which the last count.
    pub(super) fn add_stack(&mut self, sums: &mut Sums, stack: &[Frame], value: u64) {
        let mut frames = [0; FRAMES];
        let last = &stack[stack.len().saturating_sub(FRAMES)..];
        for (frame, call) in frames.iter_mut().zip(last) {
            *frame = call.method;
        }
        self.add_to(sums, &frames[..last.len()], value);
    }

    fn add_to(&mut self, sums: &mut Sums, frames: &[u64], value: u64) {
        let number = match self.numbers.get(frames) {
            Some(number) => *number,
            None if self.all.len() >= MOST => return,
            None => {
                let number = self.all.len() as u32;
                self.numbers.insert(frames.into(), number);
                self.all.push(frames.into());
                number
            }
        };
        sums.add(number, value);
        self.sums += usize::from(!sums.was_known);
    }

    /// Returns the approximate number of bytes that the traces and their sums take.
    pub(super) fn taken(&self) -> usize {
        let traces = self.all.capacity() * 16 + self.all.len() * 2 * (FRAMES + 2) * 8;
        traces + self.numbers.capacity() * 21 + self.sums * 64
    }

    /// Returns the sums with the methods of their traces, the largest first.
    pub(super) fn sorted<'t>(&'t self, sums: &'t Sums) -> Vec<(u64, &'t [u64])> {
        let hashes: Vec<u64> =
            sums.sums.iter().map(|(number, _)| hash(&self.all[*number as usize]).into()).collect();
        let order = order::probed(&hashes, 0, sums.was_known);
        let mut sorted: Vec<_> = order
            .into_iter()
            .map(|index| sums.sums[index])
            .map(|(number, sum)| (sum, &*self.all[number as usize]))
            .collect();
        sorted.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
        sorted
    }
}

/// Returns the key of the tool's tables of traces.
fn hash(frames: &[u64]) -> u32 {
    frames
        .iter()
        .fold(frames.len() as u32, |hash, frame| (hash << 5).wrapping_sub(hash).wrapping_add(*frame as u32))
}
