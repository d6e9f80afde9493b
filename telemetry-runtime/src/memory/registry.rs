//! A registry as the generated code describes it, and the list of the process's registries in use.

use core::ptr::null_mut;

use crate::memory::block::Block;
use crate::model::channel::AnyChannel;
use crate::model::counter_def::CounterDef;
use crate::model::limit_def::LimitDef;
use crate::model::registry_def::RegistryDef;
use crate::run::clock;
use crate::run::upcalls::Upcalls;
use crate::sync::sorter::Queue;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// The static of one registry in a program. The macro makes it.
pub struct Registry {
    def: RegistryDef,
    mask: &'static [AtomicU8],
    /// The functions of rooms that come after this one.
    upcalls: &'static Upcalls,
    messages: &'static [&'static dyn AnyChannel],
    counters: &'static [CounterDef],
    limits: &'static [LimitDef],
    /// The kinds that do not leave the host, as bits, and whether the strings of labels do not.
    local_kinds: u64,
    local_labels: bool,
    listed: AtomicBool,
    /// True if the events that are on have been changed since.
    changed: AtomicBool,
    next: AtomicPtr<Registry>,
    /// True once the process knows the registry, and the one that it knew before.
    known: AtomicBool,
    known_before: AtomicPtr<Registry>,
    /// The kinds that the sinks get, as bits: those of sinks that follow the control, and those of
    /// any sink.
    followed: AtomicU64,
    output: AtomicU64,
    /// The kinds, by bit.
    kinds: [KindState; 64],
}

/// The state of a kind.
pub(crate) struct KindState {
    /// Sealed blocks that the flight recorder retains.
    pub(crate) kept: Queue<Block>,
    /// When the kind was last switched off, for the sinks that follow the control, and for any
    /// sink. Blocks that were opened before that are still output, since they may have events from
    /// when the kind was on.
    followed_until: AtomicU64,
    output_until: AtomicU64,
    /// Events that some sink has taken.
    pub(crate) written: AtomicU64,
    /// Events that the flight recorder has evicted for later ones.
    pub(crate) evicted: AtomicU64,
    /// Counters of ended lanes.
    pub(crate) retired: RetiredCounters,
}

/// The sums of the counters of ended lanes.
pub(crate) struct RetiredCounters {
    pub(crate) recorded: AtomicU64,
    pub(crate) pool: AtomicU64,
    pub(crate) reentrant: AtomicU64,
    pub(crate) truncated: AtomicU64,
    pub(crate) sink: AtomicU64,
}

/// How long a kind is still output after it is switched off, in ticks: some milliseconds by any
/// clock.
const GRACE_TICKS: u64 = 1 << 24;

/// The name of the runtime's own registry. The macro refuses it for other registries.
pub(crate) const OWN_NAME: &str = telemetry_format::own::NAME;

impl KindState {
    const fn new() -> KindState {
        KindState {
            kept: Queue::new(),
            followed_until: AtomicU64::new(0),
            output_until: AtomicU64::new(0),
            written: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            retired: RetiredCounters {
                recorded: AtomicU64::new(0),
                pool: AtomicU64::new(0),
                reentrant: AtomicU64::new(0),
                truncated: AtomicU64::new(0),
                sink: AtomicU64::new(0),
            },
        }
    }

