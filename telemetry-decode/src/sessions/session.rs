//! One run of one process, from its session and thread blocks.

use std::collections::BTreeMap;

use crate::sessions::clock::Clock;
use crate::sessions::facts::Facts;
use crate::sessions::labels::Labels;
use crate::sessions::left_out::LeftOut;
use crate::sessions::threads::Threads;

/// One run of one process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Session {
    /// A number that is unique to the run.
    pub id: u64,
    /// The facts in the session block.
    pub facts: Facts,
    /// The conversion of ticks to time.
    pub clock: Clock,
    threads: Threads,
    /// Its labels. For a pipe in stream order, those so far; none if only headers are read;
    /// otherwise all.
    pub labels: Labels,
    /// What limits left out, as far as it was read.
    pub(crate) left_out: LeftOut,
    /// False if no session block was found. Then its facts are missing, and time counts from the
    /// first block.
    pub declared: bool,
    /// True if the session says that it ended in good order.
    pub ended: bool,
}

/// The longest text of a sink's words that is compared with another. Runtimes write at most 4 kB.
const MAX_REPEATED: usize = 1 << 16;

impl Session {
    /// The fact that the format of the session's log has no end mark, and its value.
    pub const NO_END_MARK: (&str, &str) = ("end_mark", "none");

    /// The key of the fact that sensitive values were replaced, and how: `personal hash, secret
    /// drop`. A reader does not hide what is replaced already.
    pub const SCRUBBED: &str = "scrubbed";

    /// The key of the words of the stream's sink, if that has words of its own.
    pub(crate) const SINK_WORDS: &str = "sink_words";

    /// Creates a declared session without threads and labels, which has not ended.
    #[must_use]
    pub fn new(id: u64, facts: Facts, clock: Clock) -> Session {
        let (threads, labels, left_out) = (Threads::default(), Labels::default(), LeftOut::default());
        Session { id, facts, clock, threads, labels, left_out, declared: true, ended: false }
    }

    /// Returns true if the session is from a log whose format has no end mark.
    pub fn may_be_truncated(&self) -> bool {
        let (key, value) = Session::NO_END_MARK;
        self.facts.text(key) == Some(value)
    }

    /// Returns the facts of its threads, by the session's own number for them, from 1. A thread
    /// without a thread block is not included.
    pub fn threads(&self) -> &BTreeMap<u32, Facts> {
        self.threads.all()
    }

    /// Takes another text of its facts. It repeats them, but may be from the stream of another
    /// sink. Then both streams are read as one, and one sink's words do not say what they lack.
    pub(crate) fn repeat(&mut self, text: &[u8], is_whole: bool) {
        let key = Session::SINK_WORDS;
        if !is_whole || self.facts.get(key).is_none() {
            return;
        }
        let of_key = |line: &&[u8]| {
            line.strip_prefix(key.as_bytes()).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"="))
        };
        match text.split(|byte| *byte == b'\n').find(of_key) {
            // The other sink follows the control.
            None => self.facts.remove(key),
            Some(line)
                if line.len() <= MAX_REPEATED && Facts::read(line).0.get(key) == self.facts.get(key) => {}
            // Each of the sinks may lack events that the other one has.
            Some(_) => self.facts.set(key, ""),
        }
    }

    /// Replaces the facts of a thread.
    pub fn set_thread(&mut self, thread: u32, facts: Facts) {
        self.threads.set(thread, facts);
    }

    /// Returns the name of a thread, if the stream has one.
    pub fn thread_name(&self, thread: u32) -> Option<&str> {
        self.threads().get(&thread)?.text(Threads::NAME)
    }

    /// Returns true if more than one thread has this name. This takes the same time for any number
    /// of threads. For names with equal hashes, it may return true although each is of one thread.
    pub fn is_thread_name_shared(&self, name: &str) -> bool {
        self.threads.with_name(name) > 1
    }
}
