//! The engine's errors in the words of the other commands: what was found, what was expected,
//! where, and what helps.

use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;

/// More names would hide the message.
const MOST_NAMES: usize = 12;

/// Returns the message of an error.
pub fn message(error: &DataFusionError) -> String {
    let place = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let place = place
        .map_or_else(String::new, |span| format!("line {}, column {}: ", span.start.line, span.start.column));
    match error.find_root() {
        DataFusionError::SQL(error, _) => of_parser(error),
        DataFusionError::SchemaError(error, _) => place + &of_schema(error),
        DataFusionError::External(error) => error.to_string(),
        DataFusionError::ResourcesExhausted(text) => {
            let text = text.split(" - ").next().unwrap_or(text);
            format!("the query needs more memory than it may have: {}", lower(text))
        }
        // What each type of a function lacks is long.
        DataFusionError::Internal(text) => place + &lower(text.split(", errors: ").next().unwrap_or(text)),
        DataFusionError::NotImplemented(text)
        | DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::Configuration(text) => place + &lower(text),
        DataFusionError::ArrowError(error, _) => place + &lower(&error.to_string()),
        error => place + &lower(&error.to_string()),
    }
}

/// Explains that no table has a name.
pub(crate) fn no_table(name: &str, tables: &[String]) -> String {
    // The tables of `telemetry sql` have this in front.
    let bare = name.strip_prefix("EVENT_").unwrap_or(name);
    let same = tables.iter().map(String::as_str).find(|table| table.eq_ignore_ascii_case(bare));
    let help = match same.or_else(|| telemetry_schema::nearest(bare, tables.iter().map(String::as_str))) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`telemetry query --tables FILE` lists the tables".to_string(),
    };
    format!("found no table `{name}`, expected {}; help: {help}", one_of(tables))
}

fn of_schema(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let names: Vec<String> = valid_fields.iter().map(|field| field.name.clone()).collect();
            let bare = names.iter().map(String::as_str);
            let help = telemetry_schema::nearest(&field.name, bare)
                .map_or_else(String::new, |nearest| format!("; help: did you mean `{nearest}`?"));
            let of =
                field.relation.as_ref().map_or_else(String::new, |table| format!(" in `{}`", table.table()));
            format!("found no column `{}`{of}, expected {}{help}", field.name, one_of(&names))
        }
        SchemaError::AmbiguousReference { field } => {
            let Column { name, .. } = &**field;
            format!("found column `{name}` in several tables, expected one; help: write `table.{name}`")
        }
        error => lower(&error.to_string()),
    }
}

fn of_parser(error: &ParserError) -> String {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => return "the query is nested too deeply".to_string(),
    };
    let (what, place) = match text.rsplit_once(" at Line: ") {
        Some((what, place)) => (what, format!("line {}: ", place.replace(", Column:", ", column"))),
        None => (text.as_str(), String::new()),
    };
    let what = what.replace("Expected: ", "expected ").replace(", found: ", ", found ");
    place + &lower(&what)
}

fn one_of(names: &[String]) -> String {
    if names.is_empty() {
        return "none: there are no names".to_string();
    }
    let (first, rest) = names.split_at(names.len().min(MOST_NAMES));
    let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
    let more = if rest.is_empty() { String::new() } else { format!(", or {} more", rest.len()) };
    format!("one of {}{more}", first.join(", "))
}

/// Returns the first line of a text. It begins with a lower case letter, unless it begins with a
/// name or an abbreviation.
fn lower(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim_end_matches('.');
    let mut letters = line.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            let rest = &line[first.len_utf8()..];
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => line.to_string(),
    }
}
