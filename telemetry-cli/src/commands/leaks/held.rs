//! The blocks that are live, with what they are grouped by.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use telemetry_decode::replay::{Live, Op, Origin, Step, Totals};
use telemetry_decode::{Event, Value};
use telemetry_report::figures::keyed::PerEvent;

use crate::symbols::{StackParam, listed};
use crate::text::print::{append_value, thread_name};
use crate::text::{escaped_text, json};

/// The blocks that are live.
pub(super) struct Held {
    live: Live,
    /// By the number that [`Live`] gives.
    blocks: Vec<Option<Block>>,
    columns: Vec<String>,
    plans: PerEvent<Vec<Option<Source>>>,
    stack_params: PerEvent<Option<StackParam>>,
    /// The keys of blocks, so that equal ones are kept once.
    keys: HashSet<Rc<Key>>,
    /// The latest block of each thread, by session and thread: its address and number.
    latest: HashMap<(u64, u32), (u64, u32)>,
}

/// A block of memory.
pub(super) struct Block {
    pub(super) size: u64,
    /// When it was allocated.
    pub(super) time_ns: i64,
    pub(super) key: Rc<Key>,
}

/// What blocks are grouped by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Numbers of stacks are those of a session.
    pub(super) session: u64,
    pub(super) cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Cell {
    /// The event has no such parameter.
    None,
    /// JSON and text of a value.
    Value(String, String),
    /// The number of a stack.
    Stack(u64),
    /// The functions of a stack, the innermost first.
    Frames(Vec<String>),
}

/// Where a column of an event comes from.
#[derive(Clone, Copy)]
enum Source {
    Event,
    Kind,
    Thread,
    Session,
    Stack(StackParam),
    Param(usize),
}

impl Held {
    pub(super) fn new(columns: &[String]) -> Held {
        Held {
            live: Live::new(),
            blocks: Vec::new(),
            columns: columns.to_vec(),
            plans: PerEvent::default(),
            stack_params: PerEvent::default(),
            keys: HashSet::new(),
            latest: HashMap::new(),
        }
    }

    /// Takes an event with a mark.
    pub(super) fn step(&mut self, step: Step, origin: &Origin, event: &Event<'_>) {
        let thread = (event.session().id, event.thread());
        match self.live.step(step, origin) {
            None => {}
            Some(Op::Alloc { slot, size, .. }) => {
                let key = self.key(event, None);
                let index = slot as usize;
                if index >= self.blocks.len() {
                    self.blocks.resize_with(index + 1, || None);
                }
                self.blocks[index] = Some(Block { size, time_ns: event.time_ns(), key });
                if let Step::Alloc { pointer, .. } | Step::Realloc { pointer, .. } = step {
                    self.latest.insert(thread, (pointer, slot));
                }
            }
            Some(Op::Free { slot }) => {
                self.blocks[slot as usize] = None;
                if self.latest.get(&thread).is_some_and(|(_, latest)| *latest == slot) {
                    self.latest.remove(&thread);
                }
            }
            Some(Op::Realloc { slot, size }) => {
                let before = self.blocks[slot as usize].take();
                let key = self.key(event, before.as_ref().map(|block| &*block.key));
                let time_ns = before.map_or_else(|| event.time_ns(), |block| block.time_ns);
                self.blocks[slot as usize] = Some(Block { size, time_ns, key });
                if let Step::Realloc { pointer, .. } = step {
                    self.latest.insert(thread, (pointer, slot));
                }
            }
            // Other operations are not known to this version.
            Some(_) => {}
        }
    }

