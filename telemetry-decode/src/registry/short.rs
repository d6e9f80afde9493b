//! Events whose values take one byte each. They are read as one word.

use telemetry_format::Cursor;

use crate::values::raw::Raw;

/// The most deltas of such an event. Its code and its time come before them in the word.
const MAX_DELTAS: usize = 6;

/// The lowest bit of each byte of a word.
const LOWEST_BITS: u64 = u64::from_le_bytes([1; 8]);

/// The plan of an event type by a code of one byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortPlan {
    /// The lowest bits of an event's bytes. All are set if each value takes one byte.
    mask: u64,
    /// The number of bits by which each delta is rotated.
    rotations: [u8; MAX_DELTAS],
    /// Number of parameters.
    pub(crate) params: u8,
    kind_bit: u8,
    /// The first of its delta slots, which are contiguous.
    first_slot: u32,
    /// Index of the event in the registry.
    pub(crate) index: u32,
}

/// Eight bytes that begin with an event.
#[derive(Clone, Copy)]
pub(crate) struct Word(u64);

impl Word {
    /// Returns the next eight bytes, if there are as many.
    #[inline(always)]
    pub(crate) fn of_next(cursor: Cursor<'_>) -> Option<Word> {
        Some(Word(u64::from_le_bytes(*cursor.rest().first_chunk()?)))
    }

    /// Returns the code, if it takes one byte.
    #[inline(always)]
    pub(crate) fn code(self) -> usize {
        usize::from(self.0 as u8 >> 1)
    }

    /// Returns the ticks since the event before, if they take one byte.
    #[inline(always)]
    pub(crate) fn ticks(self) -> u64 {
        self.0 >> 9 & 0x7f
    }
}

impl ShortPlan {
    /// The plan of an event type with other parameters, and of a code without an event type. No
    /// event fits, because no kind has its bit.
    pub(crate) const NONE: ShortPlan = ShortPlan {
        mask: 1,
        rotations: [0; MAX_DELTAS],
        params: 0,
        kind_bit: u8::MAX,
        first_slot: 0,
        index: 0,
    };

    /// Returns the plan of an event type whose only parameters are deltas with these rotations.
    pub(crate) fn new(rotations: &[u8], kind_bit: u8, first_slot: u32, index: u32) -> ShortPlan {
        let mut plan = ShortPlan { kind_bit, first_slot, index, ..ShortPlan::NONE };
        let Some(places) = plan.rotations.get_mut(..rotations.len()) else { return ShortPlan::NONE };
        places.copy_from_slice(rotations);
        plan.params = rotations.len() as u8;
        plan.mask = LOWEST_BITS >> (8 * (MAX_DELTAS - rotations.len()));
        plan
    }

    /// Returns true if each value of an event of this kind takes one byte.
    #[inline(always)]
    pub(crate) fn fits(&self, Word(word): Word, kind_bit: u8) -> bool {
        word & self.mask == self.mask && self.kind_bit == kind_bit
    }

    /// Returns the number of bytes of an event that fits.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        2 + u32::from(self.params)
    }

    /// Reads the parameters of an event that fits. Stores their bits in the first places of `raw`,
    /// which then begins behind them. Returns the position behind the event, or `None` if there are
    /// too few slots or places.
    #[inline(always)]
    pub(crate) fn read<'p>(
        &self,
        word: Word,
        cursor: Cursor<'p>,
        slots: &mut [u64],
        raw: &mut &mut [Raw],
    ) -> Option<Cursor<'p>> {
        // The processor predicts the branch. So it can begin with the next event before it has
        // loaded the number of parameters, on which the position of that event depends.
        match self.params {
            0 => self.read_each::<0>(word, cursor, slots, raw),
            1 => self.read_each::<1>(word, cursor, slots, raw),
            2 => self.read_each::<2>(word, cursor, slots, raw),
            3 => self.read_each::<3>(word, cursor, slots, raw),
            4 => self.read_each::<4>(word, cursor, slots, raw),
            5 => self.read_each::<5>(word, cursor, slots, raw),
            _ => self.read_each::<MAX_DELTAS>(word, cursor, slots, raw),
        }
    }

    #[inline(always)]
    fn read_each<'p, const N: usize>(
        &self,
        Word(word): Word,
        cursor: Cursor<'p>,
        slots: &mut [u64],
        raw: &mut &mut [Raw],
    ) -> Option<Cursor<'p>> {
        let rest = cursor.rest().get(2 + N..)?;
        let deltas = slots.get_mut(self.first_slot as usize..)?.first_chunk_mut::<N>()?;
        let (places, others) = std::mem::take(raw).split_first_chunk_mut::<N>()?;
        for index in 0..N {
            let byte = word.to_le_bytes()[2 + index];
            deltas[index] = deltas[index].wrapping_add(Cursor::short_delta(byte) as u64);
            places[index].bits = deltas[index].rotate_left(self.rotations[index].into());
        }
        *raw = others;
        Some(Cursor::new(rest))
    }
}

