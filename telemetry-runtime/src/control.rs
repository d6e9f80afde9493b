//! Which events are on: words in, bits in the registries' masks out.
//!
//! An event is recorded if the record words name it, or if it is output; it is output if the control's
//! words name it, or those of a sink that has its own. A kind of which an event is output is output whole.
//! Registries that come into use later get all words so far.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use crate::own::{self, ControlAction, ControlMask};
use crate::registry::{self, Registry};
use crate::sync::{AtomicBool, Ordering};
use crate::thread::Inside;
pub(crate) use crate::words::Words;
use crate::words::{is_known, sign};
use crate::{image, start, sys};

/// All that names events. The short parts first, so that they and the first words share a page.
#[repr(C)]
struct Control {
    /// What sinks with kinds of their own want, by their numbers.
    sinks: Vec<(u32, Box<Words>)>,
    /// The words of the environment or the configuration are in.
    begun: bool,
    /// Words that nobody knows have been looked for.
    warned: bool,
    /// What `TELEMETRY_CONTROL` and [`set`] name.
    output: Words,
    /// What `TELEMETRY_RECORD` and [`set_record`] name.
    record: Words,
}

static CONTROL: Mutex<Control> = Mutex::new(Control {
    sinks: Vec::new(),
    begun: false,
    warned: false,
    output: Words::NONE,
    record: Words::NONE,
});

/// How long an event waits for the lock, and a call. Who has it does little, but may map memory.
const SOON: Duration = Duration::from_secs(1);
const FOREVER: Duration = Duration::from_secs(60);

/// Switches on what the words name: it is recorded and output.
///
/// ```
/// telemetry_runtime::set("Arena Pool -PoolAlloc gc:Trace");
/// ```
pub fn set(words: &str) {
    change(ControlMask::Output, words, true);
}

/// Switches off what the words name; `reset("all")` is silence. A leading `-` switches on.
pub fn reset(words: &str) {
    change(ControlMask::Output, words, false);
}

/// What is output, in words that [`set`] takes: `registry:Kind` for a kind that is wholly on, else
/// `registry:Event`. Empty if nothing is on.
pub fn get() -> String {
    in_words(ControlMask::Output)
}

/// Has the flight recorder record what the words name, whether or not it is output, see [`crate::snapshot`].
/// A kind of which an event is output, too, goes to the sinks with all its recorded events.
pub fn set_record(words: &str) {
    change(ControlMask::Record, words, true);
}

/// Takes from the flight recorder what the words name. What is output is recorded all the same.
pub fn reset_record(words: &str) {
    change(ControlMask::Record, words, false);
}

/// What is recorded for the flight recorder, in words as of [`get`].
pub fn get_record() -> String {
    in_words(ControlMask::Record)
}

/// Puts a registry into use with the words so far, unless it is already. False if that cannot be
/// done now, because this interrupts who has the lock.
pub(crate) fn list(registry: &'static Registry) -> bool {
    if registry.is_listed() {
        return true;
    }
    if !start::ensure() {
        return false;
    }
    let Some((_inside, control)) = lock(SOON) else { return false };
    if !registry.is_listed() {
        control.apply(registry);
        image::keep_registry(registry.relation());
        registry.enlist();
    }
    true
}

/// Takes the words of the environment, or without them those of the program, before any registry is
/// listed. Does not allocate.
pub(crate) fn begin(output: Option<&str>, record: Option<&str>) {
    let Ok(mut control) = CONTROL.try_lock() else { return };
    if core::mem::replace(&mut control.begun, true) {
        // A forked child goes on with what its parent had.
        return;
    }
    let Control { output: words, record: recorded, .. } = &mut *control;
    for (name, configured, words) in
        [(c"TELEMETRY_CONTROL", output, words), (c"TELEMETRY_RECORD", record, recorded)]
    {
        let expected = "words that name kinds and events";
        let fits = start::text_setting(name, expected, |text| Some(words.change(text, true)));
        if !fits.unwrap_or_else(|| words.change(configured.unwrap_or_default(), true)) {
            too_many();
        }
    }
}

/// Switches everything off for good.
pub(crate) fn end() {
    registry::all().for_each(Registry::switch_off);
}

/// Has a sink get what the words name.
pub(crate) fn add(sink: u32, words: &str) {
    let words = Box::new(Words::of(words));
    let Some((_inside, mut control)) = lock(FOREVER) else { return };
    control.sinks.push((sink, words));
    control.apply_all();
}

/// Forgets the words of a sink.
pub(crate) fn remove(sink: u32) {
    let Some((_inside, mut control)) = lock(FOREVER) else { return };
    control.sinks.retain(|(id, _)| *id != sink);
    control.apply_all();
}

/// Complains of words that name nothing, once for all registries are likely to be known by now.
pub(crate) fn warn() {
    let Some((inside, mut control)) = lock(SOON) else { return };
    if registry::all().next().is_none() || core::mem::replace(&mut control.warned, true) {
        return;
    }
    let sets = [("output", &control.output), ("recorded", &control.record)];
    let unknown: Vec<(String, &str)> = sets
        .iter()
        .flat_map(|(what, words)| words.iter().map(move |(word, _)| (word.to_owned(), *what)))
        .filter(|(word, _)| !is_known_anywhere(word))
        .collect();
    drop((control, inside));
    for (word, what) in unknown {
        sys::complain(format_args!("`{word}`, to be {what}, names no kind and no event{}", help(&word)));
    }
}

