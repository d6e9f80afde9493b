//! A registry as the generated code describes it, and the process's list of those in use.

use core::ptr::null_mut;

use crate::block::Block;
use crate::clock;
use crate::messages::AnyChannel;
use crate::relation::Relation;
use crate::sorter::Queue;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// The static that stands for one `events.toml` in a program. The macro makes it.
pub struct Registry {
    relation: Relation,
    mask: &'static [AtomicU8],
    messages: &'static [&'static dyn AnyChannel],
    listed: AtomicBool,
    /// The events that are on have been changed since.
    changed: AtomicBool,
    next: AtomicPtr<Registry>,
    /// Bits of the kinds that the sinks get: those that follow the control, and any.
    followed: AtomicU64,
    output: AtomicU64,
    /// By bit.
    kinds: [KindState; 64],
}

/// What a kind is, and has come to, while the program runs.
pub(crate) struct KindState {
    /// Sealed blocks that the flight recorder keeps.
    pub(crate) kept: Queue<Block>,
    /// When the kind was last switched off, for the sinks that follow the control, and for any. Blocks opened
    /// before that may have events from when it was on, and are output still.
    followed_until: AtomicU64,
    output_until: AtomicU64,
    /// Events that some sink has taken.
    pub(crate) written: AtomicU64,
    /// Events that the flight recorder has given up for later ones.
    pub(crate) recycled: AtomicU64,
    /// Counters of lanes that are gone.
    pub(crate) past: Past,
}

/// What lanes that are gone had counted.
pub(crate) struct Past {
    pub(crate) recorded: AtomicU64,
    pub(crate) pool: AtomicU64,
    pub(crate) nested: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) sink: AtomicU64,
}

/// How long, in ticks, a kind that is switched off is still output: some milliseconds by any clock.
const GRACE: u64 = 1 << 24;

impl KindState {
    const fn new() -> KindState {
        KindState {
            kept: Queue::new(),
            followed_until: AtomicU64::new(0),
            output_until: AtomicU64::new(0),
            written: AtomicU64::new(0),
            recycled: AtomicU64::new(0),
            past: Past {
                recorded: AtomicU64::new(0),
                pool: AtomicU64::new(0),
                nested: AtomicU64::new(0),
                cut: AtomicU64::new(0),
                sink: AtomicU64::new(0),
            },
        }
    }

    /// As at the program's start.
    fn clear(&self) {
        self.kept.clear();
        let Past { recorded, pool, nested, cut, sink } = &self.past;
        let times = [&self.followed_until, &self.output_until];
        let counters = [&self.written, &self.recycled, recorded, pool, nested, cut, sink];
        times.iter().chain(&counters).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

impl Registry {
    /// Made by the macro only: the mask has a bit for every event and starts with all of them set,
    /// so that the first event of a registry finds its way to the runtime.
    #[doc(hidden)]
    pub const fn new(relation: Relation, mask: &'static [AtomicU8]) -> Self {
        assert!(mask.len() * 8 >= relation.events.len(), "the mask has a bit for every event");
        Registry {
            relation,
            mask,
            messages: &[],
            listed: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
            followed: AtomicU64::new(0),
            output: AtomicU64::new(0),
            kinds: [const { KindState::new() }; 64],
        }
    }

    /// With what the program may hear of it.
    #[doc(hidden)]
    pub const fn with_messages(self, messages: &'static [&'static dyn AnyChannel]) -> Self {
        Registry { messages, ..self }
    }

    /// What the program may hear of it.
    pub(crate) fn messages(&self) -> &'static [&'static dyn AnyChannel] {
        self.messages
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
        self.mask[index / 8].load(Ordering::Relaxed) & 1 << (index % 8) != 0
    }

    /// Switches an event.
    pub(crate) fn switch(&self, index: usize, on: bool) {
        let bit = 1 << (index % 8);
        if on {
            self.mask[index / 8].fetch_or(bit, Ordering::Relaxed);
        } else {
            self.mask[index / 8].fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Switches all events off.
    pub(crate) fn switch_off(&self) {
        self.mask.iter().for_each(|byte| byte.store(0, Ordering::Relaxed));
    }

    /// The kind of a bit.
    pub(crate) fn kind(&self, bit: u8) -> &KindState {
        &self.kinds[usize::from(bit) % 64]
    }

    /// Has the sinks that follow the control, and any sink, get more kinds, as bits, from now on.
    pub(crate) fn add_output(&self, followed: u64, output: u64) {
        self.followed.fetch_or(followed, Ordering::Release);
        self.output.fetch_or(output, Ordering::Release);
    }

    /// Says which kinds, as bits, the sinks that follow the control get from now on, and which any sink.
    pub(crate) fn set_output(&self, followed: u64, output: u64) {
        // An emitter that has found its event on may yet take a moment to record it.
        let now = clock::ticks().saturating_add(GRACE);
        for (bits, before, until) in [
            (followed, &self.followed, (|kind| &kind.followed_until) as fn(&KindState) -> &AtomicU64),
            (output, &self.output, |kind| &kind.output_until),
        ] {
            let mut off = before.load(Ordering::Relaxed) & !bits;
            while off != 0 {
                until(self.kind(off.trailing_zeros() as u8)).store(now, Ordering::Relaxed);
                off &= off - 1;
            }
            // Release: who sees the bit gone sees until when it was there.
            before.store(bits, Ordering::Release);
        }
    }

    /// True if a block of this kind, opened then, is for the sinks that follow the control.
    pub(crate) fn is_followed(&self, kind: u8, base_ticks: u64) -> bool {
        self.followed.load(Ordering::Acquire) & 1 << kind != 0
            || self.kind(kind).followed_until.load(Ordering::Relaxed) >= base_ticks
    }

    /// True if a block of this kind, opened then, is for any sink.
    pub(crate) fn is_output(&self, kind: u8, base_ticks: u64) -> bool {
        self.output.load(Ordering::Acquire) & 1 << kind != 0
            || self.kind(kind).output_until.load(Ordering::Relaxed) >= base_ticks
    }

    /// True of the runtime's own registry.
    pub(crate) fn is_own(&self) -> bool {
        core::ptr::eq(self, crate::own::registry())
    }

    /// As before its first event: what was recorded is another process's.
    pub(crate) fn forget(&self) {
        self.mask.iter().for_each(|byte| byte.store(!0, Ordering::Relaxed));
        self.kinds.iter().for_each(KindState::clear);
        self.followed.store(0, Ordering::Relaxed);
        self.output.store(0, Ordering::Relaxed);
        self.listed.store(false, Ordering::Relaxed);
        self.changed.store(false, Ordering::Relaxed);
    }

    /// Takes note that the events that are on change, before they do.
    pub(crate) fn change(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// True if the events that are on have changed since the registry was listed.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
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

/// Forgets all registries. They are listed anew by their next events.
pub(crate) fn forget_all() {
    all().for_each(Registry::forget);
    FIRST.store(null_mut(), Ordering::Relaxed);
}

/// All kinds of the registries in use.
pub(crate) fn kinds() -> impl Iterator<Item = &'static KindState> {
    all().flat_map(|registry| registry.relation.kinds.iter().map(|kind| registry.kind(kind.bit)))
}

/// The registries in use, the latest first.
pub(crate) fn all() -> impl Iterator<Item = &'static Registry> {
    core::iter::successors(get(&FIRST), |registry| get(&registry.next))
}

#[allow(unsafe_code)]
fn get(link: &AtomicPtr<Registry>) -> Option<&'static Registry> {
    // SAFETY: the list holds only what `enlist` stored, static references.
    unsafe { link.load(Ordering::Acquire).as_ref() }
}
