//! What a program knows of the events of a stream whose relation may be of another version: which it
//! reads as they are, and which have another form.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use telemetry_schema::{Event, Registry};

use crate::difference::difference;
use crate::other_version::{OtherForm, OtherVersion};
use crate::plan::dense_codes;
use crate::registries::KnownRegistry;
use crate::typed_events::PassedOver;

/// What the program knows of an event of the stream, by its index in the stream's registry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    /// Its index in the program's registry.
    Same(u32),
    /// The same, but packed another way: one of the two has further parameters that were appended, or
    /// other alignments.
    Appended(u32),
    /// It is of another form: index into [`Account::other_forms`].
    Other(u32),
    /// The program's relation does not have it.
    Unknown,
    /// Another relation has it.
    Foreign,
}

/// What the program knows of the events of each registry that was met.
pub(crate) struct Forms {
    own: Registry,
    /// Refuses registries in which an event that is wanted has another form.
    pub(crate) strict: bool,
    by_fingerprint: HashMap<u64, Box<[Known]>>,
    /// By registry and kind.
    direct: HashMap<(u64, u8), Box<[Direct]>>,
}

/// What generated code reads from where it stands, by the code of the event: which one of the program's, and
/// where its slots are. So one look tells all that reading such an event needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direct {
    /// Its index in the program's registry.
    pub(crate) index: u32,
    /// Its first slot in its lane.
    pub(crate) first_slot: u32,
}

impl Direct {
    /// Of codes that are not read so.
    const NONE: Direct = Direct { index: u32::MAX, first_slot: 0 };

    #[inline(always)]
    pub(crate) fn of(table: &[Direct], code: u64) -> Option<Direct> {
        let direct = table.get(usize::try_from(code).ok()?)?;
        (direct.index != Direct::NONE.index).then_some(*direct)
    }

    /// The table of a kind of a registry. Events of codes that it has no place for are read the other way.
    fn table(registry: &KnownRegistry, kind: u8, known: &[Known]) -> Box<[Direct]> {
        let (mut table, dense) = (Vec::new(), dense_codes(registry));
        for (event, known) in registry.events.iter().zip(known) {
            let (code, place) = (u64::from(event.code), usize::from(event.code));
            if let (Known::Same(index), Some(plan)) = (known, registry.plan.event(code, kind))
                && place < dense
            {
                table.resize(table.len().max(place + 1), Direct::NONE);
                table[place] = Direct { index: *index, first_slot: plan.first_slot };
            }
        }
        table.into()
    }
}

/// Most tables that are kept, so that a hostile stream of many registries takes no more memory.
const MAX_TABLES: usize = 64;

/// What was passed over.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) passed_over: PassedOver,
    /// Of all registries that were met.
    pub(crate) other_forms: Vec<OtherForm>,
}

impl Account {
    /// Counts an event that was passed over.
    #[cold]
    pub(crate) fn pass_over(&mut self, known: Option<&Known>) {
        let PassedOver { foreign, unknown, other_form, not_utf8 } = &mut self.passed_over;
        match known {
            Some(Known::Same(_) | Known::Appended(_)) => *not_utf8 += 1,
            Some(Known::Other(index)) => {
                *other_form += 1;
                if let Some(other) = self.other_forms.get_mut(*index as usize) {
                    other.events += 1;
                }
            }
            Some(Known::Unknown) => *unknown += 1,
            Some(Known::Foreign) | None => *foreign += 1,
        }
    }
}

impl Forms {
    pub(crate) fn new(own: Registry) -> Forms {
        Forms { own, strict: false, by_fingerprint: HashMap::new(), direct: HashMap::new() }
    }

    /// The same as [`Forms::of`], and what is read directly of a kind.
    ///
    /// # Errors
    /// [`OtherVersion`].
    pub(crate) fn of_part(
        &mut self,
        registry: &KnownRegistry,
        kind: u8,
        account: &mut Account,
    ) -> io::Result<(&[Known], &[Direct])> {
        self.of(registry, account)?;
        let known = &self.by_fingerprint[&registry.fingerprint];
        let key = (registry.fingerprint, kind);
        if self.direct.len() >= MAX_TABLES && !self.direct.contains_key(&key) {
            self.direct.clear();
        }
        let direct = self.direct.entry(key).or_insert_with(|| Direct::table(registry, kind, known));
        Ok((known, direct))
    }

    /// What the program knows of the events of a registry. The first time they are compared, and those of
    /// another form noted.
    ///
    /// # Errors
    /// [`OtherVersion`].
    #[inline]
    pub(crate) fn of(&mut self, registry: &KnownRegistry, account: &mut Account) -> io::Result<&[Known]> {
        let place = match self.by_fingerprint.entry(registry.fingerprint) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(place) => place,
        };
        let known = compare(&self.own, registry, self.strict, &mut account.other_forms)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(place.insert(known))
    }
}

/// What the program knows of a registry's events. Adds those of another form to a list.
#[cold]
fn compare(
    own: &Registry,
    registry: &KnownRegistry,
    strict: bool,
    noted: &mut Vec<OtherForm>,
) -> Result<Box<[Known]>, OtherVersion> {
    if registry.name != own.name {
        return Ok(registry.events.iter().map(|_| Known::Foreign).collect());
    }
    let (stream, program) = (registry.version, own.version);
    let refused = |events| OtherVersion { registry: own.name.clone(), stream, program, events };
    if stream.major != program.major {
        return Err(refused(Vec::new()));
    }
    let (mut others, mut refusing) = (Vec::new(), Vec::new());
    let known = registry.events.iter().enumerate().map(|(index, theirs)| {
        let (mine, difference) = match known(own, registry, theirs) {
            Ok(known) => return known,
            Err(different) => different,
        };
        let (event, code) = (mine.name.clone(), mine.code);
        let other = OtherForm { event, code, stream, program, difference, events: 0 };
        if registry.wanted.kind(registry.kind_of(theirs).bit) && registry.wanted.event(index as u32) {
            refusing.push(other.clone());
        }
        others.push(other);
        Known::Other((noted.len() + others.len() - 1) as u32)
    });
    let known = known.collect();
    if strict && !refusing.is_empty() {
        return Err(refused(refusing));
    }
    noted.extend(others);
    Ok(known)
}

/// What the program knows of an event of its relation, or its own event and the first difference.
fn known<'o>(own: &'o Registry, registry: &Registry, theirs: &Event) -> Result<Known, (&'o Event, String)> {
    let Some(index) = own.event_index(theirs.code) else {
        return match own.event_named(&theirs.name) {
            None => Ok(Known::Unknown),
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
            Ok(Known::Same(index as u32))
        }
        None => Ok(Known::Appended(index as u32)),
    }
}
