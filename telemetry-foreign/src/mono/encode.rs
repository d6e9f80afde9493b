//! A buffer that is filled event by event, and encoded when it is complete: only then is the order
//! of its events known.

use telemetry_decode::{Event, Value};

use super::calls::Calls;
use super::header::BufferHead;
use super::layout::{Entry, Layout};
use super::leb::{put_signed, put_unsigned};
use super::order;
use super::row::{Field, Frames, List};
use super::what::What;

/// An event that a buffer can have: its place in the version's table.
pub(super) struct Kept {
    entry: usize,
    kind: u8,
}

impl Kept {
    /// Makes a step of a call, whose method is found when the order is known.
    pub(super) fn call(entry: &Entry) -> Kept {
        Kept { entry: entry.index, kind: entry.kind }
    }

    /// Makes an event with its values. `None` if it has another form than in this version's
    /// registry.
    pub(super) fn of(event: &Event<'_>, entry: &Entry) -> Option<Kept> {
        let fields = entry.row.fields.len();
        let more = match entry.row.list {
            List::None => 0,
            List::Frames(Frames::FlagsAndPointers) => 2,
            List::Frames(Frames::Methods) | List::Pairs | List::Objects => 1,
            // Data version 1 has none.
            _ => return None,
        };
        let values = event.values();
        let fits = values.len() == fields + more && {
            let is_text = |index: usize| matches!(entry.row.fields.get(index), Some(Field::Text));
            let is_list = |index: usize| entry.row.list != List::None && index + 1 == fields + more;
            values.enumerate().all(|(index, value)| match value {
                Value::String(text) => is_text(index) && !text.0.contains(&0),
                Value::Array(_) => is_list(index),
                value => !is_text(index) && !is_list(index) && value.as_u64().is_some(),
            })
        };
        fits.then_some(Kept { entry: entry.index, kind: entry.kind })
    }
}

/// A buffer that is not encoded yet.
#[derive(Default)]
pub(super) struct Draft {
    events: Vec<Drafted>,
    /// Values of all events. For a text, its place. A list follows its number of elements.
    values: Vec<u64>,
    texts: Vec<u8>,
    /// By time and kind: the position of each event, if it is not that of time.
    order: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Drafted {
    key: order::Key,
    what: What,
    entry: u32,
    /// Where its values begin.
    first: u32,
}

impl Draft {
    pub(super) fn push(&mut self, event: &Event<'_>, what: What, kept: Kept) {
        self.events.push(Drafted {
            key: (event.ticks(), kept.kind),
            what,
            entry: kept.entry as u32,
            first: self.values.len() as u32,
        });
        for value in event.values() {
            match value {
                Value::String(text) => {
                    let from = self.texts.len() as u64;
                    self.texts.extend_from_slice(text.0);
                    self.values.push(from << 32 | self.texts.len() as u64);
                }
                Value::Array(list) => {
                    self.values.push(list.len() as u64);
                    self.values.extend(list.iter().map(|value| value.as_u64().unwrap_or_default()));
                }
                value => self.values.push(value.as_u64().unwrap_or_default()),
            }
        }
    }

    /// Notes the positions of further events.
    pub(super) fn order(&mut self, positions: impl Iterator<Item = u32>) {
        // No buffer that is kept open has more.
        let room = (1 << 22_usize) - self.order.len().min(1 << 22);
        self.order.extend(positions.take(room));
    }

    /// Returns the approximate length of its encoding.
    pub(super) fn len(&self) -> usize {
        3 * self.events.len() + 4 * self.values.len() + self.texts.len() + 4 * self.order.len()
    }

    pub(super) fn events(&self) -> u64 {
        self.events.len() as u64
    }

    /// Takes the last events out that are not before a time.
    pub(super) fn split_from(&mut self, ticks: u64) -> Draft {
        let at = self.events.iter().rposition(|event| event.key.0 < ticks).map_or(0, |last| last + 1);
        let mut later = Draft::default();
        let Some(first) = self.events.get(at).map(|event| event.first) else { return later };
        later
            .events
            .extend(self.events.drain(at..).map(|event| Drafted { first: event.first - first, ..event }));
        later.values.extend(self.values.drain(first as usize..));
        // Values of texts are positions in all texts.
        later.texts = self.texts.clone();
        later
    }

    /// Makes a header for a buffer that no event describes. Its bases are the first values, as in
    /// Mono.
    pub(super) fn head(&self, thread: u64) -> Option<BufferHead> {
        let time = self.events.iter().map(|event| event.key.0).min()?;
        Some(BufferHead { time, thread, ..BufferHead::default() })
    }

