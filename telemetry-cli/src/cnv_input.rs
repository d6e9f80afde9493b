//! Input that is `cnv` text: its lines, and what is wrong with them.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use telemetry_decode::Input;
use telemetry_foreign::RECOGNIZED_BY;
use telemetry_schema::Registry;

use crate::exit::{Failure, Outcome, report, report_good};
use crate::input::{Given, display, report_shared_codes};
use crate::opening::known_by;
use crate::text::{count, grouped};

/// The relations of the events in cnv text, which names events by code alone: those that were given, of which the first
/// that has a code counts, or that of the MPS, whose programs the text is for.
pub(crate) fn registries_of_text(given: Vec<Given>) -> Vec<Registry> {
    let registries: Vec<_> = given.into_iter().map(|given| given.registry).collect();
    if registries.is_empty() {
        return vec![telemetry_foreign::mps::registry()];
    }
    report_shared_codes(registries.iter(), "the first one counts");
    registries
}

/// Bytes of a line: more than any event takes.
const MAX_LINE: u64 = 1 << 20;

/// Lines of text, one after the other.
pub(crate) struct Lines {
    input: BufReader<Box<dyn Read>>,
    name: String,
    line: Vec<u8>,
    /// Of all there are; none where nobody knows.
    len: Option<u64>,
    /// That were read.
    pub(crate) bytes: u64,
    /// Of the line given out last, from 1.
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
        // Of a pipe no more is waited for than its first bytes.
        let first = input.fill_buf().map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
        if let Some(what) = known_by(&first[..first.len().min(RECOGNIZED_BY)]) {
            return Err(Failure::new(format!(
                "{name} is {what}, expected cnv text; help: name it without an option before it, `-` for standard input"
            )));
        }
        Ok(Lines { input, name, line: Vec::new(), len, bytes: 0, number: 0 })
    }

    /// Bytes of the whole text; none where nobody knows.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// The next line without its line end.
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

/// What is wrong with a line that is too long.
pub(crate) fn too_long() -> String {
    format!("longer than {} bytes, no line of cnv text", grouped(MAX_LINE))
}

/// Lines that could not be read: some are shown, all are counted.
pub(crate) struct Wrongs {
    name: String,
    is_mps: bool,
    number: u64,
}

impl Wrongs {
    const SHOWN: u64 = 10;

    /// For an input of this name; `is_mps` says that nobody told which relation its events are from.
    pub(crate) fn new(name: String, is_mps: bool) -> Wrongs {
        Wrongs { name, is_mps, number: 0 }
    }

    pub(crate) fn add(&mut self, line: u64, why: &str) {
        self.number += 1;
        if self.number <= Wrongs::SHOWN {
            report(format!("{}: line {line}: {why}", self.name));
        }
    }

    pub(crate) fn end(&self, events: u64) -> Outcome {
        let Wrongs { name, is_mps, number } = self;
        if *is_mps && *number > 0 {
            report(format!(
                "{name} was taken for cnv text of the MPS; help: another program's needs its relation, --registry FILE"
            ));
        }
        let verdict = if *number == 0 { "read" } else { "incomplete" };
        let left_out =
            if *number == 0 { String::new() } else { format!(", {} left out", count(*number, "line")) };
        let empty = events == 0 && *number == 0;
        let say = if *number > 0 || empty { report } else { report_good };
        say(if empty {
            format!("{name} is empty, expected cnv text")
        } else {
            // The stream may have lost some: `cnv` told.
            format!("{verdict}: {}{left_out}; cnv text does not say what was lost", count(events, "event"))
        });
        Outcome::problems_if(*number > 0 || empty)
    }
}
