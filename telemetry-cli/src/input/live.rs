//! Events shown while their input is still being written.

use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_decode::{Completeness, Event, Filter, Order, Reader, Session};

use crate::input::inputs::{Inputs, cannot_read};
use crate::term::ended::Failure;
use crate::term::output::Output;

/// The state at the end of the input.
pub(crate) struct Seen {
    pub(crate) completeness: Completeness,
    pub(crate) sessions: Vec<Session>,
    /// The requested number of events was written.
    pub(crate) is_stopped: bool,
}

/// Writes the events of an input that waits for more, in stream order. Shows all lines before it
/// waits, and stops after `most` events. Messages name the input as `inputs` does.
pub(crate) fn write_lines<'i>(
    input: impl Read + Send + 'i,
    inputs: &Inputs,
    filter: Filter,
    output: Output,
    most: u64,
    mut append_line: impl FnMut(&mut Vec<u8>, &Event<'_>),
) -> Result<Seen, Failure> {
    let (output, failed) = (Mutex::new(output), Mutex::new(None));
    let seen = {
        let live = Live { input, output: &output, failed: &failed };
        let reader = inputs.with_registries(Reader::from_reader(live)).order(Order::Stream);
        // Strings of labels come before the registry that may say that they are sensitive.
        let reader = reader.filter(filter.hide_labels());
        let mut events = reader.events().map_err(cannot_read)?;
        let mut written = 0;
        while written < most {
            match events.next() {
                Ok(Some(event)) => {
                    let mut output = locked(&output);
                    append_line(output.buffer(), &event);
                    output.relieve()?;
                    written += 1;
                }
                Ok(None) => break,
                Err(error) => return Err(locked(&failed).take().unwrap_or_else(|| cannot_read(error))),
            }
        }
        let is_stopped = written == most;
        Seen { completeness: events.completeness(), sessions: events.sessions().to_vec(), is_stopped }
    };
    output.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
    Ok(seen)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An input that shows all lines before it is read.
struct Live<'o, R> {
    input: R,
    output: &'o Mutex<Output>,
    /// Why they could not be shown.
    failed: &'o Mutex<Option<Failure>>,
}

impl<R: Read> Read for Live<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Err(failure) = locked(self.output).flush() {
            *locked(self.failed) = Some(failure);
            return Err(io::ErrorKind::Other.into());
        }
        self.input.read(to)
    }
}
