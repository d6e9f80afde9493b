//! How a command ends: its failure, and the problems that it reported.

use std::fmt::Display;

use super::message;

/// A command.
pub(crate) trait Run {
    /// Does the work. Problems that do not stop it go to the context.
    fn run(&self, context: &mut Context) -> Ended;
}

/// What every command is given.
pub(crate) struct Context {
    /// The definition of the whole command line.
    pub(crate) definition: fn() -> clap::Command,
    has_problems: bool,
    has_exceeded: bool,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    Message(String),
    /// The reader closed our output.
    OutputClosed,
    /// An interrupt stopped the command, which has removed its partial output.
    Interrupted,
}

/// The result of a command.
pub(crate) type Ended = Result<(), Failure>;

impl Context {
    pub(crate) fn new(definition: fn() -> clap::Command) -> Context {
        Context { definition, has_problems: false, has_exceeded: false }
    }

    /// Reports a problem. The exit code will be 1.
    pub(crate) fn problem(&mut self, message: impl Display) {
        self.has_problems = true;
        message::error(message);
    }

    /// Records a problem that was reported in another way.
    pub(crate) fn problem_if(&mut self, found: bool) {
        self.has_problems |= found;
    }

    /// Reports a limit of the user's that is exceeded. The exit code will be 3, unless there are
    /// problems.
    pub(crate) fn exceed(&mut self, message: impl Display) {
        self.has_exceeded = true;
        message::error(message);
    }

    /// Returns true if a limit is exceeded.
    pub(crate) fn has_exceeded(&self) -> bool {
        self.has_exceeded
    }

    /// Returns true if the command reported a problem.
    pub(crate) fn has_problems(&self) -> bool {
        self.has_problems
    }
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure::Message(message.to_string())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Message(message) => f.write_str(message),
            Failure::OutputClosed => f.write_str("the output is closed"),
            Failure::Interrupted => f.write_str("interrupted"),
        }
    }
}
