//! The plan for decoding the events of a registry. It has the facts about their bytes, looked up
//! once, so that reading an event follows a short list of steps.

use telemetry_format::{Cursor, Encoding, Malformed};
use telemetry_schema::{Count, Param, Registry};

use crate::registry::short::{ShortPlan, Word};
use crate::values::raw::Raw;

/// The plans of all events of a registry.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Index of the event by code; `u32::MAX` if there is none. Only for codes below
    /// [`dense_codes`].
    by_code: Vec<u32>,
    /// The other codes in order, each with its event's index.
    beyond: Vec<(u16, u32)>,
    /// By the event's index.
    events: Vec<EventPlan>,
    /// By code, for codes of one byte.
    short: Vec<ShortPlan>,
    /// By bit; none for a bit without a kind.
    kinds: [Option<KindPlan>; 64],
    /// All events are needed.
    pub(crate) needs_all: bool,
}

/// The most deltas before other parameters that are read without looking at their forms. Most
/// events have no other parameters.
const MAX_LEADING: usize = 8;

/// The plan of an event.
#[derive(Debug, Clone)]
pub(crate) struct EventPlan {
    /// The rotations of the first parameters, if all of them are deltas.
    rotations: [u8; MAX_LEADING],
    /// Number of these parameters.
    leading: u8,
    /// The other parameters.
    steps: Box<[Step]>,
    /// Number of all parameters.
    params: u32,
    /// Index of the event in the registry.
    pub(crate) index: u32,
    /// The first of its delta slots, which are contiguous.
    pub(crate) first_slot: u32,
    kind_bit: u8,
    /// The indices of parameters whose values are not given.
    hidden: Box<[u32]>,
    /// It has a parameter that [`Plan::runs`] returns.
    has_runs: bool,
    /// It is returned. Events that are not needed are read and counted.
    pub(crate) is_needed: bool,
}

/// The plan of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindPlan {
    /// Number of delta slots of a lane of the kind.
    pub(crate) slots: u32,
    /// The kind's events have the times of other events.
    pub(crate) inherits: bool,
}

/// The plan of one parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    form: Form,
    /// Tested before `form`, because most parameters are deltas.
    is_delta: bool,
    /// The number of bits by which a delta is rotated.
    rotation: u8,
    /// The slot of a delta.
    slot: u32,
}

/// The form of a parameter. The frequent forms come first, and their code is inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Delta,
    /// An unsigned number of 64 bits minus this number.
    Unsigned(u32),
    Byte,
    Run,
    Plain(Encoding),
    Fixed(Encoding, u32),
    UpTo(Encoding),
}

impl Form {
    fn of(param: &Param, encoding: Encoding) -> Form {
        match (param.count, encoding) {
            (Count::Fixed(count), _) => Form::Fixed(encoding, count),
            (Count::UpTo(_), _) => Form::UpTo(encoding),
            (Count::One, Encoding::Delta) => Form::Delta,
            (Count::One, Encoding::Unsigned16) => Form::Unsigned(48),
            (Count::One, Encoding::Unsigned32) => Form::Unsigned(32),
            (Count::One, Encoding::Unsigned64) => Form::Unsigned(0),
            (Count::One, Encoding::Byte) => Form::Byte,
            (Count::One, Encoding::Run) => Form::Run,
            (Count::One, _) => Form::Plain(encoding),
        }
    }
}

impl Plan {
    pub(crate) fn new(registry: &Registry) -> Plan {
        let slots = registry.slots();
        let mut plan = Plan {
            by_code: vec![u32::MAX; dense_codes(registry)],
            beyond: Vec::new(),
            events: Vec::with_capacity(registry.events.len()),
            short: vec![ShortPlan::NONE; dense_codes(registry).min(1 << 7)],
            kinds: [None; 64],
            needs_all: true,
        };
        for (index, kind) in registry.kinds.iter().enumerate() {
            let slots = slots.of_kind(index).len() as u32;
            let inherits = kind.clock == telemetry_schema::Clock::Inherit;
            if let Some(place) = plan.kinds.get_mut(usize::from(kind.bit)) {
                *place = Some(KindPlan { slots, inherits });
            }
        }
        for (index, event) in registry.events.iter().enumerate() {
            match plan.by_code.get_mut(usize::from(event.code)) {
                Some(place) => *place = index as u32,
                None => plan.beyond.push((event.code, index as u32)),
            }
            let base = slots.of_kind(event.kind).start;
            let steps = event.params.iter().enumerate().map(|(number, param)| {
                let form = Form::of(param, registry.encoding(param.sort));
                // A lane has only the slots of its kind.
                let slot = slots.number(index, number).map_or(0, |slot| slot - base);
                Step { is_delta: form == Form::Delta, rotation: param.rotation() as u8, form, slot }
            });
            let steps: Vec<Step> = steps.collect();
            let leading = steps.iter().take(MAX_LEADING).take_while(|step| step.form == Form::Delta).count();
            let mut rotations = [0; MAX_LEADING];
            rotations.iter_mut().zip(&steps[..leading]).for_each(|(place, step)| *place = step.rotation);
            let mut deltas = (0..event.params.len()).filter_map(|number| slots.number(index, number));
            let first_slot = deltas.next().map_or(0, |slot| slot - base);
            let kind_bit = registry.kind_of(event).bit;
            if let Some(short) = plan.short.get_mut(usize::from(event.code))
                && leading == steps.len()
            {
                *short = ShortPlan::new(&rotations[..leading], kind_bit, first_slot, index as u32);
            }
            plan.events.push(EventPlan {
                first_slot,
                has_runs: steps.iter().any(Step::is_run),
                rotations,
                leading: leading as u8,
                params: steps.len() as u32,
                steps: steps[leading..].into(),
                hidden: Box::default(),
                is_needed: true,
                index: index as u32,
                kind_bit,
            });
        }
        plan
    }

