//! Decoded events of one extent.

use telemetry_format::put;
use telemetry_schema::Sort;

use crate::report::opaque::opaque;
use crate::values::raw::Raw;

/// The decoded events of one extent.
#[derive(Default)]
pub struct Page {
    pub(super) heads: Vec<Head>,
    raws: Vec<Raw>,
    /// The bytes of strings, byte strings and arrays.
    pub(super) payload: Vec<u8>,
}

opaque!(Page, "Page");

/// An event without its parameters.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) ticks: u64,
    pub(super) event: u32,
    pub(super) registry: u16,
    /// Offset and length of the event in its extent.
    pub(super) at: u32,
    pub(super) len: u32,
    first: u32,
    end: u32,
}

/// An event that takes its values, in the order of its parameters, one for each.
pub struct PageEvent<'p> {
    page: &'p mut Page,
}

impl Page {
    /// Appends an event. Takes the index of its registry, its index there, its clock reading, and
    /// its offset and length in the extent. Its values must follow.
    #[inline]
    pub fn event(
        &mut self,
        registry: usize,
        event: usize,
        ticks: u64,
        at: usize,
        len: usize,
    ) -> PageEvent<'_> {
        let first = self.raws.len() as u32;
        let (at, len) = (at as u32, len as u32);
        self.heads.push(Head {
            ticks,
            event: event as u32,
            registry: registry as u16,
            at,
            len,
            first,
            end: first,
        });
        PageEvent { page: self }
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Returns true if there are no events.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.raws.clear();
        self.payload.clear();
    }

    /// Sorts events by time. Events of the same time stay in order.
    pub(super) fn sort(&mut self) {
        if !self.heads.is_sorted_by_key(|head| head.ticks) {
            self.heads.sort_by_key(|head| head.ticks);
        }
    }

    pub(super) fn raws(&self, head: &Head) -> &[Raw] {
        self.raws.get(head.first as usize..head.end as usize).unwrap_or_default()
    }
}

impl PageEvent<'_> {
    /// Appends a number: a signed number with its sign in all 64 bits, a float as its bits, a bool
    /// as 0 or 1.
    #[inline]
    pub fn number(&mut self, bits: u64) {
        self.push(Raw { bits, ..Raw::default() });
    }

    /// Appends a string or a byte string.
    pub fn run(&mut self, bytes: &[u8]) {
        let at = self.page.payload.len() as u32;
        self.page.payload.extend_from_slice(bytes);
        self.push(Raw { bits: 0, at, end: self.page.payload.len() as u32 });
    }

    /// Appends an array of numbers, each as in [`PageEvent::number`]. The parameter's count is
    /// [`telemetry_schema::Count::UpTo`]. Its type is `sort`, or a named type with `sort` as its
    /// repr.
    pub fn array(&mut self, sort: Sort, numbers: impl ExactSizeIterator<Item = u64>) {
        let payload = &mut self.page.payload;
        let at = payload.len() as u32;
        put::unsigned(&mut *payload, numbers.len() as u64);
        let mut last = 0;
        for number in numbers {
            match sort {
                Sort::Pointer | Sort::Addr | Sort::Word => {
                    put::delta(&mut *payload, last, number);
                    last = number;
                }
                Sort::U8 | Sort::I8 | Sort::Bool => _ = put::byte(&mut *payload, number as u8),
                Sort::U16 | Sort::U32 | Sort::U64 | Sort::Label | Sort::Named(_) => {
                    put::unsigned(&mut *payload, number);
                }
                Sort::I16 | Sort::I32 | Sort::I64 => _ = put::signed(&mut *payload, number as i64),
                Sort::F32 => _ = put::f32(&mut *payload, f32::from_bits(number as u32)),
                Sort::F64 => _ = put::f64(&mut *payload, f64::from_bits(number)),
                // Arrays cannot contain them.
                Sort::String | Sort::Bytes => {}
            }
        }
        let end = self.page.payload.len() as u32;
        self.push(Raw { bits: 0, at, end });
    }

    #[inline]
    fn push(&mut self, raw: Raw) {
        self.page.raws.push(raw);
    }
}

/// Completes the event after its last value.
impl Drop for PageEvent<'_> {
    #[inline]
    fn drop(&mut self) {
        let end = self.page.raws.len() as u32;
        if let Some(head) = self.page.heads.last_mut() {
            head.end = end;
        }
    }
}
