//! Turns words into bits of the registries' masks, which say which events are on.
//!
//! An event is output if any list of words names it: those of the control, those that are on for a
//! time, and those of each sink that has its own. An event is recorded if it is output, or if the
//! record words name it. If one event of a kind is output, so are all recorded events of the kind.
//! A registry that comes into use later gets all words so far.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use telemetry_format::Notice;
use telemetry_format::control::sign;

use crate::control::meant::meant;
use crate::control::timed::Timed;
use crate::control::words::{Words, is_known};
use crate::memory::image;
use crate::memory::registry::{self, Registry};
use crate::model::registry_def::EventInfo;
use crate::run::reentry::ReentryGuard;
use crate::run::settings;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// What a list of words selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// The events that are output.
    Output,
    /// The events that the flight recorder records.
    Record,
}

/// All words. It is all zeros at first, so that it is beside other small variables.
struct Control {
    /// The words of sinks with their own kinds, by the number of the sink.
    sinks: BTreeMap<u32, Words>,
    /// True once the words of the environment or the configuration are set.
    begun: bool,
    /// True once unknown words have been reported.
    warned: bool,
    /// The words from `TELEMETRY_CONTROL` and [`set`](crate::set).
    output: Words,
    /// The words that are output for a time.
    timed: Timed,
    /// The words from `TELEMETRY_RECORD` and [`set_record`](crate::set_record).
    record: Words,
}

static CONTROL: Mutex<Control> = Mutex::new(Control {
    sinks: BTreeMap::new(),
    begun: false,
    warned: false,
    output: Words::NONE,
    timed: Timed::NONE,
    record: Words::NONE,
});

/// True while words are on for a time, so that the drain need not take the lock to find out.
static HAS_TIMED: AtomicBool = AtomicBool::new(false);

/// How long an event waits for the lock, and how long a call does. The owner does little, but may
/// map memory.
const EVENT_TIMEOUT: Duration = Duration::from_secs(1);
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a registry is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Yes,
    /// None of its events is on, and the first emitter outside of signal handlers puts it into use.
    Later,
    /// That is impossible now, because this code interrupts the owner of the lock.
    No,
}

/// Puts a registry into use with the words so far, unless it is in use already.
pub(crate) fn list(registry: &'static Registry) -> Listed {
    if registry.is_listed() {
        return Listed::Yes;
    }
    registry.keep_labels();
    if !(registry.upcalls().ensure)() {
        return Listed::No;
    }
    let is_attached = (registry.upcalls().attach)();
    let Some((_inside, control)) = lock(EVENT_TIMEOUT) else { return Listed::No };
    if !registry.is_listed() {
        if !is_attached && !control.wants(registry) {
            return Listed::Later;
        }
        control.apply(registry);
        image::keep_registry(registry.def());
        registry.enlist();
    }
    Listed::Yes
}

impl Registry {
    /// Returns the kinds with an event that is on, as a bitmap. This is the MPS's
    /// `mps_telemetry_get`.
    pub fn kinds_on(&'static self) -> u64 {
        if list(self) == Listed::Later {
            return 0;
        }
        let on = self.def().events.iter().enumerate().filter(|(index, _)| self.is_on(*index));
        on.fold(0, |bits, (_, event)| bits | 1 << self.def().kinds[usize::from(event.kind)].bit)
    }
}

/// Sets the words of the environment, or without them those of the program. Called before any
/// registry is in use. Does not allocate.
pub(crate) fn begin(output: Option<&str>, record: Option<&str>) {
    let Ok(mut control) = CONTROL.try_lock() else { return };
    if core::mem::replace(&mut control.begun, true) {
        // A forked child continues with the words of its parent.
        return;
    }
    let Control { output: words, record: recorded, .. } = &mut *control;
    for (name, configured, words) in
        [(c"TELEMETRY_CONTROL", output, words), (c"TELEMETRY_RECORD", record, recorded)]
    {
        let expected = "words that name kinds and events";
        let fits = settings::text_setting(name, expected, |text| Some(words.change(text, true)));
        if !fits.unwrap_or_else(|| words.change(configured.unwrap_or_default(), true)) {
            too_many();
        }
    }
}

/// Calls a function with the words of the output, and with those of the flight recorder if they are
/// others: those of [`begin`], or those of the parent in a forked child. Does not allocate.
pub(crate) fn with_words(f: impl FnOnce(&dyn fmt::Display, &dyn fmt::Display)) {
    let none = &"";
    let Ok(control) = CONTROL.try_lock() else {
        // Another thread has the lock. That is impossible at the start.
        return f(none, none);
    };
    let is_same = control.record.iter().eq(control.output.iter());
    let record: &dyn fmt::Display = if is_same { none } else { &control.record };
    f(&Output(&control), record);
}

/// Displays all words of the output, also those for a time.
struct Output<'c>(&'c Control);

impl fmt::Display for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Control { output, timed, .. } = self.0;
        write!(f, "{output}")?;
        timed.lists().try_for_each(|words| write!(f, " {words}"))
    }
}

