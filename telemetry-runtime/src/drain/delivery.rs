//! How an output calls its sink: with the facts that the reader needs, within time limits, and
//! safe from panics. The program may have written the sink.

use std::io;
use std::time::{Duration, Instant};

use telemetry_format::Notice;

use crate::drain::guarded::guarded;
use crate::drain::output::Output;
use crate::drain::selection::Selection;
use crate::drain::sent_facts::SentFacts;
use crate::memory::record::Owner;
use crate::own::registry as own;
use crate::run::state::{self, Policy};
use crate::sinks::sink::{Batch, Start};
use crate::store::progress::{Held, Progress, head};
use crate::sys;

/// What happens after a write has failed, for messages.
const LOST: &str = "events are counted as lost until it can be written";
/// How long a snapshot waits for a slow sink.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(10);

impl Output {
    /// Returns the same sink for the child of a fork, if the sink can start over.
    pub(crate) fn in_child(self) -> Option<Output> {
        let Output { id, mut sink, selection, .. } = self;
        match guarded(&mut sink, |sink| Ok(sink.after_fork())) {
            Ok(true) => Some(Output::new(id, sink, selection)),
            _ => {
                // Dropping it may write what the parent writes, too.
                std::mem::forget(sink);
                None
            }
        }
    }

    /// Tells the sink the length of the next write. Returns true if that is for a new reader, which
    /// knows no facts and has nothing of the open blocks. Returns `None` if the sink cannot take
    /// it.
    pub(super) fn begin(&mut self, bytes: usize) -> Option<bool> {
        match guarded(&mut self.sink, |sink| sink.begin(bytes)) {
            Ok(Start::New) => {
                self.sent = SentFacts::default();
                self.lanes.values_mut().for_each(Progress::rewind);
                Some(true)
            }
            Ok(Start::Continued) => Some(false),
            Err(error) => {
                self.is_failing = true;
                self.report_failure(Err(error), LOST);
                None
            }
        }
    }

    /// Gives the sink blocks, and before them the facts that their reader needs. `held` says which
    /// blocks are of lanes: the last ones.
    pub(super) fn put(&mut self, blocks: &[[&[u8]; 2]], owners: &[&Owner], held: &[Held]) -> bool {
        let (labels, position) = self.labels();
        let own = (!labels.is_empty()).then(|| own::registry().def());
        let (facts, new) = self.sent.facts(owners, own, self.selection.words(), self.sink.max_block());
        let label_heads: Vec<_> = labels.iter().map(|(header, payload)| head(header, payload)).collect();
        let mut all: Vec<[&[u8]; 2]> = Vec::with_capacity(facts.len() + labels.len() + blocks.len());
        all.extend(facts.iter().map(|fact| [&fact.head, fact.text.as_bytes()]));
        all.extend(label_heads.iter().zip(&labels).map(|(head, (_, payload))| [&head[..], payload]));
        all.extend_from_slice(blocks);
        let result = self.write_patiently(&Batch { blocks: &all });
        let taken = self.report_failure(result, LOST);
        self.is_failing = !taken;
        let (others, held) = if taken { (all.len() - held.len(), held) } else { (0, &[][..]) };
        self.note_held(others, held);
        if taken {
            (self.begun, self.unsynced) = (true, true);
            self.sent.session = true;
            self.sent.registries.extend(new.registries);
            self.sent.threads.extend(new.threads);
            self.sent.labels = position;
            let ends = labels.iter().map(|(header, _)| {
                (header.before + u64::from(header.events)).saturating_sub(header.excluded)
            });
            self.labels = ends.fold(self.labels, u64::max);
        }
        taken
    }

    /// Writes. If the policy lets threads wait for memory, waits for a slow sink: the pool then
    /// fills up, and they wait, too. Does not wait for a client, nor after a wait in vain.
    fn write_patiently(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let longest = match (&self.selection, state::policy()) {
            // It holds up nothing else.
            (Selection::All, _) => SNAPSHOT_TIMEOUT,
            (_, Policy::Wait(longest)) if !self.is_client => longest,
            _ => Duration::ZERO,
        };
        let since = Instant::now();
        loop {
            match guarded(&mut self.sink, |sink| sink.write(blocks)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_stuck |= since.elapsed() >= longest;
                    if self.is_stuck {
                        return Err(error);
                    }
                    sys::pause();
                }
                result => {
                    self.is_stuck &= result.is_err();
                    return result;
                }
            }
        }
    }

    /// Makes the sink write what it holds back. Returns false if the sink is slow and has not
    /// written all of it.
    pub(crate) fn flush(&mut self) -> bool {
        let result = guarded(&mut self.sink, |sink| sink.flush());
        self.note_held(0, &[]);
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            result => {
                self.report_failure(result, "it is tried again");
                true
            }
        }
    }

    /// Returns the number of blocks that the sink has not sent yet, and that it has forgotten.
    pub(super) fn unsent(&mut self) -> (usize, usize) {
        guarded(&mut self.sink, |sink| Ok((sink.unsent(), sink.forgotten()))).unwrap_or_default()
    }

    /// Returns true if the sink holds back something that its reader may take soon.
    pub(crate) fn is_behind(&mut self) -> bool {
        guarded(&mut self.sink, |sink| Ok(sink.is_behind())).unwrap_or(false)
    }

    /// Reports the first error of a sink. The caller of a snapshot reports its errors, and a client
    /// reports its own. Returns true if there was no error.
    fn report_failure(&mut self, result: io::Result<()>, what_follows: &str) -> bool {
        let Err(error) = result else { return true };
        if self.error.is_none() {
            if !matches!(self.selection, Selection::All) && !self.is_client {
                let text = format_args!("cannot write {}: {error}; {what_follows}", self.sink.name());
                sys::report(sys::tag_of(&error), text);
            }
            self.error = Some(error);
        } else if self.error.as_ref().is_some_and(gives_no_reason) && !gives_no_reason(&error) {
            // The first one may only have said that there was no connection yet.
            self.error = Some(error);
        }
        false
    }
}

/// Returns true if neither the system nor the sink says why it failed.
fn gives_no_reason(error: &io::Error) -> bool {
    sys::tag_of(error) == Notice::SinkFailed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_gives_a_reason_if_it_has_a_number_or_a_notice() {
        let check = |error: io::Error, expected| assert_eq!(gives_no_reason(&error), expected, "{error:?}");
        check(io::ErrorKind::NotConnected.into(), true);
        check(io::Error::other("not connected yet"), true);
        check(sys::tagged(io::ErrorKind::NotConnected, Notice::SinkFailed, "not yet"), true);
        check(sys::tagged(io::ErrorKind::InvalidInput, Notice::SinkAddress, "no address"), false);
        check(io::Error::from_raw_os_error(28), false);
    }
}
