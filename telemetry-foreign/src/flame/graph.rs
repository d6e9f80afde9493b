//! The stacks of a flame graph, added up.

use hashbrown::HashMap;

/// The maximum of nodes. Twice as many are kept for a while.
const MAX_NODES: usize = 100_000;

/// The maximum length of a frame's name, in bytes. The rest is cut.
const MAX_NAME: usize = 256;

/// The maximum of frames of a stack. Inner ones beyond it are left out.
const MAX_FRAMES: usize = 500;

/// The frame that stands for rare stacks.
const OTHER: &str = "(other)";

/// Stands for no outer frame.
const NONE: u32 = u32::MAX;

/// Weights of stacks, in limited memory.
///
/// A graph with more than 200,000 nodes keeps the 100,000 with most weight. The weight of the
/// others moves to the frame `(other)`, so the total stays the same.
///
/// ```
/// use telemetry_foreign::flame::FlameGraph;
///
/// let mut graph = FlameGraph::new("Job", "nanoseconds");
/// graph.add(["main", "collect"], 1, 700);
/// graph.add(["main"], 1, 300);
/// let mut out = Vec::new();
/// graph.write_folded(&mut out)?;
/// assert_eq!(out, b"main 300\nmain;collect 700\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FlameGraph {
    /// What is counted, in the plural.
    pub(super) counted: String,
    /// The unit of the weights.
    pub(super) unit: String,
    /// An outer frame is before the frames inside of it.
    pub(super) nodes: Vec<Node>,
    by_key: HashMap<(u32, u32), u32>,
    pub(super) names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, u32>,
    max_nodes: usize,
    rare: Rare,
}

/// All stacks that end at a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Number of the outer frame; [`NONE`] for an outermost one.
    outer: u32,
    pub(super) name: u32,
    pub(super) count: u64,
    pub(super) weight: u64,
}

/// What is in `(other)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rare {
    /// Number of different stacks. One that came back is counted again.
    pub stacks: u64,
    /// Their weight.
    pub weight: u64,
}

impl FlameGraph {
    /// Makes an empty graph. `counted` names what is counted, in the plural, and `unit` is that of
    /// the weights.
    pub fn new(counted: &str, unit: &str) -> FlameGraph {
        FlameGraph::with_max_nodes(counted, unit, MAX_NODES)
    }

    fn with_max_nodes(counted: &str, unit: &str, max_nodes: usize) -> FlameGraph {
        FlameGraph {
            counted: counted.to_string(),
            unit: unit.to_string(),
            nodes: Vec::new(),
            by_key: HashMap::new(),
            names: Vec::new(),
            by_name: HashMap::new(),
            max_nodes,
            rare: Rare::default(),
        }
    }

    /// Adds a stack, from its outermost frame to its innermost.
    pub fn add<S: AsRef<str>>(&mut self, frames: impl IntoIterator<Item = S>, count: u64, weight: u64) {
        let mut at = NONE;
        for frame in frames.into_iter().take(MAX_FRAMES) {
            let name = self.name(frame.as_ref());
            at = self.node(at, name);
        }
        let Some(node) = self.nodes.get_mut(at as usize) else { return };
        node.count += count;
        node.weight = node.weight.saturating_add(weight);
        if self.nodes.len() > 2 * self.max_nodes {
            self.fold();
        }
    }

    /// Adds stacks that were dropped already.
    pub fn add_other(&mut self, stacks: u64, count: u64, weight: u64) {
        if stacks > 0 {
            self.rare.stacks += stacks;
            self.rare.weight = self.rare.weight.saturating_add(weight);
            self.add([OTHER], count, weight);
        }
    }

    /// Returns what is in `(other)`.
    pub fn rare(&self) -> Rare {
        self.rare
    }

    /// Returns the sum of all weights.
    pub fn total(&self) -> u64 {
        self.nodes.iter().fold(0, |sum: u64, node| sum.saturating_add(node.weight))
    }

