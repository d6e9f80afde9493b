//! Opens inputs: streams, or logs of other systems, which it detects by their first bytes.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use clap::ValueEnum;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::foreign::LogFile;
use telemetry_decode::{Error, Input, Reader};
use telemetry_foreign::{Format, RECOGNIZED_BY};
use telemetry_format::MAGIC;

use crate::input::perf;
use crate::term::ended::Failure;
use crate::text::path::{display, is_lake, is_no_input};
use crate::text::sniff::Look;

/// Options for reading inputs.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct FormatArgs {
    /// Input format, if not detected
    #[arg(long, value_name = "FORMAT", value_enum)]
    input_format: Option<FormatArg>,

    /// Read logs of other systems even if their version is not known
    #[arg(long)]
    lenient: bool,

    /// The inputs are memory images, which have blocks anywhere, or none.
    #[arg(skip)]
    are_images: bool,

    /// Places each event at the time that it was written, instead of the time that it describes.
    #[arg(skip)]
    pub(crate) as_recorded: bool,
}

/// The format of an input or output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    Telemetry,
    Mps,
    GhcEventlog,
    Mono,
    Perf,
}

impl FormatArg {
    /// Returns the format of another system; none for our own.
    pub(crate) fn other(self) -> Option<Format> {
        match self {
            FormatArg::Telemetry | FormatArg::Perf => None,
            FormatArg::Mps => Some(Format::Mps),
            FormatArg::GhcEventlog => Some(Format::GhcEventlog),
            FormatArg::Mono => Some(Format::Mono),
        }
    }
}

/// An input with its detected format.
struct Seen<'p> {
    path: &'p Path,
    input: Input,
    /// The format, if it is another system's.
    format: Option<Format>,
    /// The beginning of a text of `perf script`.
    perf: Option<Vec<u8>>,
}

impl FormatArgs {
    /// Returns the options for memory images.
    pub(crate) fn of_images() -> FormatArgs {
        FormatArgs { are_images: true, ..FormatArgs::default() }
    }

    /// Opens inputs to be read as one.
    pub(crate) fn open<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
        hint: &str,
    ) -> Result<Reader<'static>, Failure> {
        let failed = |error| cannot_open(&error, hint);
        let seen = paths.map(|path| self.look(path, hint)).collect::<Result<Vec<_>, _>>()?;
        let seen = place_perf(seen)?;
        let Some(log) = seen.iter().find(|one| one.format.is_some()) else {
            return Reader::from_inputs(seen.into_iter().map(|one| one.input).collect()).map_err(failed);
        };
        if let Some(stream) = seen.iter().find(|one| one.format.is_none()) {
            let format = log.format.map_or("", Format::name);
            return Err(Failure::new(format!(
                "cannot read {} and {} as one input: only the first is a log of format {format}; help: read them separately, \
                 or convert logs to streams with `telemetry convert --to telemetry`",
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
                log: match self.as_recorded {
                    true => format.log_as_recorded(self.lenient),
                    false => format.log(self.lenient),
                },
                cut: broken.as_ref().map(broken_behind),
            }))
        });
        Reader::from_logs(logs.collect::<Result<Vec<_>, Failure>>()?).map_err(failed)
    }

    /// Returns the format of a regular file that is a log of another system.
    ///
    /// # Errors
    /// If the file is neither a log nor a stream.
    pub(crate) fn of_file(&self, path: &Path) -> Result<Option<Format>, Failure> {
        match self.input_format {
            Some(format) => Ok(format.other()),
            None if path.is_file() => Ok(self.look(path, "")?.format),
            None => Ok(None),
        }
    }

    fn look<'p>(&self, path: &'p Path, hint: &str) -> Result<Seen<'p>, Failure> {
        let input = Input::open(path).map_err(|error| match is_lake(path) {
            true => Failure::new(is_no_input(path)),
            false => cannot_open(&error, hint),
        })?;
        let named = |error| Failure::new(format!("cannot read {}: {error}{hint}", display(path)));
        if let Some(format) = self.input_format {
            let (first, input) = match format {
                FormatArg::Perf => peek(input).map(|(first, input)| (Some(first), input)).map_err(named)?,
                _ => (None, input),
            };
            return Ok(Seen { path, input, format: format.other(), perf: first });
        }
        let (first, input) = peek(input).map_err(named)?;
        // The start of a stream may be cut, too.
        if self.are_images || first.starts_with(&MAGIC) || MAGIC.starts_with(&first) {
            return Ok(Seen { path, input, format: None, perf: None });
        }
        if telemetry_foreign::perf::recognize(&first) {
            return Ok(Seen { path, input, format: None, perf: Some(first) });
        }
        let format = Format::recognize(&first);
        let input = if format.is_some() { input } else { expect_blocks(path, &first, input)? };
        Ok(Seen { path, input, format, perf: None })
    }
}

