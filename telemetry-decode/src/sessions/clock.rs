//! Converts clock readings to nanoseconds.

/// The line through a session's start that converts ticks to nanoseconds.
///
/// The start is the session block's pair of clock readings. The rate is the session's own estimate
/// (`ticks_per_second`), until a block's pair is far enough from the start to improve it; see
/// [`Clock::refine`].
///
/// ```
/// use telemetry_decode::Clock;
///
/// let clock = Clock::nanoseconds(1_000, 1_700_000_000_000_000_000);
/// assert_eq!(clock.ns(1_250), 250);
/// assert_eq!(clock.wall_ns(1_250), 1_700_000_000_000_000_250);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    start_ticks: u64,
    start_wall: u64,
    /// Nanoseconds per tick: the integer part, and the rest in units of 2^-64.
    whole: u64,
    part: u64,
    /// Ticks per second according to the session; 0 if it states none.
    said: u64,
    /// Distance in ticks of the pair that determines the rate.
    span: u64,
    /// Ticks are nanoseconds: there is nothing to refine.
    exact: bool,
}

/// The minimum distance of a pair from the start. The two readings of a pair are a microsecond or
/// more apart, so a nearer pair is less accurate than the session's own estimate.
const MIN_DISTANCE_NS: u64 = 1_000_000;

impl Clock {
    /// Creates a clock whose ticks are nanoseconds.
    pub const fn nanoseconds(start_ticks: u64, start_wall: u64) -> Self {
        Clock { start_ticks, start_wall, whole: 1, part: 0, said: 0, span: 0, exact: true }
    }

    /// Creates a clock of `per_second` ticks, which is an estimate; 0 is unknown.
    pub fn ticks(start_ticks: u64, start_wall: u64, per_second: u64) -> Self {
        let mut clock = Clock { exact: false, ..Clock::nanoseconds(start_ticks, start_wall) };
        if clock.set_rate(1_000_000_000, per_second) {
            clock.said = per_second;
        }
        clock
    }

    /// Takes the rate from another pair of readings: ticks, and nanoseconds since 1970. A pair that
    /// is less than twice as far from the start as the one in use is ignored.
    ///
    /// If the session gives an estimate, some pairs are ignored: those less than a millisecond from
    /// the start, and those that would halve or double the rate because the wall clock was set.
    pub fn refine(&mut self, ticks: u64, wall: u64) {
        self.refine_beyond(self.span.saturating_mul(2), ticks, wall);
    }

    /// Works as [`Clock::refine`], for any pair that is farther than the one in use.
    pub fn refine_farthest(&mut self, ticks: u64, wall: u64) {
        self.refine_beyond(self.span.saturating_add(1), ticks, wall);
    }

    fn refine_beyond(&mut self, least: u64, ticks: u64, wall: u64) {
        let (ticks, ns) = (ticks.saturating_sub(self.start_ticks), wall.saturating_sub(self.start_wall));
        if self.exact || ticks == 0 || ns == 0 || ticks < least {
            return;
        }
        if self.said != 0 {
            let expected = u128::from(ticks) * 1_000_000_000 / u128::from(self.said);
            let near = expected / 2..=expected.saturating_mul(2);
            if ns < MIN_DISTANCE_NS || !near.contains(&u128::from(ns)) {
                return;
            }
        }
        if self.set_rate(ns, ticks) {
            self.span = ticks;
        }
    }

    /// Returns the nanoseconds from the session's start to a reading, rounded; negative before it.
    #[inline]
    pub fn ns(&self, ticks: u64) -> i64 {
        let distance = ticks.wrapping_sub(self.start_ticks) as i64;
        let ns = self.span_ns(distance.unsigned_abs());
        if distance < 0 { -ns } else { ns }
    }

    #[inline]
    fn span_ns(&self, ticks: u64) -> i64 {
        let part = (u128::from(ticks) * u128::from(self.part) + (1 << 63)) >> 64;
        let ns = ticks.saturating_mul(self.whole).saturating_add(part as u64);
        i64::try_from(ns).unwrap_or(i64::MAX)
    }

    /// Returns the nanoseconds from 1970-01-01 UTC to a reading.
    #[inline]
    pub fn wall_ns(&self, ticks: u64) -> i64 {
        self.ns(ticks).saturating_add_unsigned(self.start_wall)
    }

    /// Returns the reading at the session's start.
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// Returns the session's start in nanoseconds since 1970-01-01 UTC.
    pub fn start_wall(&self) -> u64 {
        self.start_wall
    }

    /// Returns the reading of the pair that determines the rate; the session's start for the
    /// session's estimate.
    pub fn rated_at(&self) -> u64 {
        self.start_ticks.saturating_add(self.span)
    }

    /// Returns the rate in use.
    pub fn ticks_per_second(&self) -> f64 {
        1e9 / (self.whole as f64 + self.part as f64 / 2_f64.powi(64))
    }

    /// Sets the rate. Returns false, without a change, for an invalid rate.
    fn set_rate(&mut self, ns: u64, ticks: u64) -> bool {
        if ns == 0 || ticks == 0 {
            return false;
        }
        let whole = ns / ticks;
        let part = (u128::from(ns % ticks) << 64) / u128::from(ticks);
        if whole == 0 && part == 0 {
            return false;
        }
        (self.whole, self.part) = (whole, part as u64);
        true
    }
}
