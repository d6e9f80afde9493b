//! `telemetry py`: a Python module for a relation.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use telemetry_decode::{Name, RUNTIME_REGISTRY};
use telemetry_format::MAGIC;
use telemetry_schema::{Registry, load};

use crate::exit::{Ended, Failure, Outcome, report};
use crate::input::{Inputs, display};
use crate::output::OutputArgs;

const EXAMPLES: &str = "\
The module needs Python 3.9 or later and nothing else; docs/python.md tells of its use.

Examples:
  telemetry py -o gc_events.py                  of the events.toml of this directory
  telemetry py gcbench.tel -o gc_events.py      of the relation that a stream carries
  python -m gc_events gcbench.tel               print the events of a stream
  telemetry py --check -o gc_events.py          for CI: exit with 1 if the file is out of date";

/// Make a Python module for a relation: its descriptions, classes of its events, and a reader
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A relation, or a stream that carries one; `-` is a relation on standard input
    #[arg(value_name = "FILE", default_value = "events.toml")]
    input: PathBuf,

    /// Of a stream with several registries, the one of this name or fingerprint
    #[arg(long, value_name = "NAME")]
    registry_name: Option<String>,

    /// Write nothing, and exit with 1 if the file of -o is not what would be written
    #[arg(long, requires = "output")]
    check: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let registry = self.registry()?;
        let module = codegen_python::module(&registry);
        match self.output.path().filter(|_| self.check) {
            Some(path) => self.compare(path, &module),
            None => {
                let mut output = self.output.open()?;
                output.buffer().extend_from_slice(module.as_bytes());
                output.finish()?;
                Ok(Outcome::Clean)
            }
        }
    }

    fn registry(&self) -> Result<Registry, Failure> {
        if is_stream(&self.input).map_err(|error| cannot_read(&self.input, &error))? {
            return self.of_stream();
        }
        let path = match self.input.as_os_str() == "-" {
            true => Path::new("/dev/stdin"),
            false => &self.input,
        };
        let registry = load(path)
            .map_err(|error| Failure::new(format!("cannot use {}:\n{error}", display(&self.input))))?
            .registry;
        let asked = self.registry_name.as_deref().map(Name::from);
        match asked.filter(|name| !name.is(registry.fingerprint(), &registry.name)) {
            Some(name) => Err(Failure::new(format!(
                "{} is registry {}, expected `{name}`",
                display(&self.input),
                registry.name
            ))),
            None => Ok(registry),
        }
    }

    /// The registry of a stream; the runtime's own only if it is asked for.
    fn of_stream(&self) -> Result<Registry, Failure> {
        let index = Inputs::new(vec![self.input.clone()], Vec::new()).index()?;
        let asked = self.registry_name.as_deref().map(Name::from);
        let is_meant = |registry: &Registry, fingerprint| match &asked {
            Some(name) => name.is(fingerprint, &registry.name),
            None => registry.name != RUNTIME_REGISTRY,
        };
        let mut meant = index.registries.iter().filter(|known| is_meant(&known.registry, known.fingerprint));
        match (meant.next(), meant.next()) {
            (Some(known), None) => Ok(known.registry.clone()),
            (None, _) => Err(Failure::new(format!(
                "{} has {}; it has {}",
                display(&self.input),
                asked.map_or("no registry".to_string(), |name| format!("no registry `{name}`")),
                list(index.registries.iter().map(|known| (&known.registry, known.fingerprint)))
            ))),
            (Some(_), Some(_)) => Err(Failure::new(format!(
                "{} has several registries: {}; help: choose one with --registry-name",
                display(&self.input),
                list(index.registries.iter().map(|known| (&known.registry, known.fingerprint)))
            ))),
        }
    }

    fn compare(&self, path: &Path, module: &str) -> Ended {
        let found = match std::fs::read(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                report(format!("{} does not exist; {}", display(path), self.help(path)));
                return Ok(Outcome::Problems);
            }
            Err(error) => return Err(cannot_read(path, &error)),
        };
        if found == module.as_bytes() {
            return Ok(Outcome::Clean);
        }
        let same = found.iter().zip(module.as_bytes()).take_while(|(a, b)| a == b).count();
        let line = found[..same].iter().filter(|byte| **byte == b'\n').count() + 1;
        report(format!("{} is out of date from line {line} on; {}", display(path), self.help(path)));
        Ok(Outcome::Problems)
    }

    fn help(&self, path: &Path) -> String {
        format!("help: telemetry py {} -o {}", self.input.display(), path.display())
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot read {}: {error}", display(path)))
}

fn list<'a>(registries: impl Iterator<Item = (&'a Registry, u64)>) -> String {
    let all = registries.map(|(registry, fingerprint)| {
        format!("{} {} ({fingerprint:016x})", registry.name, registry.version)
    });
    let all: Vec<_> = all.collect();
    if all.is_empty() { "none".to_string() } else { all.join(", ") }
}

/// True if a file begins as a stream does.
fn is_stream(path: &Path) -> io::Result<bool> {
    if path.as_os_str() == "-" || !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first == MAGIC)
}
