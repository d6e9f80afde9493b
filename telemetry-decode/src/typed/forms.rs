//! Compares the events of a stream with the program's, which may have another version of the
//! registry.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use telemetry_format::Cursor;
use telemetry_schema::{Count, Event, Param, Registry, Sort};

use crate::registry::known_registry::KnownRegistry;
use crate::registry::plan::dense_codes;
use crate::report::error::Result;
use crate::report::mismatch::{FormMismatch, VersionMismatch};
use crate::typed::difference::difference;
use crate::values::raw::Raw;

/// The result of comparing one event of the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FormMatch {
    /// The same form, with the event's index in the program's registry.
    Same(u32),
    /// The same event, but encoded differently. One of the two has further parameters that were
    /// appended, or other alignments.
    Appended(u32),
    /// Another form: index into [`Account::other_forms`].
    Other(u32),
    /// The program's registry does not have the event.
    Unknown,
    /// The event is in another registry.
    Foreign,
}

/// The results of comparing the events of each registry.
pub(crate) struct Forms {
    own: Registry,
    /// Refuses registries in which a selected event has another form.
    pub(crate) strict: bool,
    /// By the event's index in the program's registry.
    runs: Box<[Box<[Run]>]>,
    by_fingerprint: HashMap<u64, usize>,
    matches: Vec<Box<[FormMatch]>>,
    /// The latest fingerprint, and its index in `matches`. Most events are of the same registry.
    latest: Option<(u64, usize)>,
    /// By registry and kind.
    direct: HashMap<(u64, u8), Box<[Direct]>>,
}

/// The index of a parameter that is a string, a byte string or an array, and the rule for its
/// bytes.
#[derive(Debug, Clone, Copy)]
struct Run {
    param: usize,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Any,
    Utf8,
    /// A count, and elements of at least this number of bytes.
    Counted(usize),
}

impl Run {
    /// Returns the runs of an event.
    fn all(registry: &Registry, event: &Event) -> Box<[Run]> {
        let content = |param: &Param| match param.count {
            Count::Fixed(_) => Some(Content::Any),
            Count::UpTo(_) => Some(Content::Counted(registry.encoding(param.sort).min_len())),
            Count::One if param.sort == Sort::String => Some(Content::Utf8),
            Count::One if param.sort == Sort::Bytes => Some(Content::Any),
            Count::One => None,
        };
        let params = event.params.iter().enumerate();
        params.filter_map(|(param, of)| Some(Run { param, content: content(of)? })).collect()
    }

    /// Returns true if generated code can read the parameter, or if it was appended later and is
    /// absent.
    fn is_sound(self, raw: &[Raw], payload: &[u8]) -> bool {
        let Some(raw) = raw.get(self.param) else { return true };
        let Some(bytes) = payload.get(raw.at as usize..raw.end as usize) else { return false };
        match self.content {
            Content::Any => true,
            Content::Utf8 => std::str::from_utf8(bytes).is_ok(),
            Content::Counted(min_len) => Cursor::new(bytes).count(min_len).is_ok(),
        }
    }
}

/// An event that generated code reads in place, by its code. One lookup gives all that the
/// generated code needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direct {
    /// Its index in the program's registry.
    pub(crate) index: u32,
    /// The index of its first slot in its lane.
    pub(crate) first_slot: u32,
}

impl Direct {
    /// The entry of codes that are not read in place.
    const NONE: Direct = Direct { index: u32::MAX, first_slot: 0 };

    #[inline(always)]
    pub(crate) fn of(table: &[Direct], code: u64) -> Option<Direct> {
        let direct = table.get(usize::try_from(code).ok()?)?;
        (direct.index != Direct::NONE.index).then_some(*direct)
    }

    /// Makes the table of a kind of a registry. Events whose code has no entry are read
    /// generically.
    fn table(registry: &KnownRegistry, kind: u8, known: &[FormMatch]) -> Box<[Direct]> {
        let (mut table, dense) = (Vec::new(), dense_codes(&registry.registry));
        for (event, known) in registry.registry.events.iter().zip(known) {
            let (code, place) = (u64::from(event.code), usize::from(event.code));
            if let (FormMatch::Same(index), Some(plan)) = (known, registry.plan.event(code, kind))
                && place < dense
            {
                table.resize(table.len().max(place + 1), Direct::NONE);
                table[place] = Direct { index: *index, first_slot: plan.first_slot };
            }
        }
        table.into()
    }
}

/// The maximum number of tables, so that a hostile stream with many registries takes no more
/// memory.
const MAX_TABLES: usize = 64;

/// Events that a typed reader skipped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Events of other registries.
    pub foreign: u64,
    /// Events of another version of the registry that the program's version does not have.
    pub unknown: u64,
    /// Events in another form. [`TypedEvents::other_forms`](crate::TypedEvents::other_forms) lists
    /// them by event type.
    pub other_form: u64,
    /// Events with a string that is not UTF-8.
    pub not_utf8: u64,
}

impl Skipped {
    /// Returns the number of all skipped events.
    pub fn total(&self) -> u64 {
        self.foreign + self.unknown + self.other_form + self.not_utf8
    }
}

/// The counts of skipped events.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) skipped: Skipped,
    /// Of all registries so far.
    pub(crate) other_forms: Vec<FormMismatch>,
}

impl Account {
    /// Counts a skipped event.
    #[cold]
    pub(crate) fn pass_over(&mut self, known: Option<&FormMatch>) {
        let Skipped { foreign, unknown, other_form, not_utf8 } = &mut self.skipped;
        match known {
            Some(FormMatch::Same(_) | FormMatch::Appended(_)) => *not_utf8 += 1,
            Some(FormMatch::Other(index)) => {
                *other_form += 1;
                if let Some(other) = self.other_forms.get_mut(*index as usize) {
                    other.events += 1;
                }
            }
            Some(FormMatch::Unknown) => *unknown += 1,
            Some(FormMatch::Foreign) | None => *foreign += 1,
        }
    }
}

