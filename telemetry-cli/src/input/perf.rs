//! The text of `perf script`, as a stream on the time line of the streams beside it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek};
use std::path::Path;

use telemetry_decode::{Input, Reader};
use telemetry_foreign::perf::{self, Anchor};

use crate::term::ended::Failure;
use crate::text::path::display;

/// The most nanoseconds by which the streams of one machine may disagree about its clocks.
const MAX_DISAGREEMENT: u64 = 1_000_000_000;

/// Returns the moment at which the streams in these files began, by both clocks. None if they do
/// not have it.
pub(crate) fn anchor_of(files: &[(&Path, File)]) -> Result<Option<Anchor>, Failure> {
    let mut found: Option<(&Path, Anchor)> = None;
    for (path, file) in files {
        let named =
            |error: &dyn std::fmt::Display| Failure::new(format!("cannot read {}: {error}", display(path)));
        let copy = file.try_clone().map_err(|error| named(&error))?;
        let events = Reader::from_inputs(vec![Input::File(copy)]).and_then(Reader::events);
        for session in events.map_err(|error| named(&error))?.sessions() {
            let Some(raw_ns) = session.facts.number("monotonic_raw_ns") else { continue };
            let anchor = Anchor { raw_ns, wall_ns: session.clock.start_wall() };
            let Some((first, other)) = found else {
                found = Some((path, anchor));
                continue;
            };
            let offset = |anchor: Anchor| anchor.wall_ns.wrapping_sub(anchor.raw_ns);
            let apart = offset(anchor).wrapping_sub(offset(other)) as i64;
            if apart.unsigned_abs() > MAX_DISAGREEMENT {
                return Err(Failure::new(format!(
                    "{} and {} are of different machines, or of one machine before and after a reboot; \
                     help: read the text of perf with the streams of its machine alone",
                    display(first),
                    display(path),
                )));
            }
        }
        (&*file).rewind().map_err(|error| named(&error))?;
    }
    Ok(found.map(|(_, anchor)| anchor))
}

/// Returns a text as a stream. The streams' anchor has nanoseconds; that of the text, if it has a
/// header, has microseconds.
pub(crate) fn stream_of(
    path: &Path,
    first: &[u8],
    input: Input,
    anchor: Option<Anchor>,
) -> Result<Input, Failure> {
    if let Some(clock) = perf::other_clock(first) {
        return Err(Failure::new(format!(
            "the times in {} are those of {clock}, expected CLOCK_MONOTONIC_RAW; help: record with \
             `perf record -k CLOCK_MONOTONIC_RAW`",
            display(path),
        )));
    }
    let Some(anchor) = anchor.or_else(|| perf::anchor(first)) else {
        return Err(Failure::new(format!(
            "nothing says when {} was recorded, expected a stream of the same machine beside it, or the \
             header that `perf script --header` prints",
            display(path),
        )));
    };
    let named = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", display(path)));
    let text: Box<dyn Read> = match input {
        Input::File(file) => Box::new(file),
        Input::Pipe(pipe) => pipe,
    };
    let mut stream = tempfile::tempfile().map_err(named)?;
    perf::write_stream(first, &mut BufReader::new(text), anchor, &mut BufWriter::new(&stream))
        .map_err(named)?;
    stream.rewind().map_err(named)?;
    Ok(Input::File(stream))
}