/// Makes streams of the texts of `perf script`, on the time line of the streams beside them.
fn place_perf(seen: Vec<Seen<'_>>) -> Result<Vec<Seen<'_>>, Failure> {
    if seen.iter().all(|one| one.perf.is_none()) {
        return Ok(seen);
    }
    let is_stream = |one: &Seen<'_>| one.perf.is_none() && one.format.is_none();
    let (streams, others): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_stream);
    let mut files = Vec::new();
    for one in streams {
        let named = |error| Failure::new(format!("cannot read {}: {error}", display(one.path)));
        files.push((one.path, file_of(one.input).map_err(named)?));
    }
    let anchor = perf::anchor_of(&files)?;
    let streams = files
        .into_iter()
        .map(|(path, file)| Ok(Seen { path, input: Input::File(file), format: None, perf: None }));
    let others = others.into_iter().map(|one| match &one.perf {
        None => Ok(one),
        Some(first) => {
            let input = perf::stream_of(one.path, first, one.input, anchor)?;
            Ok(Seen { path: one.path, input, format: None, perf: None })
        }
    });
    streams.chain(others).collect()
}

/// Refuses an input without any block, which is not a stream. Of a pipe with text, only the
/// beginning is read.
fn expect_blocks(path: &Path, first: &[u8], input: Input) -> Result<Input, Failure> {
    let look = Look::of(first);
    let is_endless = matches!(input, Input::Pipe(_)) && first.len() == RECOGNIZED_BY;
    let has_magic = || first.windows(MAGIC.len()).any(|bytes| bytes == MAGIC);
    let is_refused = look.is_certain || look.is_text && is_endless && !has_magic();
    if !is_refused {
        let named = |error| Failure::new(format!("cannot read {}: {error}", display(path)));
        let mut file = file_of(input).map_err(named)?;
        if has_block(&file).map_err(named)? {
            file.rewind().map_err(named)?;
            return Ok(Input::File(file));
        }
    }
    Err(Failure::new(format!(
        "{} is {}, expected a telemetry stream or a log of another system; help: {}",
        display(path),
        look.what,
        look.help(path),
    )))
}

/// Returns true if a file has a block, whole or damaged.
fn has_block(file: &File) -> io::Result<bool> {
    let mut blocks = Blocks::new(file);
    loop {
        match blocks.next()? {
            Some(Piece::Damage(_, None)) => {}
            piece => return Ok(piece.is_some()),
        }
    }
}

/// Explains that an input cannot be opened. Other errors have their own help.
fn cannot_open(error: &Error, hint: &str) -> Failure {
    match error {
        Error::NotAStream(_) => Failure::new(error),
        _ => Failure::new(format!("{error}{hint}")),
    }
}

/// Reads the first bytes of an input without consuming them. Of a pipe, reads no more than it needs
/// to detect a stream.
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

/// Explains that unpacking failed after the last unpacked byte.
pub(crate) fn broken_behind(error: &io::Error) -> String {
    format!("its compressed data is damaged after this byte: {error}")
}

/// Returns the file of an input, a temporary one for a pipe.
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
