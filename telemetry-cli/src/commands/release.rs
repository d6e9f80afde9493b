//! `telemetry release`: the lock against which the next changes of a registry are checked.

use std::io::Write;
use std::path::{Path, PathBuf};

use telemetry_schema::version::{Lock, without_allows};
use telemetry_schema::{LoadCause, lock_path};

use crate::git::GitFile;
use crate::registry::args::{RegistryArgs, summary};
use crate::registry::change::{ChangeReport, lines};
use crate::registry::released::{Released, incomparable, without_word};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::Output;
use crate::text::count;

const EXAMPLES: &str = "\
The command writes `events.lock` beside `events.toml`; commit both. The lock has the layout of each event and
the code of each past event, so that the compiler and `telemetry check` detect changes. It is written only if
the version fits the changes since the last release. The release then includes the changes that `[[allow]]`
permits, and removes each `[[allow]]`. A lock that cannot be read is never overwritten.

Exit codes: 0 released, or no change; 1 an error in the registry, or a version that is too low; 2 a file that
cannot be read or written, or a lock that is damaged, newer, or of another registry.

Examples:
  telemetry release                     the events.toml of this directory
  telemetry release --dry-run           show the release without writing it";

/// Release a registry: write the lock that later changes are checked against
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registry files
    #[arg(value_name = "FILE", default_value = "events.toml")]
    files: Vec<PathBuf>,

    /// Check and report without writing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    registry: RegistryArgs,
}

/// The reason why a registry is not released.
enum Refusal {
    /// It has errors, or its version is too low. This is the message.
    Problems(String),
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Failed(failure)
    }
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut failed = 0;
        for path in &self.files {
            let mut output = Output::stdout();
            match self.release(path) {
                Ok(said) => output.buffer().extend_from_slice(said.as_bytes()),
                Err(Refusal::Problems(text)) => {
                    context.problem_if(true);
                    say(&text);
                }
                Err(Refusal::Failed(Failure::Message(message))) => {
                    failed += 1;
                    say(&format!("error: {message}"));
                }
                Err(Refusal::Failed(failure)) => return Err(failure),
            }
            output.finish()?;
        }
        if failed > 0 {
            return Err(Failure::new(format!("{} could not be released", count(failed, "file"))));
        }
        Ok(())
    }
}

impl Args {
    /// Releases a registry, and returns the message.
    fn release(&self, path: &Path) -> Result<String, Refusal> {
        let current = self.registry.load(path).map_err(|error| match error.cause {
            LoadCause::Io(_) => Refusal::Failed(Failure::new(without_word(&RegistryArgs::explain(&error)))),
            _ => Refusal::Problems(error.to_string()),
        })?;
        let place = lock_path(path);
        let shown = place.display();
        let Some(released) = Released::lock(&place)? else {
            not_deleted(&place)?;
            self.write(&place, &Lock::of(&current.registry, None).to_text())?;
            let done = self.done();
            return Ok(format!("{shown}: {}, {done} for the first time\n", summary(&current.registry)));
        };
        let judgement = released.judge(&current);
        let named = path.display().to_string();
        let report = released.report(&judgement, &named, &current);
        if let Some(judged) = incomparable(&judgement) {
            return Err(Failure::new(report.change(judged)).into());
        }
        if !judgement.is_met() {
            return Err(Refusal::Problems(report.render()));
        }
        let version = judgement.version;
        let text = Lock::of(&current.registry, Some(&released.lock)).to_text();
        if released.has_text(&text) {
            return Ok(format!("{shown}: {} {version} is released already\n", current.registry.name));
        }
        self.write(&place, &text)?;
        let mut taken_out = String::new();
        if !current.allows.is_empty() {
            self.write(path, &without_allows(&current))?;
            taken_out =
                format!("{named}: what was allowed is released, and its `[[allow]]`s are taken out\n");
        }
        let changes = count(judgement.changes.len() as u64, "change");
        let (name, since) = (&current.registry.name, judgement.released);
        let mut said = format!("{shown}: {name} {version} {}, {changes} since {since}\n", self.done());
        let reports = judgement.changes.iter();
        let reports: Vec<_> =
            reports.map(|judged| (ChangeReport::new(&judged.change), judged.allowed.as_deref())).collect();
        said += &lines(reports.iter().map(|(change, allowed)| (change, *allowed)));
        Ok(said + &taken_out)
    }

    fn done(&self) -> &'static str {
        if self.dry_run { "would be released" } else { "is released" }
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        if self.dry_run {
            return Ok(());
        }
        let mut output = Output::to(path)?;
        output.buffer().extend_from_slice(text.as_bytes());
        output.finish()
    }
}

/// Refuses to replace a lock that is missing on disk but in git: its history would be lost.
fn not_deleted(place: &Path) -> Result<(), Failure> {
    let in_git = GitFile::find(place).and_then(|file| file.at("HEAD"));
    match in_git {
        // Without git, a repository or a revision, there is no other copy.
        Err(_) => Ok(()),
        Ok(_) => Err(Failure::new(format!(
            "`{}` is missing, but git has it; help: git restore {}, or commit its removal",
            place.display(),
            place.display()
        ))),
    }
}

/// Prints errors in the style of rustc.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}\n", text.trim_end());
}
