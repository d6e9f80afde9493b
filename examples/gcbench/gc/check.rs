//! Checks the invariants of a heap, for `--check` and the tests.

use std::collections::HashSet;

use super::arena::{base_of, grain_of};
use super::generation::GENERATIONS;
use super::heap::Heap;
use super::memory::{Header, Ref, WORD};
use crate::events;

impl Heap {
    /// Checks every object and reference.
    ///
    /// # Errors
    /// The first violation found.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        // So that all objects lie within the bounds of their segments.
        self.empty_buffer(0);
        let mut objects = HashSet::new();
        for generation in 0..GENERATIONS {
            self.check_generation(generation, &mut objects)?;
        }
        let mut refs = 0;
        for &object in &objects {
            refs += self.check_references(object, &objects)?;
        }
        for root in &self.roots {
            let start = root.table.words().start;
            for slot in start..start + root.len {
                self.check_reference(slot, &objects)?;
            }
        }
        self.tables.check()?;
        events::heap_checked!(&self.arena, objects.len(), refs);
        Ok(())
    }

    /// Checks the segments of a generation, and adds their objects to the set.
    fn check_generation(&self, serial: usize, objects: &mut HashSet<Ref>) -> Result<(), String> {
        let generation = &self.generations[serial];
        let mut size = 0;
        for &seg in &generation.segments {
            let segment = &self.segments[seg];
            let mut at = base_of(seg);
            if usize::from(segment.generation) != serial || segment.is_condemned || segment.is_gray {
                return Err(format!("segment {seg} of generation {serial} is not as a trace leaves it"));
            }
            while at < segment.fill {
                let Header::Object(shape) = self.arena.memory.header(Ref::at(at)) else {
                    return Err(format!("the object at word {at} was left behind"));
                };
                objects.insert(Ref::at(at));
                at += shape.words();
                size += shape.bytes();
            }
            if at != segment.fill {
                return Err(format!(
                    "the last object of segment {seg} ends at word {at}, not {}",
                    segment.fill
                ));
            }
        }
        if size != generation.size {
            return Err(format!("generation {serial} has {size} bytes of objects, not {}", generation.size));
        }
        Ok(())
    }

    /// Checks the references of an object against the summary of its segment. Returns their number.
    fn check_references(&self, object: Ref, objects: &HashSet<Ref>) -> Result<usize, String> {
        let Header::Object(shape) = self.arena.memory.header(object) else { return Ok(0) };
        let summary = self.segments[grain_of(object.word())].summary;
        for slot in object.slot(0)..object.slot(shape.refs) {
            let value = self.check_reference(slot, objects)?;
            let generation = self.segments[grain_of(value.word())].generation;
            if !value.is_null() && generation < summary {
                return Err(format!(
                    "word {slot} refers to generation {generation}, the summary is {summary}"
                ));
            }
        }
        Ok(shape.refs)
    }

    fn check_reference(&self, slot: usize, objects: &HashSet<Ref>) -> Result<Ref, String> {
        let value = self.arena.memory.reference(slot);
        if value.is_null() || objects.contains(&value) {
            return Ok(value);
        }
        Err(format!("word {slot}, at {:#x}, refers to no object", slot * WORD))
    }
}
