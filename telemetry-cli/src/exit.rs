//! How a command ends, and what it says on standard error: the one place for exit codes.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::OnceLock;

use crate::{interrupt, progress};

/// What `--help` says of exit codes.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  problems were found: a damaged or unreadable part of a stream, a mistake in a relation, a version
     that is too low for what changed, a name in a filter that nothing has; with --strict also events
     that were lost or are missing, and sessions that did not end in good order
  2  not done: wrong usage, an input that cannot be opened or read, an output that cannot be written
An interrupted command removes what is not whole, and dies of the signal.

Each command that reads streams ends with a verdict on their completeness on standard error.";

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// Nothing to complain of.
    Clean,
    /// What was read has problems, which were reported.
    Problems,
}

/// What kept a command from its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// In a few words.
    Message(String),
    /// Whoever reads our output has read enough.
    OutputClosed,
    /// Somebody wants it to end, and nothing is left of it.
    Interrupted,
}

/// The result of a command.
pub(crate) type Ended = Result<Outcome, Failure>;

impl Outcome {
    /// Problems, if one of two has some.
    pub(crate) fn and(self, other: Outcome) -> Outcome {
        Outcome::problems_if(self == Outcome::Problems || other == Outcome::Problems)
    }

    pub(crate) fn problems_if(found: bool) -> Outcome {
        if found { Outcome::Problems } else { Outcome::Clean }
    }
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure::Message(message.to_string())
    }

    /// Says what it is, where the command goes on.
    #[cfg(unix)]
    pub(crate) fn report(&self) {
        if let Failure::Message(message) = self {
            report(message);
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Message(message) => f.write_str(message),
            Failure::OutputClosed => f.write_str("the output is closed"),
            Failure::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// The exit code of a command's result. Says why it failed.
pub(crate) fn code(ended: Ended) -> ExitCode {
    match ended {
        Ok(Outcome::Clean) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Ok(Outcome::Problems) => ExitCode::from(1),
        Err(Failure::Interrupted) => interrupt::end(),
        Err(Failure::Message(message)) => {
            report(message);
            ExitCode::from(2)
        }
    }
}

/// The name that messages begin with, and whether good news are to be told.
static VOICE: OnceLock<&str> = OnceLock::new();

/// Has messages begin with the name of another program, which tells no good news.
pub(crate) fn speak_as(program: &'static str) {
    let _ = VOICE.set(program);
}

/// Says something on standard error. If that is closed or full, nobody is to be told.
pub(crate) fn report(message: impl Display) {
    let program = VOICE.get().unwrap_or(&"telemetry");
    progress::aside(|| {
        let _ = writeln!(std::io::stderr(), "{program}: {message}");
    });
}

/// The same where there is nothing to complain of.
pub(crate) fn report_good(message: impl Display) {
    if VOICE.get().is_none() {
        report(message);
    }
}
