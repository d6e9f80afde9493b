//! Dates.

/// A moment in UTC, in the calendar.
///
/// Dates appear in decoded events and in other systems' logs. A library for them would take longer
/// to compile than these lines are worth: see `docs/design/reading.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calendar {
    /// The year, such as 2026.
    pub year: u64,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
    /// The day of the week. Sunday is 0.
    pub weekday: u8,
    /// The hour, from 0 to 23.
    pub hour: u8,
    /// The minute, from 0 to 59.
    pub minute: u8,
    /// The second, from 0 to 59. There are no leap seconds.
    pub second: u8,
}

impl Calendar {
    /// Returns the moment this many seconds after 1970 began.
    pub const fn from_seconds(seconds: u64) -> Calendar {
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // 1970 began on a Thursday.
        let weekday = ((days + 4) % 7) as u8;
        // The year begins in March, so that a leap day is its last. Eras have 400 years.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        Calendar {
            year: era * 400 + year + next,
            month: month as u8,
            day: day as u8,
            weekday,
            hour: (second / 3_600) as u8,
            minute: (second / 60 % 60) as u8,
            second: (second % 60) as u8,
        }
    }
}
