//! Stacks in events, added up for flame graphs.

use hashbrown::HashMap;
use telemetry_decode::{Event, Value};
use telemetry_schema::{Count, Param};

use super::axis::Series;
use super::flames::FLAME_SHIFT;
use crate::stats::is_number;

/// The maximum of nodes in all graphs. Stacks that need more are counted as dropped.
const MAX_NODES: usize = 20_000;

/// The maximum of frames of a stack.
const MAX_FRAMES: usize = 200;

/// Names of lists that are stacks.
const STACKS: [&str; 2] = ["stack", "frames"];

/// The stacks of all events that have some.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// By number of the event type.
    roles: Vec<Option<Option<Role>>>,
    /// By number of the event type, and of the thread.
    pub(crate) graphs: HashMap<(u32, u32), Graph>,
    pub(crate) names: Vec<String>,
    by_name: HashMap<String, u32>,
    nodes: usize,
    pub(crate) dropped: u64,
}

/// How the stacks of a type of event are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Role {
    stack: usize,
    /// Parameter with bytes, which are the weight; otherwise each event counts as one.
    bytes: Option<usize>,
    is_outermost_first: bool,
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
                let role = role_of(event);
                self.roles.resize(self.roles.len().max(number as usize + 1), None);
                self.roles[number as usize] = Some(role);
                if let Some(role) = role {
                    self.add(role, number, thread, at, event);
                }
            }
        }
    }

    fn add(&mut self, role: Role, number: u32, thread: u32, at: usize, event: &Event<'_>) {
        let Some(Value::Array(frames)) = event.value(role.stack) else { return };
        let mut frames: Vec<u32> =
            frames.iter().take(MAX_FRAMES).map(|frame| self.name(role.stack, &frame, event)).collect();
        if !role.is_outermost_first {
            frames.reverse();
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
    fn name(&mut self, stack: usize, frame: &Value<'_>, event: &Event<'_>) -> u32 {
        let text = event.numbers(stack).and_then(|numbers| event.string_of(numbers, frame));
        let text = text.or_else(|| event.name_of_value(frame).and_then(|name| name.text()));
        let text = match (text, frame) {
            (Some(text), _) => text.to_string(),
            (None, Value::Label(label)) => event.label(*label).unwrap_or_default().to_string(),
            (None, frame) => frame.to_string(),
        };
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

/// Returns how the stacks of a type of event are taken, if it has some.
fn role_of(event: &Event<'_>) -> Option<Role> {
    let params = &event.schema().params;
    let is_stack = |param: &Param| param.count != Count::One && STACKS.contains(&param.name.as_str());
    let stack = params.iter().position(is_stack)?;
    let is_bytes =
        |param: &Param| param.unit == "bytes" && param.count == Count::One && is_number(param.sort);
    // Mono's stacks have the innermost frame last, but for samples.
    let is_outermost_first = event.registry().name == "mono" && !event.name().starts_with("Sample");
    Some(Role { stack, bytes: params.iter().position(is_bytes), is_outermost_first })
}
