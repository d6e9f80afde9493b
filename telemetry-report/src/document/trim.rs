//! Objects of `telemetry stats --json` and `telemetry spans --json`, made fit for the page.

use serde_json::Value as Json;

use crate::gather::cut::cut;

/// JavaScript rounds larger numbers.
const EXACT: u64 = 1 << 53;

/// Members that the page has elsewhere.
const LEFT_OUT: [&str; 2] = ["rate", "unmatched"];

/// Lists that grow with the number of threads or losses.
const LIMITED: [&str; 6] = ["threads", "losses", "unaccounted", "unended_sessions", "damage", "undecodable"];

/// Writes large numbers as text, leaves out what the page does not show, and cuts long lists.
pub(super) fn trim(value: &mut Json, listed: usize) {
    match value {
        Json::Number(number) => {
            let is_exact = number.is_f64()
                || number.as_u64().is_some_and(|number| number <= EXACT)
                || number.as_i64().is_some_and(|number| number.unsigned_abs() <= EXACT);
            if !is_exact {
                *value = Json::from(number.to_string());
            }
        }
        Json::String(text) => *text = cut(text),
        Json::Array(values) => values.iter_mut().for_each(|value| trim(value, listed)),
        Json::Object(members) => {
            members.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
            for (name, value) in members.iter_mut() {
                if let Json::Array(list) = value
                    && LIMITED.contains(&name.as_str())
                {
                    list.truncate(listed);
                }
                trim(value, listed);
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_numbers_become_text_and_long_lists_short() {
        let mut value = json!({
            "max": u64::MAX, "min": i64::MIN, "p50": 9_007_199_254_740_992_u64, "mean": 1e300,
            "threads": [1, 2, 3], "events": [{ "rate": [1, 2], "top": ["x"] }],
        });
        trim(&mut value, 2);
        let expected = json!({
            "max": "18446744073709551615", "min": "-9223372036854775808", "p50": 9_007_199_254_740_992_u64,
            "mean": 1e300, "threads": [1, 2], "events": [{ "top": ["x"] }],
        });
        assert_eq!(value, expected);
    }
}
