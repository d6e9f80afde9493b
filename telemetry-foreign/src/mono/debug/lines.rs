//! Lines of buffers and calls, and the parts of all lines.

use crate::mono::decode::{Item, Visit};
use crate::mono::known::Known;
use crate::mono::layout::Version;
use crate::mono::output::Output;
use crate::mono::stack::{Left, Stack, Stacks};
use crate::mono::text::Text;
use crate::mono::walk::Placed;
use crate::mono::what::What;

/// The text, and the data that is known at its end.
pub(super) struct Lines<'w> {
    /// Text that is not written yet.
    pub(super) out: Vec<u8>,
    pub(super) to: Output<'w>,
    /// The names that the log has given so far.
    known: Known,
    /// The names that it gives anywhere, if they are wanted.
    pub(super) all: Known,
    pub(super) stacks: Stacks,
    pub(super) is_one: bool,
    pub(super) thread: usize,
    pub(super) thread_id: u64,
}

impl<'w> Lines<'w> {
    /// Appends the line of a buffer, which begins.
    pub(super) fn buffer(&mut self, placed: &Placed, offset: u64) {
        let head = &placed.head;
        self.is_one = placed.version == Version::One;
        self.thread = self.stacks.of(head.thread);
        self.thread_id = head.thread;
        // The tool of 2010 prints the lower half of the thread.
        let thread = if self.is_one { head.thread & 0xffff_ffff } else { head.thread };
        self.out.text("buf: thread:").hex(thread).text(", len: ").signed(head.len.into());
        self.out.text(", time: ").decimal(head.time).text(", file offset: ").decimal(offset).text("\n");
    }

    pub(super) fn new(to: Output<'w>) -> Self {
        Lines {
            out: Vec::new(),
            to,
            known: Known::default(),
            all: Known::default(),
            stacks: Stacks::default(),
            is_one: false,
            thread: 0,
            thread_id: 0,
        }
    }

    /// Appends the lines of calls that never ended.
    pub(super) fn end(&mut self) {
        for (thread, stack) in self.stacks.all.iter_mut().rev() {
            while let Some(frame) = stack.frames.last().copied() {
                self.out.text("thread ").pointer(*thread).text(" has ");
                self.out.decimal(stack.frames.len() as u64).text(" items on stack\n");
                let left = stack.leave(frame.method, stack.last, &mut self.stacks.room);
                if let Left::Ended(ended) = left {
                    let name = |out: &mut Vec<u8>| {
                        let name = self.known.method(frame.method).or_else(|| self.all.method(frame.method));
                        unknown_method(name, frame.method, self.is_one, out);
                    };
                    ended_oddly(ended.is_backward, ended.in_callees > ended.time, name, &mut self.out);
                }
                self.to.take_if_full(&mut self.out);
            }
        }
    }

    /// Appends the name of a method.
    #[inline]
    pub(super) fn method(&mut self, method: u64) {
        let name = self.known.method(method).or_else(|| self.all.method(method));
        unknown_method(name, method, self.is_one, &mut self.out);
        self.to.take_if_full(&mut self.out);
    }

    /// Appends the name of a class.
    fn class(&mut self, class: u64) {
        match self.known.class(class).or_else(|| self.all.class(class)) {
            Some(name) => self.out.bytes(name),
            None if self.is_one => self.out.text("unresolved class"),
            None => self.out.text("unresolved class ").pointer(class),
        };
        self.to.take_if_full(&mut self.out);
    }

    /// Returns the class of an object, from its reference in this version.
    pub(super) fn class_by(&mut self, pointer: u64) {
        if self.is_one {
            return self.class(pointer);
        }
        let class = self.known.class_of(pointer).or_else(|| self.all.class_of(pointer));
        self.class(class.unwrap_or_default());
    }

    /// Ends a line with the time.
    pub(super) fn at(&mut self, item: &Item<'_>) {
        self.out.text(" at ").decimal(item.ticks).text("\n");
    }

    /// Appends words, a pointer, and words.
    pub(super) fn pointers(&mut self, words: [&str; 2], pointer: u64) -> &mut Vec<u8> {
        self.out.text(words[0]).pointer(pointer).text(words[1])
    }
}

fn unknown_method(name: Option<&[u8]>, method: u64, is_one: bool, out: &mut Vec<u8>) {
    match name {
        Some(name) => out.bytes(name),
        None if is_one => out.text("unknown method"),
        None => out.text("unknown method ").pointer(method),
    };
}

/// Appends the text about a call with impossible times.
#[inline]
fn ended_oddly(is_backward: bool, is_bigger: bool, name: impl Fn(&mut Vec<u8>), out: &mut Vec<u8>) {
    for (is_so, words) in [(is_backward, "time went backwards for "), (is_bigger, "callee time bigger for ")]
    {
        if is_so {
            out.text(words);
            name(out);
            out.text("\n");
        }
    }
}

impl Visit for Lines<'_> {
    #[inline]
    fn call(&mut self, what: What, ticks: u64, method: u64, _: usize, _: usize) {
        let Stacks { all, room, .. } = &mut self.stacks;
        let stack: &mut Stack = &mut all[self.thread].1;
        let words = match what {
            What::MethodEnter => {
                stack.enter(method, 0, ticks, room);
                "enter method "
            }
            what => {
                let position = stack.frames.len() as u64;
                match stack.leave(method, ticks, room) {
                    Left::Unmatched => {
                        self.out.text("unmatched leave at stack pos: ").decimal(position);
                        self.out.text(" for method ");
                        self.method(method);
                        self.out.text("\n");
                    }
                    Left::Ended(ended) if ended.is_backward || ended.in_callees > ended.time => {
                        let name = self.known.method(method).or_else(|| self.all.method(method));
                        let name = |out: &mut Vec<u8>| unknown_method(name, method, self.is_one, out);
                        ended_oddly(ended.is_backward, ended.in_callees > ended.time, name, &mut self.out);
                    }
                    Left::Ended(_) | Left::Unknown => {}
                }
                if what == What::MethodLeave { "leave method " } else { "exleave method " }
            }
        };
        self.out.text(words);
        self.method(method);
        self.out.text("\n");
    }

    fn event(&mut self, item: &Item<'_>) {
        self.known.take(item);
        self.line(item);
    }
}
