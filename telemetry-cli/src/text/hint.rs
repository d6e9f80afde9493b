//! Hints for names with a typing error.

use super::escaped_text;

/// Formats a hint.
pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{}`?", escaped_text(name))
}

/// Formats the hint as the help of a message, if a name is similar.
pub(crate) fn help(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; help: {}", did_you_mean(name)))
}

/// Finds the name that is most similar to a word, if one is similar. A word may begin with its
/// registry's name.
pub(crate) fn nearest_name<'n>(word: &str, names: &'n [String]) -> Option<&'n str> {
    let bare = word.split_once(':').map_or(word, |(_, rest)| rest);
    telemetry_schema::nearest(bare, names.iter().map(String::as_str))
}