/// The words among some that name nothing in the registries in use, each with what it may have been meant
/// for.
#[cfg_attr(any(not(unix), miri), allow(dead_code))]
pub(crate) fn unknown(words: &str) -> Vec<(String, Option<String>)> {
    let words = words.split_ascii_whitespace().map(|word| sign(word).0);
    let unknown = words.filter(|word| !is_known_anywhere(word));
    unknown.map(|word| (word.to_owned(), nearest(word))).collect()
}

fn is_known_anywhere(word: &str) -> bool {
    registry::all().chain([own::registry()]).any(|registry| is_known(registry, word))
}

fn help(word: &str) -> String {
    match nearest(word) {
        Some(name) => format!("; help: did you mean `{name}`?"),
        None => {
            let names: Vec<_> = registry::all()
                .filter(|registry| !registry.is_own())
                .flat_map(|registry| registry.relation().kinds.iter().map(|kind| kind.name))
                .collect();
            format!("; help: the kinds in use are {}", names.join(", "))
        }
    }
}

/// The name that is most like a word, if any is much like it.
fn nearest(word: &str) -> Option<String> {
    let bare = word.split_once(':').map_or(word, |(_, rest)| rest).to_ascii_lowercase();
    let names = registry::all().flat_map(|registry| {
        let relation = registry.relation();
        let kinds = relation.kinds.iter().map(|kind| kind.name);
        kinds.chain(relation.events.iter().map(|event| event.name)).chain([relation.name])
    });
    let (distance, name) = names.map(|name| (distance(&bare, &name.to_ascii_lowercase()), name)).min()?;
    (distance <= 1 + bare.len() / 4).then(|| name.to_owned())
}

/// Letters to change, add or take away to make one word of another.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (at, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (index, b) in to.chars().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[index + 1];
            row[index + 1] = changed.min(row[index] + 1).min(diagonal + 1);
        }
    }
    row.pop().unwrap_or_default()
}

fn change(mask: ControlMask, words: &str, set: bool) {
    if !start::ensure() {
        return;
    }
    let Some((inside, mut control)) = lock(FOREVER) else { return };
    let all = match mask {
        ControlMask::Output => &mut control.output,
        ControlMask::Record => &mut control.record,
    };
    let fits = all.change(words, set);
    control.warned = false;
    control.apply_all();
    drop((control, inside));
    if !fits {
        too_many();
    }
    let action = if set { ControlAction::Set } else { ControlAction::Reset };
    own::control_change(mask, action, words);
}

fn too_many() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    sys::complain(format_args!(
        "more than 4 kB of words of control; some are forgotten; help: `reset all` first"
    ));
}

fn in_words(mask: ControlMask) -> String {
    if !start::ensure() {
        return String::new();
    }
    let Some((_inside, control)) = lock(FOREVER) else { return String::new() };
    let mut words = Vec::new();
    for registry in registry::all().filter(|registry| !registry.is_own()) {
        let relation = registry.relation();
        let named = match mask {
            ControlMask::Output => &control.output,
            ControlMask::Record => &control.record,
        };
        for (index, kind) in relation.kinds.iter().enumerate() {
            let events = || relation.events.iter().filter(|event| usize::from(event.kind) == index);
            let on: Vec<_> = events().filter(|event| named.name(registry, event)).collect();
            match on.len() {
                0 => {}
                n if n == events().count() => words.push(format!("{}:{}", relation.name, kind.name)),
                _ => words.extend(on.iter().map(|event| format!("{}:{}", relation.name, event.name))),
            }
        }
    }
    words.join(" ")
}

impl Control {
    fn apply_all(&self) {
        for registry in registry::all() {
            registry.change();
            self.apply(registry);
        }
    }

    /// Sets a registry's switches. Each event once, as it shall be: another thread may test it meanwhile.
    /// Does not allocate.
    fn apply(&self, registry: &'static Registry) {
        let followed = self.output.kinds(registry);
        let output = self.sinks.iter().fold(followed, |bits, (_, words)| bits | words.kinds(registry));
        // Before the events are on: a block that is opened for one is for the sinks.
        registry.add_output(followed, output);
        for (index, event) in registry.relation().events.iter().enumerate() {
            let mut all =
                [&self.output, &self.record].into_iter().chain(self.sinks.iter().map(|(_, words)| &**words));
            registry.switch(index, all.any(|words| words.name(registry, event)));
        }
        // After the others are off: this thread may have lost its processor for long in between.
        registry.set_output(followed, output);
    }
}

/// Takes the lock of the words and of the list, if it can be had in time. Nothing where this interrupts who has
/// it.
fn lock(patience: Duration) -> Option<(Inside, MutexGuard<'static, Control>)> {
    let inside = Inside::enter()?;
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

/// What a fork holds of the control.
pub(crate) struct Held {
    _control: MutexGuard<'static, Control>,
    _inside: Inside,
}

/// The lock, for a fork.
pub(crate) fn hold() -> Option<Held> {
    lock(SOON).map(|(inside, control)| Held { _control: control, _inside: inside })
}

#[cfg(test)]
mod tests {
    #[test]
    fn distances_are_levenshteins() {
        let check = |from, to, expected| assert_eq!(super::distance(from, to), expected, "{from} {to}");
        check("", "", 0);
        check("arena", "arena", 0);
        check("areena", "arena", 1);
        check("area", "arena", 1);
        check("kitten", "sitting", 3);
        check("", "ref", 3);
    }
}
