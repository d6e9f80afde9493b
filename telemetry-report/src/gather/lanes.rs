//! The spans of each thread: the longest ones, and the time that all cover.

use telemetry_decode::Session;

use super::axis::Series;
use super::threads::OTHERS;
use crate::spans::Key;

/// The maximum of spans that are kept one by one, of all threads together.
const MAX_KEPT: usize = 60_000;

/// The minimum for a thread, however many there are.
const MIN_KEPT: usize = 40;

/// Deeper spans count as of this depth.
const MAX_DEPTH: usize = 15;

/// The lanes, by number of the thread.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) list: Vec<Lane>,
    /// Spans that are kept, of all lanes together.
    kept: usize,
}

/// The spans of a thread.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) total: u64,
    pub(crate) kept: Vec<Kept>,
    /// Duration of the longest span that is not kept.
    pub(crate) longest_dropped: Option<u64>,
    pub(crate) depths: Vec<Cover>,
}

/// A span that is kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) begin: u64,
    pub(crate) duration: u64,
    pub(crate) def: u32,
    pub(crate) row: u8,
    pub(crate) is_uncertain: bool,
    /// Its session, for the text of the key.
    pub(crate) session: u64,
    pub(crate) key: Key,
    /// Number of the thread on which it ends.
    pub(crate) end_thread: u32,
}

/// The time that spans of one depth cover.
#[derive(Debug, Default)]
pub(crate) struct Cover {
    /// Time in intervals that spans cover in part.
    part: Series<u64>,
    /// Changes of the number of spans that cover whole intervals.
    whole: Series<i64>,
    /// Begins of spans.
    pub(crate) spans: Series<u64>,
}

impl Lanes {
    /// Adds a span of a thread.
    pub(crate) fn add(&mut self, thread: u32, span: Kept, shift: u32) {
        if thread == OTHERS {
            return;
        }
        if thread as usize >= self.list.len() {
            self.list.resize_with(thread as usize + 1, Lane::default);
        }
        let lane = &mut self.list[thread as usize];
        lane.total += 1;
        let depth = usize::from(span.row).min(MAX_DEPTH);
        if depth >= lane.depths.len() {
            lane.depths.resize_with(depth + 1, Cover::default);
        }
        lane.depths[depth].add(span.begin, span.duration, shift);
        lane.kept.push(span);
        self.kept += 1;
        if self.kept >= 2 * MAX_KEPT {
            self.limit();
        }
    }

    /// Keeps no more spans than fit on the page.
    pub(crate) fn limit(&mut self) {
        let most = share(self.list.iter().map(|lane| lane.kept.len()), MAX_KEPT).max(MIN_KEPT);
        self.list.iter_mut().for_each(|lane| lane.keep(most));
        self.kept = self.list.iter().map(|lane| lane.kept.len()).sum();
    }

    /// Merges each two intervals, which get the length 2 to the power of `shift`.
    pub(crate) fn fold(&mut self, shift: u32) {
        self.list.iter_mut().flat_map(|lane| &mut lane.depths).for_each(|cover| cover.fold(shift - 1));
    }
}

impl Lane {
    /// Keeps the longest spans, and of equal ones the first.
    fn keep(&mut self, most: usize) {
        if self.kept.len() <= most {
            return;
        }
        let rank = |span: &Kept| (std::cmp::Reverse(span.duration), span.begin);
        self.kept.select_nth_unstable_by_key(most, rank);
        let dropped = self.kept.drain(most..).map(|span| span.duration).max();
        self.longest_dropped = self.longest_dropped.max(dropped);
    }
}

impl Cover {
    fn add(&mut self, begin: u64, duration: u64, shift: u32) {
        let end = begin + duration;
        let (first, last) = ((begin >> shift) as usize, (end >> shift) as usize);
        self.spans.add(first, 1);
        if first == last {
            return self.part.add(first, duration);
        }
        self.part.add(first, ((first as u64 + 1) << shift) - begin);
        self.part.add(last, end - ((last as u64) << shift));
        if first + 1 < last {
            self.whole.add(first + 1, 1);
            self.whole.add(last, -1);
        }
    }

    fn fold(&mut self, shift: u32) {
        self.part = self.time(shift);
        self.whole = Series::default();
        self.part.fold();
        self.spans.fold();
    }

