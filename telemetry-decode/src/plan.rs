//! How the events of a registry are decoded: everything that the relation says about their bytes,
//! looked up once, so that reading an event follows a short list of steps.

use std::ops::Range;

use telemetry_format::{Cursor, Malformed};
use telemetry_schema::{Count, Registry};

use crate::event::Raw;
use crate::packing::Packing;

/// The steps of all events of a registry.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Index of the event by code, plus one; 0 where there is none.
    by_code: Vec<u32>,
    /// By index of the event.
    events: Vec<EventPlan>,
    /// By bit; none where there is no such kind.
    kinds: [Option<KindPlan>; 64],
}

/// An event's part of the plan.
#[derive(Debug)]
pub(crate) struct EventPlan {
    steps: Box<[Step]>,
    /// Its index in the registry.
    pub(crate) index: u32,
    /// Number of its parameters.
    pub(crate) params: u32,
    /// The slots of its deltas, which are contiguous.
    pub(crate) slots: Range<u32>,
    kind_bit: u8,
}

/// A kind's part of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindPlan {
    /// Slots that a lane of the kind has.
    pub(crate) slots: u32,
    /// Its events' times are those of other events.
    pub(crate) inherits: bool,
}

/// How one parameter is read, or a few.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    form: Form,
    /// The first slot of deltas.
    slot: u32,
}

/// The forms of a parameter, the frequent ones alone.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// So many parameters one after the other, as are their slots.
    Deltas(u32),
    /// One parameter, rotated by so many bits.
    Aligned(u32),
    Run,
    Plain(Packing),
    Fixed(Packing, u32),
    UpTo(Packing),
}

impl Plan {
    pub(crate) fn new(registry: &Registry) -> Plan {
        let slots = registry.slots();
        let mut plan = Plan {
            by_code: vec![0; registry.events.last().map_or(0, |last| usize::from(last.code) + 1)],
            events: Vec::with_capacity(registry.events.len()),
            kinds: [None; 64],
        };
        for (index, kind) in registry.kinds.iter().enumerate() {
            let slots = slots.of_kind(index).len() as u32;
            let inherits = kind.clock == telemetry_schema::Clock::Inherit;
            if let Some(place) = plan.kinds.get_mut(usize::from(kind.bit)) {
                *place = Some(KindPlan { slots, inherits });
            }
        }
        for (index, event) in registry.events.iter().enumerate() {
            if let Some(place) = plan.by_code.get_mut(usize::from(event.code)) {
                *place = index as u32 + 1;
            }
            let mut steps: Vec<Step> = Vec::new();
            let base = slots.of_kind(event.kind).start;
            for (number, param) in event.params.iter().enumerate() {
                let packing = Packing::of(registry.repr(param.sort));
                // A lane has the slots of its kind only.
                let slot = slots.number(index, number).map_or(0, |slot| slot - base);
                let form = match (param.count, packing) {
                    (Count::One, Packing::Delta) if param.align > 1 => Form::Aligned(param.rotation()),
                    (Count::One, Packing::Delta) => Form::Deltas(1),
                    (Count::One, Packing::Run) => Form::Run,
                    (Count::One, packing) => Form::Plain(packing),
                    (Count::Fixed(count), packing) => Form::Fixed(packing, count),
                    (Count::UpTo(_), packing) => Form::UpTo(packing),
                };
                match (steps.last_mut(), form) {
                    (Some(Step { form: Form::Deltas(count), slot: start }), Form::Deltas(_))
                        if *start + *count == slot =>
                    {
                        *count += 1;
                    }
                    _ => steps.push(Step { form, slot }),
                }
            }
            let deltas = (0..event.params.len()).filter_map(|number| slots.number(index, number));
            let first = deltas.clone().next().map_or(0, |slot| slot - base);
            plan.events.push(EventPlan {
                slots: first..first + deltas.count() as u32,
                steps: steps.into_boxed_slice(),
                index: index as u32,
                params: event.params.len() as u32,
                kind_bit: registry.kind_of(event).bit,
            });
        }
        plan
    }

