//! A thread's heap: allocation, access, roots, and when to collect.

use super::arena::{Arena, GRAIN, GRAIN_BYTES, bytes, grain_of, words_of};
use super::generation::{GENERATIONS, Generation, OLDEST, top_full};
use super::memory::{Memory, Ref, Shape, WORD};
use super::pool::{OBJECTS, Pool, TABLES, pools};
use super::segment::{NONE, Segment};
use super::tables::{Table, Tables};
use super::trace::Trace;
use crate::events::{self, RootForm, TraceWhy};

/// Maximum words of an object. Larger data belongs in a table.
pub(super) const MAX_OBJECT: usize = GRAIN / 64;

/// A thread's heap.
pub(crate) struct Heap {
    pub(super) arena: Arena,
    /// By grain.
    pub(super) segments: Box<[Segment]>,
    pub(super) pools: [Pool; 2],
    pub(super) generations: [Generation; GENERATIONS],
    /// By generation. The program allocates in the nursery's buffer, traces in the others.
    pub(super) buffers: [Buffer; GENERATIONS],
    pub(super) tables: Tables,
    pub(super) roots: [Root; 2],
    pub(super) trace: Trace,
    pub(super) counters: Counters,
}

/// The part of a segment in which allocation is only an addition.
pub(super) struct Buffer {
    /// Its segment; none while it has no memory.
    pub(super) seg: Option<usize>,
    /// Its begin, the place of the next object, and its end.
    pub(super) base: usize,
    pub(super) next: usize,
    pub(super) limit: usize,
}

/// A table of references that keep objects alive.
pub(super) struct Root {
    form: RootForm,
    pub(super) table: Table,
    /// References in use.
    pub(super) len: usize,
}

/// Grains that must be free for a new segment: the segment, one to copy its objects to, and one for
/// fragmentation.
const PER_SEGMENT: usize = 3;

const STACK: usize = 0;
const GLOBALS: usize = 1;
const STACK_LEN: usize = 1 << 12;
const GLOBALS_LEN: usize = 16;

/// The heap's own counters, for comparison with its events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Bytes of objects that the program allocated.
    pub(crate) allocated: u64,
    /// Bytes of objects that traces moved.
    pub(crate) forwarded: u64,
    /// Bytes of objects that traces found dead.
    pub(crate) reclaimed: u64,
    /// Number of traces.
    pub(crate) traces: u64,
    /// Bytes of tables allocated.
    pub(crate) tables: u64,
}

/// The arena is out of memory, even after a collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutOfMemory {
    wanted: usize,
    reserved: usize,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OutOfMemory { wanted, reserved } = self;
        write!(f, "no memory for {wanted} bytes: the arena has {} MiB, half of it to copy to", reserved >> 20)
    }
}

impl Heap {
    /// A heap in an arena of `reserve` bytes that collects after every `nursery` bytes. It is
    /// boxed, because events identify its parts by address.
    ///
    /// # Errors
    /// If not even its roots fit.
    pub(crate) fn new(name: &str, reserve: usize, nursery: usize) -> Result<Box<Heap>, OutOfMemory> {
        let arena = Arena::reserve(reserve);
        let segments = (0..arena.grains()).map(|_| Segment::IDLE).collect();
        let root = |form| Root { form, table: Table::EMPTY, len: 0 };
        let mut heap = Box::new(Heap {
            arena,
            segments,
            pools: pools(),
            generations: std::array::from_fn(|serial| Generation::new(serial, nursery)),
            buffers: [const { Buffer { seg: None, base: 0, next: 0, limit: 0 } }; GENERATIONS],
            tables: Tables::default(),
            roots: [root(RootForm::Stack), root(RootForm::Globals)],
            trace: Trace::default(),
            counters: Counters::default(),
        });
        heap.announce(name);
        for (root, len) in [(STACK, STACK_LEN), (GLOBALS, GLOBALS_LEN)] {
            let table = heap.alloc_table(len)?;
            let base = heap.arena.memory.address(table.words().start);
            heap.roots[root].table = table;
            events::root_create!(&heap.roots[root], &heap.arena, heap.roots[root].form, base, len * WORD);
        }
        heap.roots[GLOBALS].len = GLOBALS_LEN;
        Ok(heap)
    }

    /// Allocates an object with null references and zero data. Unless it is reachable from a root,
    /// the next allocation may free it. References that the caller holds elsewhere are not updated
    /// when objects move.
    ///
    /// # Errors
    /// If there is no memory, even after a collection.
    #[inline(always)]
    pub(crate) fn alloc(&mut self, shape: Shape) -> Result<Ref, OutOfMemory> {
        let buffer = &self.buffers[0];
        if buffer.limit - buffer.next < shape.words() {
            self.fill(shape)?;
        }
        let at = self.buffers[0].next;
        self.buffers[0].next = at + shape.words();
        // Emit before touching memory. Emitting may be a call; after it, the compiler would have to
        // load and check the memory's bounds again when the caller writes into the object.
        events::object_alloc!(self.arena.memory.address(at), shape.bytes());
        self.arena.memory.begin(at, shape);
        Ok(Ref::at(at))
    }

