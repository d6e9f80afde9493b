//! The inputs of a command.

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use telemetry_decode::blocks::Index;
use telemetry_decode::names::{RUNTIME_REGISTRY, take_names};
use telemetry_decode::{Error, Events, Filter, Input, Order, Reader};
use telemetry_schema::{Event, LoadCause, LoadError, Param, Registry, parse_embedded};

use crate::input::fit::version_with;
use crate::input::opening::FormatArgs;
use crate::term::ended::Failure;
use crate::term::message::warning;
use crate::text::count;
use crate::text::path::display;

/// Returns the input of a command that names none: the default stream if there is one, otherwise
/// standard input if it is a pipe or a file.
fn default_input() -> Result<PathBuf, Failure> {
    let stream = default_stream()?;
    let is_named = std::env::var_os("TELEMETRY_FILENAME").is_some_and(|name| !name.is_empty());
    Ok(if !is_named && !stream.exists() && stdin_has_data() { "-".into() } else { stream })
}

/// Returns true if standard input is a pipe or a file. A terminal or a device would be waited for
/// in vain.
#[cfg(unix)]
fn stdin_has_data() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let metadata = io::stdin().as_fd().try_clone_to_owned().and_then(|stdin| File::from(stdin).metadata());
    metadata.is_ok_and(|metadata| metadata.is_file() || metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn stdin_has_data() -> bool {
    use std::io::IsTerminal;
    !io::stdin().is_terminal()
}

/// Returns the stream that a program started here writes by default.
///
/// # Errors
/// If the program writes it to an address that is not a file.
pub(crate) fn default_stream() -> Result<PathBuf, Failure> {
    let named = std::env::var_os("TELEMETRY_FILENAME").filter(|name| !name.is_empty());
    let named = named.unwrap_or_else(|| "telemetry.tel".into());
    Ok(match named.to_str().and_then(|text| text.split_once(':')) {
        Some(("tcp" | "udp" | "unix", _)) => {
            return Err(Failure::new(format!(
                "TELEMETRY_FILENAME is the address `{}`, expected a file; help: name a file that `telemetry listen` \
                 wrote",
                named.display()
            )));
        }
        Some(("file", path)) => path.into(),
        Some(("rotate", rest)) => rest.split_once('?').map_or(rest, |(path, _)| path).into(),
        _ => named.into(),
    })
}

#[derive(clap::Args)]
pub(crate) struct InputArgs {
    /// Streams, read as one; `-` is standard input [default: $TELEMETRY_FILENAME, else
    /// telemetry.tel, else a pipe or file on standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) sensitive: SensitiveArgs,

    /// Exit with 1 also for lost or missing events and unended sessions
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Whether the values of sensitive parameters are shown.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct SensitiveArgs {
    /// Show the values of sensitive parameters, which are hidden otherwise
    #[arg(long)]
    pub(crate) show_sensitive: bool,
}

#[derive(clap::Args)]
pub(crate) struct RegistryArgs {
    /// Registry file, such as events.toml, for input that embeds none (repeatable)
    #[arg(long, value_name = "FILE")]
    registry: Vec<PathBuf>,
}

/// A registry of `--registry`, and its file.
pub(crate) struct Given {
    path: PathBuf,
    pub(crate) registry: Registry,
}

/// The help if no input is named, and none is found.
const NO_INPUT: &str = "; help: name a file, or `-` for standard input, or set $TELEMETRY_FILENAME";

/// The inputs, and the offset of each in their concatenation.
pub(crate) struct Inputs {
    names: Vec<Named>,
    /// No input was named.
    is_default: bool,
    registries: Vec<Given>,
    format: FormatArgs,
    sensitive: SensitiveArgs,
}

struct Named {
    path: PathBuf,
    /// Offset of its first byte in the concatenation; unknown after a pipe.
    start: Option<u64>,
    /// Length of a regular file.
    len: Option<u64>,
}

impl InputArgs {
    /// Returns the inputs. None is open yet.
    pub(crate) fn inputs(&self) -> Result<Inputs, Failure> {
        self.inputs_with(&[])
    }

    /// Returns one file as the input.
    pub(crate) fn only(&self, path: &Path) -> Result<Inputs, Failure> {
        let inputs = Inputs::new(vec![path.to_path_buf()], self.registries.load()?);
        Ok(inputs.of_format(self.format).showing(self.sensitive))
    }

    /// Returns the inputs with further files.
    pub(crate) fn inputs_with(&self, further: &[PathBuf]) -> Result<Inputs, Failure> {
        let mut paths = [&self.files[..], further].concat();
        let is_default = paths.is_empty();
        if is_default {
            paths.push(default_input()?);
        }
        let (format, sensitive) = (self.format, self.sensitive);
        Ok(Inputs { is_default, format, sensitive, ..Inputs::new(paths, self.registries.load()?) })
    }
}

impl RegistryArgs {
    /// Returns true if no registry was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.registry.is_empty()
    }

    /// Returns the files.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.registry
    }

    pub(crate) fn load(&self) -> Result<Vec<Given>, Failure> {
        let mut registries = Vec::new();
        for path in &self.registry {
            let mut registry = match telemetry_schema::load(path) {
                Ok(file) => file.registry,
                Err(error) => own(&error)
                    .ok_or_else(|| Failure::new(format!("cannot use `{}`:\n{error}", path.display())))?,
            };
            // The stream may be older than the marks of its registry.
            take_names(&mut registry, telemetry_foreign::known_registry);
            registries.push(Given { path: path.clone(), registry });
        }
        Ok(registries)
    }
}