/// Returns true if the words name an event of a registry, which need not be in use.
pub(crate) fn is_named(registry: &Registry, index: usize) -> bool {
    let Some((_inside, control)) = lock(EVENT_TIMEOUT) else { return false };
    let event = &registry.def().events[index];
    [&control.output, &control.record].into_iter().any(|words| words.name(registry, event))
}

/// Switches all events off, for the rest of the run.
pub(crate) fn end() {
    registry::all().for_each(Registry::switch_off);
}

/// Gives a sink the events that the words name.
pub(crate) fn add(sink: u32, words: &str) {
    let words = Words::of(words);
    let Some((_inside, mut control)) = lock(CALL_TIMEOUT) else { return };
    control.sinks.insert(sink, words);
    control.apply_all();
}

/// Forgets the words of a sink.
pub(crate) fn remove(sink: u32) {
    let Some((_inside, mut control)) = lock(CALL_TIMEOUT) else { return };
    control.sinks.remove(&sink);
    control.apply_all();
}

/// Reports words that match nothing, once. All registries are likely to be in use by now.
pub(crate) fn warn(own: &'static Registry) {
    let Some((inside, mut control)) = lock(EVENT_TIMEOUT) else { return };
    if registry::all().next().is_none() || core::mem::replace(&mut control.warned, true) {
        return;
    }
    let timed = control.timed.lists().map(|words| ("output", words));
    let sets = [("output", &control.output), ("recorded", &control.record)].into_iter().chain(timed);
    let unknown: Vec<(String, &str)> = sets
        .flat_map(|(what, words)| words.iter().map(move |(word, _)| (word.to_owned(), what)))
        .filter(|(word, _)| !is_known_anywhere(own, word))
        .collect();
    drop((control, inside));
    let kinds = kinds_in_use();
    let names: Vec<&str> = kinds.iter().copied().chain(presets_in_use()).chain(events_in_use()).collect();
    for (word, what) in unknown {
        let bare = word.split_once(':').map_or(&word[..], |(_, rest)| rest);
        let help = match meant(bare, &names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the kinds in use are {}", kinds.join(", ")),
        };
        sys::report(
            Notice::UnknownName,
            format_args!("`{word}`, to be {what}, matches no kind or event; help: {help}"),
        );
    }
}

/// Returns the words that match nothing in the registries in use.
pub(crate) fn unknown(own: &'static Registry, words: &str) -> Vec<String> {
    let words = words.split_ascii_whitespace().map(|word| sign(word).0);
    words.filter(|word| !is_known_anywhere(own, word)).map(str::to_owned).collect()
}

fn is_known_anywhere(own: &'static Registry, word: &str) -> bool {
    registry::all().chain([own]).any(|registry| is_known(registry, word))
}

fn kinds_in_use() -> Vec<&'static str> {
    let registries = registry::all().filter(|registry| !registry.is_own());
    registries.flat_map(|registry| registry.def().kinds.iter().map(|kind| kind.name)).collect()
}

fn presets_in_use() -> impl Iterator<Item = &'static str> {
    let registries = registry::all().filter(|registry| !registry.is_own());
    registries.flat_map(|registry| registry.def().presets.iter().map(|preset| preset.name))
}

fn events_in_use() -> impl Iterator<Item = &'static str> {
    let registries = registry::all().filter(|registry| !registry.is_own());
    registries.flat_map(|registry| registry.def().events.iter().map(|event| event.name))
}

/// Adds words to a mask, or takes them away. Returns false if it did nothing, because it interrupts
/// the owner of the lock.
pub(crate) fn try_change(mask: Mask, words: &str, set: bool) -> bool {
    let Some((inside, mut control)) = lock(CALL_TIMEOUT) else { return false };
    let all = match mask {
        Mask::Output => &mut control.output,
        Mask::Record => &mut control.record,
    };
    let fits = all.change(words, set);
    if !set && mask == Mask::Output {
        control.timed.reset(words);
    }
    control.warned = false;
    control.apply_all();
    drop((control, inside));
    if !fits {
        too_many();
    }
    true
}

/// Switches on the output of what words name, until a time. Returns false if it did nothing,
/// because it interrupts the owner of the lock.
pub(crate) fn try_set_for(words: &str, until: Instant) -> bool {
    let Some((inside, mut control)) = lock(CALL_TIMEOUT) else { return false };
    let fits = control.timed.add(words, until);
    HAS_TIMED.store(true, Ordering::Relaxed);
    control.warned = false;
    control.apply_all();
    drop((control, inside));
    if !fits {
        too_many();
    }
    true
}

/// The times of words that are over.
#[derive(Default)]
pub(crate) struct Expired {
    /// The words of each.
    pub(crate) over: Vec<String>,
    /// The lists of words that are still output, if any time is over.
    pub(crate) still: Vec<String>,
    /// How long the next time still lasts.
    pub(crate) rest: Option<Duration>,
}

/// Returns true if a time is over that [`expire`] has not ended.
pub(crate) fn is_due(now: Instant) -> bool {
    HAS_TIMED.load(Ordering::Relaxed)
        && lock(EVENT_TIMEOUT)
            .is_some_and(|(_inside, control)| control.timed.rest(now).is_some_and(|rest| rest.is_zero()))
}

