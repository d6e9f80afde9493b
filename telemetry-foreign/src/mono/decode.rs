//! Decodes the events of one buffer.

use std::fmt;

use super::header::BufferHead;
use super::layout::{Entry, Layout, MAX_FIELDS};
use super::leb::Bytes;
use super::row::{Field, Frames, List};
use super::what::What;

/// Receives the events of a buffer, in their order.
pub(super) trait Visit {
    /// Receives an enter or a leave: most events are.
    fn call(&mut self, what: What, ticks: u64, method: u64, at: usize, end: usize);

    /// Receives any other event.
    fn event(&mut self, item: &Item<'_>);
}

/// An event of a buffer, with its values.
pub(super) struct Item<'i> {
    pub(super) entry: &'i Entry,
    /// That of its entry, except for values of counters and steps of collections.
    pub(super) what: What,
    /// Index of the event in the registry.
    pub(super) event: u32,
    pub(super) ticks: u64,
    /// Its position in the buffer's payload.
    pub(super) at: usize,
    pub(super) end: usize,
    /// The end of its single parameters.
    pub(super) single_end: usize,
    /// Its single parameters. [`text_value`] makes the value of a text from its place.
    pub(super) values: &'i [u64],
    /// Its lists.
    pub(super) lists: [&'i [u64]; 2],
    /// The payload.
    pub(super) bytes: &'i [u8],
}

impl<'i> Item<'i> {
    #[inline]
    pub(super) fn value(&self, index: usize) -> u64 {
        self.values.get(index).copied().unwrap_or_default()
    }

    /// Returns the text that a value refers to.
    #[inline]
    pub(super) fn text(&self, index: usize) -> &'i [u8] {
        let value = self.value(index);
        self.bytes.get((value >> 32) as usize..(value & 0xffff_ffff) as usize).unwrap_or_default()
    }
}

/// Returns a place in a payload as a value; payloads are shorter than 4 GiB.
fn text_value((from, end): (usize, usize)) -> u64 {
    (from as u64) << 32 | end as u64
}

/// The part of a buffer that could be read.
#[derive(Debug)]
pub(super) struct Decoded {
    /// Bytes of whole events.
    pub(super) end: usize,
    /// The mistake in the event after them.
    pub(super) wrong: Option<Wrong>,
    /// Clock reading after the last event.
    pub(super) ticks: u64,
}

/// The reason why an event cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    Code(u8),
    Sub(u8, u8),
    /// A list with more elements than an event can have.
    TooMany(u64, u64),
    /// The event reaches beyond the buffer, or a number in it has no end.
    Cut,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Code(code) => write!(f, "unknown event code {code:#04x}"),
            Wrong::Sub(code, sub) => write!(f, "unknown event code {code:#04x} of sort {sub}"),
            Wrong::TooMany(found, most) => write!(f, "a list of {found} elements, expected at most {most}"),
            Wrong::Cut => write!(f, "an event that does not end in its buffer"),
        }
    }
}

/// Decodes the events of a payload. Each event depends on the state after the earlier ones, so an
/// invalid one ends the buffer.
#[inline]
pub(super) fn decode(layout: &Layout, head: &BufferHead, payload: &[u8], visit: &mut impl Visit) -> Decoded {
    let mut decoder = Decoder {
        layout,
        ptr_base: head.ptr_base,
        obj_base: head.obj_base,
        method: head.method_base,
        ticks: head.time,
        bytes: Bytes { all: payload, at: 0 },
        values: [0; MAX_FIELDS],
        lists: [Vec::new(), Vec::new()],
        single_end: 0,
        given: 0,
    };
    let mut end = 0;
    let wrong = loop {
        if let Err(wrong) = decoder.next(visit) {
            break Some(wrong);
        }
        end = decoder.bytes.at;
        if decoder.bytes.is_empty() {
            break None;
        }
    };
    // Counters of a list that is invalid further on are complete.
    Decoded { end: end.max(decoder.given), wrong, ticks: decoder.ticks }
}

struct Decoder<'b> {
    layout: &'b Layout,
    ptr_base: u64,
    obj_base: u64,
    method: u64,
    ticks: u64,
    bytes: Bytes<'b>,
    values: [u64; MAX_FIELDS],
    lists: [Vec<u64>; 2],
    single_end: usize,
    /// The end of the last event, unless it is a call.
    given: usize,
}

