//! The verdict on a stream in a few lines.

use std::fmt::{self, Formatter};

use telemetry_format::{Count, Grouped};

use crate::report::completeness::{Cause, Completeness};

/// Prints the verdict. The first line is the verdict itself; each further line names one problem.
impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.total();
        if self.sessions.is_empty() {
            write!(f, "nothing to read: no session in {}", Count(bytes, "byte"))?;
        } else if self.is_whole() {
            let verdict = if self.is_complete() { "complete" } else { "read" };
            let (events, blocks) = (Count(self.events, "event"), Count(self.blocks, "block"));
            write!(f, "{verdict}: {events}, {blocks}, {}", Count(bytes, "byte"))?;
        } else {
            let sum = self.events.saturating_add(self.missing()).saturating_add(self.lost().events());
            write!(
                f,
                "incomplete: {} of {} read",
                Grouped::from(self.events),
                Count(sum.saturating_add(self.filtered()), "event")
            )?;
        }
        self.write_lost(f)?;
        self.write_missing(f)?;
        self.write_damage(f)?;
        for (code, blocks) in &self.unknown_blocks {
            write!(f, "\n  unknown: {} of type {code}", Count(*blocks, "block"))?;
        }
        if let Some((at, why)) = self.unreadable.first() {
            let others = Count(self.unreadable.len() as u64, "block");
            write!(f, "\n  not understood: {others}; the first at byte {at}: {}", one_line(why))?;
        }
        let running = self.sessions.iter().filter(|(_, ended)| !ended).count();
        if running > 0 {
            let of = Count(self.sessions.len() as u64, "session");
            write!(f, "\n  without an end: {running} of {of} (still running, killed, or truncated)")?;
        }
        if self.may_be_truncated() {
            write!(f, "\n  may be truncated: {}", self.why_may_be_truncated())?;
        }
        if self.excluded() > 0 {
            write!(f, "\n  excluded: {} of kinds that were not output", Count(self.excluded(), "event"))?;
        }
        if self.left_out() > 0 {
            write!(f, "\n  left out by limits: {}", Count(self.left_out(), "event"))?;
        }
        if self.filtered() > 0 {
            write!(f, "\n  filtered out: {}", Count(self.filtered(), "event"))?;
        }
        for name in &self.unmatched {
            write!(f, "\n  the filter names {name}, which is not in the stream")?;
        }
        Ok(())
    }
}

impl Completeness {
    /// Returns the number of events that the filter excludes, in all lanes.
    pub fn filtered(&self) -> u64 {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.filtered))
    }

    /// Returns the reason why the input may be truncated without a sign of it.
    pub fn why_may_be_truncated(&self) -> &'static str {
        if self.is_of_logs {
            "the format has no end mark"
        } else {
            "the log it was made from has no end mark"
        }
    }

    fn write_lost(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lost = self.lost();
        if lost.events() > 0 {
            let causes: Vec<_> = lost
                .causes()
                .map(|(cause, events)| format!("{} {}", Grouped::from(events), cause.text()))
                .collect();
            write!(f, "\n  lost in the program: {} ({})", Count(lost.events(), "event"), causes.join(", "))?;
        }
        if lost.truncated > 0 {
            let (strings, end) =
                (Count(lost.truncated, "string"), if lost.truncated == 1 { "" } else { "s" });
            write!(f, "\n  truncated to their limit: {strings} or array{end}")?;
        }
        Ok(())
    }

    fn write_missing(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let missing = self.missing();
        if missing == 0 {
            return Ok(());
        }
        let unread = self.lanes.iter().fold(0_u64, |sum, lane| sum.saturating_add(lane.unread)).min(missing);
        write!(f, "\n  missing: {}", Count(missing, "event"))?;
        match (unread, missing - unread) {
            (0, _) => write!(f, " of absent blocks"),
            (_, 0) => write!(f, " of damaged or undecodable blocks"),
            (unread, absent) => {
                let (unread, absent) = (Grouped::from(unread), Grouped::from(absent));
                write!(f, ", {unread} of damaged or undecodable blocks, {absent} of absent blocks")
            }
        }
    }

    fn write_damage(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(damage) = self.damage.first() {
            let (ranges, bytes) = (Count(self.damaged_ranges, "range"), Count(self.bytes.damaged, "byte"));
            let (start, cause) = (damage.range.start, damage.cause.clone());
            let at = if matches!(cause, Cause::LeftOut(_)) { "from" } else { "the first at" };
            write!(f, "\n  damaged: {ranges}, {bytes}; {at} byte {start}: {cause}")?;
        }
        if let Some(part) = self.undecodable.first() {
            let (start, reason) = (part.range.start, part.reason);
            let parts = Count(self.undecodable_parts, "part");
            write!(f, "\n  undecodable: {parts}; the first at byte {start}: {reason}")?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
