//! Counts of classes and their objects.

use hashbrown::HashMap;

use super::listed::Listed;
use super::traces::{Origin, Sums};
use crate::mono::decode::Item;
use crate::mono::what::What;

/// All classes.
#[derive(Default)]
pub(super) struct Classes {
    pub(super) all: Listed<Class>,
    /// By vtable: objects and bytes whose class is not known yet, and where they came from.
    pub(super) by_vtable: HashMap<u64, Class>,
    pub(super) vtables: HashMap<u64, u64>,
}

/// Counts of a class.
#[derive(Default)]
pub(super) struct Class {
    pub(super) name: Option<Box<[u8]>>,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) traces: Sums,
}

impl Classes {
    /// Returns the approximate number of bytes that the classes take.
    pub(super) fn taken(&self) -> usize {
        let by_vtable = self.by_vtable.capacity() * (9 + size_of::<Class>());
        self.all.taken() + by_vtable + self.vtables.capacity() * 17
    }

    pub(super) fn of(&mut self, address: u64) -> &mut Class {
        self.all.of(address)
    }

    /// Returns the name of a class.
    pub(super) fn name(&self, address: u64) -> Option<&[u8]> {
        self.all.get(address)?.name.as_deref()
    }

    /// Returns the class of a vtable; class 0 if it is unknown.
    pub(super) fn of_vtable(&self, vtable: u64) -> u64 {
        self.vtables.get(&vtable).copied().unwrap_or_default()
    }

    /// Counts an allocation.
    pub(super) fn alloc(&mut self, item: &Item<'_>, is_vtable: bool, origin: Origin<'_>) {
        let class = match is_vtable {
            false => self.of(item.value(0)),
            true => match self.vtables.get(&item.value(0)) {
                Some(class) => {
                    let class = *class;
                    self.of(class)
                }
                None => self.by_vtable.entry(item.value(0)).or_default(),
            },
        };
        class.objects += 1;
        class.bytes = class.bytes.wrapping_add(item.value(2));
        let has_frames = matches!(item.what, What::AllocTraced | What::VtableAllocTraced);
        origin.add(&mut class.traces, has_frames.then_some(item.lists[0]), item.value(2));
    }

    /// Assigns objects without a known class to their class.
    pub(super) fn resolve_vtables(&mut self) {
        let mut by_vtable: Vec<_> = std::mem::take(&mut self.by_vtable).into_iter().collect();
        by_vtable.sort_by_key(|(vtable, _)| *vtable);
        for (vtable, of_vtable) in by_vtable {
            let class = self.of_vtable(vtable);
            let class = self.of(class);
            class.objects += of_vtable.objects;
            class.bytes = class.bytes.wrapping_add(of_vtable.bytes);
            class.traces.take(of_vtable.traces);
        }
    }
}