impl<'b> Decoder<'b> {
    /// Decodes the next event, if there is one.
    #[inline(always)]
    fn next(&mut self, visit: &mut impl Visit) -> Result<(), Wrong> {
        let at = self.bytes.at;
        let Some(code) = self.bytes.byte() else { return Ok(()) };
        if let Some(what) = self.layout.call(code) {
            let (ticks, distance) = self.bytes.unsigned_and_signed().ok_or(Wrong::Cut)?;
            self.ticks = self.ticks.wrapping_add(ticks);
            self.method = self.method.wrapping_add(distance);
            visit.call(what, self.ticks, self.method, at, self.bytes.at);
            return Ok(());
        }
        let entry = self.layout.first(code).ok_or(Wrong::Code(code))?;
        self.other(entry, at, visit)
    }

    /// Decodes an event other than a call, after its first byte.
    #[inline(never)]
    fn other(&mut self, mut entry: &'b Entry, at: usize, visit: &mut impl Visit) -> Result<(), Wrong> {
        let earlier = self.ticks;
        if entry.row.is_timed {
            self.ticks = earlier.wrapping_add(self.bytes.unsigned().ok_or(Wrong::Cut)?);
        }
        if entry.row.sub.is_some() {
            let (code, sub) = (entry.row.code, self.bytes.byte().ok_or(Wrong::Cut)?);
            entry = self.layout.with_sub(code, sub).ok_or(Wrong::Sub(code, sub))?;
        }
        let method = self.method;
        let given = self.values(entry).and_then(|count| self.lists(entry, count, at, visit));
        if given.is_err() {
            (self.ticks, self.method) = (earlier, method);
        }
        given
    }

    /// Reads the single parameters, and returns their number.
    #[inline]
    fn values(&mut self, entry: &Entry) -> Result<usize, Wrong> {
        for (index, field) in entry.row.fields.iter().enumerate() {
            let value = match *field {
                Field::Pointer => self.pointer(),
                Field::Object => self.object(),
                Field::Method => self.method(),
                Field::Number => self.bytes.unsigned(),
                Field::Byte => self.bytes.byte().map(u64::from),
                Field::TextIf(first) if self.values[0] != first => Some(0),
                Field::Text | Field::TextIf(_) => self.bytes.text().map(text_value),
            };
            self.values[index] = value.ok_or(Wrong::Cut)?;
        }
        Ok(entry.row.fields.len())
    }

    /// Reads the lists, which complete the event. `count` single parameters were read.
    #[inline]
    fn lists(
        &mut self,
        entry: &Entry,
        mut count: usize,
        at: usize,
        visit: &mut impl Visit,
    ) -> Result<(), Wrong> {
        self.lists.iter_mut().for_each(Vec::clear);
        self.single_end = self.bytes.at;
        match entry.row.list {
            List::None => {}
            List::Counters => return self.counters(entry, visit),
            List::CounterValues => return self.counter_values(entry, visit),
            List::Frames(frames) => {
                if frames == Frames::FlagsAndPointers {
                    self.values[count] = self.number()?;
                    count += 1;
                }
                self.frames(entry, frames, 0)?;
            }
            List::Pairs | List::Objects => {
                for _ in 0..self.length(entry)? {
                    let object = self.object().ok_or(Wrong::Cut)?;
                    self.lists[0].push(object);
                }
            }
            List::OffsetsAndObjects | List::PointersAndObjects => {
                for _ in 0..self.length(entry)? {
                    let first = match entry.row.list {
                        List::OffsetsAndObjects => self.bytes.unsigned(),
                        _ => self.pointer(),
                    };
                    self.lists[0].push(first.ok_or(Wrong::Cut)?);
                    let object = self.object().ok_or(Wrong::Cut)?;
                    self.lists[1].push(object);
                }
            }
            List::PointersAndFrames => {
                for _ in 0..self.length(entry)? {
                    let pointer = self.pointer().ok_or(Wrong::Cut)?;
                    self.lists[0].push(pointer);
                }
                self.frames(entry, Frames::Methods, 1)?;
            }
        }
        let what = match entry.what {
            What::GcEvent => What::of_step(self.values[0]),
            what => what,
        };
        self.give(entry, what, count, at, visit);
        Ok(())
    }

