//! The results of `check`, as text and as JSON.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use telemetry_schema::version::{Demand, Judged};
use telemetry_schema::{Diagnostic, LoadCause};

use super::fix::Fix;
use super::found::{Compared, Found};
use crate::registry::args::summary;
use crate::registry::change::{ChangeReport, lines};
use crate::term::ended::Failure;
use crate::text::count;
use crate::witness::Witness;

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct CheckReport {
    pub(super) version: u32,
    pub(super) files: Vec<FileReport>,
}

#[derive(Serialize)]
pub(super) struct FileReport {
    file: String,
    /// `good`, `mistakes`, `bump missing`, `incomparable` or `unreadable`.
    pub(super) verdict: &'static str,
    /// Why it could not be read or compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mistakes: Vec<Mistake>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    registry: Option<RegistryReport>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    witnesses: Vec<Witness>,
    #[serde(skip)]
    summary: String,
}

#[derive(Serialize)]
struct RegistryReport {
    registry: String,
    registry_version: String,
    fingerprint: String,
}

/// An error and its place, from 1.
#[derive(Serialize)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Comparison {
    /// The other side of the comparison.
    pub(super) against: String,
    against_version: String,
    /// The lowest sufficient version.
    needed: String,
    pub(super) changes: Vec<JudgedReport>,
    /// Each `[[allow]]` that excuses nothing.
    pub(super) idle: Vec<Mistake>,
    /// Line and column of the version.
    #[serde(skip)]
    pub(super) version_at: (usize, usize),
}

#[derive(Serialize)]
pub(super) struct JudgedReport {
    #[serde(flatten)]
    pub(super) change: ChangeReport,
    /// True if the version is sufficient.
    pub(super) met: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<String>,
    /// The place in the registry, or of a removed item in the other side of the comparison.
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) gone: bool,
    /// The demand of the rule, and its reason.
    pub(super) note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help: Option<String>,
}

impl CheckReport {
    /// Counts the files with a verdict.
    pub(super) fn count(&self, verdict: &str) -> u64 {
        self.files.iter().filter(|file| file.verdict == verdict).count() as u64
    }
}

impl FileReport {
    pub(super) fn new(path: &Path, found: &Found, fixes: Vec<Fix>, witnesses: Vec<Witness>) -> FileReport {
        let file = path.display().to_string();
        let current = match found {
            Found::Mistakes(_) | Found::Unreadable(_) => None,
            Found::Unreleased(current) | Found::Incomparable(current, _) => Some(current),
            Found::Compared(compared) => Some(&compared.current),
        };
        let registry = current.map(|current| &current.registry);
        let (mistakes, why) = mistakes(found);
        FileReport {
            verdict: found.verdict(),
            why,
            mistakes,
            registry: registry.map(|registry| RegistryReport {
                registry: registry.name.clone(),
                registry_version: registry.version.to_string(),
                fingerprint: format!("{:016x}", registry.fingerprint()),
            }),
            comparison: match found {
                Found::Compared(compared) => Some(Comparison::new(compared, &file)),
                _ => None,
            },
            fixes,
            witnesses,
            summary: registry.map_or(String::new(), |registry| {
                format!("{file}: {}, fingerprint {:016x}", summary(registry), registry.fingerprint())
            }),
            file,
        }
    }

    /// Returns the text for standard output: fixes, and a line for a valid file.
    pub(super) fn text(&self) -> String {
        let mut out: String = self.fixes.iter().map(|fix| fix.text(&self.file)).collect();
        if let Some(comparison) = &self.comparison {
            for witness in &self.witnesses {
                witness.append_text(&mut out, &comparison.against_version);
            }
        }
        if self.verdict != "good" {
            return out;
        }
        out.push_str(&self.summary);
        let Some(Comparison { against, against_version, changes, .. }) = &self.comparison else {
            // Standard input has no lock beside it.
            out.push_str(if self.file == "-" { "\n" } else { ", not released\n" });
            return out;
        };
        if changes.is_empty() {
            let _ = writeln!(out, ", as in {against}");
            return out;
        }
        let number = count(changes.len() as u64, "change");
        let _ = writeln!(out, ", {number} since {against_version} of {against}");
        out + &lines(changes.iter().map(|judged| (&judged.change, judged.allowed.as_deref())))
    }
}

/// Lists the errors that prevent a comparison, or the other reason for it.
fn mistakes(found: &Found) -> (Vec<Mistake>, Option<String>) {
    let why = |error: String| error.strip_prefix("error: ").unwrap_or(&error).to_string();
    match found {
        Found::Mistakes(error) => match &error.cause {
            LoadCause::Invalid { text, invalid } => {
                let list = invalid.diagnostics.iter().map(|diagnostic| {
                    let (line, column) = diagnostic.position(text);
                    let (message, help) = (diagnostic.message.clone(), diagnostic.help.clone());
                    Mistake { line, column, message, help }
                });
                (list.collect(), None)
            }
            LoadCause::NotUtf8 { position: (line, column), .. } => {
                let (line, column) = (*line, *column);
                (vec![Mistake { line, column, message: why(error.to_string()), help: None }], None)
            }
            _ => (Vec::new(), Some(why(error.to_string()))),
        },
        Found::Unreadable(error) => (Vec::new(), Some(why(error.to_string()))),
        Found::Incomparable(_, Failure::Message(message)) => (Vec::new(), Some(message.clone())),
        _ => (Vec::new(), None),
    }
}

impl Comparison {
    fn new(compared: &Compared, file: &str) -> Comparison {
        let Compared { current, released, judgement } = compared;
        let report = released.report(judgement, file, current);
        let changes = judgement.changes.iter().map(|judged| {
            let ((line, column), gone) = report.position(&judged.change);
            JudgedReport {
                change: ChangeReport::new(&judged.change),
                met: judged.is_met,
                allowed: judged.allowed.clone(),
                line,
                column,
                gone,
                note: report.note(judged),
                help: needs_help(judged).then(|| report.help(&judged.change)).flatten(),
            }
        });
        let idle = judgement.idle.iter().map(|allow| {
            let message = report.idle(allow).lines().next().unwrap_or_default().to_string();
            let place = Diagnostic::new(allow.span.clone(), message);
            let (line, column) = place.position(&current.text);
            Mistake { line, column, message: place.message, help: None }
        });
        Comparison {
            against: released.name.clone(),
            against_version: judgement.released.to_string(),
            needed: judgement.target().to_string(),
            changes: changes.collect(),
            idle: idle.collect(),
            version_at: report.version_position(),
        }
    }
}

fn needs_help(judged: &Judged) -> bool {
    !judged.is_met && judged.change.rule.demand() == Demand::Refused
}
