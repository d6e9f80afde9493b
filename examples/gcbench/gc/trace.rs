//! A trace: copies the reachable objects of the condemned generations to the next older ones, and
//! frees the rest.
//!
//! Objects that are copied but not yet scanned are gray; the queue, as in Cheney's algorithm, is
//! one of segments. Older generations may refer to condemned ones. So a trace also scans their
//! segments whose summary allows that.

use std::collections::VecDeque;

use super::arena::{GRAIN_BYTES, base_of, grain_of};
use super::generation::{GENERATIONS, OLDEST, capacity_for};
use super::heap::Heap;
use super::memory::{Header, Ref, Shape, WORD};
use super::pool::{OBJECTS, TABLES};
use super::segment::NONE;
use crate::events::{self, TraceWhy};

/// A heap's trace, reset for each collection.
#[derive(Default)]
pub(super) struct Trace {
    /// Segments with objects to be scanned.
    gray: VecDeque<usize>,
    /// Bytes of surviving objects, by the generation that they were in.
    survived: [usize; GENERATIONS],
    root_refs: usize,
    seg_scans: usize,
    seg_refs: usize,
    seg_bytes: usize,
    fixed: usize,
    snapped: usize,
    forwarded: usize,
}

impl Heap {
    /// Collects the generations up to `top`.
    pub(crate) fn collect(&mut self, why: TraceWhy, top: usize) {
        self.trace = Trace::default();
        self.counters.traces += 1;
        // Also the buffers of generations that receive copies: an object copied into a condemned
        // segment would be freed with it.
        (0..=top).for_each(|generation| self.empty_buffer(generation));
        let sizes: [usize; GENERATIONS] = std::array::from_fn(|generation| self.generations[generation].size);
        let condemned: usize = sizes[..=top].iter().sum();
        let not_condemned: usize = sizes[top + 1..].iter().sum();
        events::trace_start!(&self.trace, &self.arena, why, top as u8, condemned, not_condemned);
        let white = self.condemn(top);
        self.flip();
        self.scan(top);
        self.reclaim(white);
        self.end(top, &sizes);
        if top == OLDEST {
            self.resize();
        }
        self.report();
    }

    /// Condemns the segments of the generations up to `top`, and removes them from these.
    fn condemn(&mut self, top: usize) -> Vec<usize> {
        let mut white = Vec::new();
        for (serial, generation) in self.generations[..=top].iter_mut().enumerate() {
            let (segments, size) = (&mut generation.segments, generation.size);
            events::trace_condemn_gen!(&self.trace, serial as u8, segments.len(), size);
            generation.size = 0;
            white.append(segments);
        }
        for &seg in &white {
            let filled = (self.segments[seg].fill - base_of(seg)) * WORD;
            events::seg_condemn!(&self.segments[seg], &self.trace, filled);
            self.segments[seg].is_condemned = true;
        }
        white
    }

    /// Fixes the roots.
    fn flip(&mut self) {
        events::trace_flip_begin!(&self.trace);
        for root in 0..self.roots.len() {
            let start = self.roots[root].table.words().start;
            let len = self.roots[root].len;
            (start..start + len).for_each(|slot| _ = self.fix(slot));
            self.trace.root_refs += len;
            events::root_scan!(&self.roots[root], &self.trace, len);
        }
        events::trace_flip_end!(&self.trace);
    }

    /// Scans all segments that may refer to condemned objects, and all objects that are copied.
    fn scan(&mut self, top: usize) {
        events::trace_scan_begin!(&self.trace);
        for generation in top + 1..GENERATIONS {
            // Nothing has been copied from segments yet, so the list is that of the trace's start.
            for index in 0..self.generations[generation].segments.len() {
                let seg = self.generations[generation].segments[index];
                if usize::from(self.segments[seg].summary) <= top {
                    self.segments[seg].scanned = base_of(seg);
                    self.set_summary(seg, NONE);
                    self.add_gray(seg);
                }
            }
        }
        while let Some(seg) = self.trace.gray.pop_front() {
            self.segments[seg].is_gray = false;
            if self.segments[seg].scanned < self.segments[seg].fill {
                self.scan_segment(seg);
            }
        }
        events::trace_scan_end!(&self.trace);
    }

    /// Fixes the references in a segment's gray objects.
    fn scan_segment(&mut self, seg: usize) {
        events::seg_scan_begin!(&self.segments[seg], &self.trace);
        let start = self.segments[seg].scanned;
        let (mut at, mut refs, mut youngest) = (start, 0, self.segments[seg].summary);
        // The segment may grow meanwhile: it may be the one that receives copies.
        while at < self.segments[seg].fill {
            let Header::Object(shape) = self.arena.memory.header(Ref::at(at)) else {
                unreachable!("an object outside the condemned segments has moved");
            };
            for slot in at + 1..at + 1 + shape.refs {
                let object = self.fix(slot);
                if !object.is_null() {
                    youngest = youngest.min(self.segments[grain_of(object.word())].generation);
                }
            }
            refs += shape.refs;
            at += shape.words();
        }
        self.segments[seg].scanned = at;
        self.set_summary(seg, youngest);
        let size = (at - start) * WORD;
        events::seg_scan_end!(&self.segments[seg], &self.trace, size, refs);
        self.trace.seg_scans += 1;
        self.trace.seg_refs += refs;
        self.trace.seg_bytes += size;
    }

