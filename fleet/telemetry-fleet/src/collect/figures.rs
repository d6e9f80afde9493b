//! What a collector has done, for its page of metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::metrics::{Page, one};
use crate::segment::Host;
use crate::wire::Status;

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Figures {
    pub(crate) connections: AtomicU64,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) stored: AtomicU64,
    pub(crate) were_there: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) store_errors: AtomicU64,
    /// Bytes of segments that have begun to come and are not answered.
    pub(crate) pending: AtomicU64,
    hosts: Mutex<BTreeMap<Host, Status>>,
}

/// The most hosts whose state is shown.
const MAX_HOSTS: usize = 10_000;

impl Figures {
    /// Notes the state of a host.
    pub(crate) fn status(&self, host: &Host, status: Status) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MAX_HOSTS || hosts.contains_key(host) {
            hosts.insert(host.clone(), status);
        }
    }

    /// Returns the page of metrics.
    pub fn page(&self) -> Page {
        let mut page = Page::default();
        let get = |value: &AtomicU64| one(value.load(Ordering::Relaxed));
        page.gauge("collect_connections", "Connections of hosts.", get(&self.connections));
        page.counter(
            "collect_refused_connections_total",
            "Connections that were refused.",
            get(&self.refused_connections),
        );
        let outcomes =
            [("stored", &self.stored), ("were_there", &self.were_there), ("refused", &self.refused)];
        let outcomes = outcomes
            .map(|(outcome, value)| (format!("{{outcome=\"{outcome}\"}}"), value.load(Ordering::Relaxed)));
        page.counter("collect_segments_total", "Segments, by their outcome.", outcomes);
        page.counter("collect_bytes_total", "Bytes of segments that are stored.", get(&self.bytes));
        page.counter("collect_events_total", "Events of segments that are stored.", get(&self.events));
        page.counter("collect_store_errors_total", "Writes that the store failed.", get(&self.store_errors));
        page.gauge("collect_pending_bytes", "Bytes of segments that are not answered.", get(&self.pending));
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let of = |value: fn(&Status) -> u64| {
            hosts
                .iter()
                .map(move |(host, status)| (format!("{{host=\"{host}\"}}"), value(status)))
                .collect::<Vec<_>>()
        };
        page.gauge("collect_host_spool_bytes", "Bytes in the spool of a host.", of(|status| status.spool));
        page.gauge(
            "collect_host_oldest_seconds",
            "When the oldest segment in the spool of a host begins, in seconds since 1970, or 0.",
            of(|status| status.oldest_ns / 1_000_000_000),
        );
        page.counter("collect_host_shed_events_total", "Events that a host shed.", of(|status| status.shed));
        page
    }
}
