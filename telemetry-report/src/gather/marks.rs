//! Marks along the axis.

use telemetry_decode::Event;

/// The maximum of marks that are kept.
const MAX_MARKS: usize = 1000;

/// The first marks, and how many more there are.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) list: Vec<Mark>,
    pub(crate) more: u64,
}

/// A mark.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) at: u64,
    pub(crate) thread: u32,
    pub(crate) text: String,
}

impl Marks {
    /// Keeps an event of a thread at a moment, if it is a mark.
    #[inline]
    pub(crate) fn take(&mut self, at: u64, thread: u32, event: &Event<'_>) {
        if let Some(text) = event.mark() {
            self.add(at, thread, text);
        }
    }

    #[cold]
    fn add(&mut self, at: u64, thread: u32, text: &str) {
        if self.list.len() < MAX_MARKS {
            self.list.push(Mark { at, thread, text: text.to_string() });
        } else {
            self.more += 1;
        }
    }
}
