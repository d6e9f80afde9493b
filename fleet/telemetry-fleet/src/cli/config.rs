//! Options from a file: each option of the command is a key of the same name.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use telemetry_fleet::access::toml_problem;

/// Puts the options of the file that `--config` names before those of the command line, so that the
/// latter win. Lists of both add up.
pub(crate) fn with_file(own: &[OsString]) -> Result<Vec<OsString>, String> {
    let Some(path) = config(own) else { return Ok(own.to_vec()) };
    let path = Path::new(&path);
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| wrong(&toml_problem(&error, &text)))?;
    // The name of the program and the subcommand come first.
    let mut all = own[..2].to_vec();
    for (key, value) in table {
        let values = match value {
            toml::Value::Array(values) => values,
            toml::Value::Boolean(false) => continue,
            toml::Value::Boolean(true) => {
                all.push(format!("--{key}").into());
                continue;
            }
            value => vec![value],
        };
        for value in values {
            let text = match value {
                toml::Value::String(text) => text,
                toml::Value::Integer(number) => number.to_string(),
                other => {
                    return Err(wrong(&format!(
                        "`{key}` is a {}, expected a string or a number",
                        other.type_str()
                    )));
                }
            };
            all.push(format!("--{key}={text}").into());
        }
    }
    all.extend_from_slice(&own[2..]);
    Ok(all)
}

/// Returns the value of `--config`.
fn config(own: &[OsString]) -> Option<OsString> {
    let mut rest = own.get(2..)?.iter();
    while let Some(argument) = rest.next() {
        if argument == OsStr::new("--") {
            return None;
        }
        if argument == OsStr::new("--config") {
            return rest.next().cloned();
        }
        if let Some(value) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            return Some(value.into());
        }
    }
    None
}