    /// Returns to the state at the program's start.
    fn clear(&self) {
        self.kept.clear();
        let RetiredCounters { recorded, pool, reentrant, truncated, sink } = &self.retired;
        let times = [&self.followed_until, &self.output_until];
        let counters = [&self.written, &self.evicted, recorded, pool, reentrant, truncated, sink];
        times.iter().chain(&counters).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

impl Registry {
    /// Creates a registry. `new` in `process`, which knows the functions of later rooms, calls it.
    pub(crate) const fn with_upcalls(
        def: RegistryDef,
        mask: &'static [AtomicU8],
        upcalls: &'static Upcalls,
    ) -> Self {
        assert!(mask.len() * 8 >= def.events.len(), "the mask has a bit for every event");
        Registry {
            def,
            mask,
            upcalls,
            messages: &[],
            counters: &[],
            limits: &[],
            local_kinds: 0,
            local_labels: false,
            listed: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
            known: AtomicBool::new(false),
            known_before: AtomicPtr::new(null_mut()),
            followed: AtomicU64::new(0),
            output: AtomicU64::new(0),
            kinds: [const { KindState::new() }; 64],
        }
    }

    /// Returns the registry with its messages.
    #[doc(hidden)]
    pub const fn with_messages(self, messages: &'static [&'static dyn AnyChannel]) -> Self {
        Registry { messages, ..self }
    }

    /// Returns the registry with its counters.
    #[doc(hidden)]
    pub const fn with_counters(self, counters: &'static [CounterDef]) -> Self {
        Registry { counters, ..self }
    }

    /// Returns the registry with the limits of its events.
    #[doc(hidden)]
    pub const fn with_limits(self, limits: &'static [LimitDef]) -> Self {
        Registry { limits, ..self }
    }

    /// Returns the registry with the kinds that do not leave the host, as bits, and whether the
    /// strings of labels do not.
    #[doc(hidden)]
    pub const fn with_local(self, local_kinds: u64, local_labels: bool) -> Self {
        Registry { local_kinds, local_labels, ..self }
    }

    /// Returns true if the events of a kind stay on this host, because some are sensitive.
    pub(crate) fn is_local(&self, kind: u8) -> bool {
        self.local_kinds & 1 << kind != 0
    }

    /// Keeps the strings of labels on this host if a sensitive parameter of the registry stands for
    /// such strings. Called at its first event, even if the event is off.
    pub(crate) fn keep_labels(&self) {
        if self.local_labels {
            LOCAL_LABELS.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the limits of the registry's events.
    pub(crate) fn limits(&self) -> &'static [LimitDef] {
        self.limits
    }

    /// Returns the registry's counters.
    pub(crate) fn counters(&self) -> &'static [CounterDef] {
        self.counters
    }

    /// Returns the registry's messages.
    pub(crate) fn messages(&self) -> &'static [&'static dyn AnyChannel] {
        self.messages
    }

    /// Returns the registry's name.
    pub fn name(&self) -> &'static str {
        self.def.name
    }

    /// Returns the registry's version: major, median, minor.
    pub fn version(&self) -> [u32; 3] {
        self.def.version
    }

    /// Returns the registry's fingerprint, which the blocks of its events contain.
    pub fn fingerprint(&self) -> u64 {
        self.def.fingerprint
    }

    /// Returns the data from the generated code.
    #[doc(hidden)]
    pub fn def(&self) -> &RegistryDef {
        &self.def
    }

    /// Returns the functions of rooms that come after this one.
    pub(crate) fn upcalls(&self) -> &'static Upcalls {
        self.upcalls
    }

    /// Returns true if the event with this index is on.
    pub(crate) fn is_on(&self, index: usize) -> bool {
        self.mask[index / 8].load(Ordering::Relaxed) & 1 << (index % 8) != 0
    }

    /// Switches an event on or off.
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

    /// Returns the kind with this bit.
    pub(crate) fn kind(&self, bit: u8) -> &KindState {
        &self.kinds[usize::from(bit) % 64]
    }

    /// Adds kinds, as bits, for the sinks that follow the control, and for any sink.
    pub(crate) fn add_output(&self, followed: u64, output: u64) {
        self.followed.fetch_or(followed, Ordering::Release);
        self.output.fetch_or(output, Ordering::Release);
    }

    /// Sets the kinds, as bits, for the sinks that follow the control, and for any sink.
    pub(crate) fn set_output(&self, followed: u64, output: u64) {
        // An emitter that has found its event on may need a moment to record it.
        let now = clock::ticks().saturating_add(GRACE_TICKS);
        for (bits, before, until) in [
            (followed, &self.followed, (|kind| &kind.followed_until) as fn(&KindState) -> &AtomicU64),
            (output, &self.output, |kind| &kind.output_until),
        ] {
            let mut off = before.load(Ordering::Relaxed) & !bits;
            while off != 0 {
                until(self.kind(off.trailing_zeros() as u8)).store(now, Ordering::Relaxed);
                off &= off - 1;
            }
            // Release: a thread that sees the bit cleared sees until when it was set.
            before.store(bits, Ordering::Release);
        }
    }

    /// Returns true if the sinks that follow the control get blocks of this kind that were opened
    /// at that time.
    pub(crate) fn is_followed(&self, kind: u8, base_ticks: u64) -> bool {
        self.followed.load(Ordering::Acquire) & 1 << kind != 0
            || self.kind(kind).followed_until.load(Ordering::Relaxed) >= base_ticks
    }

    /// Returns true if any sink gets blocks of this kind that were opened at that time.
    pub(crate) fn is_output(&self, kind: u8, base_ticks: u64) -> bool {
        self.output.load(Ordering::Acquire) & 1 << kind != 0
            || self.kind(kind).output_until.load(Ordering::Relaxed) >= base_ticks
    }

    /// Returns true for the runtime's own registry.
    pub(crate) fn is_own(&self) -> bool {
        self.def.name == OWN_NAME
    }

    /// Returns to the state before the first event. What was recorded belongs to another process.
    pub(crate) fn forget(&self) {
        self.mask.iter().for_each(|byte| byte.store(!0, Ordering::Relaxed));
        self.kinds.iter().for_each(KindState::clear);
        self.followed.store(0, Ordering::Relaxed);
        self.output.store(0, Ordering::Relaxed);
        self.listed.store(false, Ordering::Relaxed);
        self.changed.store(false, Ordering::Relaxed);
    }

    /// Records that the events that are on change, before they do.
    pub(crate) fn change(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// Returns true if the events that are on have changed since the registry was listed.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Returns true once the registry is in the process's list.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    /// Puts the registry into the process's list. The caller has the lock of `control`.
    pub(crate) fn enlist(&'static self) {
        self.next.store(FIRST.load(Ordering::Relaxed), Ordering::Relaxed);
        FIRST.store(core::ptr::from_ref(self).cast_mut(), Ordering::Release);
        self.listed.store(true, Ordering::Release);
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let [major, median, minor] = self.def.version;
        write!(f, "Registry({} {major}.{median}.{minor})", self.def.name)
    }
}

