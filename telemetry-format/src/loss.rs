//! Lost events, by cause.

/// Why an event was lost. A header has a counter for each cause, so a new cause needs a new format
/// version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// The pool had no memory for a block.
    PoolFull,
    /// The emission interrupted another one of the same lane, in a signal handler.
    Reentrant,
    /// The event was recorded, but no sink took it.
    Sink,
}

impl LossCause {
    /// All causes, in the order of a header's counters.
    pub const ALL: [LossCause; 3] = [LossCause::PoolFull, LossCause::Reentrant, LossCause::Sink];

    /// Returns the word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            LossCause::PoolFull => "pool-full",
            LossCause::Reentrant => "reentrant",
            LossCause::Sink => "sink",
        }
    }

    /// Returns the term for messages and documents.
    pub const fn text(self) -> &'static str {
        match self {
            LossCause::PoolFull => "pool full",
            LossCause::Reentrant => "reentrant",
            LossCause::Sink => "not written",
        }
    }

    /// Returns how events are lost by it, as a clause.
    pub const fn why(self) -> &'static str {
        match self {
            LossCause::PoolFull => "events came faster than they were written, until the pool was full",
            LossCause::Reentrant => {
                "a signal handler emitted an event of the kind whose emission it had interrupted"
            }
            LossCause::Sink => "the disk was full, or a reader was gone or slow",
        }
    }

    /// Returns what to do about it. All reports of losses say this.
    pub const fn remedy(self) -> &'static str {
        match self {
            LossCause::PoolFull => "raise TELEMETRY_BUFFER or set TELEMETRY_POLICY=wait",
            LossCause::Reentrant => "give what signal handlers emit a kind of its own",
            LossCause::Sink => "make room on the disk or name another place in TELEMETRY_FILENAME",
        }
    }
}

/// The losses of a lane since it began. All counters only grow. So the losses of an interval are
/// the difference between two headers, even if blocks between them are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Events lost by [`LossCause::PoolFull`].
    pub pool: u64,
    /// Events lost by [`LossCause::Reentrant`].
    pub reentrant: u64,
    /// Events lost by [`LossCause::Sink`].
    pub sink: u64,
    /// Strings, byte strings and arrays that were truncated to their limit. Their events are not
    /// lost.
    pub truncated: u64,
}

impl Loss {
    /// Returns the number of events lost by this cause.
    pub const fn of(&self, cause: LossCause) -> u64 {
        match cause {
            LossCause::PoolFull => self.pool,
            LossCause::Reentrant => self.reentrant,
            LossCause::Sink => self.sink,
        }
    }

    /// Returns the causes that have lost events, with the number of events.
    pub fn causes(&self) -> impl Iterator<Item = (LossCause, u64)> + '_ {
        LossCause::ALL.into_iter().map(|cause| (cause, self.of(cause))).filter(|(_, events)| *events > 0)
    }

    /// Returns the number of events lost by any cause.
    pub const fn events(&self) -> u64 {
        self.pool.wrapping_add(self.reentrant).wrapping_add(self.sink)
    }
}
