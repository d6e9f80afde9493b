//! `telemetry py`: a Python module for a registry.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Input, Reader, Selector};
use telemetry_foreign::Format;
use telemetry_format::MAGIC;
use telemetry_schema::{LoadCause, LoadError, Registry, load_from};

use crate::input::inputs::{self};
use crate::input::opening::peek;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::OutputArgs;
use crate::text::path::display;

const EXAMPLES: &str = "\
The module needs only Python 3.9 or later, and with --package the Python package telemetry_events;
docs/python.md describes its use.

Examples:
  telemetry py -o gc_events.py                  for the events.toml of this directory
  telemetry py gcbench.tel -o gc_events.py      for the registry in a stream
  telemetry py --package -o gc_events.py        the same, without the reader in it
  python -m gc_events gcbench.tel               print the events of a stream
  telemetry py --check -o gc_events.py          for CI: exit with 1 if the file is out of date";

/// Generate a Python module for a registry: descriptions, event classes, and a reader
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registry file or stream; `-` is standard input
    #[arg(value_name = "FILE", default_value = "events.toml")]
    input: PathBuf,

    /// Only this registry of a stream: name or fingerprint
    #[arg(long, value_name = "NAME")]
    registry_name: Option<String>,

    /// Import the reader from the Python package telemetry_events
    #[arg(long)]
    package: bool,

    /// Write nothing, and exit with 1 if the file of -o is out of date
    #[arg(long, requires = "output")]
    check: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let registry = self.registry()?;
        let module = match self.package {
            true => telemetry_codegen_python::package_module(&registry),
            false => telemetry_codegen_python::module(&registry),
        };
        match self.output.path().filter(|_| self.check) {
            Some(path) => self.compare(path, &module, context),
            None => {
                let mut output = self.output.open(std::slice::from_ref(&self.input))?;
                output.buffer().extend_from_slice(module.as_bytes());
                output.finish()
            }
        }
    }
}

impl Args {
    fn registry(&self) -> Result<Registry, Failure> {
        let input = Input::open(&self.input).map_err(Failure::new)?;
        let (first, input) = peek(input).map_err(|error| cannot_read(&self.input, &error))?;
        if first.starts_with(&MAGIC) {
            return self.of_stream(input);
        }
        let input: Box<dyn Read> = match input {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
        };
        let registry = match load_from(input, &self.input) {
            Ok(file) => file.registry,
            Err(error) => return Err(self.no_registry(&error, Format::recognize(&first))),
        };
        let asked = self.registry_name.as_deref().map(Selector::from);
        match asked.filter(|name| !name.is(registry.fingerprint(), &registry.name)) {
            Some(name) => Err(Failure::new(format!(
                "{} is registry {}, expected `{name}`",
                display(&self.input),
                registry.name
            ))),
            None => Ok(registry),
        }
    }

    /// Returns the registry of a stream. The runtime's registry must be named.
    fn of_stream(&self, input: Input) -> Result<Registry, Failure> {
        let index = Reader::from_inputs(vec![input]).and_then(Reader::index).map_err(inputs::cannot_read)?;
        if let ([], [damage, ..]) = (&index.registries[..], &index.completeness.damage[..]) {
            let (name, why) = (display(&self.input), &damage.cause);
            return Err(Failure::new(format!("{name} has no readable registry: {why}")));
        }
        let asked = self.registry_name.as_deref().map(Selector::from);
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

    fn no_registry(&self, error: &LoadError, log: Option<Format>) -> Failure {
        let name = display(&self.input);
        match (&error.cause, log) {
            (LoadCause::NotUtf8 { .. }, Some(format)) => Failure::new(format!(
                "{name} is a log of format {}, expected a registry file or a stream; help: convert it with \
                 `telemetry convert --to telemetry`",
                format.name()
            )),
            _ => Failure::new(format!("cannot use {name}:\n{error}")),
        }
    }

    fn compare(&self, path: &Path, module: &str, context: &mut Context) -> Ended {
        let found = match std::fs::read(path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                context.problem(format!("{} does not exist; {}", display(path), self.help(path)));
                return Ok(());
            }
            Err(error) => return Err(cannot_read(path, &error)),
        };
        if found == module.as_bytes() {
            return Ok(());
        }
        let same = found.iter().zip(module.as_bytes()).take_while(|(a, b)| a == b).count();
        let line = found[..same].iter().filter(|byte| **byte == b'\n').count() + 1;
        context.problem(format!("{} is out of date from line {line} on; {}", display(path), self.help(path)));
        Ok(())
    }

    fn help(&self, path: &Path) -> String {
        let package = if self.package { "--package " } else { "" };
        format!("help: telemetry py {package}{} -o {}", self.input.display(), path.display())
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