    /// Encodes the buffer with its header. Also returns the number of events that it cannot
    /// represent: returns from calls that it does not have. `calls` are those that are open at its
    /// start, and then at its end.
    pub(super) fn encode(
        mut self,
        layout: &Layout,
        mut head: BufferHead,
        calls: &mut Calls,
    ) -> (Vec<u8>, u64) {
        self.events.sort_by_key(|event| event.key);
        if self.order.len() == self.events.len() && order::is_permutation(&self.order) {
            let mut placed = self.events.clone();
            for (event, position) in self.events.iter().zip(&self.order) {
                placed[*position as usize] = *event;
            }
            self.events = placed;
        }
        if head == (BufferHead { time: head.time, thread: head.thread, ..BufferHead::default() }) {
            self.choose_bases(layout, &mut head);
        }
        let mut encoder =
            Encoder { out: Vec::new(), head: &head, time: head.time, method: head.method_base, draft: &self };
        let (mut is_unwinding, mut lost) = (false, 0);
        for event in &self.events {
            let first = self.values.get(event.first as usize).copied().unwrap_or_default();
            match event.what {
                What::MethodEnter => calls.enter(first),
                What::MethodLeave | What::MethodExcLeave => calls.leave(first),
                What::MethodUnwind => {
                    is_unwinding = true;
                    continue;
                }
                What::MethodReturn => {
                    let what = if is_unwinding { What::MethodExcLeave } else { What::MethodLeave };
                    is_unwinding = false;
                    match calls.end().zip(layout.of_what(what)) {
                        Some((method, entry)) => encoder.call(entry, event.key.0, method),
                        None => lost += 1,
                    }
                    continue;
                }
                _ => {}
            }
            encoder.event(event, layout);
        }
        let payload = encoder.out;
        head.len = payload.len() as i32;
        let mut out = Vec::with_capacity(super::header::BUFFER_LEN + payload.len());
        head.write(&mut out);
        out.extend_from_slice(&payload);
        (out, lost)
    }

    /// Chooses the first pointer, object and method as bases.
    fn choose_bases(&self, layout: &Layout, head: &mut BufferHead) {
        for event in &self.events {
            let Some(entry) = layout.entry(event.entry as usize) else { continue };
            for (index, field) in entry.row.fields.iter().enumerate() {
                let value = self.values.get(event.first as usize + index).copied().unwrap_or_default();
                let (base, value) = match field {
                    Field::Pointer => (&mut head.ptr_base, value),
                    Field::Object => (&mut head.obj_base, value >> 3),
                    Field::Method => (&mut head.method_base, value),
                    _ => continue,
                };
                if *base == 0 {
                    *base = value;
                }
            }
        }
    }
}

struct Encoder<'e> {
    out: Vec<u8>,
    head: &'e BufferHead,
    time: u64,
    method: u64,
    draft: &'e Draft,
}

impl Encoder<'_> {
    fn call(&mut self, entry: &Entry, ticks: u64, method: u64) {
        self.out.push(entry.row.code);
        put_unsigned(&mut self.out, ticks.wrapping_sub(self.time));
        self.time = ticks;
        self.method(method);
    }

    fn method(&mut self, method: u64) {
        put_signed(&mut self.out, method.wrapping_sub(self.method));
        self.method = method;
    }

    fn event(&mut self, event: &Drafted, layout: &Layout) {
        let Some(entry) = layout.entry(event.entry as usize) else { return };
        let values = self.draft.values.get(event.first as usize..).unwrap_or_default();
        let mut values = values.iter().copied();
        self.out.push(entry.row.code);
        if entry.row.is_timed {
            put_unsigned(&mut self.out, event.key.0.wrapping_sub(self.time));
            self.time = event.key.0;
        }
        self.out.extend(entry.row.sub);
        for field in entry.row.fields {
            let value = values.next().unwrap_or_default();
            match field {
                Field::Pointer => self.pointer(value),
                Field::Object => self.object(value),
                Field::Method => self.method(value),
                Field::Number => put_unsigned(&mut self.out, value),
                Field::Byte => self.out.push(value as u8),
                Field::Text | Field::TextIf(_) => {
                    let (from, end) = ((value >> 32) as usize, (value & 0xffff_ffff) as usize);
                    self.out.extend_from_slice(self.draft.texts.get(from..end).unwrap_or_default());
                    self.out.push(0);
                }
            }
        }
        if let List::Frames(Frames::FlagsAndPointers) = entry.row.list {
            put_unsigned(&mut self.out, values.next().unwrap_or_default());
        }
        if entry.row.list == List::None {
            return;
        }
        let len = values.next().unwrap_or_default();
        put_unsigned(&mut self.out, len);
        for value in values.take(len as usize) {
            match entry.row.list {
                List::Frames(_) => self.pointer(value),
                _ => self.object(value),
            }
        }
    }

    fn pointer(&mut self, value: u64) {
        put_signed(&mut self.out, value.wrapping_sub(self.head.ptr_base));
    }

    fn object(&mut self, value: u64) {
        put_signed(&mut self.out, (value >> 3).wrapping_sub(self.head.obj_base));
    }
}
