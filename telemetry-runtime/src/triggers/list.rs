//! The triggers of the process, and what they have seen.

use core::ffi::CStr;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use telemetry_format::Notice;

use crate::control::meant::meant;
use crate::control::switches as control;
use crate::emit::thread;
use crate::memory::record::LaneRecord;
use crate::memory::registry::{self, Registry};
use crate::memory::walk::{Piece, Walk};
use crate::own::registry as own;
use crate::own::switches;
use crate::run::clock;
use crate::run::wake::wake;
use crate::store::source::Source;
use crate::sys;
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::triggers::condition::{Bound, bind, number};
use crate::triggers::parse::{self, Action, Test, Trigger, When};

/// The most triggers of a process.
const MAX_TRIGGERS: usize = 64;
/// How long a thread waits for the lock, whose owner does little.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Why a trigger is not added if the lock is not free in time.
const BUSY: &str = "the runtime is busy";
/// The number under which the control has the events of all conditions. Sinks count from 1.
const NUMBER: u32 = 0;

/// The triggers of the process.
static LIST: Mutex<Option<List>> = Mutex::new(None);
/// True once there has been a trigger. Until then nothing takes the lock.
static ANY: AtomicBool = AtomicBool::new(false);
/// True once the triggers of the environment were added. Set under the lock.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// The triggers of the program's configuration, which apply if the environment has none.
static CONFIGURED: OnceLock<String> = OnceLock::new();
/// The variable with the triggers of the environment.
const VARIABLE: &CStr = c"TELEMETRY_TRIGGER";
/// The number of the thread that does the actions. Of its events only samples of counters meet
/// conditions.
static ACTOR: AtomicU32 = AtomicU32::new(0);

/// The number of a trigger in use, see [`add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TriggerId(u32);

/// Why a text is no trigger: what was found, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerError(String);

impl core::fmt::Display for TriggerError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for TriggerError {}

#[derive(Default)]
pub(crate) struct List {
    armed: Vec<Armed>,
    last_id: u32,
    /// The conditions by the fingerprint of a registry.
    bound: HashMap<u64, Vec<Bound>>,
    /// For each lane the number of its block, and of that block's events that were seen.
    lanes: HashMap<usize, (u64, u32)>,
    /// Space for the delta slots of a lane.
    slots: Vec<u64>,
}

/// A trigger, and its state.
struct Armed {
    id: u32,
    trigger: Trigger,
    /// When it rests no more, or when the next period is over. `None` if it does not rest.
    until: Option<Instant>,
    /// Events before this reading of the clock do not meet it.
    from: u64,
    is_met: bool,
    /// How often its signal had come when this was last looked at.
    signals: u32,
    /// True once it was reported that its condition fits no registry.
    warned: bool,
}

/// Adds a trigger, such as `Evict.size > 1M: snapshot big.tel`. `docs/triggers.md` describes the
/// text.
///
/// The events of its condition are recorded from now on. Whether they exist is known once their
/// registry is in use, so unknown names are reported then, on standard error. Not for signal
/// handlers.
///
/// # Errors
/// Returns an error if the text is no trigger, if there are 64 already, or if the runtime is not
/// running.
pub fn add(text: &str) -> Result<TriggerId, TriggerError> {
    let trigger = parse::trigger(text.trim()).map_err(TriggerError)?;
    if !own::ensure() {
        return Err(TriggerError("the runtime is not running".to_owned()));
    }
    let put = lock().map_or_else(|| Err(BUSY.to_owned()), |mut guard| put(&mut guard, trigger));
    let id = put.map_err(TriggerError)?;
    follow();
    Ok(id)
}

impl TriggerId {
    /// Returns the number, which is not 0.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Returns the trigger of a number.
    pub(crate) fn of(number: u32) -> TriggerId {
        TriggerId(number)
    }
}

/// Removes a trigger. Returns false if it is gone already.
pub fn remove(id: TriggerId) -> bool {
    let removed = lock().is_some_and(|mut guard| {
        let Some(list) = guard.as_mut() else { return false };
        let before = list.armed.len();
        list.armed.retain(|armed| armed.id != id.0);
        list.bound.clear();
        list.armed.len() < before
    });
    if removed {
        follow();
    }
    removed
}

/// Sets the triggers of the program's configuration, before the start of the runtime.
pub(crate) fn configure(text: String) {
    _ = CONFIGURED.set(text);
}

