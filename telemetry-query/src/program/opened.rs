//! The streams of a query: opened for each of its tables, with one verdict.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use telemetry_decode::blocks::Index;
use telemetry_decode::condition::Condition;
use telemetry_decode::{Events, Filter, Order};
use telemetry_query::{Read, Source};

use crate::input::inputs::{InputArgs, Inputs};
use crate::input::verdict::Verdict;
use crate::term::ended::{Context, Failure};
use crate::text::count;

/// Streams or logs, read as one.
pub(crate) struct Opened {
    /// By their names on the command line.
    inputs: Inputs,
    is_strict: bool,
}

/// Inputs that can be read again and again.
struct Again {
    inputs: Inputs,
    condition: Option<Arc<dyn Condition>>,
    /// The copy of a pipe. Its name in the inputs is valid while it is open.
    _copy: Option<File>,
}

impl Opened {
    /// Takes the inputs of the command line.
    pub(crate) fn new(args: &InputArgs) -> Result<Opened, Failure> {
        Ok(Opened { inputs: args.inputs()?, is_strict: args.strict })
    }

    /// Returns the inputs for tables, with those events that meet a condition. Copies pipes to a
    /// temporary file.
    pub(crate) fn source(
        &self,
        args: &InputArgs,
        condition: Option<&telemetry_filter::Condition>,
    ) -> Result<impl Source + use<>, Failure> {
        let condition = condition.map(|condition| Arc::new(condition.clone()) as _);
        if self.inputs.are_files() {
            return Ok(Again { inputs: args.inputs()?, condition, _copy: None });
        }
        let copy = self.inputs.spool()?;
        let inputs = Inputs::new(vec![name(&copy)?], args.registries.load()?)
            .of_format(args.format)
            .showing(args.sensitive);
        Ok(Again { inputs, condition, _copy: Some(copy) })
    }

    /// Returns the files that are read.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.inputs.paths()
    }

    /// Reports whether what was read is complete.
    pub(crate) fn report(&self, reads: &[Read], context: &mut Context) {
        let verdicts: Vec<_> = reads.iter().map(|read| self.verdict(read)).collect();
        let mut parts: Vec<(&Verdict, String)> = Vec::new();
        for (read, verdict) in reads.iter().zip(&verdicts) {
            let last = match read.is_stopped {
                true => format!("read in part: the query needed no more than {}", count(read.rows, "row")),
                false => verdict.summary(),
            };
            let last = if reads.len() > 1 { format!("{}: {last}", read.table) } else { last };
            // A query may read a table twice.
            if !parts.iter().any(|(_, other)| *other == last) {
                parts.push((verdict, last));
            }
        }
        // Tables are read at the same time. Their order here must not depend on which ended first.
        parts.sort_by(|(_, one), (_, other)| one.cmp(other));
        Verdict::report_each(&parts, context, self.is_strict);
    }

    fn verdict(&self, read: &Read) -> Verdict {
        let mut completeness = read.completeness.clone();
        if read.is_stopped {
            // The events that were not needed are not missing.
            completeness.lanes.clear();
            completeness.unaccounted.clear();
        }
        let verdict = Verdict::new(&completeness, &read.sessions, &self.inputs);
        if read.is_of_headers { verdict.of_headers() } else { verdict }
    }
}

impl Source for Again {
    fn events(&self, order: Order, filter: Filter) -> Result<Events<'static>, String> {
        // The engine's own filters have no condition.
        self.inputs
            .events(order, filter.condition(self.condition.clone()))
            .map_err(|failure| failure.to_string())
    }

    fn index(&self) -> Result<Option<Index>, String> {
        self.inputs.index_again().map_err(|failure| failure.to_string())
    }
}

/// Returns the name by which an open file can be opened again.
#[cfg(unix)]
fn name(file: &File) -> Result<PathBuf, Failure> {
    use std::os::fd::AsRawFd;
    Ok(format!("/dev/fd/{}", file.as_raw_fd()).into())
}

#[cfg(not(unix))]
fn name(_: &File) -> Result<PathBuf, Failure> {
    Err(Failure::new("found a pipe, expected files; help: write the stream to a file first"))
}
