//! The results of heap walks.

use super::listed::Listed;

/// Walks of the heap.
#[derive(Default)]
pub(super) struct Shots {
    pub(super) all: Vec<Shot>,
}

/// One walk.
pub(super) struct Shot {
    /// Clock reading.
    pub(super) at: u64,
    /// By class: objects and bytes.
    pub(super) classes: Listed<(u64, u64)>,
    /// True if the class of the last object was known.
    pub(super) was_known: bool,
}

impl Shot {
    pub(super) fn new(at: u64) -> Shot {
        Shot { at, classes: Listed::default(), was_known: false }
    }

    #[inline]
    pub(super) fn object(&mut self, class: u64, size: u64) {
        let len = self.classes.all.len();
        let (objects, bytes) = self.classes.of(class);
        *objects += 1;
        *bytes = bytes.wrapping_add(size);
        self.was_known = self.classes.all.len() == len;
    }
}
