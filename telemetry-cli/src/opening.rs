//! Inputs as they are opened: streams, or logs of other systems, told apart by their first bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use clap::ValueEnum;
use telemetry_decode::{Input, LogFile, Reader};
use telemetry_foreign::{Format, RECOGNIZED_BY, is_gzip};
use telemetry_format::MAGIC;

use crate::exit::Failure;
use crate::input::display;

/// How inputs are to be read.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct FormatArgs {
    /// What the input is, where its first bytes do not tell
    #[arg(long, value_enum)]
    format: Option<FormatArg>,

    /// Read logs of other systems also where their version is another than the one that is known
    #[arg(long)]
    lenient: bool,
}

/// What an input is, or what it is to become.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    Telemetry,
    Mps,
    GhcEventlog,
    Mono,
}

impl FormatArg {
    /// The format of another system; none for our own.
    pub(crate) fn other(self) -> Option<Format> {
        match self {
            FormatArg::Telemetry => None,
            FormatArg::Mps => Some(Format::Mps),
            FormatArg::GhcEventlog => Some(Format::GhcEventlog),
            FormatArg::Mono => Some(Format::Mono),
        }
    }
}

/// An input whose first bytes were looked at.
struct Seen<'p> {
    path: &'p Path,
    input: Input,
    /// Of another system.
    format: Option<Format>,
}

impl FormatArgs {
    /// Opens inputs to be read as if they were one.
    pub(crate) fn open<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
        hint: &str,
    ) -> Result<Reader<'static>, Failure> {
        // What is said of a directory has a help of its own.
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::IsADirectory => Failure::new(error),
            _ => Failure::new(format!("{error}{hint}")),
        };
        let seen = paths.map(|path| self.look(path)).collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let Some(log) = seen.iter().find(|one| one.format.is_some()) else {
            return Reader::of_inputs(seen.into_iter().map(|one| one.input).collect()).map_err(failed);
        };
        if let Some(stream) = seen.iter().find(|one| one.format.is_none()) {
            let format = log.format.map_or("", Format::name);
            return Err(Failure::new(format!(
                "{} is a log of format {format} and {} is not, and they cannot be read as one; help: give them one by \
                 one, or make streams of logs with `telemetry convert --to telemetry`",
                display(log.path),
                display(stream.path),
            )));
        }
        let logs = seen.into_iter().filter_map(|one| {
            let format = one.format?;
            let named =
                |error: io::Error| Failure::new(format!("cannot read {}: {error}", display(one.path)));
            let unpacked = file_of(one.input).and_then(Format::unpack).map_err(named);
            Some(unpacked.map(|(file, broken)| LogFile {
                file,
                log: format.log(self.lenient),
                cut: broken.as_ref().map(broken_behind),
            }))
        });
        Reader::of_logs(logs.collect::<Result<Vec<_>, Failure>>()?).map_err(failed)
    }

    /// The format of a regular file that is a log of another system.
    pub(crate) fn of_file(&self, path: &Path) -> Option<Format> {
        match self.format {
            Some(format) => format.other(),
            None if path.is_file() => self.look(path).ok()?.format,
            None => None,
        }
    }

    fn look<'p>(&self, path: &'p Path) -> io::Result<Seen<'p>> {
        let input = Input::open(path)?;
        if let Some(format) = self.format {
            return Ok(Seen { path, input, format: format.other() });
        }
        let (first, input) = peek(input).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read {}: {error}", display(path)))
        })?;
        let format = if first.starts_with(&MAGIC) { None } else { Format::recognize(&first) };
        if format.is_none() && is_gzip(&first) {
            let text = format!(
                "{} is compressed with gzip, expected a telemetry stream or a log of another system; help: \
                 `gunzip -c {} | telemetry print -`",
                display(path),
                path.display(),
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Seen { path, input, format })
    }
}

/// The first bytes of an input, which is as before. Of a pipe no more is waited for than what tells a stream.
pub(crate) fn peek(input: Input) -> io::Result<(Vec<u8>, Input)> {
    let mut first = Vec::new();
    match input {
        Input::File(mut file) => {
            file.rewind()?;
            (&mut file).take(RECOGNIZED_BY as u64).read_to_end(&mut first)?;
            file.rewind()?;
            Ok((first, Input::File(file)))
        }
        Input::Pipe(mut pipe) => {
            (&mut pipe).take(MAGIC.len() as u64).read_to_end(&mut first)?;
            if first != MAGIC {
                (&mut pipe).take((RECOGNIZED_BY - first.len()) as u64).read_to_end(&mut first)?;
            }
            let again = io::Cursor::new(first.clone()).chain(pipe);
            Ok((first, Input::Pipe(Box::new(again))))
        }
    }
}

/// What begins so, in words: a stream, or another system's log; none if it is neither.
pub(crate) fn known_by(first: &[u8]) -> Option<String> {
    if first.starts_with(&MAGIC) {
        return Some("a telemetry stream".to_string());
    }
    Format::recognize(first).map(|format| format!("a log of format {}", format.name()))
}

/// What is said behind the last byte that could be unpacked.
pub(crate) fn broken_behind(error: &io::Error) -> String {
    format!("its compression is broken behind this: {error}")
}

/// The file of an input; a temporary one for a pipe.
pub(crate) fn file_of(input: Input) -> io::Result<File> {
    match input {
        Input::File(file) => Ok(file),
        Input::Pipe(mut pipe) => {
            let mut file = tempfile::tempfile()?;
            io::copy(&mut pipe, &mut file)?;
            file.rewind()?;
            Ok(file)
        }
    }
}