/// Adds the triggers of the environment, or else those of the program's configuration, at the start
/// of the runtime.
pub(crate) fn begin() {
    // A forked child has the triggers of its parent.
    if !BEGUN.load(Ordering::Relaxed) {
        let of_env = sys::with_env(VARIABLE, |bytes| String::from_utf8_lossy(bytes).into_owned());
        let (place, text) = match (&of_env, CONFIGURED.get()) {
            (Some(text), _) => ("TELEMETRY_TRIGGER", text.as_str()),
            (None, Some(text)) => ("the triggers of the configuration", text.as_str()),
            (None, None) => ("", ""),
        };
        for why in begin_with(text) {
            sys::report(Notice::InvalidSetting, format_args!("in {place}: {why}"));
        }
    }
    if is_any() {
        follow();
    }
}

/// Adds the triggers of a text, and returns why some of them cannot be added. All under one lock,
/// which a fork takes, so that its child has either all of them or none, and then begins itself.
fn begin_with(text: &str) -> Vec<String> {
    let triggers = parse::triggers(text);
    let Some(mut guard) = lock() else { return vec![BUSY.to_owned()] };
    BEGUN.store(true, Ordering::Relaxed);
    triggers.into_iter().filter_map(|trigger| trigger.and_then(|it| put(&mut guard, it)).err()).collect()
}

/// Returns true if there is, or was, a trigger.
pub(crate) fn is_any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Returns true if there is something to begin: the environment or the configuration has a trigger,
/// or the parent of a fork had one. Does not allocate.
pub(crate) fn is_wanted() -> bool {
    let of_env = || sys::with_env(VARIABLE, |bytes| !bytes.trim_ascii().is_empty());
    let has_text = || of_env().unwrap_or_else(|| CONFIGURED.get().is_some());
    is_any() || !BEGUN.load(Ordering::Relaxed) && has_text()
}

fn put(list: &mut Option<List>, trigger: Trigger) -> Result<TriggerId, String> {
    let list = list.get_or_insert_default();
    if list.armed.len() >= MAX_TRIGGERS {
        return Err(format!("more than {MAX_TRIGGERS} triggers"));
    }
    list.last_id += 1;
    let id = list.last_id;
    if let When::Signal(index) = trigger.when {
        sys::count_signal(index, wake);
    }
    list.armed.push(Armed::new(id, trigger));
    list.bound.clear();
    ANY.store(true, Ordering::Relaxed);
    Ok(TriggerId(id))
}

/// Records the events of all conditions, and makes the drain look at them.
fn follow() {
    let Some(guard) = lock() else { return };
    let words: Vec<String> =
        guard.iter().flat_map(|list| list.armed.iter().filter_map(Armed::word)).collect();
    drop(guard);
    control::add(NUMBER, &words.join(" "));
    own::begin_drain();
    wake();
}

fn lock() -> Option<MutexGuard<'static, Option<List>>> {
    let mut guard = None;
    sys::wait(TIMEOUT, || {
        guard = match LIST.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(PoisonError::into_inner(poisoned)),
            Err(TryLockError::WouldBlock) => None,
        };
        guard.is_some()
    });
    guard
}

/// Shows the triggers what a pass takes. Sets `watched` for each block whose kind has an event of a
/// condition: the flight recorder keeps it if no sink gets it.
pub(crate) fn watch(sources: &[Source], watched: &mut [bool]) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let Some(mut guard) = lock() else { return };
    let Some(list) = guard.as_mut() else { return };
    for (source, watched) in sources.iter().zip(watched) {
        *watched = list.look(source);
    }
    if list.armed.iter().any(|armed| armed.is_met) {
        wake();
    }
}

/// Forgets a lane that is gone.
pub(crate) fn forget(record: &LaneRecord) {
    if ANY.load(Ordering::Relaxed)
        && let Some(mut guard) = lock()
        && let Some(list) = guard.as_mut()
    {
        list.lanes.remove(&core::ptr::from_ref(record).addr());
    }
}

/// Returns the actions that are due, and how long it is until the next may be without an event.
/// Called by the thread that does them.
pub(crate) fn due() -> (Vec<Action>, Option<Duration>) {
    if !ANY.load(Ordering::Relaxed) {
        return (Vec::new(), None);
    }
    ACTOR.store(thread::number(), Ordering::Relaxed);
    let Some(mut guard) = lock() else { return (Vec::new(), Some(TIMEOUT)) };
    let Some(list) = guard.as_mut() else { return (Vec::new(), None) };
    let now = Instant::now();
    let actions = list.armed.iter_mut().filter_map(|armed| armed.due(now)).collect();
    let rest = list.armed.iter().filter_map(|armed| armed.until).min();
    (actions, rest.map(|until| until.saturating_duration_since(now)))
}

