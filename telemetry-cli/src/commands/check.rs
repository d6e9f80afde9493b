//! `telemetry check`: what is wrong with a relation.

use std::path::{Path, PathBuf};

use telemetry_schema::{LoadCause, LoadError, Registry, load};

use crate::exit::{Ended, Failure, Outcome};
use crate::output::OutputArgs;
use crate::text::count;

const EXAMPLES: &str = "\
Mistakes go to standard error, a line for each good relation to standard output.

Examples:
  telemetry check                        the events.toml of this directory
  telemetry check */events.toml";

/// Check relations, and report all mistakes in them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Relations; `-` is standard input
    #[arg(value_name = "FILE", default_value = "events.toml")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let mut output = self.output.open()?;
        let (mut mistakes, mut unreadable) = (0, 0);
        for path in &self.files {
            match load(on_disk(path)) {
                Ok(relation) => {
                    let line = format!("{}: {}\n", path.display(), summary(&relation.registry));
                    output.buffer().extend_from_slice(line.as_bytes());
                }
                Err(error) => {
                    // In the order of the files, also where both streams go to one place.
                    output.flush()?;
                    say(&error);
                    match error.cause {
                        LoadCause::Io(_) => unreadable += 1,
                        LoadCause::TooLarge | LoadCause::NotUtf8 { .. } | LoadCause::Invalid { .. } => {
                            mistakes += 1
                        }
                    }
                }
            }
        }
        output.finish()?;
        if unreadable > 0 {
            return Err(Failure::new(format!("{} could not be read", count(unreadable, "file"))));
        }
        Ok(Outcome::problems_if(mistakes > 0))
    }
}

/// The system's name for standard input, which is read as any file.
fn on_disk(path: &Path) -> &Path {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// As rustc does: without the program's name before it.
fn say(error: &LoadError) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{error}\n");
}

fn summary(registry: &Registry) -> String {
    let Registry { name, version, kinds, types, events, spans, .. } = registry;
    let retired = events.iter().filter(|event| !event.used).count();
    let numbers = [
        (kinds.len(), "kind"),
        (types.len(), "type"),
        (events.len(), "event"),
        (retired, "retired event"),
        (spans.len(), "span"),
    ];
    let numbers = numbers.iter().filter(|(number, _)| *number > 0);
    let numbers: Vec<_> = numbers.map(|(number, noun)| count(*number as u64, noun)).collect();
    format!("{name} {version}: {}, fingerprint {:016x}", numbers.join(", "), registry.fingerprint())
}
