//! Events shown while their input is still being written.

use std::cell::RefCell;
use std::io::{self, Read};

use telemetry_decode::{Completeness, Event, Filter, Order, Reader, Session};

use crate::exit::Failure;
use crate::input::{Inputs, cannot_read};
use crate::output::Output;

/// What was read by the end.
pub(crate) struct Seen {
    pub(crate) completeness: Completeness,
    pub(crate) sessions: Vec<Session>,
}

/// Writes the events of an input that waits for more, which goes by the name of `inputs`, in the order of the stream. Before it waits, all lines are
/// shown.
pub(crate) fn write_lines<'i>(
    input: impl Read + 'i,
    inputs: &Inputs,
    filter: Filter,
    output: Output,
    mut append_line: impl FnMut(&mut Vec<u8>, &Event<'_>),
) -> Result<Seen, Failure> {
    let output = RefCell::new(output);
    let failed = RefCell::new(None);
    let seen = {
        let live = Live { input, output: &output, failed: &failed };
        let reader = inputs.with_registries(Reader::from_read(live)).order(Order::Stream).filter(filter);
        let mut events = reader.events().map_err(cannot_read)?;
        loop {
            match events.next() {
                Ok(Some(event)) => {
                    let mut output = output.borrow_mut();
                    append_line(output.buffer(), &event);
                    output.relieve()?;
                }
                Ok(None) => break,
                Err(error) => return Err(failed.take().unwrap_or_else(|| cannot_read(error))),
            }
        }
        Seen { completeness: events.completeness(), sessions: events.sessions().to_vec() }
    };
    output.into_inner().finish()?;
    Ok(seen)
}

/// An input before which all lines are shown.
struct Live<'o, R> {
    input: R,
    output: &'o RefCell<Output>,
    /// Why they cannot be.
    failed: &'o RefCell<Option<Failure>>,
}

impl<R: Read> Read for Live<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Err(failure) = self.output.borrow_mut().flush() {
            *self.failed.borrow_mut() = Some(failure);
            return Err(io::ErrorKind::Other.into());
        }
        self.input.read(to)
    }
}
