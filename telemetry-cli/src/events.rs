//! What all commands share that read events of streams: options, the way through the events, the verdict.

use std::path::PathBuf;

use telemetry_decode::{Event, Events, KnownRegistry, Order, Session};

use crate::exit::{Ended, Failure};
use crate::input::{InputArgs, Inputs, cannot_read};
use crate::output::{Output, OutputArgs};
use crate::progress::Progress;
use crate::selection::FilterArgs;
use crate::verdict::Verdict;

#[derive(clap::Args)]
pub(crate) struct EventArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Events of the streams that were named.
pub(crate) struct Opened {
    pub(crate) inputs: Inputs,
    pub(crate) events: Events<'static>,
    strict: bool,
}

impl EventArgs {
    /// Starts to read.
    pub(crate) fn open(&self, order: Order) -> Result<Opened, Failure> {
        self.open_with(&[], order)
    }

    /// The same with further files, named in another way.
    pub(crate) fn open_with(&self, further: &[PathBuf], order: Order) -> Result<Opened, Failure> {
        let inputs = self.input.inputs_with(further)?;
        let events = inputs.events(order, self.filter.filter())?;
        Ok(Opened::new(inputs, events, self.input.strict))
    }
}

impl Opened {
    /// Events that the caller has opened.
    pub(crate) fn new(inputs: Inputs, events: Events<'static>, strict: bool) -> Opened {
        Opened { inputs, events, strict }
    }

    /// The sessions found so far.
    pub(crate) fn sessions(&self) -> &[Session] {
        self.events.sessions()
    }

    /// The registries found so far.
    pub(crate) fn registries(&self) -> &[KnownRegistry] {
        self.events.registries()
    }

    /// Hands all events to a function, and shows how far it has come.
    pub(crate) fn each(&mut self, mut visit: impl FnMut(&Event<'_>)) -> Result<(), Failure> {
        let progress = Progress::of(&self.inputs);
        while let Some(event) = self.events.next().map_err(cannot_read)? {
            visit(&event);
            progress.event(|| self.events.bytes_done());
        }
        Ok(())
    }

    /// Writes all events as text. If the input fails on the way, what came before is written.
    pub(crate) fn write_lines(
        &mut self,
        mut output: Output,
        mut append_line: impl FnMut(&mut Vec<u8>, &Event<'_>),
    ) -> Result<(), Failure> {
        let progress = Progress::new(&self.inputs, &output);
        loop {
            match self.events.next() {
                Ok(Some(event)) => append_line(output.buffer(), &event),
                Ok(None) => break,
                Err(error) => {
                    output.flush()?;
                    return Err(cannot_read(error));
                }
            }
            if output.relieve()? {
                progress.at(self.events.bytes_done());
            }
        }
        output.finish()
    }

    /// What was read of the input, and what was not.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::new(&self.events.completeness(), self.sessions(), &self.inputs)
    }

    /// Ends the command with its verdict.
    pub(crate) fn end(&self) -> Ended {
        self.end_with(&self.verdict())
    }

    /// The same with the verdict that was shown.
    pub(crate) fn end_with(&self, verdict: &Verdict) -> Ended {
        Ok(verdict.report(self.strict))
    }
}
