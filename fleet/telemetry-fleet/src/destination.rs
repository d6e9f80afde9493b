//! Where a shipper sends segments.

use std::path::Path;
use std::sync::Arc;

use crate::remote::Remote;
use crate::segment::SegmentName;
use crate::store::{Put, Store, StoreError};
use crate::wire::Status;

/// Segments on the way at a time. A store has a request for each, and each request has a socket.
/// Of small segments, the window alone would allow thousands.
pub(crate) const MAX_SENDING: usize = 64;

/// A store, or a collector that has one.
#[derive(Clone)]
#[expect(missing_docs, reason = "named as their contents")]
pub enum Destination {
    Store(Arc<Store>),
    Collector(Arc<Remote>),
}

impl Destination {
    /// Sees that it takes segments of this host, and takes each once.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn probe(&self) -> Result<(), StoreError> {
        match self {
            Destination::Store(store) => store.probe_once().await,
            Destination::Collector(collector) => collector.probe().await,
        }
    }

    /// Sends a segment, and waits until it is stored.
    ///
    /// # Errors
    /// Those of the store, the connection and the file. The segment may be stored nevertheless.
    pub async fn put(&self, name: &SegmentName, path: &Path) -> Result<Put, StoreError> {
        match self {
            Destination::Store(store) => {
                store.probe_once().await?;
                store.put(name, path).await
            }
            Destination::Collector(collector) => collector.put(name, path).await,
        }
    }

    /// Tells a collector the state of the spool.
    pub fn set_status(&self, status: Status) {
        if let Destination::Collector(collector) = self {
            collector.set_status(status);
        }
    }
}
