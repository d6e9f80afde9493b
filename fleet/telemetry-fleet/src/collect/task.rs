//! A segment that has come is given to the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::collect::collector::Collector;
use crate::collect::incoming::{NotTaken, Received};
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::SegmentName;
use crate::store::Put;
use crate::wire::{Bye, Done, Message, Outcome};

/// Stores a segment and answers.
pub(crate) struct Task {
    pub(crate) collector: Arc<Collector>,
    pub(crate) number: u32,
    pub(crate) name: SegmentName,
    pub(crate) len: u64,
    pub(crate) answers: mpsc::Sender<Message>,
}

impl Task {
    pub(crate) async fn run(self, received: Received) {
        let figures = &self.collector.figures;
        figures.pending.fetch_add(self.len, Ordering::Relaxed);
        let done = self.stored(received).await;
        figures.pending.fetch_sub(self.len, Ordering::Relaxed);
        let Some((outcome, text)) = done else { return };
        let count = match outcome {
            Outcome::Stored => &figures.stored,
            Outcome::WasThere => &figures.were_there,
            Outcome::Differs | Outcome::Refused => {
                log::line(format_args!("host `{}`: refused segment {}: {text}", self.name.host, self.name));
                &figures.refused
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        failpoint("collect-answer");
        let _ = self.answers.send(Message::Done(Done { number: self.number, outcome, text })).await;
    }

    /// Returns `None` if the segment is neither stored nor refused.
    async fn stored(&self, received: Received) -> Option<(Outcome, String)> {
        let is_dir = self.collector.store.dir().is_some();
        failpoint("collect-received");
        let ended = spawn_blocking(move || received.end(is_dir)).await;
        let (file, events) = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(NotTaken::Wrong(why))) => return Some((Outcome::Refused, why)),
            Ok(Err(NotTaken::Io(error))) => {
                self.failed(&error.to_string()).await;
                return None;
            }
            Err(_) => return None,
        };
        failpoint("collect-before-put");
        let mut wait = Duration::from_secs(1);
        // The peer may have gone. It sends the segment again.
        while !self.answers.is_closed() {
            let put = if is_dir {
                self.collector.store.take(&self.name, &file.0).await
            } else {
                let _turn = self.collector.turn(self.len).await?;
                self.collector.store.put(&self.name, &file.0).await
            };
            let figures = &self.collector.figures;
            match put {
                Ok(Put::Stored) => {
                    failpoint("collect-after-put");
                    figures.bytes.fetch_add(self.len, Ordering::Relaxed);
                    figures.events.fetch_add(events, Ordering::Relaxed);
                    return Some((Outcome::Stored, String::new()));
                }
                Ok(Put::WasThere) => return Some((Outcome::WasThere, String::new())),
                Ok(Put::Differs) => {
                    return Some((Outcome::Differs, "the store has another segment of this name".to_owned()));
                }
                Ok(Put::Refused(why)) => return Some((Outcome::Refused, why)),
                Err(error) => {
                    figures.store_errors.fetch_add(1, Ordering::Relaxed);
                    log::line(format_args!(
                        "host `{}`: {error}; tried again in {} s",
                        self.name.host,
                        wait.as_secs()
                    ));
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(30));
        }
        None
    }

    /// Ends the connection, so that the host sends the segment again.
    async fn failed(&self, why: &str) {
        self.collector.figures.store_errors.fetch_add(1, Ordering::Relaxed);
        log::line(format_args!("host `{}`: cannot write: {why}", self.name.host));
        let text = format!("the collector cannot write: {why}");
        let _ = self.answers.send(Message::Bye(Bye { is_passing: true, text })).await;
    }
}
