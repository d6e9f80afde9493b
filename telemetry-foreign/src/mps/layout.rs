//! The layout of events: C structures, little-endian, 64 bits.

use telemetry_decode::foreign::Page;
use telemetry_decode::names::{Mark, Namings};
use telemetry_schema::{Event, Registry, Sort};

/// Bytes before the parameters: code and size of 16 bits each, 4 bytes of padding, and the clock.
pub(super) const HEAD: usize = 16;

/// Sizes of events are multiples of this.
pub(super) const ALIGN: usize = 8;

/// The bytes that the size of a string counts for its end. The MPS takes the size of a character
/// constant, which in C is that of an int.
const STRING_END: usize = 4;

/// The most bytes of a string, without its end.
pub(super) const MAX_STRING: usize = 255;

/// The forms of the events of a registry.
pub(super) struct Layout {
    /// By index.
    forms: Vec<Form>,
    /// By code: the index plus one. The codes of the MPS are small.
    by_code: Vec<u16>,
}

/// The form of an event.
pub(super) struct Form {
    /// The kind's bit.
    pub(super) kind: u8,
    pub(super) role: Option<Role>,
    /// Size of the whole event; the least one for an event with a string.
    size: usize,
    fields: Vec<Field>,
}

/// The data that the reader takes from an event beside its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Label(Mark),
    ClockSync,
    Init,
}

/// A parameter: its offset in the event, and its length in bytes.
#[derive(Clone, Copy)]
enum Field {
    Eight(u16),
    Four(u16),
    Byte(u16),
    /// Up to its NUL; the last parameter.
    String(u16),
}

/// The head of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) code: u16,
    pub(super) size: usize,
    pub(super) ticks: u64,
}

impl Head {
    /// Reads a head. `None` if there are too few bytes.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Head> {
        let bytes: &[u8; HEAD] = bytes.first_chunk()?;
        let [c0, c1, s0, s1, _, _, _, _, ticks @ ..] = *bytes;
        let (code, size) = (u16::from_le_bytes([c0, c1]), u16::from_le_bytes([s0, s1]));
        Some(Head { code, size: size.into(), ticks: u64::from_le_bytes(ticks) })
    }

    /// Returns true if an event can have this size.
    #[inline]
    pub(super) fn is_sane(&self) -> bool {
        self.size >= HEAD && self.size.is_multiple_of(ALIGN)
    }
}

impl Layout {
    pub(super) fn new(registry: &Registry) -> Layout {
        let namings = Namings::new(registry);
        let events = registry.events.iter().enumerate();
        let forms = events.map(|(index, event)| Form::new(registry, event, namings.of_event(index)));
        let forms: Vec<Form> = forms.collect();
        let codes = registry.events.iter().map(|event| usize::from(event.code) + 1).max().unwrap_or(0);
        let mut by_code = vec![0; codes];
        for (index, event) in registry.events.iter().enumerate() {
            by_code[usize::from(event.code)] = index as u16 + 1;
        }
        Layout { forms, by_code }
    }

    /// Returns the index and the form of the event with a code.
    #[inline]
    pub(super) fn of_code(&self, code: u16) -> Option<(usize, &Form)> {
        let index = usize::from(*self.by_code.get(usize::from(code))?).checked_sub(1)?;
        Some((index, self.forms.get(index)?))
    }

    /// Returns the form of an event by its index.
    pub(super) fn form(&self, index: usize) -> Option<&Form> {
        self.forms.get(index)
    }
}

impl Form {
    fn new(registry: &Registry, event: &Event, marks: &[Mark]) -> Form {
        let mut at = HEAD;
        let mut place = |size: usize| {
            at = at.next_multiple_of(size);
            at += size;
            (at - size) as u16
        };
        let fields = event.params.iter().map(|param| match param.sort {
            Sort::String => Field::String(place(1)),
            Sort::Bool => Field::Byte(place(1)),
            Sort::U32 => Field::Four(place(4)),
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::F64 => Field::Eight(place(8)),
            // The MPS has none of these.
            Sort::U8 | Sort::U16 | Sort::U64 | Sort::F32 => Field::Eight(place(8)),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Field::Eight(place(8)),
            Sort::Bytes | Sort::Label | Sort::Named(_) => Field::Eight(place(8)),
        });
        let fields: Vec<Field> = fields.collect();
        let size = match fields.last() {
            Some(Field::String(at)) => string_size(*at, 0),
            _ => at.next_multiple_of(ALIGN),
        };
        let role = match event.name.as_str() {
            "EventClockSync" => Some(Role::ClockSync),
            "EventInit" => Some(Role::Init),
            // Each names one thing.
            _ => marks.first().copied().map(Role::Label),
        };
        Form { kind: registry.kind_of(event).bit, role, size, fields }
    }

