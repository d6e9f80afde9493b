//! The changes that have a witness, and the files of witnesses.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use telemetry_schema::Registry;
use telemetry_schema::version::{Change, Demand, Judgement, Lock, Rule, Target};

use super::misreading::{self, Misreading};
use super::{old, sample};
use crate::term::ended::Failure;
use crate::term::output::Output;

/// A demonstration of a median change.
#[derive(Serialize)]
pub(crate) struct Witness {
    rule: &'static str,
    message: String,
    /// The stream; none if no byte is misread.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Events as they were written and as they would be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Misreading>,
    /// What else breaks, if no byte is misread.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaks: Option<String>,
}

/// Writes the witnesses of all median changes: into one file, or one file each if there is a
/// directory of that name.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(
    to: &Path,
    lock: &Lock,
    registry: &Registry,
    judgement: &Judgement,
) -> Result<Vec<Witness>, Failure> {
    let Some(old) = old::registry(lock) else {
        return Err(Failure::new("the released registry cannot be rebuilt from its lock file"));
    };
    let changes = judgement.changes.iter().map(|judged| &judged.change);
    let mut witnesses = Vec::new();
    let mut codes: Vec<u16> = Vec::new();
    for change in changes.filter(|change| change.rule.demand() == Demand::Median) {
        let (rule, message) = (change.rule.name(), change.message());
        let code = sample::event(change, registry);
        let events = code.map_or(Ok(Vec::new()), |code| misreading::of(change, &old, registry, code))?;
        let mut witness = Witness { rule, message, file: None, events, breaks: None };
        match code.filter(|_| !witness.events.is_empty()) {
            None => witness.breaks = Some(breaks(change)),
            Some(code) => {
                let file =
                    if to.is_dir() { of_its_own(to, witnesses.len(), change) } else { to.to_path_buf() };
                if to.is_dir() {
                    write_stream(&file, registry, &[code])?;
                } else if !codes.contains(&code) {
                    codes.push(code);
                }
                witness.file = Some(file.display().to_string());
            }
        }
        witnesses.push(witness);
    }
    if !codes.is_empty() {
        write_stream(to, registry, &codes)?;
    }
    Ok(witnesses)
}

fn write_stream(path: &Path, registry: &Registry, codes: &[u16]) -> Result<(), Failure> {
    let stream = sample::stream(registry, codes)?;
    let mut output = Output::to(path)?;
    output.buffer().extend_from_slice(&stream);
    output.finish()
}

fn of_its_own(dir: &Path, number: usize, change: &Change) -> PathBuf {
    let target = Target::of(change.thing());
    let names: Vec<&str> = target.keys().map(|(_, name)| name).collect();
    dir.join(format!("{:02}-{}-{}.tel", number + 1, change.rule.name(), names.join(".")))
}

/// Explains what breaks although no byte is misread.
fn breaks(change: &Change) -> String {
    let name = |thing: &Option<telemetry_schema::version::Thing>| {
        thing.as_ref().map_or(String::new(), |thing| thing.name().to_string())
    };
    let (was, is) = (name(&change.old), name(&change.new));
    match change.rule {
        Rule::EventRenamed => format!("a search for event `{was}` no longer finds it: it is now `{is}`"),
        Rule::EventForgotten => format!("new tools no longer know the code of `{was}` in old streams"),
        Rule::ParamRenamed => format!("a search for parameter `{was}` no longer finds it: it is now `{is}`"),
        Rule::KindRenamed => format!("the word `{was}` switches and filters nothing: it is `{is}` now"),
        Rule::KindRemoved => format!("the word `{was}` switches and filters nothing"),
        Rule::TypeRenamed => format!("code that names the type `{was}` does not compile: it is `{is}` now"),
        Rule::TypeRemoved => format!("code that names the type `{was}` does not compile"),
        Rule::ValueRemoved => {
            format!("code that names `{was}` does not compile, and old streams may have it")
        }
        _ => change.rule.row().why.to_string(),
    }
}

impl Witness {
    /// Appends text for people: the change, what was written, and what would be read.
    pub(crate) fn append_text(&self, out: &mut String, released: &str) {
        let _ = writeln!(out, "witness: {}", self.message);
        let reader = format!("read by {released}");
        for event in &self.events {
            let _ = writeln!(out, "  {:width$}  {}", "written now", event.wrote, width = reader.len());
            let _ = writeln!(out, "  {reader}  {}", event.would_read);
        }
        if let Some(breaks) = &self.breaks {
            let _ = writeln!(out, "  no byte is misread; {breaks}");
        }
        if let Some(file) = &self.file {
            let _ = writeln!(out, "  in {file}");
        }
    }
}