    /// Takes an event without a mark: it may have the stack of the thread's latest block.
    pub(super) fn other(&mut self, event: &Event<'_>) {
        let Some(param) = *self.stack_params.get(event, StackParam::of) else { return };
        let Some(&(pointer, slot)) = self.latest.get(&(event.session().id, event.thread())) else { return };
        let is_same =
            |value| matches!(value, Value::Pointer(address) | Value::Addr(address) if address == pointer);
        if !event.values().any(is_same) {
            return;
        }
        let Some(block) = self.blocks.get(slot as usize).and_then(Option::as_ref) else { return };
        let mut key = (*block.key).clone();
        for (cell, column) in key.cells.iter_mut().zip(&self.columns) {
            if column == "stack" && *cell == Cell::None {
                *cell = stack(&param, event);
            }
        }
        let key = self.kept(key);
        self.blocks[slot as usize].iter_mut().for_each(|block| block.key = key.clone());
    }

    /// Returns the blocks that are live.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().flatten()
    }

    /// Returns what was counted, with all faults.
    pub(super) fn finish(self) -> Totals {
        self.live.finish().1
    }

    /// Returns the key of an event. What it lacks is that of an earlier event of the block.
    fn key(&mut self, event: &Event<'_>, before: Option<&Key>) -> Rc<Key> {
        let columns = &self.columns;
        let plan = self.plans.get(event, |event| columns.iter().map(|name| source(event, name)).collect());
        let cells = plan.iter().enumerate().map(|(at, source)| match (source, before) {
            // A block that is resized is still that of who allocated it.
            (None | Some(Source::Event | Source::Kind | Source::Thread), Some(before)) => {
                before.cells[at].clone()
            }
            (Some(source), _) => cell(event, source),
            (None, None) => Cell::None,
        });
        let key = Key { session: event.session().id, cells: cells.collect() };
        self.kept(key)
    }

    fn kept(&mut self, key: Key) -> Rc<Key> {
        if let Some(known) = self.keys.get(&key) {
            return known.clone();
        }
        // Keys of blocks that were freed must not fill the memory.
        if self.keys.len() > 1024 + 2 * self.blocks.len() {
            self.keys.retain(|key| Rc::strong_count(key) > 1);
        }
        let key = Rc::new(key);
        self.keys.insert(key.clone());
        key
    }
}

/// Returns where a column of an event type comes from.
fn source(event: &Event<'_>, name: &str) -> Option<Source> {
    match name {
        "event" => return Some(Source::Event),
        "kind" => return Some(Source::Kind),
        "thread" => return Some(Source::Thread),
        "session" => return Some(Source::Session),
        "stack" => return StackParam::of(event).map(Source::Stack),
        _ => {}
    }
    let index = event.schema().params.iter().position(|param| param.name == name.trim_matches('`'))?;
    let stack = StackParam::of(event).filter(|stack| stack.index() == index);
    Some(stack.map_or(Source::Param(index), Source::Stack))
}

fn cell(event: &Event<'_>, source: &Source) -> Cell {
    let text = |text: &str| Cell::Value(serde_json::Value::from(text).to_string(), escaped_text(text));
    match source {
        Source::Event => text(event.name()),
        Source::Kind => text(&event.kind().name),
        Source::Thread => text(&thread_name(event.session(), event.thread())),
        Source::Session => text(&format!("{:016x}", event.session().id)),
        Source::Stack(param) => stack(param, event),
        Source::Param(index) => match event.params().nth(*index) {
            Some(param) => {
                let (mut object, mut shown) = (Vec::new(), Vec::new());
                json::value(&mut object, event, &param.value, false);
                append_value(&mut shown, event, *index, &param);
                let [object, shown] = [object, shown].map(|text| String::from_utf8_lossy(&text).into_owned());
                Cell::Value(object, shown)
            }
            None => Cell::None,
        },
    }
}

fn stack(param: &StackParam, event: &Event<'_>) -> Cell {
    match param {
        StackParam::Numbered(index) => {
            let number = event.value(*index).and_then(|value| value.as_u64());
            Cell::Stack(number.unwrap_or(0))
        }
        StackParam::Listed(role) => Cell::Frames(listed(role, event)),
    }
}