    /// Visits all stacks that have a count, ordered by the names of their frames. The frames are
    /// numbers of names, the outermost first. Copies of all stacks would take far more memory than
    /// the graph.
    pub(super) fn each_stack<E>(
        &self,
        mut visit: impl FnMut(&[u32], &Node) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let node = |at: u32| &self.nodes[at as usize];
        let name = |at: u32| &self.names[node(at).name as usize];
        order.sort_unstable_by(|a, b| (node(*a).outer, name(*a)).cmp(&(node(*b).outer, name(*b))));
        // The inner frames of each frame are next to one another.
        let inner = |outer: u32| {
            let first = order.partition_point(|at| node(*at).outer < outer);
            first..order.partition_point(|at| node(*at).outer <= outer)
        };
        let (mut frames, mut open) = (Vec::new(), vec![inner(NONE)]);
        while let Some(rest) = open.last_mut() {
            let Some(at) = rest.next() else {
                open.pop();
                frames.pop();
                continue;
            };
            let at = order[at];
            frames.push(node(at).name);
            if node(at).count > 0 {
                visit(&frames, node(at))?;
            }
            open.push(inner(at));
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> u32 {
        let mut end = name.len().min(MAX_NAME);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let name = &name[..end];
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        self.names.push(name.into());
        let number = self.names.len() as u32 - 1;
        self.by_name.insert(name.into(), number);
        number
    }

    fn node(&mut self, outer: u32, name: u32) -> u32 {
        let nodes = &mut self.nodes;
        *self.by_key.entry((outer, name)).or_insert_with(|| {
            nodes.push(Node { outer, name, count: 0, weight: 0 });
            nodes.len() as u32 - 1
        })
    }

    /// Keeps the nodes with most weight, that of inner frames included. An outer frame has at least
    /// the weight of its inner ones, so it is kept with them.
    #[cold]
    fn fold(&mut self) {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.weight).collect();
        for at in (0..self.nodes.len()).rev() {
            let (total, outer) = (totals[at], self.nodes[at].outer as usize);
            if let Some(outer) = totals.get_mut(outer) {
                *outer = outer.saturating_add(total);
            }
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        // The sort is stable, and an outer frame comes first.
        order.sort_by_key(|at| std::cmp::Reverse(totals[*at]));
        let mut is_kept = vec![false; order.len()];
        order.iter().take(self.max_nodes).for_each(|at| is_kept[*at] = true);

        let names = std::mem::take(&mut self.names);
        self.by_name.clear();
        self.by_key.clear();
        let mut numbers = vec![NONE; order.len()];
        let (mut rare, mut count) = (Rare::default(), 0);
        for (at, node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if is_kept[at] {
                let outer = numbers.get(node.outer as usize).copied().unwrap_or(NONE);
                let name = self.name(&names[node.name as usize]);
                numbers[at] = self.node(outer, name);
                let kept = &mut self.nodes[numbers[at] as usize];
                (kept.count, kept.weight) = (node.count, node.weight);
            } else if node.count > 0 {
                rare.stacks += 1;
                rare.weight = rare.weight.saturating_add(node.weight);
                count += node.count;
            }
        }
        self.add_other(rare.stacks, count, rare.weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_stacks_are_in_other_and_the_total_stays() {
        let mut graph = FlameGraph::with_max_nodes("events", "bytes", 10);
        for round in 0..1000_u64 {
            graph.add(["main", "often"], 1, 100);
            graph.add(["main".to_string(), format!("rare {round}")], 1, 1);
        }
        assert!(graph.nodes.len() <= 20 && graph.names.len() <= 20, "{}", graph.nodes.len());
        assert_eq!(graph.total(), 101_000);
        let rare = graph.rare();
        assert!(rare.stacks > 900 && rare.stacks == rare.weight, "{rare:?}");
        let name = |frame: &u32| &*graph.names[*frame as usize];
        let of = |wanted: &[&str]| {
            let mut found = None;
            let visited = graph.each_stack(|frames, node| {
                if frames.iter().map(name).eq(wanted.iter().copied()) {
                    found = Some((node.count, node.weight));
                }
                Ok::<_, ()>(())
            });
            assert_eq!(visited, Ok(()));
            found
        };
        assert_eq!(of(&["main", "often"]), Some((1000, 100_000)));
        assert_eq!(of(&[OTHER]), Some((rare.stacks, rare.weight)));
    }

    #[test]
    fn long_names_and_deep_stacks_are_cut() {
        let mut graph = FlameGraph::new("events", "count");
        graph.add(["ä".repeat(1 << 20)], 1, 1);
        graph.add(vec!["deep"; 100_000], 1, 1);
        assert_eq!(graph.names[0].len(), MAX_NAME);
        assert_eq!(graph.nodes.len(), 1 + MAX_FRAMES);
        // Each frame is the end of a stack, too. Copies of all of them would take gigabytes.
        for depth in 1..MAX_FRAMES {
            graph.add(vec!["deep"; depth], 1, 0);
        }
        let mut depths = Vec::new();
        let visited = graph.each_stack(|frames, _| {
            depths.push(frames.len());
            Ok::<_, ()>(())
        });
        assert_eq!(visited, Ok(()));
        assert_eq!(depths, (1..=MAX_FRAMES).chain([1]).collect::<Vec<_>>());
        graph.add([] as [&str; 0], 1, 1);
        assert_eq!(graph.total(), 2);
    }
}
