//! `telemetry check`: errors in registries, and their changes since the last release.

mod annotations;
mod fix;
mod found;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};

use telemetry_schema::LoadCause;

use self::found::{Compared, Found};
use self::report::{CheckReport, FileReport};
use crate::registry::args::RegistryArgs;
use crate::registry::released::{Released, incomparable};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::{Output, OutputArgs, append_json, keep_read};
use crate::text::count;
use crate::witness::{self, Witness};

const EXAMPLES: &str = "\
The command compares a registry with its lock, which `telemetry release` writes beside it: `events.lock` for
`events.toml`. Each change since then must raise the right number of the version; docs/versions.md lists
which. Standard output has a line for each valid registry, and its changes. Errors go to standard error.

Exit codes: 0 no error; 1 an error in a registry, or a version that is too low; 2 a registry or the other
side of the comparison cannot be read.

Examples:
  telemetry check                        the events.toml of this directory
  telemetry check --fix                  raise the version as the changes require
  telemetry check --against main         compare with a branch, tag or commit of git
  telemetry check --against v1.2:old/events.toml
  telemetry check --witness break.tel    show what an older decoder would misread
  telemetry check --github */events.toml annotations for GitHub Actions";

/// Check registries, and their versions against the last release
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registry files; `-` is standard input
    #[arg(value_name = "FILE", default_value = "events.toml")]
    files: Vec<PathBuf>,

    /// Compare with this registry or lock file, or else with a git revision: REV, or REV:PATH for
    /// another file
    #[arg(long, value_name = "FILE|REV")]
    against: Option<String>,

    /// Raise the version, and add `since` to appended parameters; keeps comments and layout
    #[arg(long)]
    fix: bool,

    /// Write events that an older decoder would misread: one stream, or one per median change to a
    /// directory (median: breaking for readers of the changed events)
    #[arg(long, value_name = "FILE|DIR")]
    witness: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgs,

    /// Also print annotations for GitHub Actions
    #[arg(long, conflicts_with = "json")]
    github: bool,

    #[command(flatten)]
    registry: RegistryArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        if self.fix && self.files.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::new("cannot fix standard input; help: name a file"));
        }
        let mut read = self.files.clone();
        read.extend(self.against.as_ref().map(PathBuf::from));
        self.witness.as_ref().map_or(Ok(()), |to| keep_read(to, &read))?;
        let mut output = self.output.open(&read)?;
        let mut reports = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let mut found = self.look_at(path);
            let mut fixes = Vec::new();
            if self.fix {
                fixes = fix::fix(&self.registry, path, &mut found)?;
            }
            let witnesses = self.witnesses(&found)?;
            let report = FileReport::new(path, &found, fixes, witnesses);
            if !self.json.is_on() {
                if self.github {
                    annotations::append(output.buffer(), path, &found, &report);
                }
                output.buffer().extend_from_slice(report.text().as_bytes());
                // This keeps the order of the files where both streams go to one place.
                output.flush()?;
            }
            say(path, &found);
            reports.push(report);
        }
        self.finish(output, reports, context)
    }
}

impl Args {
    fn look_at(&self, path: &Path) -> Found {
        let current = match self.registry.load(path) {
            Ok(current) => current,
            Err(error) => match error.cause {
                LoadCause::Io(_) => return Found::Unreadable(error),
                _ => return Found::Mistakes(error),
            },
        };
        let released = match &self.against {
            Some(against) => Released::named(against, path).map(Some),
            None if path.as_os_str() == "-" => Ok(None),
            None => Released::beside(path, &current),
        };
        match released {
            Err(failure) => Found::Incomparable(current, failure),
            Ok(None) => Found::Unreleased(current),
            Ok(Some(released)) => {
                let judgement = released.judge(&current);
                Found::Compared(Box::new(Compared { current, released, judgement }))
            }
        }
    }

    /// Writes the witnesses of the median changes, if requested.
    fn witnesses(&self, found: &Found) -> Result<Vec<Witness>, Failure> {
        let (Some(to), Found::Compared(compared)) = (&self.witness, found) else { return Ok(Vec::new()) };
        let Compared { current, released, judgement } = &**compared;
        match incomparable(judgement) {
            Some(_) => Ok(Vec::new()),
            None => witness::write(to, &released.lock, &current.registry, judgement),
        }
    }

    fn finish(&self, mut output: Output, files: Vec<FileReport>, context: &mut Context) -> Ended {
        let all = CheckReport { version: 1, files };
        if self.json.is_on() {
            append_json(output.buffer(), &all);
        }
        output.finish()?;
        let (unreadable, incomparable) = (all.count("unreadable"), all.count("incomparable"));
        if unreadable > 0 {
            return Err(Failure::new(format!("{} could not be read", count(unreadable, "file"))));
        }
        if incomparable > 0 {
            return Err(Failure::new(format!("{} could not be compared", count(incomparable, "file"))));
        }
        context.problem_if(all.count("good") < all.files.len() as u64);
        Ok(())
    }
}

/// Prints errors in the style of rustc.
fn say(path: &Path, found: &Found) {
    let text = match found {
        Found::Mistakes(error) | Found::Unreadable(error) => RegistryArgs::explain(error),
        Found::Unreleased(_) => return,
        Found::Incomparable(_, failure) => format!("error: {failure}"),
        Found::Compared(compared) => compared.problems(path),
    };
    if !text.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}\n", text.trim_end());
    }
}
