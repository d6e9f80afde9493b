//! The last events as text, from memory, in the process that emitted them: for panics, signal handlers
//! and debuggers.
//!
//! Nothing here allocates, waits for a lock or panics. The blocks of other threads are read while these go
//! on; what they write over meanwhile is not shown.

mod blocks;
mod last;
mod scratch;
mod text;
mod walk;

use core::fmt::{self, Display, Formatter, Write};

pub(crate) use blocks::{CHUNK, Seen, each as each_block};
pub(crate) use scratch::{Guard, Scratch, begin_anew};

use self::text::Line;
use crate::clock::{self, Moment};
use crate::raw_file::RawFile;
use crate::{start, thread};

/// The last events that are in memory, recorded or output, one to a line, the newest last. Made when it is
/// displayed.
///
/// ```
/// use telemetry_runtime::Traceback;
///
/// eprint!("{}", Traceback::of_thread(20));
/// ```
///
/// The lines are those of `telemetry print`: nanoseconds since the start, thread, kind, event, parameters.
/// Displaying it allocates nothing and takes no lock, so it may be done in a signal handler or inside an
/// allocator, as far as the writer may: [`Traceback::to_stderr`] may. It takes a millisecond or two with 16 MiB of
/// blocks; where all blocks have few events, as long as it takes to decode them all, up to 100 ms. Only one
/// is made at a time: a second waits for some milliseconds, and then says so instead.
///
/// Blocks that were given back to the pool are shown as long as they are not reused, so there may be fewer
/// events than wished. Addresses and words of a kind that has more than 4096 parameters of these sorts are `?`
/// beyond those.
#[derive(Debug, Clone, Copy)]
pub struct Traceback {
    thread: Option<u32>,
    most: usize,
}

impl Traceback {
    /// Most events of one.
    pub const MOST: usize = scratch::MOST;

    /// The last events of the calling thread, at most [`Traceback::MOST`].
    pub fn of_thread(most: usize) -> Self {
        Traceback { thread: Some(thread::number()), most: most.min(Self::MOST) }
    }

    /// The last events of all threads, at most [`Traceback::MOST`].
    pub fn of_all(most: usize) -> Self {
        Traceback { thread: None, most: most.min(Self::MOST) }
    }

    /// Writes it to standard error, past all of the standard library's locks and buffers.
    pub fn to_stderr(&self) {
        // Nobody can be told that standard error is closed.
        let _ = RawFile::stderr().print(format_args!("{self}"));
    }

    /// Writes it to a file, past all of the standard library's locks and buffers.
    ///
    /// # Errors
    /// Those of `write(2)`.
    #[cfg(all(unix, not(miri)))]
    pub fn to_fd(&self, file: impl std::os::fd::AsFd) -> std::io::Result<()> {
        use std::os::fd::AsRawFd;
        let mut file = RawFile::borrowed(file.as_fd().as_raw_fd());
        file.print(format_args!("{self}")).map_err(std::io::Error::from_raw_os_error)
    }
}

impl Display for Traceback {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(mut scratch) = Guard::take() else {
            return f.write_str("(another traceback is being made)\n");
        };
        let len = last::find(&mut scratch, self.thread, self.most);
        let Scratch { payload, slots, found } = &mut *scratch;
        let found = &found[..len];
        if found.is_empty() {
            return f.write_str("(no events)\n");
        }
        let (rate, mut loaded, mut gone) = (Rate::now(), None, 0);
        for event in found {
            let Some(line) = Line::new(event, found, rate.ns(event.time)) else { continue };
            let mut result = Ok(());
            let decoded = last::decode(payload, slots, &mut loaded, event, |piece| {
                result = result.and_then(|()| line.piece(f, &piece));
            });
            result?;
            match decoded {
                Some(()) => f.write_char('\n')?,
                None => gone += 1,
            }
        }
        if gone > 0 {
            writeln!(f, "({gone} more were written over while this was made)")?;
        }
        Ok(())
    }
}

/// Turns clock readings into times since the start.
struct Rate {
    start: Moment,
    now: Moment,
}

impl Rate {
    fn now() -> Rate {
        Rate { start: start::moment(), now: clock::now() }
    }

    fn ns(&self, ticks: u64) -> i64 {
        let since = |later: u64, earlier: u64| i128::from(later.wrapping_sub(earlier) as i64);
        let ns = since(self.now.wall, self.start.wall) * since(ticks, self.start.ticks);
        (ns / since(self.now.ticks, self.start.ticks).max(1)) as i64
    }
}