#[cfg(test)]
mod tests {
    use telemetry_format::{Cursor, put};

    use super::MAX_DELTAS;
    use crate::registry::plan::Plan;
    use crate::values::raw::Raw;

    /// The bit of the events' kind, and the code of an event that has a byte beside its deltas.
    const KIND: u8 = 3;
    const OTHER: usize = 9;

    /// Returns the plan of events with as many deltas as their codes say, half of them rotated.
    fn plan() -> Plan {
        let mut text = "[registry]\nname = \"short\"\nversion = { major = 1, median = 0, minor = 0 }\n\
            doc = \"d\"\n\n[kinds]\nK = { bit = 3, doc = \"d\" }\n"
            .to_string();
        for code in 0..=OTHER {
            let param = |index| match (code, index) {
                (OTHER, 2) => "{ name = \"byte\", sort = \"B\", doc = \"d\" }".to_string(),
                (_, index) if index % 2 == 1 => {
                    format!("{{ name = \"p{index}\", sort = \"A\", align = 16, doc = \"d\" }}")
                }
                _ => format!("{{ name = \"p{index}\", sort = \"W\", doc = \"d\" }}"),
            };
            let params = if code == OTHER { 3 } else { code };
            let params: Vec<String> = (0..params).map(param).collect();
            text += &format!(
                "\n[[event]]\nname = \"Event{code}\"\ncode = {code}\nkind = \"K\"\ndoc = \"d\"\n\
                 params = [{}]\n",
                params.join(", ")
            );
        }
        Plan::new(&telemetry_schema::parse(&text).unwrap())
    }

    /// Checks that an event is read as one word only if it may be, with the same result.
    fn check(plan: &Plan, code: usize, ticks: u64, deltas: &[i64], after: usize) {
        let mut bytes = Vec::new();
        put::unsigned(&mut bytes, code as u64);
        put::unsigned(&mut bytes, ticks);
        for delta in deltas {
            put::signed(&mut bytes, *delta);
        }
        if code == OTHER {
            put::byte(&mut bytes, 1);
        }
        let event_len = bytes.len();
        bytes.resize(event_len + after, 0xff);
        let is_short = code <= MAX_DELTAS && event_len == deltas.len() + 2 && bytes.len() >= 8;
        let context = format!("code {code}, {ticks} ticks, {deltas:?}, {after} bytes after");

        let slots: Vec<u64> = (0..plan.kind(KIND).unwrap().slots).map(|slot| slot.into()).collect();
        let cursor = Cursor::new(&bytes);
        assert!(plan.short(cursor, KIND + 1).is_none(), "{context}: of another kind");
        let Some((short, word)) = plan.short(cursor, KIND) else {
            return assert!(!is_short, "{context}: not read as one word");
        };
        assert!(is_short, "{context}: read as one word");
        let mut read = [Raw::default(); MAX_DELTAS];
        let (mut by_word, mut places) = (slots.clone(), &mut read[..]);
        let rest = short.read(word, cursor, &mut by_word, &mut places).unwrap();
        assert_eq!(places.len(), MAX_DELTAS - deltas.len(), "{context}");
        assert_eq!((rest.rest().len(), short.len() as usize), (after, event_len), "{context}");
        assert_eq!(word.ticks(), ticks, "{context}");

        let (mut by_value, mut values, mut cursor) = (slots, [Raw::default(); MAX_DELTAS], cursor);
        let event = plan.event(code as u64, KIND).unwrap();
        assert_eq!(event.index, short.index);
        cursor.two_unsigned().unwrap();
        event.read(&mut cursor, &mut by_value, bytes.len(), &mut values).unwrap();
        let bits = |list: &[Raw]| list.iter().map(|raw| raw.bits).collect::<Vec<_>>();
        assert_eq!((by_word, bits(&read)), (by_value, bits(&values)), "{context}");
    }

    #[test]
    fn a_word_is_read_as_its_values_are() {
        let plan = plan();
        let borders = [0, 63, -64, 64, -65, 1 << 40];
        for code in 0..=OTHER {
            let params = if code == OTHER { 2 } else { code };
            for (place, delta) in borders.iter().enumerate() {
                // One of the deltas is different.
                let mut deltas = vec![place as i64 - 3; params];
                if let Some(last) = deltas.get_mut(place % params.max(1)) {
                    *last = *delta;
                }
                for ticks in [0, 127, 128] {
                    for after in [0, 1, 7, 8] {
                        check(&plan, code, ticks, &deltas, after);
                    }
                }
            }
        }
    }
}