    /// A reference of an object.
    #[inline]
    pub(crate) fn get(&self, object: Ref, index: usize) -> Ref {
        self.memory().reference(object.slot(index))
    }

    /// Sets a reference of an object. The write barrier: here the collector learns of references
    /// from old objects to young ones.
    #[inline]
    pub(crate) fn set(&mut self, object: Ref, index: usize, value: Ref) {
        self.arena.memory.set_reference(object.slot(index), value);
        let seg = &self.segments[grain_of(object.word())];
        if !value.is_null() && self.segments[grain_of(value.word())].generation < seg.summary {
            self.hit_barrier(object.slot(index), value);
        }
    }

    /// The first word of data after an object's references.
    #[inline]
    pub(crate) fn data(&self, object: Ref, shape: Shape) -> u64 {
        self.memory().word(object.slot(shape.refs))
    }

    /// Sets the first word of data after an object's references.
    #[inline]
    pub(crate) fn set_data(&mut self, object: Ref, shape: Shape, value: u64) {
        self.arena.memory.set_word(object.slot(shape.refs), value);
    }

    /// The address of an object, as events and debuggers show it.
    pub(crate) fn address(&self, object: Ref) -> usize {
        self.memory().address(object.word())
    }

    /// Pushes a reference on the stack of roots.
    #[inline]
    pub(crate) fn push(&mut self, object: Ref) {
        let root = &mut self.roots[STACK];
        assert!(root.len < STACK_LEN, "more than {STACK_LEN} references on the stack");
        self.arena.memory.set_reference(root.table.words().start + root.len, object);
        root.len += 1;
    }

    /// The reference that was pushed last, updated if its object has moved.
    #[inline]
    pub(crate) fn top(&self) -> Ref {
        let root = &self.roots[STACK];
        assert!(root.len > 0, "no reference on the stack");
        self.memory().reference(root.table.words().start + root.len - 1)
    }

    /// Pops the last reference.
    #[inline]
    pub(crate) fn pop(&mut self) -> Ref {
        let top = self.top();
        self.roots[STACK].len -= 1;
        top
    }

    /// A global reference.
    pub(crate) fn global(&self, index: usize) -> Ref {
        self.memory().reference(self.global_slot(index))
    }

    /// Sets a global reference.
    pub(crate) fn set_global(&mut self, index: usize, object: Ref) {
        let slot = self.global_slot(index);
        self.arena.memory.set_reference(slot, object);
    }

    fn global_slot(&self, index: usize) -> usize {
        assert!(index < GLOBALS_LEN, "no global {index}");
        self.roots[GLOBALS].table.words().start + index
    }

    /// Resizes the nursery: from now on, a collection after every `bytes` bytes.
    pub(crate) fn set_nursery(&mut self, bytes: usize) {
        if self.generations[0].capacity == bytes {
            return;
        }
        for serial in 0..OLDEST {
            let generation = &mut self.generations[serial];
            generation.capacity = Generation::new(serial, bytes).capacity;
            events::gen_capacity_set!(&self.arena, &*generation, serial as u8, generation.capacity);
        }
    }

    /// The counters so far.
    pub(crate) fn counters(&self) -> Counters {
        let buffer = &self.buffers[0];
        Counters { allocated: self.counters.allocated + in_bytes(buffer.next - buffer.base), ..self.counters }
    }

    fn memory(&self) -> &Memory {
        &self.arena.memory
    }

    /// The address that identifies a pool in events.
    pub(super) fn pool(&self, index: usize) -> usize {
        std::ptr::from_ref(&self.pools[index]).addr()
    }

    /// Grains that must stay free, so that a trace of everything can copy everything.
    pub(super) fn copy_reserve(&self) -> usize {
        let grains: usize = self.generations.iter().map(|generation| generation.segments.len()).sum();
        // The new segments may be more fragmented than the old ones.
        grains + grains * MAX_OBJECT / GRAIN + GENERATIONS
    }

    /// The slow path of the barrier: the segment now refers to a younger generation.
    #[cold]
    fn hit_barrier(&mut self, slot: usize, value: Ref) {
        events::barrier_hit!(self.memory().address(slot), self.memory().address(value.word()));
        let summary = self.segments[grain_of(value.word())].generation;
        self.set_summary(grain_of(slot), summary);
    }

    /// Notes the youngest generation that a segment may refer to.
    pub(super) fn set_summary(&mut self, seg: usize, summary: u8) {
        let old = std::mem::replace(&mut self.segments[seg].summary, summary);
        if old != summary {
            events::seg_set_summary!(&self.segments[seg], old, summary);
        }
    }

