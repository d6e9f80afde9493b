//! The class of an amount, as text.

use telemetry_decode::{AddressName, Event, Value};

/// The most characters of a class that are kept.
const MOST_CHARACTERS: usize = 1024;

/// Returns the class that a parameter has, as text.
pub(super) fn class(event: &Event<'_>, param: usize) -> Option<String> {
    let numbers = event.numbers(param);
    let text = |value: &Value<'_>| -> Option<String> {
        let known = numbers.and_then(|numbers| event.string_of(numbers, value));
        Some(match *value {
            _ if known.is_some() => known?.to_string(),
            Value::String(text) => text.to_string(),
            Value::Label(label) => event.label(label).map_or_else(|| label.to_string(), str::to_string),
            Value::Pointer(place) | Value::Addr(place) => {
                let name = event.name_of_value(value).and_then(AddressName::text);
                name.map_or_else(|| format!("{place:#x}"), str::to_string)
            }
            Value::Named(named) => named.to_string(),
            _ => value.as_u64()?.to_string(),
        })
    };
    let mut class = match event.value(param)? {
        Value::Array(array) => {
            let parts: Option<Vec<String>> = array.iter().map(|value| text(&value)).collect();
            parts?.join(" < ")
        }
        value => text(&value)?,
    };
    if let Some((end, _)) = class.char_indices().nth(MOST_CHARACTERS) {
        class.truncate(end);
    }
    Some(class)
}
