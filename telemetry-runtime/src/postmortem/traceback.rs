//! The last events as text, from memory, in the process that emitted them: for panics, signal
//! handlers and debuggers.
//!
//! Nothing here allocates, waits for a lock or panics. Other threads continue while this reads
//! their blocks. Events that they overwrite meanwhile are not shown.

mod blocks;
mod found;
mod last;
mod scratch;
mod text;

use core::fmt::{self, Display, Formatter, Write};

pub(crate) use blocks::{CHUNK, Seen, each as each_block};
pub(crate) use scratch::{Guard, Scratch, reset_in_child};

use self::text::Line;
use crate::emit::thread;
use crate::run::clock::{self, Moment};
use crate::run::state;
use crate::sys::raw_file::RawFile;

/// The last events in memory, recorded or output, one in each line, the newest last. They are read
/// when the value is displayed.
///
/// ```
/// use telemetry_runtime::Traceback;
///
/// eprint!("{}", Traceback::current_thread(20));
/// ```
///
/// The lines are those of `telemetry print`: nanoseconds since the start, thread, kind, event,
/// parameters.
///
/// Displaying a traceback allocates nothing and takes no lock. So it works in a signal handler or
/// inside an allocator if the writer does, as in [`Traceback::write_to_stderr`]. It takes a
/// millisecond or two with 16 MiB of blocks. If all blocks have few events, all must be decoded,
/// which takes up to 100 ms. Only one traceback is made at a time: a second one waits for some
/// milliseconds, and then reports that instead.
///
/// Blocks that were returned to the pool are shown until they are reused, so there may be fewer
/// events than requested. A kind may have more than 4096 parameters of the types `pointer`, `addr`
/// and `word`. The values of those beyond 4096 are shown as `?`.
#[derive(Debug, Clone, Copy)]
pub struct Traceback {
    thread: Option<u32>,
    most: usize,
}

impl Traceback {
    /// The maximum number of events.
    pub const MAX_EVENTS: usize = scratch::MAX_EVENTS;

    /// Returns the last events of the calling thread, at most [`Traceback::MAX_EVENTS`].
    pub fn current_thread(most: usize) -> Self {
        Traceback { thread: Some(thread::number()), most: most.min(Self::MAX_EVENTS) }
    }

    /// Returns the last events of all threads, at most [`Traceback::MAX_EVENTS`].
    pub fn all_threads(most: usize) -> Self {
        Traceback { thread: None, most: most.min(Self::MAX_EVENTS) }
    }

    /// Writes the traceback to standard error, without the standard library's locks and buffers.
    pub fn write_to_stderr(&self) {
        // A closed standard error cannot be reported.
        let _ = RawFile::stderr().print(format_args!("{self}"));
    }

    /// Writes the traceback to a file, without the standard library's locks and buffers.
    ///
    /// # Errors
    /// Returns the error of `write(2)`.
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
            writeln!(f, "({gone} more were overwritten while this was made)")?;
        }
        Ok(())
    }
}

/// Converts clock readings to times since the start.
struct Rate {
    start: Moment,
    now: Moment,
}

impl Rate {
    fn now() -> Rate {
        Rate { start: state::moment(), now: clock::now() }
    }

    fn ns(&self, ticks: u64) -> i64 {
        let since = |later: u64, earlier: u64| i128::from(later.wrapping_sub(earlier) as i64);
        let ns = since(self.now.wall, self.start.wall) * since(ticks, self.start.ticks);
        (ns / since(self.now.ticks, self.start.ticks).max(1)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_from_the_rate_since_the_start() {
        let rate = |ticks: u64, wall: u64| Rate {
            start: Moment { ticks: 1_000, wall: 50_000 },
            now: Moment { ticks: 1_000 + ticks, wall: 50_000 + wall },
        };
        let check = |rate: Rate, ticks: u64, expected: i64| assert_eq!(rate.ns(ticks), expected, "{ticks}");
        check(rate(200, 4_000), 1_000, 0);
        check(rate(200, 4_000), 1_150, 3_000);
        check(rate(200, 4_000), 1_300, 6_000);
        check(rate(200, 4_000), 950, -1_000);
        // Nothing is known of the rate yet.
        check(rate(0, 3), 1_002, 6);
    }

    #[test]
    fn a_traceback_has_a_limit() {
        let check = |most: usize, expected: usize| {
            let all = [Traceback::current_thread(most), Traceback::all_threads(most)];
            assert_eq!(all.map(|traceback| traceback.most), [expected; 2]);
        };
        check(0, 0);
        check(Traceback::MAX_EVENTS, Traceback::MAX_EVENTS);
        check(usize::MAX, Traceback::MAX_EVENTS);
        assert_eq!(Traceback::all_threads(1).thread, None);
        assert_eq!(Traceback::current_thread(1).thread, Some(thread::number()));
    }
}