    /// Gives the program a new buffer, after a collection if one is due.
    #[cold]
    fn fill(&mut self, shape: Shape) -> Result<(), OutOfMemory> {
        assert!(shape.words() <= MAX_OBJECT, "objects of more than {MAX_OBJECT} words belong in a table");
        events::arena_poll_begin!(&self.arena);
        self.empty_buffer(0);
        let full = self.generations[0].is_full();
        if full {
            let top = top_full(&self.generations);
            let why = if top == 0 { TraceWhy::NurseryFull } else { TraceWhy::GenerationFull };
            self.collect(why, top);
        }
        let enough = self.make_room(PER_SEGMENT);
        events::arena_poll_end!(&self.arena, full || !enough);
        let filled = if self.has_room(PER_SEGMENT) { self.fill_buffer(0) } else { None };
        filled.ok_or_else(|| self.fail(GRAIN_BYTES, OBJECTS))
    }

    /// Ensures that `grains` are free beyond what a trace may need, by a full collection if
    /// necessary. Returns false if one was necessary.
    pub(super) fn make_room(&mut self, grains: usize) -> bool {
        let enough = self.has_room(grains);
        if !enough {
            events::arena_set_emergency!(&self.arena, true);
            self.collect(TraceWhy::Emergency, OLDEST);
            events::arena_set_emergency!(&self.arena, !self.has_room(grains));
        }
        enough
    }

    /// True if `grains` are free beyond what a trace may need.
    pub(super) fn has_room(&self, grains: usize) -> bool {
        self.arena.free_grains() >= self.copy_reserve() + grains
    }

    /// Gives a buffer a new segment of its generation. None if the arena is full.
    pub(super) fn fill_buffer(&mut self, generation: usize) -> Option<()> {
        let grains = self.arena.alloc(1, self.pool(OBJECTS))?;
        let (grain, words) = (grains.start, words_of(&grains));
        let summary = if generation == 0 { 0 } else { NONE };
        self.segments[grain] = Segment {
            generation: generation as u8,
            summary,
            fill: words.start,
            scanned: words.start,
            ..Segment::IDLE
        };
        self.generations[generation].segments.push(grain);
        self.buffers[generation] =
            Buffer { seg: Some(grain), base: words.start, next: words.start, limit: words.end };
        let (seg, base) = (&self.segments[grain], self.memory().address(words.start));
        events::seg_alloc!(seg, base, bytes(&grains), self.pool(OBJECTS), seg.generation);
        events::buffer_fill!(&self.buffers[generation], seg, base, bytes(&grains));
        Some(())
    }

    /// Detaches a buffer from its segment.
    pub(super) fn empty_buffer(&mut self, generation: usize) {
        let buffer = &mut self.buffers[generation];
        let Some(seg) = buffer.seg.take() else { return };
        let (used, spare) = ((buffer.next - buffer.base) * WORD, (buffer.limit - buffer.next) * WORD);
        self.segments[seg].fill = buffer.next;
        (buffer.base, buffer.next, buffer.limit) = (0, 0, 0);
        events::buffer_empty!(&*buffer, &self.segments[seg], used, spare);
        if generation == 0 {
            self.generations[0].size += used;
            self.counters.allocated += used as u64;
        }
    }

    /// Gives a segment back to the arena.
    pub(super) fn free_segment(&mut self, seg: usize) {
        let (grains, pool) = (seg..seg + 1, self.pool(OBJECTS));
        events::seg_free!(&self.segments[seg], self.arena.address(&grains), bytes(&grains), pool);
        self.arena.free(grains, pool);
        self.segments[seg] = Segment::IDLE;
    }

    /// Reports that a pool cannot get `wanted` bytes.
    pub(super) fn fail(&self, wanted: usize, pool: usize) -> OutOfMemory {
        events::arena_alloc_fail!(&self.arena, wanted, self.pool(pool));
        OutOfMemory { wanted, reserved: self.arena.grains() * GRAIN_BYTES }
    }

    /// Emits the first events of the heap's parts, once their addresses are final.
    fn announce(&self, name: &str) {
        self.arena.announce(name);
        for (serial, generation) in self.generations.iter().enumerate() {
            events::gen_init!(&self.arena, generation, serial as u8, generation.capacity);
        }
        for pool in &self.pools {
            events::pool_init!(pool, &self.arena, pool.class, pool.attr, pool.name);
        }
        for (generation, buffer) in self.buffers.iter().enumerate() {
            events::buffer_init!(buffer, &self.pools[OBJECTS], generation == 0);
        }
        events::land_init!(self.tables.land(), &self.pools[TABLES]);
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        for generation in 0..GENERATIONS {
            self.empty_buffer(generation);
            events::buffer_finish!(&self.buffers[generation]);
        }
        for generation in 0..GENERATIONS {
            for seg in std::mem::take(&mut self.generations[generation].segments) {
                self.free_segment(seg);
            }
        }
        events::pool_finish!(&self.pools[OBJECTS]);
        for root in [STACK, GLOBALS] {
            let table = std::mem::replace(&mut self.roots[root].table, Table::EMPTY);
            // Empty if there was no memory for it.
            if table != Table::EMPTY {
                events::root_destroy!(&self.roots[root]);
                self.free_table(table);
            }
        }
        self.finish_tables();
        for (serial, generation) in self.generations.iter().enumerate() {
            events::gen_finish!(&self.arena, generation, serial as u8);
        }
    }
}

fn in_bytes(words: usize) -> u64 {
    (words * WORD) as u64
}
