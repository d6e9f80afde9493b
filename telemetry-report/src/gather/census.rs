//! Censuses over time: what there was of each class at the time of each.

use telemetry_decode::Event;

use crate::census::{Counted, LeftOut, Series, Whole};

/// The maximum of series whose censuses are kept. Of further ones there are only sums.
const MAX_TRACKS: usize = 32;

/// The maximum of censuses of a series.
const MAX_POINTS: usize = 1024;

/// The maximum of amounts of all series, at 16 bytes. A series keeps at least one census.
const MAX_AMOUNTS: usize = 500_000;

/// All censuses, and the amounts of some.
#[derive(Debug, Default)]
pub(crate) struct Censuses {
    pub(crate) counted: Counted,
    /// Of the first of the series.
    pub(crate) tracks: Vec<Track>,
    amounts: usize,
    pub(crate) left_out: LeftOut,
}

/// One of each `every` censuses of a series.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) every: u64,
    seen: u64,
    pub(crate) points: Vec<Point>,
}

/// A census.
#[derive(Debug)]
pub(crate) struct Point {
    /// In nanoseconds since the session's start.
    pub(crate) time_ns: i64,
    pub(crate) total: u64,
    /// By number of the class, in this order.
    amounts: Box<[(u32, u64)]>,
}

impl Censuses {
    /// Takes an event.
    #[inline]
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if let Some((series, whole)) = self.counted.take(event) {
            self.keep(series, Point::new(&self.counted.series[series], &whole));
        }
    }

    /// Ends all censuses. Call it after the last event.
    pub(crate) fn finish(&mut self) {
        self.left_out = self.counted.finish();
    }

    fn keep(&mut self, number: usize, point: Point) {
        if number >= MAX_TRACKS {
            return;
        }
        if number >= self.tracks.len() {
            self.tracks.resize_with(number + 1, || Track { every: 1, seen: 0, points: Vec::new() });
        }
        let track = &mut self.tracks[number];
        let index = track.seen;
        track.seen += 1;
        if index & (track.every - 1) != 0 {
            return;
        }
        self.amounts += point.amounts.len();
        track.points.push(point);
        if track.points.len() > MAX_POINTS {
            self.amounts -= track.thin();
        }
        while self.amounts > MAX_AMOUNTS && self.tracks.iter().any(|track| track.points.len() > 1) {
            self.amounts -= self.tracks.iter_mut().map(Track::thin).sum::<usize>();
        }
    }
}

impl Track {
    /// Drops each second census. Returns the number of amounts that these had.
    fn thin(&mut self) -> usize {
        if self.points.len() < 2 {
            return 0;
        }
        let (mut is_kept, mut dropped) = (false, 0);
        self.points.retain(|point| {
            is_kept = !is_kept;
            dropped += if is_kept { 0 } else { point.amounts.len() };
            is_kept
        });
        self.every *= 2;
        dropped
    }
}

impl Point {
    fn new(series: &Series, whole: &Whole) -> Point {
        let amounts = whole.amounts.iter().filter_map(|(class, value)| {
            let of = series.classes.get(class)?;
            Some((of.number, *value))
        });
        let mut amounts: Box<[_]> = amounts.collect();
        amounts.sort_unstable_by_key(|(class, _)| *class);
        Point { time_ns: whole.time_ns, total: whole.total(), amounts }
    }

    /// Returns the amount of a class.
    pub(crate) fn amount(&self, class: u32) -> u64 {
        let place = self.amounts.binary_search_by_key(&class, |(class, _)| *class);
        place.map_or(0, |place| self.amounts[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many censuses there are, those that are kept are whole, and spread evenly.
    #[test]
    fn kept_censuses_are_limited() {
        for (censuses, classes) in [(1, 100_000), (7, 100_000), (10_000, 3), (4000, 200)] {
            let mut all = Censuses::default();
            for time_ns in 0..censuses {
                let amounts: Box<[_]> = (0..classes).map(|class| (class, u64::from(class) + 7)).collect();
                all.keep(0, Point { time_ns, total: 5, amounts });
            }
            let track = &all.tracks[0];
            let name = format!("{censuses} of {classes}");
            assert!((1..=MAX_POINTS).contains(&track.points.len()), "{name}");
            assert!(all.amounts <= MAX_AMOUNTS, "{name}");
            assert_eq!(all.amounts, track.points.len() * classes as usize, "{name}");
            assert_eq!(track.points.len() as u64, (censuses as u64).div_ceil(track.every), "{name}");
            for (at, point) in track.points.iter().enumerate() {
                assert_eq!(point.time_ns, at as i64 * track.every as i64, "{name}");
                assert_eq!([point.amount(2), point.amount(classes)], [9, 0], "{name}");
            }
        }
    }
}
