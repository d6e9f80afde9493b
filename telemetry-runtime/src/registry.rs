//! A registry as the generated code describes it, and the process's list of those in use.

use core::ops::Range;
use core::ptr::null_mut;

use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// The static that stands for one `events.toml` in a program. The macro makes it.
pub struct Registry {
    relation: Relation,
    mask: &'static [AtomicU64],
    listed: AtomicBool,
    next: AtomicPtr<Registry>,
}

/// What the macro knows of a relation at compile time.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// Name of the registry.
    pub name: &'static str,
    /// Major, median, minor.
    pub version: [u32; 3],
    /// What tells this registry's wire form from all others.
    pub fingerprint: u64,
    /// The canonical text, for the stream.
    pub text: &'static str,
    /// By index.
    pub kinds: &'static [Kind],
    /// By index, which is also the event's bit in the mask.
    pub events: &'static [EventName],
}

/// A kind of a [`Relation`].
#[derive(Debug, Clone)]
pub struct Kind {
    /// `CamelCase`.
    pub name: &'static str,
    /// 0 to 63.
    pub bit: u8,
    /// The slots that its events' parameters have.
    pub slots: Range<usize>,
}

/// An event of a [`Relation`] as control knows it.
#[derive(Debug, Clone, Copy)]
pub struct EventName {
    /// `CamelCase`.
    pub name: &'static str,
    /// Index of its kind.
    pub kind: u8,
}

impl Registry {
    /// Made by the macro only: the mask has a bit for every event and starts with all of them set,
    /// so that the first event of a registry finds its way to the runtime.
    #[doc(hidden)]
    pub const fn new(relation: Relation, mask: &'static [AtomicU64]) -> Self {
        assert!(mask.len() * 64 >= relation.events.len(), "the mask has a bit for every event");
        Registry { relation, mask, listed: AtomicBool::new(false), next: AtomicPtr::new(null_mut()) }
    }

    /// What the relation says.
    pub fn relation(&self) -> &Relation {
        &self.relation
    }

    /// The kinds of which any event is switched on, as a bitmap of their bits: MPS's
    /// `mps_telemetry_get`.
    pub fn kinds_on(&'static self) -> u64 {
        crate::control::list(self);
        let on = self.relation.events.iter().enumerate().filter(|(index, _)| self.is_on(*index));
        on.fold(0, |bits, (_, event)| bits | 1 << self.relation.kinds[usize::from(event.kind)].bit)
    }

    /// True if the event of this index is switched on.
    pub(crate) fn is_on(&self, index: usize) -> bool {
        self.mask[index / 64].load(Ordering::Relaxed) & 1 << (index % 64) != 0
    }

    /// Switches an event.
    pub(crate) fn switch(&self, index: usize, on: bool) {
        let bit = 1 << (index % 64);
        if on {
            self.mask[index / 64].fetch_or(bit, Ordering::Relaxed);
        } else {
            self.mask[index / 64].fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Switches all events off.
    pub(crate) fn switch_off(&self) {
        self.mask.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// True once the registry is in the process's list.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Puts the registry into the process's list. The caller holds the lock of `control`.
    pub(crate) fn enlist(&'static self) {
        self.next.store(FIRST.load(Ordering::Relaxed), Ordering::Relaxed);
        FIRST.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
        self.listed.store(true, Ordering::Release);
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let [major, median, minor] = self.relation.version;
        write!(f, "Registry({} {major}.{median}.{minor})", self.relation.name)
    }
}

static FIRST: AtomicPtr<Registry> = AtomicPtr::new(null_mut());

/// The registries in use, the latest first.
pub(crate) fn all() -> impl Iterator<Item = &'static Registry> {
    core::iter::successors(get(&FIRST), |registry| get(&registry.next))
}

#[allow(unsafe_code)]
fn get(link: &AtomicPtr<Registry>) -> Option<&'static Registry> {
    // SAFETY: the list holds only what `enlist` stored, static references.
    unsafe { link.load(Ordering::Acquire).as_ref() }
}
