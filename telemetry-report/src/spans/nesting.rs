//! Decides which spans nest, for viewers that show the spans of a thread as a stack.

use hashbrown::HashMap;

/// Stands for no span.
const NONE: u32 = u32::MAX;

/// Where a viewer can show a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the thread that began it. All spans with this place nest: of two that overlap, one lies
    /// inside of the other. Of two that begin in the same nanosecond, the inner one may be found
    /// first only if [`super::Found::Begun`] was found for the outer one.
    Thread,
    /// On a row of its own: it ends on another thread, or overlaps without nesting.
    Apart,
}

/// The open spans of each thread as stacks, for spans by their index in [`super::Pairing`].
///
/// Only the end of a span shows whether it nests, so the place is known only then. An outer span
/// ends after the spans inside of it. A reader that sorts by time finds the right order unless both
/// begin in the same nanosecond. Then the begin of the outer span is told first. At most one open
/// span of a thread has been told so, and it keeps its place on the thread whatever follows.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    is_wanted: bool,
    /// By index of the span.
    nodes: Vec<Node>,
    /// By session and thread.
    stacks: HashMap<(u64, u32), Stack>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stack {
    /// Number of spans in it.
    len: u32,
    /// Its innermost span.
    top: u32,
    /// Its span whose begin was told.
    told: u32,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    thread: (u64, u32),
    begin_ns: i64,
    has_key: bool,
    /// It is not in the stack any more.
    is_apart: bool,
    before: u32,
    behind: u32,
}

/// The place of a span that ended.
pub(super) struct Placed {
    pub(super) place: Place,
    /// The span around it, whose begin must be told first.
    pub(super) tell: Option<u32>,
}

impl Nesting {
    /// Keeps stacks from now on.
    pub(super) fn keep(&mut self) {
        self.is_wanted = true;
    }

    /// Takes a span that begins.
    pub(super) fn begin(&mut self, index: u32, thread: (u64, u32), begin_ns: i64, has_key: bool) {
        if !self.is_wanted {
            return;
        }
        let stack = self.stacks.entry(thread).or_insert(Stack { len: 0, top: NONE, told: NONE });
        let node = Node { thread, begin_ns, has_key, is_apart: false, before: stack.top, behind: NONE };
        let outer = std::mem::replace(&mut stack.top, index);
        stack.len += 1;
        if let Some(outer) = self.nodes.get_mut(outer as usize) {
            outer.behind = index;
        }
        if self.nodes.len() <= index as usize {
            self.nodes.resize(index as usize + 1, node);
        }
        self.nodes[index as usize] = node;
    }

    /// Decides the place of a span that ends on a thread. Call [`Nesting::remove`] after it.
    pub(super) fn end(&mut self, index: u32, thread: u32) -> Placed {
        let apart = Placed { place: Place::Apart, tell: None };
        let Some(node) = self.nodes.get(index as usize).copied().filter(|node| !node.is_apart) else {
            return apart;
        };
        let told = self.stacks.get(&node.thread).map_or(NONE, |stack| stack.told);
        let is_told = told == index;
        if !is_told && thread != node.thread.1 {
            return apart;
        }
        // Spans that it does not contain. Those with a key make way for one without.
        while let Some(inner) = self.nodes.get(self.nodes[index as usize].behind as usize) {
            if !is_told && (node.has_key || !inner.has_key || told == self.nodes[index as usize].behind) {
                return apart;
            }
            self.set_apart(self.nodes[index as usize].behind);
        }
        let outer = self.nodes.get(node.before as usize).filter(|outer| outer.begin_ns == node.begin_ns);
        match outer {
            // One with a key may end without an end of its own.
            Some(outer) if !is_told && told == NONE && !outer.has_key => {
                if let Some(stack) = self.stacks.get_mut(&node.thread) {
                    stack.told = node.before;
                }
                Placed { place: Place::Thread, tell: Some(node.before) }
            }
            Some(_) if !is_told && told != node.before => apart,
            _ => Placed { place: Place::Thread, tell: None },
        }
    }

    /// Returns the place of a span that does not end.
    pub(super) fn place_of_open(&self, index: u32) -> Place {
        match self.nodes.get(index as usize) {
            Some(node) if !node.is_apart => Place::Thread,
            _ => Place::Apart,
        }
    }

    /// Removes a span that is no longer open.
    pub(super) fn remove(&mut self, index: u32) {
        if self.is_wanted {
            self.set_apart(index);
        }
    }

    /// Takes a span out of its stack.
    fn set_apart(&mut self, index: u32) {
        let Some(node) = self.nodes.get_mut(index as usize).filter(|node| !node.is_apart) else { return };
        node.is_apart = true;
        let Node { thread, before, behind, .. } = *node;
        if let Some(before) = self.nodes.get_mut(before as usize) {
            before.behind = behind;
        }
        if let Some(behind) = self.nodes.get_mut(behind as usize) {
            behind.before = before;
        }
        let Some(stack) = self.stacks.get_mut(&thread) else { return };
        stack.len -= 1;
        if stack.top == index {
            stack.top = before;
        }
        if stack.told == index {
            stack.told = NONE;
        }
        // Threads that have ended take no memory.
        if stack.len == 0 {
            self.stacks.remove(&thread);
        }
    }
}
