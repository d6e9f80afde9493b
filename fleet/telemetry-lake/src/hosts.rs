//! Up to when a lake has everything of each host.

use std::collections::BTreeMap;

use crate::lake::{Lake, Result};
use crate::missing::Why;

/// What a lake has of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfHost {
    /// The number of its sessions.
    pub sessions: usize,
    /// The number of those that have not ended.
    pub open: usize,
    /// Up to when everything of the host is there, or is known to be missing, in nanoseconds since
    /// 1970. It is the earliest such time of its open sessions, or else the latest end.
    pub until_ns: i64,
    /// When the store got its latest segment, by the store's clock, in nanoseconds since 1970.
    /// `None` if an older version committed all segments.
    pub arrived_ns: Option<i64>,
}

/// Returns what a lake has of each host whose rows are not deleted.
///
/// # Errors
/// Those of the store.
pub async fn hosts(lake: &Lake) -> Result<BTreeMap<String, OfHost>> {
    let mut all = BTreeMap::<_, OfHost>::new();
    for state in lake.states(None).await?.into_iter().filter(|state| !state.is_deleted) {
        let open = state.missing().into_iter().find(|missing| missing.why == Why::Open);
        let open_ns = open.map(|open| open.from_ns);
        let of_host = all.entry(state.host).or_default();
        of_host.sessions += 1;
        of_host.arrived_ns = of_host.arrived_ns.max(state.arrived_ns);
        of_host.until_ns = match open_ns {
            Some(ns) if of_host.open > 0 => of_host.until_ns.min(ns),
            Some(ns) => ns,
            None if of_host.open > 0 => of_host.until_ns,
            None => of_host.until_ns.max(state.until_ns),
        };
        of_host.open += usize::from(open_ns.is_some());
    }
    Ok(all)
}
