//! The words of Mono's own tool for numbers.

use telemetry_format::Calendar;

use super::header::FileHead;
use super::layout::Version;
use super::text::Text;

pub(super) fn gc_step(step: u64) -> &'static str {
    match step {
        0 => "start",
        1 => "mark start",
        2 => "mark end",
        3 => "reclaim start",
        4 => "reclaim end",
        5 => "end",
        6 => "pre stop",
        7 => "post stop",
        8 => "pre start",
        9 => "post start",
        10 => "pre stop lock",
        11 => "post start unlock",
        _ => "unknown",
    }
}

pub(super) fn clause(kind: u64) -> &'static str {
    match kind {
        0 => "catch",
        1 => "filter",
        2 => "finally",
        4 => "fault",
        _ => "invalid",
    }
}

pub(super) fn monitor(step: u64) -> &'static str {
    match step {
        1 => "contended",
        2 => "acquired",
        3 => "not taken",
        _ => "invalid",
    }
}

pub(super) fn handle(kind: u64) -> &'static str {
    match kind {
        0 => "weak",
        1 => "weaktrack",
        2 => "normal",
        3 => "pinned",
        _ => "unknown",
    }
}

pub(super) fn sync(kind: u64) -> &'static str {
    match kind {
        0 => "periodic",
        1 => "world stop",
        2 => "world start",
        _ => "unknown",
    }
}

pub(super) fn code(kind: u64) -> &'static str {
    match kind {
        0 => "method",
        1 => "method trampoline",
        2 => "unbox trampoline",
        3 => "imt trampoline",
        4 => "generics trampoline",
        6 => "misc helper",
        7 => "monitor/lock",
        8 => "delegate invoke",
        9 => "exception handling",
        _ => "unspecified",
    }
}

/// Appends the head of a report.
pub(super) fn header(head: &FileHead, out: &mut Vec<u8>) {
    let version = head.version.stamp().data;
    out.text("\nMono log profiler data\n");
    if head.version == Version::One {
        out.text("\tData version: ").decimal(version.into()).text("\n");
        return;
    }
    out.text("\tProfiler version: ").decimal(head.major.into()).text(".").decimal(head.minor.into());
    out.text("\n\tData version: ").decimal(version.into());
    for (what, text) in ["Arguments", "Architecture", "Operating system"].into_iter().zip(&head.texts) {
        out.text("\n\t").text(what).text(": ").bytes(text);
    }
    out.text("\n\tMean timer overhead: ").signed((head.overhead_ns as i32).into());
    out.text(" nanoseconds\n\tProgram startup: ").text(&date(head.start_ms / 1000)).text("\n");
    if head.pid != 0 {
        out.text("\tProgram ID: ").signed((head.pid as i32).into()).text("\n");
    }
    if head.port != 0 {
        out.text("\tServer listening on: ").decimal(head.port.into()).text("\n");
    }
}

/// Returns a time in seconds since 1970, in the form of C's `ctime`, in UTC.
fn date(seconds: u64) -> String {
    const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Calendar { year, month, day, weekday, hour, minute, second } = Calendar::from_seconds(seconds);
    let (weekday, month) = (WEEKDAYS[usize::from(weekday)], MONTHS[usize::from(month) - 1]);
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_as_ctime_gives_them() {
        assert_eq!(date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date(951_868_799), "Tue Feb 29 23:59:59 2000");
        assert_eq!(date(1_795_231_241), "Sat Nov 21 03:20:41 2026");
        assert_eq!(date(4_102_444_799), "Thu Dec 31 23:59:59 2099");
        assert_eq!(date(u64::MAX / 1000).len(), "Sat Nov 21 03:20:41 ".len() + 9);
    }
}