/// Reads the runtime's registry, with its reserved name.
fn own(error: &LoadError) -> Option<Registry> {
    let LoadCause::Invalid { text, .. } = &error.cause else { return None };
    parse_embedded(text).ok().filter(|registry| registry.name == RUNTIME_REGISTRY)
}

impl Inputs {
    /// Takes files by name; `-` is standard input.
    pub(crate) fn new(paths: Vec<PathBuf>, registries: Vec<Given>) -> Inputs {
        let mut names = Vec::new();
        let mut start = Some(0);
        for path in paths {
            let metadata = std::fs::metadata(&path).ok().filter(|_| path.as_os_str() != "-");
            let len = metadata.filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
            names.push(Named { path, start, len });
            start = start.zip(len).map(|(start, len)| start + len);
        }
        let (format, sensitive) = (FormatArgs::default(), SensitiveArgs::default());
        Inputs { names, is_default: false, registries, format, sensitive }
    }

    /// Sets whether the values of sensitive parameters are shown; by default, they are hidden.
    pub(crate) fn showing(self, sensitive: SensitiveArgs) -> Inputs {
        Inputs { sensitive, ..self }
    }

    /// Sets the options for reading.
    pub(crate) fn of_format(self, format: FormatArgs) -> Inputs {
        Inputs { format, ..self }
    }

    /// Places events of logs at the time that they were written.
    pub(crate) fn recorded(mut self) -> Inputs {
        self.format.as_recorded = true;
        self
    }

    /// Returns true if the values of sensitive parameters are hidden.
    pub(crate) fn hides_sensitive(&self) -> bool {
        !self.sensitive.show_sensitive
    }

    /// Returns the input, if there is only one.
    pub(crate) fn only(&self) -> Option<&Path> {
        match &self.names[..] {
            [name] => Some(&name.path),
            _ => None,
        }
    }