/// Reports conditions and words that fit no registry in use, each once.
pub(crate) fn warn() {
    let is_program = |registry: &&'static Registry| !registry.is_own();
    if !ANY.load(Ordering::Relaxed) || registry::all().find(is_program).is_none() {
        return;
    }
    let Some(mut guard) = lock() else { return };
    let mut reports = Vec::new();
    for armed in guard.iter_mut().flat_map(|list| &mut list.armed).filter(|armed| !armed.warned) {
        armed.warned = true;
        reports.extend(armed.misfit());
        if let Action::Set(words, _) = &armed.trigger.action {
            reports.extend(switches::unknown(words).into_iter().map(|word| {
                (format!("`{word}`, to be set by a trigger, matches no kind or event"), word_meant(&word))
            }));
        }
    }
    drop(guard);
    for (what, meant) in reports {
        let help = meant.map_or(String::new(), |name| format!("; help: did you mean `{name}`?"));
        sys::report(Notice::UnknownName, format_args!("{what}{help}"));
    }
}

/// Returns the name of an event that a word may mean.
fn word_meant(word: &str) -> Option<String> {
    let bare = word.split_once(':').map_or(word, |(_, rest)| rest);
    let registries = registry::all().filter(|registry| !registry.is_own());
    let names: Vec<&str> = registries
        .flat_map(|registry| {
            let def = registry.def();
            def.kinds.iter().map(|kind| kind.name).chain(def.events.iter().map(|event| event.name))
        })
        .collect();
    meant(bare, &names).map(str::to_owned)
}

