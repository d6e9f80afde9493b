//! The state that all connections of a collector share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::access::ServerAccess;
use crate::collect::figures::Figures;
use crate::collect::incoming::Incoming;
use crate::collect::places::Places;
use crate::collect::requests::Requests;
use crate::store::Store;
use crate::wire::{Version, WINDOW};

/// What peers may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections of hosts at a time.
    pub connections: usize,
    /// Bytes of a segment.
    pub segment: u64,
    /// Bytes of a segment's payloads when they are decompressed.
    pub unpacked: u64,
    /// How long a connection may take to say who it is.
    pub hello: Duration,
    /// How long a host may be silent.
    pub silence: Duration,
    /// How long a segment may take, and a second more for each 16 KiB of it.
    pub segment_time: Duration,
}

impl Limits {
    /// Bytes of segments that are in memory at a time for a store that takes no files. So a segment
    /// has at most these.
    pub const MOST_OF_A_BUCKET: u64 = 40 << 20;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            segment: 64 << 20,
            unpacked: 512 << 20,
            hello: Duration::from_secs(10),
            silence: Duration::from_secs(120),
            segment_time: Duration::from_secs(60),
        }
    }
}

/// Connections that have not said who they are, at a time.
const MAX_UNKNOWN: usize = 256;

/// Writes to a bucket at a time: each is a request with a socket of its own. Of small segments, the
/// memory alone would allow thousands.
const MAX_WRITES: usize = 64;

/// A collector.
pub struct Collector {
    pub(crate) store: Store,
    pub(crate) access: ServerAccess,
    pub(crate) limits: Limits,
    pub(crate) versions: (Version, Version),
    pub(crate) figures: Arc<Figures>,
    pub(crate) incoming: Incoming,
    /// Kibibytes of segments that may be in memory.
    memory: Semaphore,
    /// Writes to a bucket that may begin.
    writes: Semaphore,
    pub(crate) places: Arc<Places>,
    pub(crate) requests: Arc<Requests>,
}

impl Collector {
    /// A collector that stores segments in `store`. If the store is not a directory, segments are
    /// in `spool` until they are whole, and have at most 40 MiB: each is written from memory.
    ///
    /// # Errors
    /// Those of the directory.
    pub fn new(
        store: Store,
        access: ServerAccess,
        mut limits: Limits,
        spool: Option<PathBuf>,
        newest: Version,
    ) -> Result<Collector, String> {
        let dir = match (store.dir(), spool) {
            (Some(dir), _) => dir.join("incoming"),
            (None, Some(spool)) => spool,
            (None, None) => return Err("a store that is not a directory needs --spool DIR".to_owned()),
        };
        if store.dir().is_none() {
            limits.segment = limits.segment.min(Limits::MOST_OF_A_BUCKET);
        }
        let incoming = Incoming::open(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        Ok(Collector {
            store,
            access,
            places: Places::new(MAX_UNKNOWN, limits.connections),
            limits,
            versions: (Version::OLDEST, newest),
            figures: Arc::default(),
            incoming,
            memory: Semaphore::new((Limits::MOST_OF_A_BUCKET >> 10) as usize),
            writes: Semaphore::new(MAX_WRITES),
            requests: Arc::default(),
        })
    }

    /// Returns what it has done.
    pub fn figures(&self) -> Arc<Figures> {
        self.figures.clone()
    }

    /// Serves operators until this is dropped.
    #[cfg(unix)]
    pub fn admin(&self, admin: crate::collect::admin::Admin) -> impl Future<Output = ()> + Send + use<> {
        admin.serve(self.requests.clone())
    }

    /// Waits until a segment may be written to a bucket, from memory. Each waits for its turn, so a
    /// long one is not starved.
    pub(crate) async fn turn(&self, len: u64) -> Option<[SemaphorePermit<'_>; 2]> {
        let write = self.writes.acquire().await.ok()?;
        let kibibytes = len.div_ceil(1 << 10).max(1);
        Some([write, self.memory.acquire_many(kibibytes as u32).await.ok()?])
    }

    /// Returns the window of a connection, in bytes.
    pub(crate) fn window(&self) -> u64 {
        WINDOW
    }
}