    /// Hides the values of parameters of an event, by their indices. [`EventPlan::read_all`]
    /// still gives them.
    pub(crate) fn hide(&mut self, event: usize, params: impl Iterator<Item = u32>) {
        let Some(plan) = self.events.get_mut(event) else { return };
        plan.hidden = params.collect();
        let is_hidden = !plan.hidden.is_empty();
        for short in self.short.iter_mut().filter(|short| is_hidden && short.index == plan.index) {
            *short = ShortPlan::NONE;
        }
    }

    /// Returns the plan of a kind by its bit number.
    pub(crate) fn kind(&self, bit: u8) -> Option<KindPlan> {
        *self.kinds.get(usize::from(bit))?
    }

    /// Sets which events are needed, by index.
    pub(crate) fn need(&mut self, is_needed: impl Fn(usize) -> bool) {
        for (index, event) in self.events.iter_mut().enumerate() {
            event.is_needed = is_needed(index);
            self.needs_all &= event.is_needed;
        }
    }

    /// Returns true if an event has parameters that [`Plan::runs`] returns.
    #[inline(always)]
    pub(crate) fn has_runs(&self, event: u32) -> bool {
        self.events.get(event as usize).is_some_and(|event| event.has_runs)
    }

    /// Returns the indices of an event's parameters whose bytes are kept in the payload.
    pub(crate) fn runs(&self, event: u32) -> impl Iterator<Item = usize> {
        let event = self.events.get(event as usize);
        let (leading, steps) = event.map_or((0, &[][..]), |event| (event.leading.into(), &event.steps));
        (leading..).zip(steps).filter(|(_, step)| step.is_run()).map(|(index, _)| index)
    }

    /// Returns the number of delta slots of each kind.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.kinds.iter().flatten().map(|kind| kind.slots)
    }

    /// Returns the highest number of parameters of an event.
    pub(crate) fn max_params(&self) -> usize {
        self.events.iter().map(EventPlan::params).max().unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn find_beyond(&self, code: u64) -> Option<u32> {
        let place = self.beyond.binary_search_by_key(&code, |(code, _)| u64::from(*code)).ok()?;
        Some(self.beyond[place].1)
    }

    /// Returns the plan for the next event, and the word that begins with it. The event must be of
    /// the block's kind, and each of its values must take one byte.
    #[inline(always)]
    pub(crate) fn short(&self, cursor: Cursor<'_>, kind_bit: u8) -> Option<(&ShortPlan, Word)> {
        let word = Word::of_next(cursor)?;
        let plan = self.short.get(word.code())?;
        plan.fits(word, kind_bit).then_some((plan, word))
    }

    /// Returns the plan of an event by its code, if its kind is the block's.
    #[inline(always)]
    pub(crate) fn event(&self, code: u64, kind_bit: u8) -> Option<&EventPlan> {
        let index = match self.by_code.get(usize::try_from(code).ok()?) {
            Some(index) => *index,
            None => self.find_beyond(code)?,
        };
        self.events.get(index as usize).filter(|event| event.kind_bit == kind_bit)
    }
}

/// Returns the number of codes to look up in a table: usually all. If codes lie far apart, the
/// table is at most as large as the registry's text, because a stream may have any number of
/// registries.
pub(crate) fn dense_codes(registry: &Registry) -> usize {
    let all = registry.events.last().map_or(0, |last| usize::from(last.code) + 1);
    all.min((registry.events.len() * 16).max(256))
}

impl EventPlan {
    /// Returns the number of parameters.
    #[inline(always)]
    pub(crate) fn params(&self) -> usize {
        self.params as usize
    }

