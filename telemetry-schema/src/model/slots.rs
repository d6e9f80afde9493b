//! The delta slots of a lane, and their parameters.

use std::ops::Range;

use crate::model::registry::Registry;

/// The numbers of all delta slots of a registry: see [`Registry::slots`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slots {
    /// By event, by parameter.
    numbers: Vec<Vec<Option<u32>>>,
    /// By kind.
    kinds: Vec<Range<u32>>,
}

impl Registry {
    /// Gives a slot to every parameter that is encoded as a delta: pointers, addresses, words, and
    /// arrays of them (one slot for the whole array).
    ///
    /// A slot belongs to a lane, that is, to one thread and one kind. It holds the value that the
    /// parameter had in the lane's last event of that code. All slots of a lane are zero at the
    /// start of a block. A value is written as its signed distance from the slot, which then holds
    /// it. The first element of an array is the distance from the slot, and each further one that
    /// from the element before. The slot then holds the *first* element, because arrays resemble
    /// each other from the front. An empty array does not change its slot.
    ///
    /// Slots are numbered by kind (in the order of bits), then event (of codes), then parameter, so
    /// those of one kind are contiguous. The numbers are not in the stream: a reader may use
    /// others.
    pub fn slots(&self) -> Slots {
        let mut numbers: Vec<Vec<Option<u32>>> =
            self.events.iter().map(|event| vec![None; event.params.len()]).collect();
        let mut next = 0;
        let kinds = (0..self.kinds.len()).map(|kind| {
            let start = next;
            let events = self.events.iter().zip(&mut numbers).filter(|(event, _)| event.kind == kind);
            for (event, numbers) in events {
                for (param, number) in event.params.iter().zip(numbers) {
                    if param.sort.is_delta() {
                        *number = Some(next);
                        next += 1;
                    }
                }
            }
            start..next
        });
        let kinds = kinds.collect();
        Slots { numbers, kinds }
    }
}

impl Slots {
    /// Returns the slot of a parameter, by index of event and parameter, counted over the whole
    /// registry. `None` if the parameter is not encoded as a delta, or does not exist.
    pub fn number(&self, event: usize, param: usize) -> Option<u32> {
        *self.numbers.get(event)?.get(param)?
    }

    /// Returns the slots of a kind, by its index: as many as its lanes have.
    pub fn of_kind(&self, kind: usize) -> Range<u32> {
        self.kinds.get(kind).cloned().unwrap_or_default()
    }

    /// Returns the number of slots of the registry.
    pub fn len(&self) -> u32 {
        self.kinds.last().map_or(0, |last| last.end)
    }

    /// Returns true if no parameter is encoded as a delta.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
