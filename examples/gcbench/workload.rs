//! GCBench, by John Ellis and Pete Kovac, modified by Hans Boehm: binary trees of many sizes and
//! ages.
//!
//! The benchmark makes and drops a large tree, to stretch the heap. Then it makes a tree and an
//! array that live to the end. Meanwhile it makes and drops temporary trees of increasing depth,
//! with about the same number of nodes for each depth. Every thread does all of this in a heap of
//! its own. Every tree is walked and its nodes are counted.

use std::time::{Duration, Instant};

use crate::events::{self, Phase};
use crate::gc::{Counters, Heap, OutOfMemory, Ref, Shape, Table};
use crate::listen;

/// How to run the benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    /// Number of threads.
    pub(crate) threads: u32,
    /// Depth of the long-lived tree and of the deepest temporary trees; usually 16.
    pub(crate) depth: u8,
    /// Factor on the usual number of iterations.
    pub(crate) scale: f64,
    /// Bytes of each thread's arena; by default more than the benchmark needs.
    pub(crate) memory: Option<usize>,
    /// Bytes of the youngest generation.
    pub(crate) nursery: usize,
    /// Fit the nursery to what survives.
    pub(crate) adapt: bool,
    /// Check the heap after every phase.
    pub(crate) check: bool,
}

/// Depth of the shallowest temporary trees. Depths increase in steps of two.
pub(crate) const MIN_DEPTH: u8 = 4;
/// The largest depth that `--depth` accepts.
pub(crate) const MAX_DEPTH: u8 = 20;

impl Settings {
    /// Depth of the tree that stretches the heap.
    pub(crate) fn stretch_depth(&self) -> u8 {
        self.depth + 2
    }

    /// Elements of the long-lived array: 500,000 at the usual depth.
    pub(crate) fn array_len(&self) -> usize {
        (500_000 << self.depth) >> 16
    }

    /// Depths of the temporary trees.
    pub(crate) fn depths(&self) -> impl Iterator<Item = u8> + use<> {
        (MIN_DEPTH..=self.depth).step_by(2)
    }

    /// Number of trees of a depth, top-down and bottom-up each: about as many nodes for every
    /// depth.
    pub(crate) fn trees(&self, depth: u8) -> usize {
        let usual = 2 * tree_size(self.stretch_depth()) / tree_size(depth);
        ((usual as f64 * self.scale).round() as usize).max(1)
    }

    /// The largest size in bytes that the nursery may get.
    pub(crate) fn max_nursery(&self) -> usize {
        if self.adapt { 16 * self.nursery } else { self.nursery }
    }

    fn memory(&self) -> usize {
        let stretch = tree_size(self.stretch_depth()) * NODE.bytes();
        self.memory.unwrap_or((64 << 20) + 8 * self.max_nursery() + 4 * stretch)
    }
}

/// Nodes of a tree of a depth.
pub(crate) fn tree_size(depth: u8) -> usize {
    (2 << depth) - 1
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// From the first thread's start to the last one's end.
    pub(crate) elapsed: Duration,
    /// The counters of each thread's heap.
    pub(crate) heaps: Vec<Counters>,
}

/// Why a run failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Memory(OutOfMemory),
    /// A check found an error in the heap.
    Wrong(String),
    Thread(std::io::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Memory(why) => write!(f, "{why}\nhelp: `--memory` sets its size"),
            Failure::Wrong(what) => write!(f, "the collector made a mistake: {what}"),
            Failure::Thread(why) => write!(f, "cannot start a thread: {why}"),
        }
    }
}

impl From<OutOfMemory> for Failure {
    fn from(why: OutOfMemory) -> Failure {
        Failure::Memory(why)
    }
}