    /// Returns true if the event can have this size.
    #[inline]
    pub(super) fn has_size(&self, size: usize) -> bool {
        size == self.size
            || matches!(self.fields.last(), Some(Field::String(at)) if {
                (self.size..=string_size(*at, MAX_STRING)).contains(&size) && size.is_multiple_of(ALIGN)
            })
    }

    /// Returns true if that is the size of the whole event, with its string.
    #[inline]
    pub(super) fn is_size_of(&self, bytes: &[u8]) -> bool {
        match self.fields.last() {
            Some(Field::String(at)) => {
                let string = bytes.get(usize::from(*at)..).unwrap_or_default();
                let len = string.iter().position(|byte| *byte == 0);
                len.is_some_and(|len| string_size(*at, len) == bytes.len())
            }
            _ => bytes.len() == self.size,
        }
    }

    /// Returns the least size, which is the only one of an event without a string.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the length of the event with this string.
    pub(super) fn size_with(&self, string: Option<&[u8]>) -> usize {
        match (self.fields.last(), string) {
            (Some(Field::String(at)), Some(string)) => string_size(*at, string.len()),
            _ => self.size,
        }
    }

    /// Returns the number at the index of a numeric parameter; 0 if the event ends before it.
    pub(super) fn number(&self, bytes: &[u8], param: usize) -> u64 {
        self.fields.get(param).map_or(0, |field| field.number(bytes))
    }

    /// Returns the string, if the event has one.
    pub(super) fn string<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        match self.fields.last() {
            Some(Field::String(at)) => string_at(bytes, *at),
            _ => &[],
        }
    }

    /// Appends the event to a page. `at` is its position in the extent.
    #[inline]
    pub(super) fn read(&self, index: usize, ticks: u64, at: usize, bytes: &[u8], page: &mut Page) {
        let mut event = page.event(0, index, ticks, at, bytes.len());
        for field in &self.fields {
            match *field {
                Field::String(at) => event.run(string_at(bytes, at)),
                Field::Byte(_) => event.number(u64::from(field.number(bytes) != 0)),
                _ => event.number(field.number(bytes)),
            }
        }
    }

    /// Writes a number, cut to the bytes of its parameter.
    pub(super) fn put(&self, bytes: &mut [u8], param: usize, number: u64) {
        let (at, len) = match self.fields.get(param) {
            Some(Field::Eight(at)) => (*at, 8),
            Some(Field::Four(at)) => (*at, 4),
            Some(Field::Byte(at)) => (*at, 1),
            Some(Field::String(_)) | None => return,
        };
        if let Some(place) = bytes.get_mut(usize::from(at)..usize::from(at) + len) {
            place.copy_from_slice(&number.to_le_bytes()[..len]);
        }
    }

    /// Writes the string to an event of [`Form::size_with`] it.
    pub(super) fn put_string(&self, bytes: &mut [u8], string: &[u8]) {
        if let Some(Field::String(at)) = self.fields.last()
            && let Some(place) = bytes.get_mut(usize::from(*at)..usize::from(*at) + string.len())
        {
            place.copy_from_slice(string);
        }
    }

    /// Returns the offsets of the parameters.
    pub(super) fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        self.fields.iter().map(|field| match *field {
            Field::Eight(at) | Field::Four(at) | Field::Byte(at) | Field::String(at) => at.into(),
        })
    }

    /// Returns the most bytes that an event can take in memory: with a string, the whole structure.
    pub(super) fn most(&self) -> usize {
        match self.fields.last() {
            Some(Field::String(at)) => string_size(*at, MAX_STRING),
            _ => self.size,
        }
    }
}

impl Field {
    #[inline]
    fn number(self, bytes: &[u8]) -> u64 {
        let from = |at: u16| bytes.get(usize::from(at)..).unwrap_or_default();
        match self {
            Field::Eight(at) => from(at).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
            Field::Four(at) => from(at).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into()),
            Field::Byte(at) => from(at).first().map_or(0, |byte| (*byte).into()),
            Field::String(_) => 0,
        }
    }
}

fn string_at(bytes: &[u8], at: u16) -> &[u8] {
    let string = bytes.get(usize::from(at)..).unwrap_or_default();
    let len = string.iter().position(|byte| *byte == 0).unwrap_or(string.len());
    &string[..len]
}

/// Returns the bytes of an event with a string of `len` bytes.
fn string_size(at: u16, len: usize) -> usize {
    (usize::from(at) + len + STRING_END).next_multiple_of(ALIGN)
}
