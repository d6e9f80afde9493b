//! Stacks in events, added up for flame graphs.

use hashbrown::HashMap;
use telemetry_decode::Event;

use super::axis::Series;
use super::flames::FLAME_SHIFT;
use crate::stacks::StackRole;

/// The maximum of nodes in all graphs. Stacks that need more are counted as dropped.
const MAX_NODES: usize = 20_000;

/// The maximum of frames of a stack.
const MAX_FRAMES: usize = 200;

/// The stacks of all events that have some.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// By number of the event type.
    roles: Vec<Option<Option<StackRole>>>,
    /// By number of the event type, and of the thread.
    pub(crate) graphs: HashMap<(u32, u32), Graph>,
    pub(crate) names: Vec<String>,
    by_name: HashMap<String, u32>,
    nodes: usize,
    pub(crate) dropped: u64,
}

/// Stacks of one type of event on one thread.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) is_in_bytes: bool,
    pub(crate) nodes: Vec<Frame>,
    by_key: HashMap<(u32, u32), u32>,
}

/// Stacks that end here.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Number of the outer frame; `u32::MAX` for the outermost.
    pub(crate) outer: u32,
    pub(crate) name: u32,
    pub(crate) count: u64,
    pub(crate) weight: u64,
    pub(crate) slices: Series<f64>,
}

impl Stacks {
    /// Takes an event in an interval.
    #[inline]
    pub(crate) fn take(&mut self, number: u32, thread: u32, at: usize, event: &Event<'_>) {
        match self.roles.get(number as usize) {
            Some(Some(None)) => {}
            Some(Some(Some(role))) => self.add(*role, number, thread, at, event),
            _ => {
                let role = StackRole::of(event);
                self.roles.resize(self.roles.len().max(number as usize + 1), None);
                self.roles[number as usize] = Some(role);
                if let Some(role) = role {
                    self.add(role, number, thread, at, event);
                }
            }
        }
    }

    fn add(&mut self, role: StackRole, number: u32, thread: u32, at: usize, event: &Event<'_>) {
        let frames = role.frames(event, MAX_FRAMES, |text| self.name(text));
        if frames.is_empty() {
            return;
        }
        let weight = role.bytes.and_then(|bytes| event.value(bytes)?.as_u64());
        let graph = self.graphs.entry((number, thread)).or_default();
        graph.is_in_bytes = role.bytes.is_some();
        let mut outer = u32::MAX;
        for name in frames {
            let known = graph.by_key.get(&(outer, name)).copied();
            if known.is_none() && self.nodes >= MAX_NODES {
                self.dropped += 1;
                return;
            }
            outer = known.unwrap_or_else(|| {
                let number = graph.nodes.len() as u32;
                graph.nodes.push(Frame { outer, name, count: 0, weight: 0, slices: Series::default() });
                graph.by_key.insert((outer, name), number);
                self.nodes += 1;
                number
            });
        }
        if let Some(node) = graph.nodes.get_mut(outer as usize) {
            let weight = weight.unwrap_or(1);
            node.count += 1;
            node.weight = node.weight.saturating_add(weight);
            node.slices.add(at >> FLAME_SHIFT, weight as f64);
        }
    }

    /// Returns the number of a frame's name.
    fn name(&mut self, text: String) -> u32 {
        if let Some(name) = self.by_name.get(&text) {
            return *name;
        }
        // Names without a node would take memory, too.
        if self.names.len() >= MAX_NODES {
            return 0;
        }
        self.names.push(text.clone());
        let name = self.names.len() as u32 - 1;
        self.by_name.insert(text, name);
        name
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        self.graphs.values_mut().flat_map(|graph| &mut graph.nodes).for_each(|node| node.slices.fold());
    }
}
