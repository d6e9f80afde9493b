//! Lines of events with the functions of their call stacks below.

use std::sync::{Arc, Mutex, PoisonError};

use telemetry_decode::Event;
use telemetry_report::figures::keyed::PerEvent;

use crate::input::lines::LinePrinter;
use crate::symbols::{StackParam, Stacks};
use crate::text::escaped_text;

/// Appends lines of events, and their call stacks if they are wanted.
pub(super) struct Lines {
    printer: LinePrinter,
    backtraces: Option<Backtraces>,
}

struct Backtraces {
    /// All threads name the functions of one.
    stacks: Arc<Mutex<Stacks>>,
    /// The events bring the stacks, since the input cannot be read again.
    takes: bool,
    params: PerEvent<Option<StackParam>>,
}

impl Lines {
    pub(super) fn new(printer: LinePrinter) -> Lines {
        Lines { printer, backtraces: None }
    }

    /// Adds the functions of call stacks. If these could not be read before, they are taken from
    /// events.
    pub(super) fn with_stacks(self, stacks: Stacks, takes: bool) -> Lines {
        let stacks = Arc::new(Mutex::new(stacks));
        Lines { backtraces: Some(Backtraces { stacks, takes, params: PerEvent::default() }), ..self }
    }

    /// Makes another one of the same form, for another thread.
    pub(super) fn another(&self) -> Lines {
        let backtraces = self.backtraces.as_ref().map(|of| Backtraces {
            stacks: of.stacks.clone(),
            takes: of.takes,
            params: PerEvent::default(),
        });
        Lines { printer: self.printer.another(), backtraces }
    }

    /// Appends the line of an event, and its call stack.
    pub(super) fn line(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        self.printer.line(out, event);
        let frames = self.backtraces.as_mut().and_then(|of| of.frames(event));
        let Some(frames) = frames else { return };
        match self.printer {
            LinePrinter::Text(_) => {
                for (number, frame) in frames.iter().enumerate() {
                    let number = format!("#{number}");
                    let line = format!("{:20}{number:<4} {}\n", "", escaped_text(frame));
                    out.extend_from_slice(line.as_bytes());
                }
            }
            LinePrinter::Json(_) => {
                // The object goes on.
                out.truncate(out.len().saturating_sub(b"}\n".len()));
                out.extend_from_slice(b",\"frames\":");
                // Strings serialize, and writing to memory cannot fail.
                let _ = serde_json::to_writer(&mut *out, &frames);
                out.extend_from_slice(b"}\n");
            }
        }
    }
}

impl Backtraces {
    /// Returns the functions of an event's stack, if it has one.
    fn frames(&mut self, event: &Event<'_>) -> Option<Vec<String>> {
        let param = *self.params.get(event, StackParam::of);
        if param.is_none() && !self.takes {
            return None;
        }
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        if self.takes {
            stacks.take(event);
        }
        Some(param?.frames(event, &mut stacks))
    }
}