    /// Reads all parameters, and stores their bits, or the ranges of their bytes in a payload of
    /// this length. Hidden ones are 0, and without bytes.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        slots: &mut [u64],
        payload_len: usize,
        raw: &mut [Raw],
    ) -> Result<(), Malformed> {
        self.read_all(cursor, slots, payload_len, raw)?;
        for param in &self.hidden {
            if let Some(raw) = raw.get_mut(*param as usize) {
                *raw = Raw::default();
            }
        }
        Ok(())
    }

    /// Reads all parameters as [`EventPlan::read`] does, with the values of hidden ones.
    #[inline(always)]
    pub(crate) fn read_all(
        &self,
        cursor: &mut Cursor<'_>,
        slots: &mut [u64],
        payload_len: usize,
        raw: &mut [Raw],
    ) -> Result<(), Malformed> {
        let first = self.first_slot as usize;
        let deltas = slots.get_mut(first..first + usize::from(self.leading)).ok_or(Malformed::Truncated)?;
        for ((slot, raw), rotation) in deltas.iter_mut().zip(raw.iter_mut()).zip(&self.rotations) {
            raw.bits = cursor.delta(slot)?.rotate_left((*rotation).into());
        }
        // The usual event has no others.
        if self.steps.is_empty() {
            return Ok(());
        }
        let raw = raw.get_mut(self.leading.into()..).unwrap_or_default();
        for (step, raw) in self.steps.iter().zip(raw) {
            if step.is_delta {
                let slot = slots.get_mut(step.slot as usize).ok_or(Malformed::Truncated)?;
                raw.bits = cursor.delta(slot)?.rotate_left(step.rotation.into());
            } else if let Form::Unsigned(bits) = step.form {
                raw.bits = cursor.unsigned()?;
                if raw.bits > u64::MAX >> (bits % 64) {
                    return Err(Malformed::Value(raw.bits));
                }
            } else if let Form::Byte = step.form {
                raw.bits = cursor.byte()?.into();
            } else if let Form::Run = step.form {
                let len = cursor.bytes()?.len() as u32;
                raw.end = (payload_len - cursor.rest().len()) as u32;
                raw.at = raw.end - len;
            } else {
                let slot = slots.get_mut(step.slot as usize);
                (*raw, *cursor) = step.read(*cursor, slot, payload_len)?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// Returns true if the parameter's value is read from its bytes in the payload.
    fn is_run(&self) -> bool {
        match self.form {
            Form::Run | Form::Fixed(..) | Form::UpTo(_) => true,
            Form::Delta | Form::Unsigned(_) | Form::Byte | Form::Plain(_) => false,
        }
    }

    /// Reads a parameter. Takes the cursor by value, so that the caller's can stay in registers.
    #[inline(never)]
    fn read<'p>(
        &self,
        mut cursor: Cursor<'p>,
        slot: Option<&mut u64>,
        payload_len: usize,
    ) -> Result<(Raw, Cursor<'p>), Malformed> {
        let place = |cursor: Cursor<'_>| (payload_len - cursor.rest().len()) as u32;
        let mut raw = Raw { at: place(cursor), ..Raw::default() };
        raw.bits = match self.form {
            Form::Fixed(encoding, count) => read_elements(encoding, count as usize, &mut cursor, slot)?,
            Form::UpTo(encoding) => {
                let count = cursor.count(encoding.min_len())?;
                read_elements(encoding, count, &mut cursor, slot)?
            }
            Form::Plain(encoding) => encoding.bits(&mut cursor, &mut 0)?,
            Form::Delta | Form::Unsigned(_) | Form::Byte | Form::Run => 0,
        };
        raw.end = place(cursor);
        Ok((raw, cursor))
    }
}

/// Reads the elements of an array. Returns the base of the first element of a delta type, and
/// stores that element in the slot.
fn read_elements(
    encoding: Encoding,
    count: usize,
    cursor: &mut Cursor<'_>,
    slot: Option<&mut u64>,
) -> Result<u64, Malformed> {
    let mut unused = 0;
    let slot = slot.unwrap_or(&mut unused);
    let base = *slot;
    let mut last = base;
    for index in 0..count {
        encoding.bits(cursor, &mut last)?;
        if index == 0 && encoding == Encoding::Delta {
            *slot = last;
        }
    }
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn codes_far_apart_take_no_table() {
        let event = |name: &str, code: u32| {
            format!("[[event]]\nname = \"{name}\"\ncode = {code}\nkind = \"K\"\ndoc = \"d\"\n")
        };
        let text = "[registry]\nname = \"far\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"d\"\n\n[kinds]\nK = { bit = 3, doc = \"d\" }\n\n"
            .to_string()
            + &event("First", 0)
            + &event("Near", 255)
            + &event("Far", 256)
            + &event("Last", 65_535);
        let plan = Plan::new(&telemetry_schema::parse(&text).unwrap());
        assert_eq!(plan.by_code.len(), 256);
        let found = [0, 255, 256, 65_535].map(|code| plan.event(code, 3).map(|event| event.index));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3)]);
        for (code, kind) in [(1, 3), (257, 3), (65_534, 3), (65_536, 3), (u64::MAX, 3), (0, 2), (256, 2)] {
            assert!(plan.event(code, kind).is_none(), "{code} of kind {kind}");
        }
    }
}
