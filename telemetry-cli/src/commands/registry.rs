//! `telemetry registry`: the registries that a program contains.

use std::path::{Path, PathBuf};

use serde::Serialize;
use telemetry_schema::{Registry, own};

use crate::registry::in_program::{Contained, search};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::output::Output;
use crate::text::path::display;
use crate::text::table::Table;
use crate::text::{count, escaped_text};

const EXAMPLES: &str = "\
The program need not run, and may be stripped. The command also reads libraries, ring files, core dumps and
streams. A registry of which no code uses an emitter is usually not in the program. The exit code is 1 if a
file contains no registry.

Examples:
  telemetry registry ./app
  telemetry registry --events ./app            also the events
  telemetry registry --toml cache ./app        the registry itself, for `--registry`
  telemetry registry --json ./app | jq -r '.files[].registries[].name'";

/// List the registries, versions and events that a program contains
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Programs, libraries, memory images and streams
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// List the events of each registry
    #[arg(long, conflicts_with = "toml")]
    events: bool,

    /// Print the registry of this name in its canonical form
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    toml: Option<String>,

    #[command(flatten)]
    json: JsonArgs,
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct Listed {
    version: u32,
    files: Vec<FileListed>,
}

#[derive(Serialize)]
struct FileListed {
    file: String,
    /// Version and variety of each runtime.
    runtimes: Vec<String>,
    registries: Vec<RegistryListed>,
}

#[derive(Serialize)]
struct RegistryListed {
    name: String,
    version: String,
    fingerprint: String,
    doc: String,
    events: Vec<EventListed>,
}

#[derive(Serialize)]
struct EventListed {
    code: u16,
    name: String,
    kind: String,
    doc: String,
    /// Whether code calls the emitter; null if the file does not tell.
    called: Option<bool>,
    /// The runtime samples it, so that no code calls an emitter.
    #[serde(skip)]
    is_counter: bool,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut found = Vec::new();
        for file in &self.files {
            let contained = search(file).map_err(|error| cannot_read(file, &error))?;
            if contained.registries.is_empty() {
                context.problem(nothing(file, &contained));
            }
            found.push((file, contained));
        }
        if let Some(name) = &self.toml {
            return self.print(name, &found);
        }
        let files = found.iter().map(|(file, contained)| FileListed::new(file, contained)).collect();
        let listed = Listed { version: 1, files };
        Output::stdout().show(self.json.is_on(), &listed, |out| listed.append_text(self.events, out))
    }
}

impl Args {
    /// Prints the newest version of a registry.
    fn print(&self, name: &str, found: &[(&PathBuf, Contained)]) -> Ended {
        let all = || found.iter().flat_map(|(_, contained)| &contained.registries);
        let Some((_, registry)) = all().filter(|((known, ..), _)| known == name).max_by_key(|(key, _)| *key)
        else {
            let mut names: Vec<_> = all().map(|((known, ..), _)| format!("`{known}`")).collect();
            names.dedup();
            let has = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            return Err(Failure::new(format!("found no registry `{name}`; help: the registries are {has}")));
        };
        let mut output = Output::stdout();
        output.buffer().extend_from_slice(registry.to_toml().as_bytes());
        output.finish()
    }
}

fn cannot_read(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot read {}: {error}", display(file)))
}

fn nothing(file: &Path, contained: &Contained) -> String {
    let why = match contained.runtimes.is_empty() {
        true => {
            "it was built without telemetry or with TELEMETRY_VARIETY=rash, or loads a library that has them"
        }
        false => "it was built with an older version of telemetry, or no code uses an emitter",
    };
    format!("{} contains no registry; help: {why}", display(file))
}

impl FileListed {
    fn new(file: &Path, contained: &Contained) -> FileListed {
        // The runtime's own registry is last: the program's are what is asked for.
        let (own, programs): (Vec<_>, Vec<_>) =
            contained.registries.values().partition(|registry| registry.name == own::NAME);
        FileListed {
            file: file.display().to_string(),
            runtimes: contained.runtimes.clone(),
            registries: programs
                .into_iter()
                .chain(own)
                .map(|registry| RegistryListed::new(registry, contained))
                .collect(),
        }
    }
}

impl RegistryListed {
    fn new(registry: &Registry, contained: &Contained) -> RegistryListed {
        let fingerprint = registry.fingerprint();
        let used = registry.events.iter().filter(|event| event.used);
        let events = used.map(|event| EventListed {
            code: event.code,
            name: event.name.clone(),
            kind: registry.kind_of(event).name.clone(),
            doc: event.doc.clone(),
            called: contained.is_called(fingerprint, event.code).filter(|_| event.counter.is_none()),
            is_counter: event.counter.is_some(),
        });
        RegistryListed {
            name: registry.name.clone(),
            version: registry.version.to_string(),
            fingerprint: format!("{fingerprint:016x}"),
            doc: registry.doc.clone(),
            events: events.collect(),
        }
    }
}

impl RegistryListed {
    /// Returns the events that no code of a program calls, in words. Nothing if code may call all.
    fn uncalled(&self) -> Option<String> {
        let events = || self.events.iter().filter(|event| !event.is_counter);
        let names: Vec<&str> =
            events().filter(|event| event.called == Some(false)).map(|event| event.name.as_str()).collect();
        match names.is_empty() {
            false => Some(names.join(", ")),
            // No program calls those of the runtime.
            true if self.name == own::NAME => None,
            // All are called, or there are only counters.
            true if events().all(|event| event.called.is_some()) => None,
            true => Some("not known".to_string()),
        }
    }
}

impl Listed {
    fn append_text(&self, has_events: bool, out: &mut Vec<u8>) {
        for (index, FileListed { file, runtimes, registries }) in self.files.iter().enumerate() {
            if index > 0 {
                out.push(b'\n');
            }
            let with =
                if runtimes.is_empty() { String::new() } else { format!(" ({})", runtimes.join(", ")) };
            out.extend_from_slice(format!("{}{}\n", escaped_text(file), escaped_text(&with)).as_bytes());
            let mut table =
                Table::new(2, &["registry", "version", "events", "fingerprint", "doc"]).with_words_last();
            for registry in registries {
                let RegistryListed { name, version, fingerprint, doc, events } = registry;
                let events = events.len().to_string();
                table.row([name.clone(), version.clone(), events, fingerprint.clone(), escaped_text(doc)]);
            }
            table.append_if_any(out);
            for registry in registries {
                if let Some(uncalled) = registry.uncalled().filter(|_| !runtimes.is_empty()) {
                    let line = format!("\nevents of {} that no code calls: {uncalled}\n", registry.name);
                    out.extend_from_slice(line.as_bytes());
                }
            }
            for registry in registries.iter().filter(|_| has_events) {
                let events = count(registry.events.len() as u64, "event");
                out.extend_from_slice(
                    format!("\n{} {}: {events}\n", registry.name, registry.version).as_bytes(),
                );
                let mut table = Table::new(2, &["event", "kind", "code", "doc"]).with_words_last();
                for EventListed { code, name, kind, doc, .. } in &registry.events {
                    table.row([name.clone(), kind.clone(), format!("{code:#06x}"), escaped_text(doc)]);
                }
                table.append_if_any(out);
            }
        }
    }
}
