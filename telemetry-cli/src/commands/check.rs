//! `telemetry check`: what is wrong with a relation, and what changed in it since it was released.

mod annotations;
mod fix;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};

use telemetry_schema::version::Judgement;
use telemetry_schema::{LoadCause, LoadError, Relation};

use self::report::{CheckReport, FileReport};
use crate::exit::{Ended, Failure, Outcome};
use crate::output::{Output, OutputArgs, append_json, keep_read};
use crate::relation::RelationArgs;
use crate::released::{Released, incomparable};
use crate::text::count;
use crate::witness::{self, Witness};

const EXAMPLES: &str = "\
A relation is compared with its lock, which `telemetry release` writes beside it: `events.lock` for
`events.toml`. Everything that changed since must have raised the right number of the version;
docs/versions.md says which change needs which. Mistakes and missing numbers go to standard error, a line
for each good relation and what changed in it to standard output.

Exit codes: 0 nothing is wrong; 1 a mistake in a relation, or a number that should have risen; 2 a relation
or what it should be compared with cannot be read.

Examples:
  telemetry check                        the events.toml of this directory
  telemetry check --fix                  raise the version as far as the changes need it
  telemetry check --against main         compare with what a branch, tag or commit of git has
  telemetry check --against v1.2:old/events.toml
  telemetry check --witness break.tel    show what older decoders would misread
  telemetry check --github */events.toml annotations for GitHub Actions";

/// Check relations, and their versions against what was released
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Relations; `-` is standard input
    #[arg(value_name = "FILE", default_value = "events.toml")]
    files: Vec<PathBuf>,

    /// Compare with this file, a relation or a lock, or, if there is none of that name, with a revision of
    /// git: REV has the relation itself, REV:PATH another one
    #[arg(long, value_name = "FILE|REV")]
    against: Option<String>,

    /// Raise the version and add `since` to appended parameters where that is all that is missing; comments
    /// and layout stay
    #[arg(long)]
    fix: bool,

    /// Write events of which older decoders would misread the bytes, were they not to look at the version: a stream
    /// that shows each median change, or, in a directory, one for each
    #[arg(long, value_name = "FILE|DIR")]
    witness: Option<PathBuf>,

    /// As one JSON object
    #[arg(long, conflicts_with = "github")]
    json: bool,

    /// Annotations for GitHub Actions on standard output, besides what else is said
    #[arg(long)]
    github: bool,

    #[command(flatten)]
    relation: RelationArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What was found out about a file.
enum Found {
    /// It is no relation.
    Mistakes(LoadError),
    /// Nothing could be found out.
    Unreadable(LoadError),
    /// It was never released.
    Unreleased(Relation),
    /// What it should be compared with cannot be had.
    Incomparable(Relation, Failure),
    Compared(Box<Compared>),
}

/// A relation, and what changed since.
struct Compared {
    relation: Relation,
    released: Released,
    judgement: Judgement,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        if self.fix && self.files.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::new("standard input cannot be fixed; help: name a file"));
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
                fixes = fix::fix(&self.relation, path, &mut found)?;
            }
            let witnesses = self.witnesses(&found)?;
            let report = FileReport::new(path, &found, fixes, witnesses);
            if !self.json {
                if self.github {
                    annotations::append(output.buffer(), path, &found, &report);
                }
                output.buffer().extend_from_slice(report.text().as_bytes());
                // In the order of the files, also where both streams go to one place.
                output.flush()?;
            }
            say(path, &found);
            reports.push(report);
        }
        self.finish(output, reports)
    }

    fn look_at(&self, path: &Path) -> Found {
        let relation = match self.relation.load(path) {
            Ok(relation) => relation,
            Err(error) => match error.cause {
                LoadCause::Io(_) => return Found::Unreadable(error),
                LoadCause::TooLarge | LoadCause::NotUtf8 { .. } | LoadCause::Invalid { .. } => {
                    return Found::Mistakes(error);
                }
            },
        };
        let released = match &self.against {
            Some(against) => Released::named(against, path).map(Some),
            None if path.as_os_str() == "-" => Ok(None),
            None => Released::beside(path, &relation),
        };
        match released {
            Err(failure) => Found::Incomparable(relation, failure),
            Ok(None) => Found::Unreleased(relation),
            Ok(Some(released)) => {
                let judgement = released.judge(&relation);
                Found::Compared(Box::new(Compared { relation, released, judgement }))
            }
        }
    }

    /// Writes the witnesses of the median changes, if they are asked for.
    fn witnesses(&self, found: &Found) -> Result<Vec<Witness>, Failure> {
        let (Some(to), Found::Compared(compared)) = (&self.witness, found) else { return Ok(Vec::new()) };
        let Compared { relation, released, judgement } = &**compared;
        match incomparable(judgement) {
            Some(_) => Ok(Vec::new()),
            None => witness::write(to, &released.lock, &relation.registry, judgement),
        }
    }

    fn finish(&self, mut output: Output, files: Vec<FileReport>) -> Ended {
        let all = CheckReport { version: 1, files };
        if self.json {
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
        Ok(Outcome::problems_if(all.count("good") < all.files.len() as u64))
    }
}

impl Found {
    /// In one word, as the JSON form has it.
    fn verdict(&self) -> &'static str {
        match self {
            Found::Mistakes(_) => "mistakes",
            Found::Unreadable(_) => "unreadable",
            Found::Unreleased(_) => "good",
            Found::Incomparable(..) => "incomparable",
            Found::Compared(compared) if incomparable(&compared.judgement).is_some() => "incomparable",
            Found::Compared(compared) if compared.judgement.is_met() => "good",
            Found::Compared(_) => "bump missing",
        }
    }
}

/// What is wrong, as rustc says it: without the program's name before it.
fn say(path: &Path, found: &Found) {
    let text = match found {
        Found::Mistakes(error) | Found::Unreadable(error) => error.to_string(),
        Found::Unreleased(_) => return,
        Found::Incomparable(_, failure) => format!("error: {failure}"),
        Found::Compared(compared) => compared.problems(path),
    };
    if !text.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}\n", text.trim_end());
    }
}

impl Compared {
    /// What is not met, as text; only why nothing can be compared, if that is so.
    fn problems(&self, path: &Path) -> String {
        let shown = path.display().to_string();
        let report = self.released.report(&self.judgement, &shown, &self.relation);
        match incomparable(&self.judgement) {
            Some(judged) => format!("error: {}", report.change(judged)),
            None => report.render(),
        }
    }
}
