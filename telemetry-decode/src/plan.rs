//! How the events of a registry are decoded: everything that the relation says about their bytes,
//! looked up once, so that reading an event follows a short list of steps.

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
    steps: Vec<Step>,
    /// By bit; none where there is no such kind.
    kinds: [Option<KindPlan>; 64],
}

/// An event's part of the plan.
#[derive(Debug, Clone, Copy)]
struct EventPlan {
    first: u32,
    params: u32,
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

/// How one parameter is read. The common forms come first and alone.
#[derive(Debug, Clone, Copy)]
enum Step {
    Delta { slot: u32 },
    Plain(Packing),
    Run,
    Array { packing: Packing, slot: u32, fixed: Option<u32> },
}

impl Plan {
    pub(crate) fn new(registry: &Registry) -> Plan {
        let slots = registry.slots();
        let mut plan = Plan {
            by_code: vec![0; registry.events.last().map_or(0, |last| usize::from(last.code) + 1)],
            events: Vec::with_capacity(registry.events.len()),
            steps: Vec::new(),
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
            let (first, base) = (plan.steps.len() as u32, slots.of_kind(event.kind).start);
            for (number, param) in event.params.iter().enumerate() {
                let packing = Packing::of(registry.repr(param.sort));
                // A lane has the slots of its kind only.
                let slot = slots.number(index, number).map_or(0, |slot| slot - base);
                plan.steps.push(match (param.count, packing) {
                    (Count::One, Packing::Delta) => Step::Delta { slot },
                    (Count::One, Packing::Run) => Step::Run,
                    (Count::One, packing) => Step::Plain(packing),
                    (Count::Fixed(count), packing) => Step::Array { packing, slot, fixed: Some(count) },
                    (Count::UpTo(_), packing) => Step::Array { packing, slot, fixed: None },
                });
            }
            let kind_bit = registry.kind_of(event).bit;
            plan.events.push(EventPlan { first, params: event.params.len() as u32, kind_bit });
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

    /// Index of the event of a code, if its kind is the block's.
    #[inline(always)]
    pub(crate) fn event(&self, code: u64, kind_bit: u8) -> Option<u32> {
        let index = self.by_code.get(usize::try_from(code).ok()?)?.checked_sub(1)?;
        (self.events.get(index as usize)?.kind_bit == kind_bit).then_some(index)
    }

    /// Reads an event's parameters and notes where they are.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        event: u32,
        payload_len: usize,
        cursor: &mut Cursor<'_>,
        slots: &mut [u64],
        raw: &mut [Raw],
    ) -> Result<(), Malformed> {
        let Some(EventPlan { first, params, .. }) = self.events.get(event as usize) else { return Ok(()) };
        let steps = self.steps.get(*first as usize..(first + params) as usize).unwrap_or_default();
        for (step, raw) in steps.iter().zip(raw) {
            match *step {
                Step::Delta { slot } => {
                    let slot = slots.get_mut(slot as usize).ok_or(Malformed::Truncated)?;
                    raw.bits = cursor.delta(slot)?;
                }
                Step::Plain(packing) => raw.bits = packing.bits(cursor, &mut 0)?,
                Step::Run => {
                    let len = cursor.bytes()?.len() as u32;
                    raw.end = (payload_len - cursor.rest().len()) as u32;
                    raw.at = raw.end - len;
                }
                Step::Array { packing, slot, fixed } => {
                    let slot = slots.get_mut(slot as usize);
                    *raw = read_array(packing, slot, fixed, payload_len, cursor)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads an array. Of a delta sort the slot then holds the first element.
fn read_array(
    packing: Packing,
    slot: Option<&mut u64>,
    fixed: Option<u32>,
    payload_len: usize,
    cursor: &mut Cursor<'_>,
) -> Result<Raw, Malformed> {
    let len = match fixed {
        Some(count) => count as usize,
        None => cursor.count(packing.min_len())?,
    };
    let mut unused = 0;
    let slot = slot.unwrap_or(&mut unused);
    let at = (payload_len - cursor.rest().len()) as u32;
    let base = *slot;
    let mut last = base;
    for index in 0..len {
        packing.bits(cursor, &mut last)?;
        if index == 0 && packing == Packing::Delta {
            *slot = last;
        }
    }
    let end = (payload_len - cursor.rest().len()) as u32;
    Ok(Raw { bits: base, at, end, len: len as u32 })
}