    /// Begins to read events.
    pub(crate) fn events(&self, order: Order, filter: Filter) -> Result<Events<'static>, Failure> {
        self.reader()?.order(order).filter(filter).events().map_err(cannot_read)
    }

    /// Reads block headers. Returns nothing if an input is a pipe, which can be read only once, or
    /// a log of another system, which has no headers.
    pub(crate) fn index_again(&self) -> Result<Option<Index>, Failure> {
        if !self.are_files() {
            return Ok(None);
        }
        let reader = self.reader()?;
        if reader.is_of_logs() { Ok(None) } else { reader.index().map(Some).map_err(cannot_read) }
    }

    /// Returns the name of the input that an offset is in, and the offset in that input.
    pub(crate) fn place(&self, at: u64) -> (String, u64) {
        let starts = |name: &Named| name.start.filter(|start| *start <= at);
        let found = self.names.iter().rev().find_map(|name| Some((name, starts(name)?)));
        found.map_or_else(|| ("the input".to_string(), at), |(name, start)| (display(&name.path), at - start))
    }

    /// Returns the length of all inputs; unknown if one is a pipe.
    pub(crate) fn len(&self) -> Option<u64> {
        self.names.iter().map(|name| name.len).sum()
    }

    /// Returns all files that are read, with registries.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let inputs = self.names.iter().map(|name| &name.path);
        inputs.chain(self.registries.iter().map(|given| &given.path)).cloned().collect()
    }

    /// Names all inputs.
    pub(crate) fn names(&self) -> String {
        self.names.iter().map(|name| display(&name.path)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the help for an input that was not named.
    pub(crate) fn hint(&self) -> &'static str {
        if self.is_default { NO_INPUT } else { "" }
    }

    /// Names the empty inputs.
    pub(crate) fn empty_files(&self) -> Vec<String> {
        let empty = self.names.iter().filter(|name| name.len == Some(0));
        empty.map(|name| display(&name.path)).collect()
    }

    /// Explains that blocks or events have no registry: its fingerprint, and the fingerprints of
    /// the registries that were given.
    pub(crate) fn without_registry(&self, fingerprint: u64, number: u64, what: &str) -> String {
        let of = count(number, what);
        let mut text = format!("registry {fingerprint:016x} of {of} is not in the input");
        for Given { path, registry } in &self.registries {
            let Registry { name, version, .. } = registry;
            let (path, found) = (display(path), registry.fingerprint());
            text += &format!("; {path} does not match: {name} {version} has fingerprint {found:016x}");
            if let Some(version) = version_with(registry, fingerprint) {
                text += &format!("; {name} {version} had that fingerprint");
            }
        }
        text + "; help: give the registry of the program, --registry FILE"
            + if self.registries.is_empty() {
                ""
            } else {
                " (`telemetry check FILE` shows the fingerprint of a file)"
            }
    }

    /// Returns true if all inputs can be read again.
    pub(crate) fn are_files(&self) -> bool {
        self.names.iter().all(|name| name.len.is_some())
    }

    /// Returns the same inputs, but another process has concatenated them on standard input.
    pub(crate) fn on_stdin(self) -> Inputs {
        Inputs { names: vec![Named { path: "-".into(), start: Some(0), len: None }], ..self }
    }

    /// Copies all inputs to an unnamed file, so that they can be read again.
    pub(crate) fn spool(&self) -> Result<File, Failure> {
        let failed =
            |error: io::Error| Failure::new(format!("cannot copy the stream to a temporary file: {error}"));
        let mut file = tempfile::tempfile().map_err(failed)?;
        for Named { path, .. } in &self.names {
            let copied = match Input::open(path).map_err(Failure::new)? {
                Input::File(mut input) => io::copy(&mut input, &mut file),
                Input::Pipe(mut input) => io::copy(&mut input, &mut file),
            };
            copied.map_err(|error| Failure::new(format!("cannot read {}: {error}", display(path))))?;
        }
        Ok(file)
    }

    /// Reads the copy that [`Inputs::spool`] made.
    pub(crate) fn reader_of(&self, mut spooled: &File) -> Result<Reader<'static>, Failure> {
        spooled.rewind().map_err(cannot_read)?;
        let again = spooled.try_clone().map_err(cannot_read)?;
        Ok(self.with_registries(Reader::from_reader(again)))
    }

    pub(crate) fn reader(&self) -> Result<Reader<'static>, Failure> {
        let paths = self.names.iter().map(|name| name.path.as_path());
        Ok(self.with_registries(self.format.open(paths, self.hint())?))
    }

    /// Returns the registry of a fingerprint, if it was given.
    pub(crate) fn given(&self, fingerprint: u64) -> Option<&Registry> {
        let mut given = self.registries.iter().map(|given| &given.registry);
        given.find(|registry| registry.fingerprint() == fingerprint)
    }

    /// Gives a reader the registries that were named. It hides the values of sensitive parameters,
    /// unless they are to be shown.
    pub(crate) fn with_registries<'s>(&self, reader: Reader<'s>) -> Reader<'s> {
        let reader = reader.known_registries(telemetry_foreign::known_registry);
        let reader = reader.show_sensitive(!self.hides_sensitive());
        self.registries.iter().map(|given| given.registry.clone()).fold(reader, Reader::registry)
    }
}

/// Explains that an input failed while it was read, or that a condition does not fit it.
pub(crate) fn cannot_read(error: impl Into<Error>) -> Failure {
    Failure::new(match error.into() {
        Error::Filter(text) => format!("in --where: {text}"),
        error => format!("cannot read the stream: {error}"),
    })
}

/// Warns if codes are ambiguous in these registries. If lines name their registry, only registries
/// with the same name are.
pub(crate) fn report_shared_codes<'a>(
    registries: impl Iterator<Item = &'a Registry> + Clone,
    are_named: bool,
    help: &str,
) {
    for (index, one) in registries.clone().enumerate() {
        for other in registries.clone().skip(index + 1) {
            if are_named && one.name != other.name {
                continue;
            }
            let shared = one.events.iter().filter_map(|event| Some((event, other.event(event.code)?)));
            let mut differing = shared.filter(|(a, b)| a.name != b.name || said(one, a) != said(other, b));
            let Some((a, b)) = differing.next() else { continue };
            let more = differing.count();
            let more = if more > 0 { format!(", and {more} more codes differ") } else { String::new() };
            warning(format!(
                "code {:#06x} is `{}` in registry {} {} and `{}` in {} {}{more}; help: {help}",
                a.code, a.name, one.name, one.version, b.name, other.name, other.version,
            ));
        }
    }
}

/// Returns the parts of an event that its text depends on.
fn said<'e>(registry: &Registry, event: &'e Event) -> Vec<(&'e str, String, &'e str, Option<usize>)> {
    let of = |param: &'e Param| (&*param.name, registry.sort_text(param), &*param.unit, param.names);
    event.params.iter().map(of).collect()
}
