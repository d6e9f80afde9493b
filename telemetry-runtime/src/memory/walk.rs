//! Goes from event to event in the payload of a block.

use telemetry_format::{Cursor, Encoding, Header, Malformed};

use crate::memory::registry::{self, Registry};
use crate::model::registry_def::{EventInfo, ParamInfo, RegistryDef, Sort};

/// A position between two events of a block.
pub(crate) struct Walk {
    pub(crate) registry: &'static Registry,
    /// Number of the first slot of this kind in a lane.
    first_slot: usize,
    pub(crate) kind: usize,
    /// Number of payload bytes before the position.
    at: usize,
    /// Number of events before the position.
    pub(crate) index: u32,
    /// The time of the last event before the position.
    time: u64,
}

/// The parts of an event, in order.
pub(crate) enum Piece<'b> {
    Event(&'static EventInfo),
    Param(&'static ParamInfo),
    Open,
    /// Comes before every element.
    Element(u32),
    Value(Value<'b>),
    Close,
    End(&'static ParamInfo),
}

/// One value.
pub(crate) enum Value<'b> {
    /// `None` if the value of the slot is not kept.
    Address(Option<u64>),
    Word(Option<u64>),
    Unsigned(u64),
    Signed(i64),
    Bool(bool),
    F32(f32),
    F64(f64),
    String(&'b [u8]),
    Bytes(&'b [u8]),
    /// The number, and the index of the type.
    Named(i128, usize),
}

impl Walk {
    /// Begins at the start of a block, and sets the slots to zero. Returns `None` if the process
    /// does not use the block's registry.
    pub(crate) fn new(header: &Header, slots: &mut [u64]) -> Option<Walk> {
        let of = |registry: &&Registry| registry.def().fingerprint == header.registry;
        let registry = registry::all().find(of)?;
        let kinds = registry.def().kinds;
        let kind = kinds.iter().position(|kind| kind.bit == header.kind)?;
        let range = &kinds[kind].slots;
        let kept = range.len().min(slots.len());
        slots[..kept].fill(0);
        Some(Walk { registry, first_slot: range.start, kind, at: 0, index: 0, time: header.base_ticks })
    }

    /// Passes the next event, and calls the function with its parts. Returns the event's time, or
    /// `None` at the end of `payload`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an event of the block's kind. The walk is over then.
    pub(crate) fn next<'b>(
        &mut self,
        payload: &'b [u8],
        slots: &mut [u64],
        mut tell: impl FnMut(Piece<'b>),
    ) -> Option<Result<u64, Malformed>> {
        let mut cursor = Cursor::new(payload.get(self.at..).filter(|rest| !rest.is_empty())?);
        let passed = self.event(&mut cursor, slots, &mut tell);
        if passed.is_ok() {
            self.at = payload.len() - cursor.rest().len();
            self.index += 1;
        }
        Some(passed)
    }

    fn event<'b>(
        &mut self,
        cursor: &mut Cursor<'b>,
        slots: &mut [u64],
        tell: &mut impl FnMut(Piece<'b>),
    ) -> Result<u64, Malformed> {
        let def: &'static RegistryDef = self.registry.def();
        let code = cursor.unsigned()?;
        let known = def.events.binary_search_by_key(&code, |event| event.code.into());
        let event = known.map(|index| &def.events[index]).map_err(|_| Malformed::Value(code))?;
        if usize::from(event.kind) != self.kind {
            return Err(Malformed::Value(code));
        }
        self.time = self.time.wrapping_add(cursor.unsigned()?);
        tell(Piece::Event(event));
        for param in event.params {
            tell(Piece::Param(param));
            self.param(param.2, cursor, slots, tell)?;
            tell(Piece::End(param));
        }
        Ok(self.time)
    }

    fn param<'b>(
        &self,
        sort: Sort,
        cursor: &mut Cursor<'b>,
        slots: &mut [u64],
        tell: &mut impl FnMut(Piece<'b>),
    ) -> Result<(), Malformed> {
        match sort {
            Sort::Fixed(sort, count) => self.array(*sort, count, cursor, slots, tell)?,
            Sort::Counted(sort) => {
                let count = cursor.count(1)? as u32;
                self.array(*sort, count, cursor, slots, tell)?;
            }
            one => tell(Piece::Value(self.value(one, cursor, slots)?)),
        }
        Ok(())
    }

    /// Reads an array. Its first element is relative to the one slot, and each further one to the
    /// previous element.
    fn array<'b>(
        &self,
        sort: Sort,
        count: u32,
        cursor: &mut Cursor<'b>,
        slots: &mut [u64],
        tell: &mut impl FnMut(Piece<'b>),
    ) -> Result<(), Malformed> {
        tell(Piece::Open);
        let mut before = None;
        for index in 0..count {
            tell(Piece::Element(index));
            let value = match (sort, before) {
                (Sort::Address(_), Some(before)) => Value::Address(step(cursor, before)?),
                (Sort::Word(_), Some(before)) => Value::Word(step(cursor, before)?),
                (Sort::Address(_) | Sort::Word(_), None)
                | (Sort::Aligned(..) | Sort::Number(_) | Sort::Named(..) | Sort::String, _)
                | (Sort::Bytes | Sort::Fixed(..) | Sort::Counted(_), _) => self.value(sort, cursor, slots)?,
            };
            if let Value::Address(value) | Value::Word(value) = value {
                before = Some(value);
            }
            tell(Piece::Value(value));
        }
        tell(Piece::Close);
        Ok(())
    }

    fn value<'b>(
        &self,
        sort: Sort,
        cursor: &mut Cursor<'b>,
        slots: &mut [u64],
    ) -> Result<Value<'b>, Malformed> {
        Ok(match sort {
            Sort::Address(slot) => Value::Address(self.delta(slot, cursor, slots)?),
            Sort::Word(slot) => Value::Word(self.delta(slot, cursor, slots)?),
            Sort::Aligned(sort, rotation) => {
                let whole = |value: Option<u64>| value.map(|value| value.rotate_left(rotation));
                match self.value(*sort, cursor, slots)? {
                    Value::Address(value) => Value::Address(whole(value)),
                    Value::Word(value) => Value::Word(whole(value)),
                    other => other,
                }
            }
            Sort::Number(encoding) => number(encoding, cursor)?,
            Sort::String => Value::String(cursor.bytes()?),
            Sort::Bytes => Value::Bytes(cursor.bytes()?),
            // There are no arrays of arrays.
            Sort::Fixed(..) | Sort::Counted(_) => return Err(Malformed::Value(0)),
            Sort::Named(encoding, ty) => match number(encoding, cursor)? {
                Value::Signed(number) => Value::Named(number.into(), ty),
                Value::Unsigned(number) => Value::Named(number.into(), ty),
                other => other,
            },
        })
    }

    fn delta(&self, slot: u32, cursor: &mut Cursor<'_>, slots: &mut [u64]) -> Result<Option<u64>, Malformed> {
        let slot = (slot as usize).checked_sub(self.first_slot).and_then(|slot| slots.get_mut(slot));
        match slot {
            Some(slot) => cursor.delta(slot).map(Some),
            None => cursor.signed().map(|_| None),
        }
    }
}

#[cfg(test)]
impl Walk {
    /// Begins at the start of a block of a registry that need not be in use.
    pub(crate) fn of(registry: &'static Registry, kind: usize) -> Walk {
        let first_slot = registry.def().kinds[kind].slots.start;
        Walk { registry, first_slot, kind, at: 0, index: 0, time: 100 }
    }
}

/// Reads a value that is neither a delta nor a run of bytes.
fn number<'b>(encoding: Encoding, cursor: &mut Cursor<'b>) -> Result<Value<'b>, Malformed> {
    let bits = encoding.bits(cursor, &mut 0)?;
    Ok(match encoding {
        Encoding::Bool => Value::Bool(bits != 0),
        Encoding::F32 => Value::F32(f32::from_bits(bits as u32)),
        Encoding::F64 => Value::F64(f64::from_bits(bits)),
        Encoding::SignedByte | Encoding::Signed16 | Encoding::Signed32 | Encoding::Signed64 => {
            Value::Signed(bits as i64)
        }
        Encoding::Byte | Encoding::Unsigned16 | Encoding::Unsigned32 | Encoding::Unsigned64 => {
            Value::Unsigned(bits)
        }
        // `Sort` has its own variants for these.
        Encoding::Delta | Encoding::Run => return Err(Malformed::Value(bits)),
    })
}

