//! `--fix`: raises the version and adds `since`, in the file itself.

use std::path::Path;

use serde::Serialize;
use telemetry_schema::version::fixed;

use super::found::{Compared, Found};
use crate::registry::args::RegistryArgs;
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::term::output::Output;

/// A changed line of the file.
#[derive(Serialize)]
pub(super) struct Fix {
    /// Its number in the changed file, from 1.
    line: usize,
    /// None if the line is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<String>,
    is: String,
}

impl Fix {
    pub(super) fn text(&self, file: &str) -> String {
        let was = self.was.as_ref().map_or(String::new(), |was| format!("- {was}\n"));
        format!("{file}:{}: fixed\n{was}+ {}\n", self.line, self.is)
    }
}

/// Raises the version of a file, or warns that this is not enough. Updates `found`.
///
/// # Errors
/// If the file cannot be written; it is unchanged then.
pub(super) fn fix(args: &RegistryArgs, path: &Path, found: &mut Found) -> Result<Vec<Fix>, Failure> {
    let Found::Compared(compared) = found else { return Ok(Vec::new()) };
    if compared.judgement.is_met() {
        return Ok(Vec::new());
    }
    let shown = path.display();
    let Some(new) = right(args, compared) else {
        warning(format!("`{shown}` is unchanged: a higher version does not fix all errors"));
        return Ok(Vec::new());
    };
    let mut output = Output::to(path)?;
    output.buffer().extend_from_slice(new.current.text.as_bytes());
    output.finish()?;
    let fixes = difference(&compared.current.text, &new.current.text);
    **compared = new;
    Ok(fixes)
}

/// Returns the corrected registry, if only its version and `since`s were wrong.
fn right(args: &RegistryArgs, compared: &Compared) -> Option<Compared> {
    let Compared { current, released, judgement } = compared;
    let current = args.parse(&fixed(current, judgement)?)?;
    let judgement = released.judge(&current);
    judgement.is_met().then(|| Compared { current, released: released.clone(), judgement })
}

/// Returns the lines that differ between a text and one in which some lines were changed and some
/// added.
fn difference(old: &str, new: &str) -> Vec<Fix> {
    let new: Vec<&str> = new.lines().collect();
    let mut old = old.lines().peekable();
    let mut added = new.len().saturating_sub(old.clone().count());
    let mut fixes = Vec::new();
    for (index, line) in new.iter().enumerate() {
        if old.next_if_eq(line).is_some() {
            continue;
        }
        // A line is new if the next line is an old one.
        let is_added = added > 0 && new.get(index + 1) == old.peek();
        added -= usize::from(is_added);
        let was = if is_added { None } else { old.next() };
        fixes.push(Fix { line: index + 1, was: was.map(str::to_string), is: line.to_string() });
    }
    fixes
}
