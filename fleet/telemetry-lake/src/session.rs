//! The conversion of one session's segments.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::catalog::Catalog;
use crate::convert::{Converted, NewFile, convert, damage, times};
use crate::planning::MAX_BYTES;
use crate::sides::SegmentRow;
use crate::state::SessionState;

/// The segments of a session.
pub(crate) struct Fetched {
    /// The session before them.
    pub(crate) state: SessionState,
    /// In the order of their names.
    pub(crate) segments: Vec<FetchedSegment>,
    /// Their part of the memory, until they are dropped.
    pub(crate) _room: Taken,
}

/// A segment in memory.
pub(crate) struct FetchedSegment {
    /// Its name in the store.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// When the store got it, by its clock, in nanoseconds since 1970. Old plans do not tell.
    pub(crate) stored_ns: Option<i64>,
}

/// Memory for the segments of several sessions. Who asks first gets it first.
pub(crate) struct Room {
    mib: Arc<Semaphore>,
    most: u32,
}

/// A part of the memory, given back when it is dropped.
pub(crate) type Taken = Option<OwnedSemaphorePermit>;

impl Room {
    pub(crate) fn new(bytes: u64) -> Room {
        let most = (bytes >> 20) as u32;
        Room { mib: Arc::new(Semaphore::new(most as usize)), most }
    }

    /// Waits for this much memory, or for all if that is less.
    pub(crate) async fn take(&self, bytes: u64) -> Taken {
        let mib = bytes.div_ceil(1 << 20).min(self.most.into()) as u32;
        // It is never closed.
        self.mib.clone().acquire_many_owned(mib).await.ok()
    }
}

/// The rows of a session in a batch.
pub(crate) struct OfSession {
    /// The session after them.
    pub(crate) state: SessionState,
    pub(crate) files: Vec<NewFile>,
    pub(crate) segments: Vec<SegmentRow>,
    /// With the registries of the session.
    pub(crate) catalog: Catalog,
}

impl Fetched {
    /// Converts the segments. The result follows from the arguments alone.
    pub(crate) fn convert(&self, batch: u64, mut catalog: Catalog, shows_sensitive: bool) -> OfSession {
        let mut state = SessionState { batch, ..self.state.clone() };
        let (mut files, mut rows, mut at) = (Vec::new(), Vec::new(), 0);
        // A batch of an earlier version may have more of a session than is converted together.
        while at < self.segments.len() {
            let mut together = Vec::new();
            let first = at;
            while let Some(FetchedSegment { bytes, .. }) = self.segments.get(at).filter(|segment| {
                together.is_empty() || (together.len() + segment.bytes.len()) as u64 <= MAX_BYTES
            }) {
                together.extend_from_slice(bytes);
                at += 1;
            }
            let mut after = state.clone();
            let (clock, error) = match convert(&together, &mut after, &mut catalog, shows_sensitive) {
                Ok(Converted { files: new, clock }) => {
                    files.extend(new);
                    state = after;
                    (clock, None)
                }
                // Nothing of them is in the tables.
                Err(error) => (None, Some(format!("it gives no rows: {error}"))),
            };
            for FetchedSegment { name, bytes, stored_ns } in &self.segments[first..at] {
                let time = clock.as_ref().and_then(|clock| times(bytes, clock));
                let delay_ns = time.zip(*stored_ns).map(|(time, stored_ns)| stored_ns.saturating_sub(time.1));
                state.delay_ns = state.delay_ns.into_iter().chain(delay_ns).min();
                state.arrived_ns = state.arrived_ns.max(*stored_ns);
                rows.push(SegmentRow {
                    name: name.clone(),
                    host: state.host.clone(),
                    session: state.session,
                    bytes: bytes.len() as u64,
                    error: error.clone().or_else(|| damage(bytes)),
                    time,
                    stored_ns: *stored_ns,
                });
            }
        }
        OfSession { state, files, segments: rows, catalog }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn sessions_wait_for_memory() {
        let room = Room::new(10 << 20);
        let take = |mib: u64| room.take(mib << 20).now_or_never();
        let (first, second) = (take(6), take(4));
        assert!(first.is_some() && second.is_some());
        assert!(take(1).is_none());
        drop(second);
        let third = take(4);
        assert!(third.is_some());
        // One that is longer than all has all, and is alone.
        assert!(take(1000).is_none());
        drop((first, third));
        let long = take(1000);
        assert!(long.is_some() && take(1).is_none());
    }
}