/// Ends the times that are over.
pub(crate) fn expire(now: Instant) -> Expired {
    if !HAS_TIMED.load(Ordering::Relaxed) {
        return Expired::default();
    }
    // The owner of the lock does little, so it is free at the next try.
    let Some((_inside, mut control)) = lock(EVENT_TIMEOUT) else {
        return Expired { rest: Some(EVENT_TIMEOUT), ..Expired::default() };
    };
    let over = control.timed.expire(now);
    let mut still = Vec::new();
    if !over.is_empty() {
        control.apply_all();
        let output = control.output.to_text();
        still.extend(control.timed.texts().chain((!output.is_empty()).then_some(output)));
    }
    let rest = control.timed.rest(now);
    HAS_TIMED.store(rest.is_some(), Ordering::Relaxed);
    Expired { over, still, rest }
}

fn too_many() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    sys::report(
        Notice::TooManyWords,
        format_args!("more than 4 kB of words of control; some are forgotten; help: `reset all` first"),
    );
}

/// Returns the words of a mask that still have an effect.
pub(crate) fn remembered(mask: Mask) -> String {
    let Some((_inside, control)) = lock(CALL_TIMEOUT) else { return String::new() };
    control.words(mask).to_text()
}

/// Returns what a mask selects in the registries in use.
pub(crate) fn in_use(mask: Mask) -> String {
    let Some((_inside, control)) = lock(CALL_TIMEOUT) else { return String::new() };
    let is_timed = mask == Mask::Output;
    let lists: Vec<_> =
        [control.words(mask)].into_iter().chain(control.timed.lists().filter(|_| is_timed)).collect();
    let mut words = Vec::new();
    for registry in registry::all().filter(|registry| !registry.is_own()) {
        let def = registry.def();
        for (index, kind) in def.kinds.iter().enumerate() {
            let events = || def.events.iter().filter(|event| usize::from(event.kind) == index);
            let is_on = |event: &&EventInfo| lists.iter().any(|words| words.name(registry, event));
            let on: Vec<_> = events().filter(is_on).collect();
            match on.len() {
                0 => {}
                n if n == events().count() => words.push(format!("{}:{}", def.name, kind.name)),
                _ => words.extend(on.iter().map(|event| format!("{}:{}", def.name, event.name))),
            }
        }
    }
    words.join(" ")
}

impl Control {
    fn words(&self, mask: Mask) -> &Words {
        match mask {
            Mask::Output => &self.output,
            Mask::Record => &self.record,
        }
    }

    /// Returns true if any event of a registry is to be on.
    fn wants(&self, registry: &Registry) -> bool {
        self.all().any(|words| words.kinds(registry) != 0)
    }

    /// Returns all lists of words. An event that any of them names is recorded.
    fn all(&self) -> impl Iterator<Item = &Words> {
        [&self.output, &self.record].into_iter().chain(self.timed.lists()).chain(self.sinks.values())
    }

    /// Returns true if any list names the event. Loops take little of the stack: see `Words::name`.
    fn name(&self, registry: &Registry, event: &EventInfo) -> bool {
        let mut is_named = self.output.name(registry, event) || self.record.name(registry, event);
        for words in self.timed.lists() {
            is_named |= words.name(registry, event);
        }
        for words in self.sinks.values() {
            is_named |= words.name(registry, event);
        }
        is_named
    }

    fn apply_all(&self) {
        for registry in registry::all() {
            registry.change();
            self.apply(registry);
        }
    }

    /// Sets the switches of a registry. Writes the bit of each event once, with its final value,
    /// since another thread may test it meanwhile. Does not allocate.
    fn apply(&self, registry: &'static Registry) {
        let followed = self.output.kinds(registry) | self.timed.kinds(registry);
        let output = self.sinks.values().fold(followed, |bits, words| bits | words.kinds(registry));
        // Before the events are on, so that a block that is opened for one of them goes to the
        // sinks.
        registry.add_output(followed, output);
        for (index, event) in registry.def().events.iter().enumerate() {
            registry.switch(index, self.name(registry, event));
        }
        // After the other events are off. This thread may have lost its processor for long in
        // between.
        registry.set_output(followed, output);
    }
}

/// Takes the lock of the words and of the list, if it is free in time. Returns `None` if this code
/// interrupts the owner.
fn lock(patience: Duration) -> Option<(ReentryGuard, MutexGuard<'static, Control>)> {
    let inside = ReentryGuard::enter()?;
    let mut guard = None;
    sys::wait(patience, || {
        guard = match CONTROL.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        guard.is_some()
    });
    Some((inside, guard?))
}

/// The lock of the control during a fork.
pub(crate) struct ControlGuard {
    _control: MutexGuard<'static, Control>,
    _inside: ReentryGuard,
}

/// Takes the lock, before a fork.
pub(crate) fn hold() -> Option<ControlGuard> {
    lock(EVENT_TIMEOUT).map(|(inside, control)| ControlGuard { _control: control, _inside: inside })
}
