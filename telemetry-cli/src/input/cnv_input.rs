//! Input of `cnv` text: its lines, and their errors.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use telemetry_decode::Input;
use telemetry_foreign::RECOGNIZED_BY;

use crate::input::inputs::{Given, report_shared_codes};
use crate::term::ended::{Context, Failure};
use crate::term::message::{has_verdicts, note, warning};
use crate::text::cnv_registries::TextRegistries;
use crate::text::path::display;
use crate::text::sniff::known_by;
use crate::text::{count, grouped};

/// Returns the registries of the events in cnv text: the given ones, by default the MPS's.
pub(crate) fn registries_of_text(given: Vec<Given>) -> TextRegistries {
    let mut registries: Vec<_> = given.into_iter().map(|given| given.registry).collect();
    if registries.is_empty() {
        registries.push(telemetry_foreign::mps::registry());
    }
    TextRegistries::new(registries)
}

/// Explains that filters are for streams.
pub(crate) fn cannot_filter_text() -> Failure {
    Failure::new("cannot filter cnv text; help: filter the stream that it comes from")
}

/// Warns if lines without a registry are ambiguous.
pub(crate) fn report_guesses(registries: &TextRegistries) {
    if registries.has_guessed() {
        let help = "lines without a registry were read with the first one";
        report_shared_codes(registries.given().iter(), false, help);
    }
}

/// The maximum length of a line in bytes. It is more than any event takes.
const MAX_LINE: u64 = 1 << 20;

/// Lines of text, one after another.
pub(crate) struct Lines {
    input: BufReader<Box<dyn Read>>,
    name: String,
    line: Vec<u8>,
    /// Bytes of the whole text, if known.
    len: Option<u64>,
    /// Bytes that were read.
    pub(crate) bytes: u64,
    /// Number of the line that was returned last, from 1.
    pub(crate) number: u64,
}

/// A line without its line end.
pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Lines, Failure> {
        let name = display(path);
        let (input, len): (Box<dyn Read>, _) = match Input::open(path).map_err(Failure::new)? {
            Input::File(file) => {
                let len = file.metadata().ok().map(|metadata| metadata.len());
                (Box::new(file), len)
            }
            Input::Pipe(pipe) => (pipe, None),
        };
        let mut input = BufReader::with_capacity(64 << 10, input);
        // Peeks only at the first bytes, since a pipe may not have more yet.
        let first = input.fill_buf().map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
        if let Some(what) = known_by(&first[..first.len().min(RECOGNIZED_BY)]) {
            return Err(Failure::new(format!(
                "{name} is {what}, expected cnv text; help: name it without an option before it, `-` for standard input"
            )));
        }
        Ok(Lines { input, name, line: Vec::new(), len, bytes: 0, number: 0 })
    }

    /// Returns the length of the whole text in bytes, if known.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Returns the next line without its line end.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, Failure> {
        let failed = |error| Failure::new(format!("cannot read {}: {error}", self.name));
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE + 1);
        let read = limited.read_until(b'\n', &mut self.line).map_err(failed)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() as u64 > MAX_LINE {
            self.bytes += self.input.skip_until(b'\n').map_err(failed)? as u64;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Whole(&self.line)))
    }
}

/// Returns the error of a line that is too long.
pub(crate) fn too_long() -> String {
    format!("longer than {} bytes, expected a line of cnv text", grouped(MAX_LINE))
}

/// Unreadable lines. The first ones are shown, and all are counted.
pub(crate) struct Wrongs {
    name: String,
    is_mps: bool,
    number: u64,
}

impl Wrongs {
    const SHOWN: u64 = 10;

    /// Begins with none, for an input of this name. `is_mps` is true if no registry was given.
    pub(crate) fn new(name: String, is_mps: bool) -> Wrongs {
        Wrongs { name, is_mps, number: 0 }
    }

    pub(crate) fn add(&mut self, context: &mut Context, line: u64, why: &str) {
        self.number += 1;
        if self.number <= Wrongs::SHOWN {
            context.problem(format!("{}: line {line}: {why}", self.name));
        }
    }

    pub(crate) fn end(&self, context: &mut Context, events: u64) {
        let Wrongs { name, is_mps, number } = self;
        let is_wrong = *number > 0;
        if *is_mps && is_wrong {
            warning(format!(
                "read {name} as cnv text of the MPS; help: give the registry of another program, --registry FILE"
            ));
        }
        if events == 0 && !is_wrong {
            return context.problem(format!("{name} is empty, expected cnv text"));
        }
        if is_wrong || has_verdicts() {
            let verdict = if is_wrong { "incomplete" } else { "read" };
            let left_out =
                if is_wrong { format!(", {} left out", count(*number, "line")) } else { String::new() };
            let events = count(events, "event");
            // `cnv` reported the losses of the stream.
            note(format!("{verdict}: {events}{left_out}; cnv text does not say what was lost"));
        }
    }
}
