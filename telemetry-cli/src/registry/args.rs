//! Registry files as arguments.

use std::io::ErrorKind;
use std::path::Path;

use telemetry_schema::{LoadCause, LoadError, Registry, RegistryFile, load, parse_embedded};

use crate::text::count;

#[derive(clap::Args)]
pub(crate) struct RegistryArgs {
    /// Accept names that are reserved: the registry is the framework's own
    #[arg(long, hide = true)]
    own: bool,
}

impl RegistryArgs {
    /// Reads and checks a registry.
    ///
    /// # Errors
    /// If it cannot be read, or has errors.
    pub(crate) fn load(&self, path: &Path) -> Result<RegistryFile, LoadError> {
        let error = match load(on_disk(path)) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        match &error.cause {
            LoadCause::Invalid { text, .. } => self.of_own(text).ok_or(error),
            _ => Err(error),
        }
    }

    /// Returns the message of an error, with its help.
    pub(crate) fn explain(error: &LoadError) -> String {
        let help = match &error.cause {
            LoadCause::Io(cause) if cause.kind() == ErrorKind::NotFound => {
                "; help: `telemetry init` writes a first events.toml"
            }
            _ => "",
        };
        format!("{error}{help}")
    }

    /// Reads and checks the text of a registry. Returns nothing if it has errors.
    pub(crate) fn parse(&self, text: &str) -> Option<RegistryFile> {
        RegistryFile::parse(text).ok().or_else(|| self.of_own(text))
    }

    fn of_own(&self, text: &str) -> Option<RegistryFile> {
        let registry = self.own.then(|| parse_embedded(text).ok()).flatten()?;
        Some(RegistryFile::new(registry, text))
    }
}

/// Replaces `-` by the system's path of standard input.
pub(crate) fn on_disk(path: &Path) -> &Path {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// Describes a registry briefly: `gc 1.2.3: 4 kinds, 7 events`.
pub(crate) fn summary(registry: &Registry) -> String {
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
    format!("{name} {version}: {}", numbers.join(", "))
}