static FIRST: AtomicPtr<Registry> = AtomicPtr::new(null_mut());

/// The registry that the process knows last. It may not be in use.
static LAST_KNOWN: AtomicPtr<Registry> = AtomicPtr::new(null_mut());

/// Makes a registry known before its first event, so that its messages are found by name. It is not
/// in use by that.
#[doc(hidden)]
pub fn know(registry: &'static Registry) {
    if registry.known.swap(true, Ordering::AcqRel) {
        return;
    }
    let this = core::ptr::from_ref(registry).cast_mut();
    let _ = LAST_KNOWN.fetch_update(Ordering::AcqRel, Ordering::Acquire, |before| {
        registry.known_before.store(before, Ordering::Relaxed);
        Some(this)
    });
}

/// Returns the registries that are known, in use or not.
pub(crate) fn known() -> impl Iterator<Item = &'static Registry> {
    core::iter::successors(get(&LAST_KNOWN), |registry| get(&registry.known_before))
}

/// True once a registry has kept the strings of labels on this host. A forked child has the labels
/// of its parent, so it stays true there.
static LOCAL_LABELS: AtomicBool = AtomicBool::new(false);

/// Returns true if the strings of labels stay on this host.
pub(crate) fn has_local_labels() -> bool {
    LOCAL_LABELS.load(Ordering::Relaxed) || known().any(|registry| registry.local_labels)
}

/// Forgets all registries. Their next events list them again.
pub(crate) fn forget_all() {
    all().for_each(Registry::forget);
    FIRST.store(null_mut(), Ordering::Relaxed);
}

/// Returns all kinds of the registries in use.
pub(crate) fn kinds() -> impl Iterator<Item = &'static KindState> {
    all().flat_map(|registry| registry.def.kinds.iter().map(|kind| registry.kind(kind.bit)))
}

/// Returns the registries in use, the latest first.
pub(crate) fn all() -> impl Iterator<Item = &'static Registry> {
    core::iter::successors(get(&FIRST), |registry| get(&registry.next))
}

#[allow(unsafe_code)]
fn get(link: &AtomicPtr<Registry>) -> Option<&'static Registry> {
    // SAFETY: the lists contain only the static references that `enlist` and `know` stored.
    unsafe { link.load(Ordering::Acquire).as_ref() }
}
