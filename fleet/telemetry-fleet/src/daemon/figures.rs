//! What a shipper has done, for its page of metrics.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::daemon::lost::Lost;
use crate::log;
use crate::metrics::{Page, one};
use crate::wire::Status;

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) connections: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) withheld: AtomicU64,
    pub(crate) lost: Lost,
    pub(crate) stored: AtomicU64,
    pub(crate) were_there: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) damaged: AtomicU64,
    pub(crate) shed_segments: AtomicU64,
    pub(crate) shed_events: AtomicU64,
}

impl Figures {
    /// Writes an error to the log, and counts it, also if the log leaves it out.
    pub(crate) fn error(&self, text: impl Display) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        log::line(text);
    }

    /// Returns the page of metrics. `refused` is the directory of refused segments.
    pub(crate) fn page(&self, status: Status, refused: &Path) -> Page {
        let mut page = Page::default();
        let get = |value: &AtomicU64| one(value.load(Ordering::Relaxed));
        page.gauge("ship_connections", "Programs that are connected.", get(&self.connections));
        page.counter("ship_received_bytes_total", "Bytes of blocks that programs sent.", get(&self.received));
        page.counter("ship_cut_segments_total", "Segments that were cut.", get(&self.cut));
        page.counter("ship_cut_events_total", "Events of segments that were cut.", get(&self.events));
        page.counter(
            "ship_withheld_events_total",
            "Events that stay on the host, because they are or may be sensitive.",
            get(&self.withheld),
        );
        let lost = self.lost.events();
        let lost = lost.map(|(cause, events)| (format!("{{cause=\"{}\"}}", cause.code()), events));
        page.counter("ship_lost_events_total", "Events that programs lost, as their streams state it.", lost);
        let outcomes =
            [("stored", &self.stored), ("were_there", &self.were_there), ("refused", &self.refused)];
        let outcomes = outcomes
            .map(|(outcome, value)| (format!("{{outcome=\"{outcome}\"}}"), value.load(Ordering::Relaxed)));
        page.counter("ship_segments_total", "Segments that were sent, by outcome.", outcomes);
        page.counter("ship_bytes_total", "Bytes of segments that were sent.", get(&self.sent_bytes));
        page.counter(
            "ship_errors_total",
            "Failed sends, and errors of the spool, watched files and programs that connect.",
            get(&self.errors),
        );
        page.counter(
            "ship_damaged_bytes_total",
            "Bytes of streams that are in no block.",
            get(&self.damaged),
        );
        page.counter("ship_shed_segments_total", "Segments that were shed.", get(&self.shed_segments));
        page.counter("ship_shed_events_total", "Events that were shed.", get(&self.shed_events));
        page.gauge("ship_spool_bytes", "Bytes of whole segments in the spool.", one(status.spool));
        page.gauge("ship_refused_bytes", "Bytes of refused segments in the spool.", one(bytes_in(refused)));
        let age = match status.oldest_ns {
            0 => 0,
            oldest => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                now.saturating_sub(oldest / 1_000_000_000)
            }
        };
        page.gauge("ship_spool_age_seconds", "Age of the oldest segment in the spool.", one(age));
        page
    }
}

/// Returns the bytes of all files below a directory. There are few: a person has to look at them.
fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        // A person may have removed it just now.
        found => found.map_or(0, |found| found.len()),
    });
    bytes.sum()
}
