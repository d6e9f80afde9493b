//! How much of each table fits into the page.

/// The maximum of entries of each table. A document that is too large is made again with half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Counts of events in intervals.
    pub(crate) counts: usize,
    pub(crate) spans: usize,
    pub(crate) rows: usize,
    /// Cells of heat maps.
    pub(crate) cells: usize,
    /// Numbers in the lists of memory.
    pub(crate) memory: usize,
    pub(crate) nodes: usize,
    pub(crate) listed: usize,
}

impl Default for Room {
    fn default() -> Self {
        Room {
            counts: 400_000,
            spans: 60_000,
            rows: 24_000,
            cells: 250_000,
            memory: 100_000,
            nodes: 20_000,
            listed: 1000,
        }
    }
}

impl Room {
    /// Returns half of it.
    pub(crate) fn half(self) -> Room {
        let Room { counts, spans, rows, cells, memory, nodes, listed } = self;
        let [counts, spans, rows, cells, memory, nodes, listed] =
            [counts, spans, rows, cells, memory, nodes, listed].map(|most| most / 2);
        Room { counts, spans, rows, cells, memory, nodes, listed }
    }
}