impl Forms {
    pub(crate) fn new(own: Registry) -> Forms {
        let runs = own.events.iter().map(|event| Run::all(&own, event)).collect();
        Forms {
            own,
            strict: false,
            runs,
            by_fingerprint: HashMap::new(),
            matches: Vec::new(),
            latest: None,
            direct: HashMap::new(),
        }
    }

    /// Returns the same as [`Forms::of`], with the table of events of a kind that are read in
    /// place.
    ///
    /// # Errors
    /// [`VersionMismatch`].
    pub(crate) fn of_part(
        &mut self,
        registry: &KnownRegistry,
        kind: u8,
        account: &mut Account,
    ) -> Result<(&[FormMatch], &[Direct])> {
        let known = self.index_of(registry, account)?;
        let known = &self.matches[known];
        let key = (registry.fingerprint, kind);
        if self.direct.len() >= MAX_TABLES && !self.direct.contains_key(&key) {
            self.direct.clear();
        }
        let direct = self.direct.entry(key).or_insert_with(|| Direct::table(registry, kind, known));
        Ok((known, direct))
    }

    /// Returns the results for a registry's events. Compares them at the first call.
    ///
    /// # Errors
    /// [`VersionMismatch`].
    #[inline]
    pub(crate) fn of(&mut self, registry: &KnownRegistry, account: &mut Account) -> Result<&[FormMatch]> {
        let index = self.index_of(registry, account)?;
        Ok(&self.matches[index])
    }

    /// Returns true if generated code can read an event. Looks at no more of its parameters and its
    /// payload than necessary.
    #[inline]
    pub(crate) fn can_read(&self, known: Option<&FormMatch>, raw: &[Raw], payload: &[u8]) -> bool {
        match known {
            Some(FormMatch::Same(index) | FormMatch::Appended(index)) => {
                let runs = self.runs.get(*index as usize).map_or(&[][..], |runs| runs);
                runs.iter().all(|run| run.is_sound(raw, payload))
            }
            Some(FormMatch::Other(_) | FormMatch::Unknown | FormMatch::Foreign) | None => false,
        }
    }

    #[inline]
    fn index_of(&mut self, registry: &KnownRegistry, account: &mut Account) -> Result<usize> {
        match self.latest {
            Some((fingerprint, index)) if fingerprint == registry.fingerprint => Ok(index),
            _ => self.look_up(registry, account),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, registry: &KnownRegistry, account: &mut Account) -> Result<usize> {
        let index = match self.by_fingerprint.entry(registry.fingerprint) {
            Entry::Occupied(index) => *index.get(),
            Entry::Vacant(place) => {
                let known = compare(&self.own, registry, self.strict, &mut account.other_forms)?;
                self.matches.push(known);
                *place.insert(self.matches.len() - 1)
            }
        };
        self.latest = Some((registry.fingerprint, index));
        Ok(index)
    }
}

/// Compares a registry's events. Adds those of another form to a list.
#[cold]
fn compare(
    own: &Registry,
    registry: &KnownRegistry,
    strict: bool,
    noted: &mut Vec<FormMismatch>,
) -> Result<Box<[FormMatch]>, VersionMismatch> {
    if registry.registry.name != own.name {
        return Ok(registry.registry.events.iter().map(|_| FormMatch::Foreign).collect());
    }
    let (stream, program) = (registry.registry.version, own.version);
    let refused = |events| VersionMismatch { registry: own.name.clone(), stream, program, events };
    if stream.major != program.major {
        return Err(refused(Vec::new()));
    }
    let (mut others, mut refusing) = (Vec::new(), Vec::new());
    let known = registry.registry.events.iter().enumerate().map(|(index, theirs)| {
        let (mine, difference) = match known(own, &registry.registry, theirs) {
            Ok(known) => return known,
            Err(different) => different,
        };
        let (event, code) = (mine.name.clone(), mine.code);
        let other = FormMismatch { event, code, stream, program, difference, events: 0 };
        if registry.wanted.kind(registry.registry.kind_of(theirs).bit) && registry.wanted.event(index as u32)
        {
            refusing.push(other.clone());
        }
        others.push(other);
        FormMatch::Other((noted.len() + others.len() - 1) as u32)
    });
    let known = known.collect();
    if strict && !refusing.is_empty() {
        return Err(refused(refusing));
    }
    noted.extend(others);
    Ok(known)
}

/// Compares an event of the same registry. Returns the program's event and the first difference, if
/// the form differs.
fn known<'o>(
    own: &'o Registry,
    registry: &Registry,
    theirs: &Event,
) -> Result<FormMatch, (&'o Event, String)> {
    let Some(index) = own.event_index(theirs.code) else {
        return match own.event_named(&theirs.name) {
            None => Ok(FormMatch::Unknown),
            Some(mine) => {
                let (theirs, own) = (theirs.code, mine.code);
                Err((mine, format!("its code is {theirs:#06x} in the stream, {own:#06x} in the program")))
            }
        };
    };
    let mine = &own.events[index];
    match difference(own, mine, registry, theirs) {
        Some(difference) => Err((mine, difference)),
        None if mine
            .params
            .iter()
            .map(|param| param.align)
            .eq(theirs.params.iter().map(|param| param.align)) =>
        {
            Ok(FormMatch::Same(index as u32))
        }
        None => Ok(FormMatch::Appended(index as u32)),
    }
}
