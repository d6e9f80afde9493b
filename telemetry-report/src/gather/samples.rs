//! Some events of each type, with their values.

use serde_json::Value as Json;
use telemetry_decode::{Event, Value};

/// The maximum of events with their values on the page.
const MAX_ROWS: usize = 24_000;

/// The minimum for a type, however many there are.
const MIN_ROWS: usize = 50;

/// The longest string of a value, in bytes. Longer ones are cut.
const MAX_STRING: usize = 200;

/// The most elements of an array that are shown.
const MAX_ELEMENTS: usize = 50;

/// Samples, by number of the event type.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) list: Vec<Sample>,
}

/// One of each `every` events of a type.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) every: u64,
    pub(crate) total: u64,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) moment: u64,
    pub(crate) thread: u32,
    pub(crate) values: Vec<Json>,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { every: 1, total: 0, rows: Vec::new() }
    }
}

impl Samples {
    /// Takes an event if it is one of the sample.
    #[inline]
    pub(crate) fn add(&mut self, number: u32, moment: u64, thread: u32, event: &Event<'_>) {
        if number as usize >= self.list.len() {
            self.list.resize_with(number as usize + 1, Sample::default);
        }
        let types = self.list.len();
        let sample = &mut self.list[number as usize];
        let index = sample.total;
        sample.total += 1;
        if index & (sample.every - 1) == 0 {
            let values = event.values().map(|value| json(event, &value)).collect();
            sample.rows.push(Row { moment, thread, values });
            sample.limit(types);
        }
    }

    /// Keeps no more events than fit on the page.
    pub(crate) fn limit(&mut self) {
        let types = self.list.len();
        self.list.iter_mut().for_each(|sample| sample.limit(types));
    }
}

impl Sample {
    /// Keeps each second event while there are too many.
    fn limit(&mut self, types: usize) {
        while self.rows.len() > (MAX_ROWS / types).max(MIN_ROWS) {
            let mut is_kept = false;
            self.rows.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.every *= 2;
        }
    }
}

/// Returns a value in the form of `telemetry print --json`, but with names of addresses, and with
/// long strings cut. Large numbers are text, because JavaScript rounds them.
fn json(event: &Event<'_>, value: &Value<'_>) -> Json {
    const EXACT: u64 = 1 << 53;
    let name = event.name_of_value(value).and_then(|name| name.text());
    match *value {
        Value::Label(number) => match event.label(number) {
            Some(text) => cut(text.to_string()),
            None => Json::from(number.to_string()),
        },
        Value::Word(number) | Value::Unsigned(number) if number > EXACT => Json::from(number.to_string()),
        Value::Signed(number) if number.unsigned_abs() > EXACT => Json::from(number.to_string()),
        Value::Pointer(_) | Value::Addr(_) => match name {
            Some(name) => cut(format!("{value} {name}")),
            None => Json::from(value.to_string()),
        },
        Value::String(text) => cut(text.to_string()),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().take(MAX_STRING).map(|byte| format!("{byte:02x}")).collect();
            with_length(hex, bytes.len(), bytes.len() > MAX_STRING)
        }
        Value::Array(array) => {
            let mut elements: Vec<_> =
                array.iter().take(MAX_ELEMENTS).map(|element| json(event, &element)).collect();
            if array.len() > MAX_ELEMENTS {
                elements.push(Json::from(format!("… ({} in all)", array.len())));
            }
            Json::from(elements)
        }
        value => serde_json::to_value(value).unwrap_or_default(),
    }
}

/// Cuts a long string at the end of a character.
fn cut(mut text: String) -> Json {
    let len = text.len();
    let end = (0..=MAX_STRING.min(len)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    // A string of a megabyte must not keep its memory.
    text.shrink_to_fit();
    with_length(text, len, end < len)
}

fn with_length(mut text: String, bytes: usize, is_cut: bool) -> Json {
    if is_cut {
        text += &format!("… ({bytes} bytes)");
    }
    Json::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_at_a_character() {
        assert_eq!(cut("short".to_string()), Json::from("short"));
        let long = "é".repeat(1_000_000);
        let Json::String(text) = cut(long) else { panic!("no string") };
        assert_eq!(text, format!("{}… (2000000 bytes)", "é".repeat(MAX_STRING / 2)));
    }
}
