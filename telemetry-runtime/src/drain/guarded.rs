//! Calls of sinks, which the program may have written.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sinks::sink::Sink;

/// Calls a sink, whose panic becomes an error.
pub(super) fn guarded<T>(
    sink: &mut Box<dyn Sink>,
    call: impl FnOnce(&mut dyn Sink) -> io::Result<T>,
) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(|| call(&mut **sink)))
        .unwrap_or_else(|_| Err(io::Error::other("the sink panicked")))
}