/// The lock of the triggers during a fork.
pub(crate) struct TriggersGuard(MutexGuard<'static, Option<List>>);

/// Takes the lock, before a fork.
pub(crate) fn hold() -> Option<TriggersGuard> {
    lock().map(TriggersGuard)
}

impl TriggersGuard {
    /// Forgets what the triggers have seen, in the child of a fork.
    pub(crate) fn forget(mut self) {
        ACTOR.store(0, Ordering::Relaxed);
        let Some(list) = self.0.as_mut() else { return };
        list.lanes.clear();
        for armed in &mut list.armed {
            *armed = Armed::new(armed.id, armed.trigger.clone());
        }
    }
}

impl Armed {
    fn new(id: u32, trigger: Trigger) -> Armed {
        let until = match trigger.when {
            When::Every(period) => Some(Instant::now() + period),
            When::Event { .. } | When::Signal(_) => None,
        };
        let mut armed = Armed { id, trigger, until, from: 0, is_met: false, signals: 0, warned: false };
        armed.signals = armed.signals_so_far();
        armed
    }

    /// Returns the word that names the event of the condition.
    fn word(&self) -> Option<String> {
        match &self.trigger.when {
            When::Event { event, .. } => Some(event.clone()),
            When::Every(_) | When::Signal(_) => None,
        }
    }

    /// Returns the action if it is due, and then rests.
    fn due(&mut self, now: Instant) -> Option<Action> {
        let is_over = self.until.is_some_and(|until| until <= now);
        match self.trigger.when {
            When::Every(period) if is_over => self.until = Some(now + period.max(self.trigger.rest)),
            When::Every(_) => return None,
            When::Event { .. } | When::Signal(_) => {
                let signals = self.signals_so_far();
                self.is_met |= self.until.is_none() && signals != self.signals;
                self.signals = signals;
                if is_over {
                    // What occurred while it rested does not meet it: an action may have caused it.
                    (self.until, self.from) = (None, clock::ticks());
                }
                if !core::mem::take(&mut self.is_met) {
                    return None;
                }
                self.until = Some(now + self.trigger.rest);
            }
        }
        Some(self.trigger.action.clone())
    }

    /// Returns how often the signal of the condition has come so far.
    fn signals_so_far(&self) -> u32 {
        match self.trigger.when {
            When::Signal(index) => sys::signals_so_far(index),
            When::Event { .. } | When::Every(_) => 0,
        }
    }

    /// Returns why the condition fits no registry in use.
    fn misfit(&self) -> Option<(String, Option<String>)> {
        let word = self.word()?;
        let registries = registry::all().filter(|registry| !registry.is_own());
        let mut bound = registries.filter_map(|registry| bind(0, &self.trigger, registry)).peekable();
        if bound.peek().is_none() {
            return Some((
                format!("`{word}`, the condition of a trigger, matches no event"),
                word_meant(&word),
            ));
        }
        let misfits: Result<Vec<_>, _> = bound.map(|bound| bound.err().ok_or(())).collect();
        // One registry that it fits suffices.
        misfits.ok()?.into_iter().next()
    }

    fn test(&self) -> Option<&Test> {
        match &self.trigger.when {
            When::Event { test, .. } => test.as_ref(),
            When::Every(_) | When::Signal(_) => None,
        }
    }
}

impl List {
    /// Looks at the events of a block that it has not seen. Returns true if its kind has an event
    /// of a condition.
    fn look(&mut self, source: &Source) -> bool {
        let List { armed, bound, lanes, slots, .. } = self;
        let registry = source.owner.registry;
        if registry.is_own() {
            return false;
        }
        let bound = bound.entry(registry.def().fingerprint).or_insert_with(|| {
            let all = armed.iter().enumerate();
            all.filter_map(|(index, armed)| bind(index, &armed.trigger, registry)?.ok()).collect()
        });
        if !bound.iter().any(|bound| bound.bit == source.owner.kind) {
            return false;
        }
        let (number_of_block, seen) = lanes.entry(core::ptr::from_ref(source.record).addr()).or_default();
        let seq = u64::from(source.header.seq);
        if *number_of_block != seq {
            (*number_of_block, *seen) = (seq, 0);
        }
        let from = core::mem::replace(seen, source.events.max(*seen));
        if source.events <= from {
            return true;
        }
        let Some(kind) = registry.def().kinds.iter().find(|kind| kind.bit == source.owner.kind) else {
            return true;
        };
        slots.clear();
        slots.resize(kind.slots.len(), 0);
        if let Some(mut walk) = Walk::new(&source.header, slots) {
            meet(armed, bound, source, &mut walk, slots, from);
        }
        true
    }
}

/// Marks the triggers whose conditions an event of a block meets, from a number of events on.
fn meet(
    armed: &mut [Armed],
    bound: &[Bound],
    source: &Source,
    walk: &mut Walk,
    slots: &mut [u64],
    from: u32,
) {
    let payload = source.payload(0);
    let mut met: Vec<usize> = Vec::new();
    // That thread emits samples of counters. Its other events may come from an action.
    let registry = source.owner.registry;
    let is_actors = source.owner.thread == ACTOR.load(Ordering::Relaxed);
    let samples = registry.counters().iter().map(|counter| registry.def().events[counter.event].code);
    let samples: Vec<u16> = samples.filter(|_| is_actors).collect();
    while walk.index < source.events {
        let is_new = walk.index >= from;
        let (mut code, mut param, mut depth) = (0, 0, 0);
        met.clear();
        let passed = walk.next(payload, slots, |piece| match piece {
            Piece::Event(event) => {
                code = event.code;
                let whole = bound.iter().filter(|bound| bound.code == code && bound.test.is_none());
                met.extend(whole.map(|bound| bound.trigger));
            }
            Piece::Param(_) | Piece::Element(_) => {}
            Piece::Open => depth += 1,
            Piece::Close => depth -= 1,
            Piece::Value(value) if is_new && depth == 0 => {
                let Some(value) = number(&value) else { return };
                for bound in bound.iter().filter(|bound| bound.code == code) {
                    if let Some((index, wanted)) = bound.test
                        && index == param
                        && let Some(test) = armed[bound.trigger].test()
                        && value.is(test.operator, wanted)
                    {
                        met.push(bound.trigger);
                    }
                }
            }
            Piece::Value(_) => {}
            Piece::End(_) => param += 1,
        });
        // Bytes that are no event can only be damage: the rest of the block is not looked at.
        let Some(Ok(ticks)) = passed else { return };
        let counts = is_new && (!is_actors || samples.contains(&code));
        for index in met.iter().filter(|_| counts) {
            let armed = &mut armed[*index];
            armed.is_met |= armed.until.is_none() && ticks >= armed.from;
        }
    }
}

#[cfg(test)]
mod tests;