/// Returns the next element of an array. It is unknown if the previous one is.
fn step(cursor: &mut Cursor<'_>, before: Option<u64>) -> Result<Option<u64>, Malformed> {
    let by = cursor.signed()?;
    Ok(before.map(|before| before.wrapping_add(by as u64)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use telemetry_format::Put;
    use telemetry_format::put;

    use super::*;
    use crate::model::registry_def::{Kind, TypeInfo};
    use crate::sys::atomic::AtomicU8;

    const PARAMS: &[ParamInfo] = &[
        ParamInfo("first", "", Sort::Word(7)),
        ParamInfo("texts", "", Sort::String),
        ParamInfo("second", "", Sort::Aligned(&Sort::Address(8), 4)),
        ParamInfo("several", "", Sort::Counted(&Sort::Address(9))),
        ParamInfo("pair", "", Sort::Fixed(&Sort::Word(10), 2)),
        ParamInfo("named", "", Sort::Named(Encoding::SignedByte, 0)),
    ];

    static MASK: [AtomicU8; 1] = [AtomicU8::new(0)];
    static REGISTRY: Registry = Registry::new(
        RegistryDef {
            name: "walk",
            version: [1, 0, 0],
            fingerprint: 1,
            text: "",
            kinds: &[
                Kind { name: "Other", bit: 0, inherits: false, slots: 0..7 },
                Kind { name: "Kind", bit: 3, inherits: false, slots: 7..11 },
            ],
            presets: &[],
            types: &[TypeInfo { is_flags: false, values: &[(-1, "Minus")] }],
            events: &[
                EventInfo { name: "Others", code: 4, kind: 0, params: &[] },
                EventInfo { name: "Event", code: 300, kind: 1, params: PARAMS },
            ],
        },
        &MASK,
    );

    /// Returns the values of a payload, event by event, from a walk with this number of slots.
    fn walk(payload: &[u8], slots: usize) -> Result<Vec<Vec<String>>, Malformed> {
        let mut walk = Walk { registry: &REGISTRY, first_slot: 7, kind: 1, at: 0, index: 0, time: 100 };
        let (mut slots, mut events) = (vec![0; slots], vec![]);
        loop {
            let mut values = vec![];
            let next = walk.next(payload, &mut slots, |piece| match piece {
                Piece::Value(Value::Word(number) | Value::Address(number)) => {
                    values.push(number.map_or("?".into(), |number| number.to_string()))
                }
                Piece::Value(Value::String(text)) => values.push(String::from_utf8_lossy(text).into()),
                Piece::Value(Value::Named(number, 0)) => values.push(number.to_string()),
                Piece::Value(_) => values.push("another value".into()),
                _ => {}
            });
            match next {
                None => return Ok(events),
                Some(time) => values.insert(0, time?.to_string()),
            }
            events.push(values);
        }
    }

    /// Returns a payload with two events.
    fn payload() -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..2 {
            let mut to = put::unsigned(&mut out, 300);
            to = put::unsigned(to, 5);
            to = put::signed(to, 20);
            to = put::bytes(to, b"text");
            to = put::signed(to, 16);
            to = put::unsigned(to, 2);
            to = put::signed(to, 1);
            to = put::signed(to, 2);
            to = put::signed(to, 3);
            to = put::signed(to, -1);
            let _ = to.array([0xff]);
        }
        out
    }

    #[test]
    fn values_follow_from_their_slots() {
        let expected = [
            ["105", "20", "text", "256", "1", "3", "3", "2", "-1"],
            ["110", "40", "text", "512", "2", "4", "6", "5", "-1"],
        ];
        assert_eq!(
            walk(&payload(), 4).as_deref(),
            Ok(&expected.map(|event| event.map(String::from).to_vec())[..])
        );
    }

    #[test]
    fn values_without_a_slot_are_not_known() {
        let expected = [
            ["105", "20", "text", "?", "?", "?", "?", "?", "-1"],
            ["110", "40", "text", "?", "?", "?", "?", "?", "-1"],
        ];
        assert_eq!(
            walk(&payload(), 1).as_deref(),
            Ok(&expected.map(|event| event.map(String::from).to_vec())[..])
        );
    }

    #[test]
    fn what_is_no_event_of_the_kind_is_refused() {
        let whole = payload();
        for len in 1..whole.len() {
            assert_eq!(walk(&whole[..len], 4).is_ok(), len == whole.len() / 2, "{len} bytes");
        }
        let mut other = Vec::new();
        let _ = put::unsigned(put::unsigned(&mut other, 4), 0);
        assert_eq!(walk(&other, 4), Err(Malformed::Value(4)), "of another kind");
        other[0] = whole[0];
        assert!(walk(&other, 4).is_err(), "unknown");
    }

    #[test]
    fn numbers_have_the_type_of_their_encoding() {
        let check = |encoding, write: fn(&mut Vec<u8>), expected: &str| {
            let mut bytes = Vec::new();
            write(&mut bytes);
            let mut cursor = Cursor::new(&bytes);
            let found = number(encoding, &mut cursor).map(|value| match value {
                Value::Bool(value) => format!("bool {value}"),
                Value::F32(value) => format!("f32 {value}"),
                Value::F64(value) => format!("f64 {value}"),
                Value::Signed(value) => format!("signed {value}"),
                Value::Unsigned(value) => format!("unsigned {value}"),
                _ => "another".into(),
            });
            assert_eq!(found.unwrap_or_else(|error| format!("{error:?}")), expected, "{encoding:?}");
            assert!(cursor.is_empty(), "{encoding:?}");
        };
        check(Encoding::Bool, |to| to.push(1), "bool true");
        check(Encoding::Bool, |to| to.push(0), "bool false");
        check(Encoding::F32, |to| _ = put::f32(to, 1.5), "f32 1.5");
        check(Encoding::F64, |to| _ = put::f64(to, -1.5), "f64 -1.5");
        check(Encoding::SignedByte, |to| to.push(0xff), "signed -1");
        for encoding in [Encoding::Signed16, Encoding::Signed32, Encoding::Signed64] {
            check(encoding, |to| _ = put::signed(to, -300), "signed -300");
        }
        check(Encoding::Byte, |to| to.push(0xff), "unsigned 255");
        for encoding in [Encoding::Unsigned16, Encoding::Unsigned32, Encoding::Unsigned64] {
            check(encoding, |to| _ = put::unsigned(to, 300), "unsigned 300");
        }
        check(Encoding::Delta, |to| _ = put::signed(to, 5), "Value(5)");
        check(Encoding::Run, |to| _ = put::bytes(to, b"two"), "Value(3)");
    }

    #[test]
    fn an_element_after_an_unknown_one_is_unknown() {
        let after = |before: Option<u64>, by: i64| {
            let mut bytes = Vec::<u8>::new();
            put::signed(&mut bytes, by);
            step(&mut Cursor::new(&bytes), before)
        };
        assert_eq!(after(Some(7), -9), Ok(Some(u64::MAX - 1)));
        assert_eq!(after(Some(7), 9), Ok(Some(16)));
        assert_eq!(after(None, 9), Ok(None));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0..50_usize) {
            let _ = walk(&bytes, 4);
            let mut damaged = payload();
            damaged.truncate(at);
            damaged.extend(bytes);
            let _ = walk(&damaged, 2);
        }
    }
}