    /// Returns the covered time in each interval.
    pub(crate) fn time(&self, shift: u32) -> Series<u64> {
        let mut time = self.part.clone();
        let mut open = 0;
        for (index, change) in self.whole.values.iter().enumerate() {
            open += change;
            if open > 0 {
                time.add(self.whole.first + index, (open as u64) << shift);
            }
        }
        time
    }
}

/// Returns the most that each may have, if all together may have `room`. A lane that needs less
/// than its share leaves the rest to the others.
pub(crate) fn share(needs: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut needs: Vec<usize> = needs.filter(|need| *need > 0).collect();
    needs.sort_unstable();
    let (mut rest, mut lanes) = (room, needs.len());
    for need in needs {
        if need > rest / lanes {
            return rest / lanes;
        }
        rest -= need;
        lanes -= 1;
    }
    room
}

/// Returns the text of a key, or nothing for a span without one.
pub(crate) fn key_text(
    key: &Key,
    sort: Option<(&telemetry_schema::Registry, telemetry_schema::Sort)>,
    session: Option<&Session>,
) -> Option<String> {
    use telemetry_schema::Sort;
    let number = match key {
        Key::None => return None,
        Key::Text(text) => return Some(String::from_utf8_lossy(text).into_owned()),
        Key::Number(number) => *number,
    };
    let Some((registry, sort)) = sort else { return Some(number.to_string()) };
    Some(match sort {
        Sort::Pointer | Sort::Addr => format!("{number:#x}"),
        Sort::Bool => (number != 0).to_string(),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => (number as i64).to_string(),
        Sort::Label => match session.and_then(|session| session.labels.string(number)) {
            Some(text) => text.to_string(),
            None => number.to_string(),
        },
        Sort::Named(_) => {
            let values = registry.ty(sort).map(|ty| ty.values.iter()).into_iter().flatten();
            let mut named = values.filter(|value| value.number as u64 == number);
            named.next().map_or_else(|| number.to_string(), |value| value.name.clone())
        }
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => number.to_string(),
        Sort::F32 | Sort::F64 | Sort::String | Sort::Bytes => number.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, duration: u64) -> Kept {
        let (session, key) = (1, Key::None);
        Kept { begin, duration, def: 0, row: 0, is_uncertain: false, session, key, end_thread: 0 }
    }

    #[test]
    fn all_time_is_covered_after_any_folding() {
        let mut lanes = Lanes::default();
        let spans = [(0, 5), (3, 0), (5, 900), (40, 17), (1000, 23)];
        for (begin, duration) in spans {
            lanes.add(0, span(begin, duration), 4);
        }
        lanes.fold(5);
        lanes.add(0, span(31, 64), 5);
        lanes.fold(6);
        let time = lanes.list[0].depths[0].time(6);
        let total: u64 = spans.iter().map(|(_, duration)| duration).sum::<u64>() + 64;
        assert_eq!(time.values.iter().sum::<u64>(), total);
        // From 0 to 64: 5, 59, 17 and 33.
        assert_eq!((time.first, time.values[0]), (0, 5 + 59 + 17 + 33));
        assert_eq!(lanes.list[0].depths[0].spans.values.iter().sum::<u64>(), 6);
    }

    #[test]
    fn the_longest_spans_are_kept() {
        let mut lanes = Lanes::default();
        for number in 0..10 * MAX_KEPT as u64 {
            lanes.add(0, span(number, number % 70_001), 20);
        }
        lanes.limit();
        let lane = &lanes.list[0];
        let least = lane.kept.iter().map(|span| span.duration).min().unwrap();
        assert_eq!((lane.kept.len(), lane.total), (MAX_KEPT, 10 * MAX_KEPT as u64));
        assert!(least + 1 >= lane.longest_dropped.unwrap(), "{least}");
        // A second thread takes what it needs, and at most half.
        lanes.add(1, span(0, 1), 20);
        lanes.limit();
        assert_eq!((lanes.list[0].kept.len(), lanes.list[1].kept.len()), (MAX_KEPT - 1, 1));
        (0..MAX_KEPT as u64).for_each(|number| lanes.add(1, span(number, 1), 20));
        lanes.limit();
        assert_eq!((lanes.list[0].kept.len(), lanes.list[1].kept.len()), (MAX_KEPT / 2, MAX_KEPT / 2));
    }
}
