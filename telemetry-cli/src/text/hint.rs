//! Hints for names with a typing error.

use super::{escaped_text, grouped};

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

/// Lists the first names, and how many there are besides.
pub(crate) fn some_of(names: &[String]) -> String {
    let (first, rest) = names.split_at(names.len().min(MOST_NAMES));
    let first: Vec<String> = first.iter().map(|name| format!("`{}`", escaped_text(name))).collect();
    let more =
        if rest.is_empty() { String::new() } else { format!(" and {} more", grouped(rest.len() as u64)) };
    first.join(", ") + &more
}

/// More would hide the message.
const MOST_NAMES: usize = 8;
