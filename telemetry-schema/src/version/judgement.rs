//! The demands of the changes since a release, and whether they are met.

use crate::model::registry::{Registry, Version};
use crate::version::allow::Allow;
use crate::version::change::Change;
use crate::version::compare;
use crate::version::lock::Lock;
use crate::version::rule::{Demand, Rule};

/// All changes of a registry since a release, and the result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "unmet demands are in it"]
pub struct Judgement {
    /// The changes, in the order in which [`compare`] finds them, each with its result.
    pub changes: Vec<Judged>,
    /// `[[allow]]`s that allow no change, more than one, or one that another allows already.
    pub idle: Vec<Allow>,
    /// The released version.
    pub released: Version,
    /// The present version.
    pub version: Version,
    /// The lowest version that meets the changes, as far as a number can.
    pub needed: Version,
    /// A code that no event has or had: above all others, or the lowest free one if there is none
    /// above.
    pub free_code: Option<u16>,
}

/// A change, and whether the version is right for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judged {
    /// The change.
    pub change: Change,
    /// The reason, if it is allowed; then it demands nothing.
    pub allowed: Option<String>,
    /// True if the version meets its rule, or it is allowed.
    pub is_met: bool,
}

/// Compares a registry with its release, and its version with the demands of the changes.
pub fn judge(lock: &Lock, registry: &Registry, allows: &[Allow]) -> Judgement {
    let (released, version) = (lock.version, registry.version);
    let changes = compare(lock, registry);
    let mut excuses: Vec<Option<&Allow>> = vec![None; changes.len()];
    let mut idle = Vec::new();
    for allow in allows {
        let mut places = changes.iter().enumerate().filter(|(_, change)| allow.matches(change));
        match (places.next(), places.next()) {
            (Some((at, _)), None) if excuses[at].is_none() => excuses[at] = Some(allow),
            _ => idle.push(allow.clone()),
        }
    }
    let mut demand = Demand::Nothing;
    let changes = changes.into_iter().zip(excuses).map(|(change, allow)| {
        let asked = change.rule.demand();
        if allow.is_none() && asked != Demand::Refused {
            demand = demand.max(asked);
        }
        let is_met = allow.is_some() || asked.is_met(released, version);
        Judged { change, allowed: allow.map(|allow| allow.reason.clone()), is_met }
    });
    let changes = changes.collect();
    let free_code = free_code(lock, registry);
    Judgement { changes, idle, released, version, needed: demand.lowest(released), free_code }
}

fn free_code(lock: &Lock, registry: &Registry) -> Option<u16> {
    let ever = lock.events.iter().map(|event| event.code);
    let mut codes: Vec<u16> = ever.chain(registry.events.iter().map(|event| event.code)).collect();
    codes.sort_unstable();
    codes.dedup();
    match codes.last() {
        Some(&u16::MAX) => (0..u16::MAX).zip(&codes).find(|(free, code)| free != *code).map(|(free, _)| free),
        Some(highest) => Some(highest + 1),
        None => Some(0),
    }
}

impl Judgement {
    /// Returns true if the registry may be built and released as it is.
    pub fn is_met(&self) -> bool {
        self.idle.is_empty() && self.changes.iter().all(|judged| judged.is_met)
    }

    /// Returns the version that the registry should have: its own if that is enough, otherwise the
    /// lowest one that is.
    pub fn target(&self) -> Version {
        self.version.max(self.needed)
    }

    /// Changes that no number allows.
    pub fn refused(&self) -> impl Iterator<Item = &Change> {
        let unmet = self.changes.iter().filter(|judged| !judged.is_met).map(|judged| &judged.change);
        unmet.filter(|change| change.rule.demand() == Demand::Refused)
    }

    /// Returns true if the lock file belongs to another registry, so that nothing could be
    /// compared.
    pub fn is_of_another_registry(&self) -> bool {
        self.changes.iter().any(|judged| judged.change.rule == Rule::RegistryRenamed)
    }

    /// Returns true if another version and the right `since`s meet all demands: what
    /// [`crate::version::fixed`] does.
    pub fn is_fixable(&self) -> bool {
        let is_fixable = |change: &Change| {
            matches!(change.rule, Rule::SinceMissing | Rule::SinceWrong | Rule::VersionLowered)
        };
        self.idle.is_empty() && self.refused().all(is_fixable)
    }
}

impl Demand {
    /// Returns true if a version is high enough above a released one. Numbers may be skipped:
    /// `1.4.1` is above `1.2.5` in its median number, and readers look at nothing else.
    pub fn is_met(self, released: Version, version: Version) -> bool {
        match self {
            Demand::Nothing => true,
            Demand::Minor => version > released,
            Demand::Median => (version.major, version.median) > (released.major, released.median),
            Demand::Refused => false,
        }
    }

    /// Returns the lowest version that meets it: the number is one higher, and those after it are
    /// 0. A number at its maximum becomes 0, and the one before it rises.
    pub fn lowest(self, released: Version) -> Version {
        let Version { major, median, minor } = released;
        let raised = match self {
            Demand::Nothing | Demand::Refused => return released,
            Demand::Minor => minor.checked_add(1).map(|minor| Version { minor, ..released }),
            Demand::Median => None,
        };
        let median = || median.checked_add(1).map(|median| Version { major, median, minor: 0 });
        raised.or_else(median).unwrap_or(Version { major: major.saturating_add(1), median: 0, minor: 0 })
    }
}
