//! Names of classes and methods during a scan of a log.

use hashbrown::HashMap;

use super::decode::Item;
use super::what::What;

/// The most bytes of names that are kept. Those of a program are a few MB.
const ROOM: usize = 32 << 20;

/// The overhead of an entry in a table.
const ENTRY: usize = 64;

/// The classes and methods that are known so far.
#[derive(Default)]
pub(super) struct Known {
    methods: HashMap<u64, Box<[u8]>>,
    classes: HashMap<u64, Box<[u8]>>,
    /// The class of each vtable.
    vtables: HashMap<u64, u64>,
    taken: usize,
}

impl Known {
    /// Takes the names in an event.
    pub(super) fn take(&mut self, item: &Item<'_>) {
        let named = match item.what {
            What::ClassLoad | What::ClassDefine => &mut self.classes,
            What::MethodJit => &mut self.methods,
            What::VtableLoad => {
                self.taken += ENTRY;
                if self.taken < ROOM {
                    self.vtables.insert(item.value(0), item.value(2));
                }
                return;
            }
            _ => return,
        };
        let Some(name) = item.entry.name.map(|name| item.text(name.into())) else { return };
        self.taken += ENTRY + name.len();
        if self.taken < ROOM {
            named.insert(item.value(0), name.into());
        }
    }

    #[inline]
    pub(super) fn method(&self, method: u64) -> Option<&[u8]> {
        self.methods.get(&method).map(|name| &**name)
    }

    #[inline]
    pub(super) fn class(&self, class: u64) -> Option<&[u8]> {
        self.classes.get(&class).map(|name| &**name)
    }

    pub(super) fn class_of(&self, vtable: u64) -> Option<u64> {
        self.vtables.get(&vtable).copied()
    }
}
