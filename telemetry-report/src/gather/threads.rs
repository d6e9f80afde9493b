//! The threads that the page shows one by one.

use hashbrown::HashMap;
use telemetry_decode::Event;

/// The maximum of threads with lanes and numbers of their own. All others are shown as one.
const MAX_THREADS: usize = 1000;

/// Stands for all other threads.
pub(crate) const OTHERS: u32 = MAX_THREADS as u32;

/// Session id, and the session's number for the thread.
type Key = (u64, u32);

/// The threads, in the order of their first events.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    pub(crate) list: Vec<Key>,
    by_key: HashMap<Key, u32>,
    /// The thread of the last event.
    last: Option<(Key, u32)>,
}

impl Threads {
    /// Returns the number of an event's thread on the page.
    #[inline]
    pub(crate) fn of(&mut self, event: &Event<'_>) -> u32 {
        let key = (event.session().id, event.thread());
        match self.last {
            Some((last, number)) if last == key => number,
            _ => self.find(key),
        }
    }

    fn find(&mut self, key: Key) -> u32 {
        let number = match self.by_key.get(&key) {
            Some(number) => *number,
            None if self.list.len() < MAX_THREADS => {
                let number = self.list.len() as u32;
                self.list.push(key);
                self.by_key.insert(key, number);
                number
            }
            None => OTHERS,
        };
        self.last = Some((key, number));
        number
    }

    /// Returns the number of a thread on the page.
    pub(crate) fn known(&self, session: u64, thread: u32) -> u32 {
        self.by_key.get(&(session, thread)).copied().unwrap_or(OTHERS)
    }
}