    fn frames(&mut self, entry: &Entry, frames: Frames, list: usize) -> Result<(), Wrong> {
        for _ in 0..self.length(entry)? {
            let frame = match frames {
                Frames::FlagsAndPointers => self.pointer(),
                Frames::Methods => self.method(),
            };
            self.lists[list].push(frame.ok_or(Wrong::Cut)?);
        }
        Ok(())
    }

    /// Reads descriptions of counters, each an event.
    fn counters(&mut self, entry: &Entry, visit: &mut impl Visit) -> Result<(), Wrong> {
        // The section of the program's own counters.
        const OWN: u64 = 0x8000;
        for _ in 0..self.number()? {
            let at = self.bytes.at;
            let section = self.number()?;
            let section_name = if section == OWN { self.text()? } else { 0 };
            let name = self.text()?;
            let (value_type, unit, variance) = (self.number()?, self.number()?, self.number()?);
            let index = self.number()?;
            self.values = [section, section_name, name, value_type, unit, variance, index, 0];
            self.give(entry, entry.what, 7, at, visit);
        }
        Ok(())
    }

    /// Reads values of counters, each an event.
    fn counter_values(&mut self, entry: &Entry, visit: &mut impl Visit) -> Result<(), Wrong> {
        loop {
            let at = self.bytes.at;
            let index = self.number()?;
            if index == 0 {
                return Ok(());
            }
            let value_type = self.number()?;
            self.values[0] = index;
            self.values[1] = value_type;
            let (what, count) = match value_type {
                5 => {
                    self.values[1] = u64::from_le_bytes(self.bytes.eight().ok_or(Wrong::Cut)?);
                    (What::CounterReal, 2)
                }
                6 => {
                    let is_set = self.bytes.byte().ok_or(Wrong::Cut)? != 0;
                    self.values[1] = is_set.into();
                    self.values[2] = if is_set { self.text()? } else { 0 };
                    (What::CounterText, 3)
                }
                1 | 4 => {
                    self.values[2] = self.number()?;
                    (entry.what, 3)
                }
                0 | 2 | 3 | 7 => {
                    self.values[2] = self.bytes.signed().ok_or(Wrong::Cut)?;
                    (entry.what, 3)
                }
                other => return Err(Wrong::Sub(entry.row.code, other as u8)),
            };
            self.give(entry, what, count, at, visit);
        }
    }

    #[inline(always)]
    fn give(&mut self, entry: &Entry, what: What, count: usize, at: usize, visit: &mut impl Visit) {
        self.given = self.bytes.at;
        visit.event(&Item {
            entry,
            what,
            event: self.layout.index(what),
            ticks: self.ticks,
            at,
            end: self.bytes.at,
            single_end: self.single_end,
            values: &self.values[..count],
            lists: [&self.lists[0], &self.lists[1]],
            bytes: self.bytes.all,
        });
    }

    /// Reads the number of elements of a list.
    fn length(&mut self, entry: &Entry) -> Result<u64, Wrong> {
        let found = self.number()?;
        if found > entry.most { Err(Wrong::TooMany(found, entry.most)) } else { Ok(found) }
    }

    fn number(&mut self) -> Result<u64, Wrong> {
        self.bytes.unsigned().ok_or(Wrong::Cut)
    }

    fn text(&mut self) -> Result<u64, Wrong> {
        self.bytes.text().map(text_value).ok_or(Wrong::Cut)
    }

    #[inline(always)]
    fn pointer(&mut self) -> Option<u64> {
        Some(self.ptr_base.wrapping_add(self.bytes.signed()?))
    }

    #[inline(always)]
    fn object(&mut self) -> Option<u64> {
        Some(self.obj_base.wrapping_add(self.bytes.signed()?) << 3)
    }

    #[inline(always)]
    fn method(&mut self) -> Option<u64> {
        self.method = self.method.wrapping_add(self.bytes.signed()?);
        Some(self.method)
    }
}
