//! Events as `mpseventcnv` prints them. This code is for the tests alone, and follows the
//! description of that text.

use telemetry_decode::{Completeness, Event, Order, Reader, Session, Value};
use telemetry_foreign::mps::{MpsLog, unknown_code};

/// The content of a log.
pub(crate) struct Shown {
    /// By line: clock reading, code, values.
    pub(crate) text: String,
    pub(crate) sessions: Vec<Session>,
    pub(crate) completeness: Completeness,
    /// The number of events that the survey counted.
    pub(crate) counted: u64,
}

/// Reads a log.
pub(crate) fn shown(log: &[u8], order: Order) -> Shown {
    shown_by(MpsLog::new(), log, order)
}

pub(crate) fn shown_by(how: MpsLog, log: &[u8], order: Order) -> Shown {
    let mut events = Reader::from_log(log, how).order(order).events().expect("memory can be read");
    let counted = events.log_counts().expect("it is a log").iter().map(|count| count.count).sum();
    let mut text = String::new();
    while let Some(event) = events.next().expect("memory can be read") {
        line(&mut text, &event);
    }
    Shown { text, sessions: events.sessions().to_vec(), completeness: events.completeness(), counted }
}

/// Appends the line of an event.
pub(crate) fn line(text: &mut String, event: &Event<'_>) {
    if let Some(code) = unknown_code(event) {
        *text += &format!("{:016X} {code:4X}\n", event.ticks());
        return;
    }
    *text += &format!("{:016X} {:4X}", event.ticks(), event.schema().code);
    for value in event.values() {
        text.push(' ');
        match value {
            Value::F64(x) => *text += &general(x),
            Value::String(string) => {
                text.push('"');
                for char in String::from_utf8_lossy(string.0).chars() {
                    if matches!(char, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(char);
                }
                text.push('"');
            }
            value => *text += &format!("{:X}", value.as_i128().expect("all others are numbers")),
        }
    }
    text.push('\n');
}

/// Returns a number as C's `%.10G` prints it.
fn general(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() {
            "NAN"
        } else if x > 0.0 {
            "INF"
        } else {
            "-INF"
        }
        .to_string();
    }
    let scientific = format!("{x:.9E}");
    let (digits, exponent) = scientific.split_once('E').expect("it has an exponent");
    let exponent: i32 = exponent.parse().expect("which is a number");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..10).contains(&exponent) {
        return trim(&format!("{x:.*}", (9 - exponent) as usize));
    }
    format!("{}E{}{:02}", trim(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
