//! The losses of a lane, as they are written with the state of its session.
//!
//! The rules are those of every reader: [`Losses`].

use serde::{Deserialize, Serialize};
use telemetry_decode::accounts::{HeaderSums, Losses, Step};
use telemetry_format::Loss;

/// What the blocks of a lane state. Blocks may come in any order. Times are in nanoseconds since
/// 1970.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Mark>", into = "Vec<Mark>")]
pub struct Marks(Losses<i64>);

/// Blocks that state the same sums.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Mark {
    before: u64,
    sums: Sums,
    first_end: i64,
    last_end: i64,
    /// Older programs did not note it.
    #[serde(default)]
    last_before: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Sums {
    pool: u64,
    reentrant: u64,
    sink: u64,
    truncated: u64,
    excluded: u64,
}

/// The most marks of a lane. Beyond that, two increases become one.
const MAX_MARKS: usize = 4096;

impl Marks {
    /// Notes what a block states: the events before it, the time of its last one, and the sums.
    pub fn note(&mut self, before: u64, end_ns: i64, sums: HeaderSums) {
        let has_room = self.0.more() < MAX_MARKS;
        self.0.note(before, end_ns, sums, has_room);
    }

    /// Returns the highest sums.
    pub fn total(&self) -> HeaderSums {
        self.0.total()
    }

    /// Returns all increases.
    pub fn steps(&self) -> Vec<Step<i64>> {
        self.0.steps().collect()
    }
}

impl From<Vec<Mark>> for Marks {
    fn from(all: Vec<Mark>) -> Marks {
        let mut marks = Marks::default();
        for Mark { before, sums, first_end, last_end, last_before } in all {
            let Sums { pool, reentrant, sink, truncated, excluded } = sums;
            let sums = HeaderSums { lost: Loss { pool, reentrant, sink, truncated }, excluded };
            marks.note(before, first_end, sums);
            marks.note(before.max(last_before), last_end, sums);
        }
        marks
    }
}

impl From<Marks> for Vec<Mark> {
    fn from(marks: Marks) -> Vec<Mark> {
        let mark = |(sums, ends): (&HeaderSums, [(u64, i64); 2])| {
            let HeaderSums { lost: Loss { pool, reentrant, sink, truncated }, excluded } = *sums;
            let sums = Sums { pool, reentrant, sink, truncated, excluded };
            let [(before, first_end), (last_before, last_end)] = ends;
            Mark { before, sums, first_end, last_end, last_before }
        };
        marks.0.all().map(mark).collect()
    }
}