/// Runs the benchmark on all threads at once.
///
/// # Errors
/// That of the first thread that failed.
pub(crate) fn run(settings: &Settings) -> Result<Outcome, Failure> {
    let Settings { threads, depth, scale, .. } = *settings;
    events::bench_begin!(threads, settings.stretch_depth(), depth, settings.array_len(), scale);
    let start = Instant::now();
    let heaps: Result<Vec<_>, _> = std::thread::scope(|scope| {
        let run = |number: u32| {
            let name = format!("mutator-{number}");
            std::thread::Builder::new().name(name).spawn_scoped(scope, move || thread(settings, number))
        };
        let started: Vec<_> = (1..=threads).map(run).collect();
        let ended = started.into_iter().map(|thread| match thread.map_err(Failure::Thread)?.join() {
            Ok(heap) => heap,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // Join all threads, even after one has failed.
        ended.collect::<Vec<_>>().into_iter().collect()
    });
    let elapsed = start.elapsed();
    events::bench_end!();
    Ok(Outcome { elapsed, heaps: heaps? })
}

fn thread(settings: &Settings, number: u32) -> Result<Counters, Failure> {
    let name = format!("mutator-{number}");
    events::thread_begin!(number, &name);
    let heap = Heap::new(&name, settings.memory(), settings.nursery).map_err(Failure::Memory);
    let result = heap.and_then(|heap| Bench { settings, heap }.run());
    events::thread_end!(number);
    result
}

/// A node of a tree: its two children, and its height as data.
const NODE: Shape = Shape { refs: 2, data: 1 };
const CHILDREN: std::ops::Range<usize> = 0..NODE.refs;

/// Index of the global that holds the long-lived tree.
const LONG_LIVED: usize = 0;

/// The benchmark on one thread.
struct Bench<'s> {
    settings: &'s Settings,
    heap: Box<Heap>,
}

impl Bench<'_> {
    fn run(mut self) -> Result<Counters, Failure> {
        let Settings { depth, .. } = *self.settings;
        let stretch = self.settings.stretch_depth();
        self.phase(Phase::Stretch, stretch, 1, |bench| {
            let tree = bench.bottom_up(stretch)?;
            bench.walk(tree, stretch).map(drop)
        })?;
        let array = self.phase(Phase::LongLived, depth, 1, |bench| bench.long_lived(depth))?;
        for depth in self.settings.depths() {
            self.temporary(depth)?;
            self.check(&array)?;
        }
        self.heap.collect(events::TraceWhy::ClientRequest, crate::gc::OLDEST);
        self.check(&array)?;
        self.heap.free_table(array);
        Ok(self.heap.counters())
    }

    /// Makes the tree and the array that live to the end.
    fn long_lived(&mut self, depth: u8) -> Result<Table, Failure> {
        let root = self.node(depth)?;
        self.heap.set_global(LONG_LIVED, root);
        self.heap.push(root);
        self.top_down(depth)?;
        self.heap.pop();
        let array = self.heap.alloc_table(self.settings.array_len())?;
        for (index, element) in self.heap.table_mut(&array).iter_mut().enumerate() {
            *element = inverse(index);
        }
        Ok(array)
    }

    /// Makes temporary trees, top-down and bottom-up. Each must have the checksum of its twin.
    fn temporary(&mut self, depth: u8) -> Result<(), Failure> {
        let trees = self.settings.trees(depth);
        let sums = self.heap.alloc_table(trees)?;
        self.phase(Phase::TopDown, depth, trees, |bench| {
            (0..trees).try_for_each(|index| {
                bench.adapt();
                let root = bench.node(depth)?;
                bench.heap.push(root);
                bench.top_down(depth)?;
                let tree = bench.heap.pop();
                bench.heap.table_mut(&sums)[index] = bench.walk(tree, depth)?;
                Ok(())
            })
        })?;
        self.phase(Phase::BottomUp, depth, trees, |bench| {
            (0..trees).try_for_each(|index| {
                bench.adapt();
                let tree = bench.bottom_up(depth)?;
                let (sum, twin) = (bench.walk(tree, depth)?, bench.heap.table(&sums)[index]);
                if sum == twin {
                    Ok(())
                } else {
                    wrong(format!("the sum of tree {index} is {sum}, not {twin}"))
                }
            })
        })?;
        self.heap.free_table(sums);
        Ok(())
    }

    /// Resizes the nursery as the listener asks.
    fn adapt(&mut self) {
        if let Some(bytes) = listen::nursery() {
            self.heap.set_nursery(bytes);
        }
    }

    /// Checks that the long-lived tree and array are unchanged.
    fn check(&mut self, array: &Table) -> Result<(), Failure> {
        let depth = self.settings.depth;
        self.phase(Phase::Check, depth, 1, |bench| {
            bench.walk(bench.heap.global(LONG_LIVED), depth)?;
            let changed = |(index, element): &(usize, &u64)| **element != inverse(*index);
            if let Some((index, _)) = bench.heap.table(array).iter().enumerate().find(changed) {
                return wrong(format!("element {index} of the array has changed"));
            }
            if bench.settings.check { bench.heap.check().map_err(Failure::Wrong) } else { Ok(()) }
        })
    }

    /// Runs `work` between the events that begin and end a phase.
    fn phase<T>(
        &mut self,
        phase: Phase,
        depth: u8,
        trees: usize,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        events::phase_begin!(phase, depth, trees);
        let before = self.heap.counters().allocated;
        let result = work(self);
        events::phase_end!(phase, depth, self.heap.counters().allocated - before);
        result
    }

    /// Adds children to the node on top of the stack, down to the leaves.
    fn top_down(&mut self, depth: u8) -> Result<(), OutOfMemory> {
        if depth == 0 {
            return Ok(());
        }
        for child in CHILDREN {
            let node = self.node(depth - 1)?;
            let parent = self.heap.top();
            self.heap.set(parent, child, node);
        }
        for child in CHILDREN {
            let node = self.heap.get(self.heap.top(), child);
            self.heap.push(node);
            self.top_down(depth - 1)?;
            self.heap.pop();
        }
        Ok(())
    }

    /// Makes a tree whose nodes are allocated after their children.
    fn bottom_up(&mut self, depth: u8) -> Result<Ref, OutOfMemory> {
        if depth == 0 {
            return self.node(0);
        }
        for _ in CHILDREN {
            let child = self.bottom_up(depth - 1)?;
            self.heap.push(child);
        }
        let node = self.node(depth)?;
        for child in CHILDREN.rev() {
            let value = self.heap.pop();
            self.heap.set(node, child, value);
        }
        Ok(node)
    }

    #[inline(always)]
    fn node(&mut self, height: u8) -> Result<Ref, OutOfMemory> {
        let node = self.heap.alloc(NODE)?;
        self.heap.set_data(node, NODE, height.into());
        Ok(node)
    }

    /// Checks the number of a tree's nodes and the sum of their heights, and returns the sum.
    fn walk(&self, tree: Ref, depth: u8) -> Result<u64, Failure> {
        let (nodes, sum) = self.sums(tree);
        // One node of the greatest height, two of the next, and so on.
        let expected = (2 << depth) - 2 - u64::from(depth);
        if (nodes, sum) != (tree_size(depth), expected) {
            return wrong(format!(
                "a tree of depth {depth} has {nodes} nodes, and their heights' sum is {sum}"
            ));
        }
        events::tree_done!(self.heap.address(tree), depth, nodes, sum);
        Ok(sum)
    }

    fn sums(&self, node: Ref) -> (usize, u64) {
        let (mut nodes, mut sum) = (1, self.heap.data(node, NODE));
        for child in CHILDREN {
            let child = self.heap.get(node, child);
            if !child.is_null() {
                let (more, heights) = self.sums(child);
                nodes += more;
                sum += heights;
            }
        }
        (nodes, sum)
    }
}

/// An element of the long-lived array.
fn inverse(index: usize) -> u64 {
    (1.0 / index as f64).to_bits()
}

fn wrong<T>(what: String) -> Result<T, Failure> {
    Err(Failure::Wrong(what))
}