    /// Updates a reference to a condemned object, which is copied first if necessary. Returns the
    /// reference.
    #[inline]
    fn fix(&mut self, slot: usize) -> Ref {
        let object = self.arena.memory.reference(slot);
        if !self.segments[grain_of(object.word())].is_condemned {
            return object;
        }
        let memory = &self.arena.memory;
        events::trace_fix!(memory.address(slot), memory.address(object.word()));
        self.trace.fixed += 1;
        let new = match memory.header(object) {
            Header::Forwarded(new) => {
                events::trace_snap!(memory.address(slot), memory.address(new.word()));
                self.trace.snapped += 1;
                new
            }
            Header::Object(shape) => self.forward(object, shape),
        };
        self.arena.memory.set_reference(slot, new);
        new
    }

    /// Copies an object to the next older generation, where it is gray.
    fn forward(&mut self, object: Ref, shape: Shape) -> Ref {
        let old = usize::from(self.segments[grain_of(object.word())].generation);
        let generation = (old + 1).min(OLDEST);
        let buffer = &self.buffers[generation];
        if buffer.limit - buffer.next < shape.words() {
            self.empty_buffer(generation);
            self.fill_buffer(generation).expect("the arena keeps as much free as a trace may copy");
        }
        let buffer = &mut self.buffers[generation];
        let at = buffer.next;
        buffer.next += shape.words();
        let seg = grain_of(at);
        self.segments[seg].fill = at + shape.words();
        self.add_gray(seg);
        let (memory, new) = (&mut self.arena.memory, Ref::at(at));
        memory.forward(object, shape, new);
        events::object_forward!(memory.address(object.word()), memory.address(at), shape.bytes());
        self.generations[generation].size += shape.bytes();
        self.trace.survived[old] += shape.bytes();
        self.trace.forwarded += 1;
        new
    }

    /// Queues a segment, unless it is queued already.
    #[inline]
    fn add_gray(&mut self, seg: usize) {
        if !self.segments[seg].is_gray {
            self.segments[seg].is_gray = true;
            self.trace.gray.push_back(seg);
        }
    }

    /// Frees the condemned segments.
    fn reclaim(&mut self, white: Vec<usize>) {
        events::trace_reclaim_begin!(&self.trace);
        let segs = white.len();
        for seg in white {
            events::seg_reclaim!(&self.segments[seg], &self.trace);
            self.free_segment(seg);
        }
        events::trace_reclaim_end!(&self.trace);
        let Trace { root_refs, seg_scans, seg_refs, seg_bytes, fixed, snapped, forwarded, .. } = self.trace;
        events::trace_stat_scan!(&self.trace, root_refs, seg_scans, seg_refs, seg_bytes);
        events::trace_stat_fix!(&self.trace, fixed, snapped, forwarded);
        events::trace_stat_reclaim!(&self.trace, segs, segs * GRAIN_BYTES);
    }

    /// Emits the totals; `sizes` are the sizes of the generations before the trace.
    fn end(&mut self, top: usize, sizes: &[usize; GENERATIONS]) {
        for (serial, (condemned, survived)) in
            sizes.iter().zip(&self.trace.survived).enumerate().take(top + 1)
        {
            let mortality = 1.0 - *survived as f64 / (*condemned).max(1) as f64;
            events::trace_end_gen!(&self.trace, serial as u8, *condemned, *survived, mortality);
        }
        let survived: usize = self.trace.survived.iter().sum();
        let reclaimed = sizes[..=top].iter().sum::<usize>() - survived;
        let live: usize = self.generations.iter().map(|generation| generation.size).sum();
        events::trace_end!(&self.trace, survived, reclaimed, live);
        self.counters.forwarded += survived as u64;
        self.counters.reclaimed += reclaimed as u64;
    }

    /// Adapts the capacity of the oldest generation to its live objects.
    fn resize(&mut self) {
        let nursery = self.generations[0].capacity;
        let oldest = &mut self.generations[OLDEST];
        let capacity = capacity_for(oldest.size, nursery);
        if capacity != oldest.capacity {
            oldest.capacity = capacity;
            events::gen_capacity_set!(&self.arena, &*oldest, OLDEST as u8, capacity);
        }
    }

    /// Emits the sizes of arena, pools and generations.
    fn report(&self) {
        let sizes: [usize; GENERATIONS] = std::array::from_fn(|generation| self.generations[generation].size);
        events::arena_stat!(&self.arena, self.arena.committed_bytes(), self.arena.used_bytes(), &sizes);
        let segments: usize = self.generations.iter().map(|generation| generation.segments.len()).sum();
        let total = segments * GRAIN_BYTES;
        events::pool_stat!(&self.pools[OBJECTS], total, total - sizes.iter().sum::<usize>());
        let (total, free) = self.tables.sizes();
        events::pool_stat!(&self.pools[TABLES], total, free);
    }
}