    /// The kind with a bit number.
    pub(crate) fn kind(&self, bit: u8) -> Option<KindPlan> {
        *self.kinds.get(usize::from(bit))?
    }

    /// Most parameters of an event.
    pub(crate) fn max_params(&self) -> usize {
        self.events.iter().map(|event| event.params as usize).max().unwrap_or(0)
    }

    /// The event of a code, if its kind is the block's.
    #[inline(always)]
    pub(crate) fn event(&self, code: u64, kind_bit: u8) -> Option<&EventPlan> {
        let index = self.by_code.get(usize::try_from(code).ok()?)?.checked_sub(1)?;
        self.events.get(index as usize).filter(|event| event.kind_bit == kind_bit)
    }
}

impl EventPlan {
    /// Reads all parameters, and notes what they are, or where they are in a payload of so many bytes.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        slots: &mut [u64],
        payload_len: usize,
        mut raw: &mut [Raw],
    ) -> Result<(), Malformed> {
        for step in &self.steps {
            let slot = step.slot as usize;
            if let Form::Deltas(count) = step.form {
                let Some((here, rest)) = raw.split_at_mut_checked(count as usize) else { break };
                let slots = slots.get_mut(slot..slot + count as usize).unwrap_or_default();
                for (raw, slot) in here.iter_mut().zip(slots) {
                    raw.bits = cursor.delta(slot)?;
                }
                raw = rest;
                continue;
            }
            let Some((here, rest)) = raw.split_first_mut() else { break };
            step.read_one(cursor, slots.get_mut(slot), payload_len, here)?;
            raw = rest;
        }
        Ok(())
    }
}

impl Step {
    #[inline(always)]
    fn read_one(
        &self,
        cursor: &mut Cursor<'_>,
        slot: Option<&mut u64>,
        payload_len: usize,
        raw: &mut Raw,
    ) -> Result<(), Malformed> {
        match self.form {
            Form::Deltas(_) => {}
            Form::Aligned(rotation) => {
                raw.bits = cursor.delta(slot.unwrap_or(&mut 0))?.rotate_left(rotation);
            }
            Form::Run => {
                let len = cursor.bytes()?.len() as u32;
                raw.end = (payload_len - cursor.rest().len()) as u32;
                raw.at = raw.end - len;
            }
            Form::Plain(packing) => raw.bits = packing.bits(cursor, &mut 0)?,
            Form::Fixed(packing, count) => {
                raw.at = (payload_len - cursor.rest().len()) as u32;
                (raw.bits, *cursor) = read_elements(packing, count as usize, *cursor, slot)?;
                raw.end = (payload_len - cursor.rest().len()) as u32;
            }
            Form::UpTo(packing) => {
                raw.at = (payload_len - cursor.rest().len()) as u32;
                let count = cursor.count(packing.min_len())?;
                (raw.bits, *cursor) = read_elements(packing, count, *cursor, slot)?;
                raw.end = (payload_len - cursor.rest().len()) as u32;
            }
        }
        Ok(())
    }
}

/// Reads the elements of an array; gives what the first of a delta sort counts from, and the place
/// behind them. The slot then holds that first element.
///
/// Takes the place by value, so that the caller's can stay in registers.
#[inline(never)]
fn read_elements<'a>(
    packing: Packing,
    count: usize,
    mut cursor: Cursor<'a>,
    slot: Option<&mut u64>,
) -> Result<(u64, Cursor<'a>), Malformed> {
    let mut unused = 0;
    let slot = slot.unwrap_or(&mut unused);
    let base = *slot;
    let mut last = base;
    for index in 0..count {
        packing.bits(&mut cursor, &mut last)?;
        if index == 0 && packing == Packing::Delta {
            *slot = last;
        }
    }
    Ok((base, cursor))
}
