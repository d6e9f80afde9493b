//! Events as the command `ghc-events show` prints them.

mod lines;
mod values;

use std::collections::HashMap;

use telemetry_decode::Event;

use super::header::append_size;
use super::layout::{EVENT_TYPE, NO_CAP, thread_of};
use lines::{Piece, pieces};
use values::{append, append_number, append_text};

/// Prints events, in the order of time, as `ghc-events show` 0.21 does.
#[derive(Default)]
pub struct Show {
    /// The lines of the registry with this fingerprint, by index of the event.
    lines: Vec<Option<Vec<Piece>>>,
    of: Option<u64>,
    /// The log's descriptions of its types.
    descriptions: HashMap<u16, Vec<u8>>,
    /// The part that was printed last.
    part: Part,
}

#[derive(Default, PartialEq, Eq)]
enum Part {
    #[default]
    Nothing,
    Types,
    Events,
}

impl Show {
    /// The name of the registry whose events are printed.
    pub const REGISTRY: &str = "ghc";

    /// Appends the text of an event. Returns false for an event of another system, which is not
    /// printed.
    pub fn event(&mut self, out: &mut Vec<u8>, event: &Event<'_>) -> bool {
        let registry = event.known_registry();
        if self.of != Some(registry.fingerprint) {
            if registry.registry.name != Show::REGISTRY {
                return false;
            }
            self.lines =
                registry.registry.events.iter().map(|event| pieces(&registry.registry, event.code)).collect();
            self.of = Some(registry.fingerprint);
        }
        let code = event.schema().code;
        if code == EVENT_TYPE {
            self.declaration(out, event);
            return true;
        }
        self.begin_events(out);
        append_number(out, event.ticks());
        out.extend_from_slice(b": ");
        if event.thread() != thread_of(NO_CAP) {
            out.extend_from_slice(b"cap ");
            append_number(out, event.thread().saturating_sub(1).into());
            out.extend_from_slice(b": ");
        }
        match self.lines.get(event.index()) {
            Some(Some(pieces)) => {
                for Piece { text, value } in pieces {
                    out.extend_from_slice(text.as_bytes());
                    if let Some((param, form)) = value {
                        append(out, event, *param, *form);
                    }
                }
            }
            _ => match self.descriptions.get(&code) {
                Some(description) => append_text(out, description),
                None => append_text(out, event.schema().doc.as_bytes()),
            },
        }
        out.push(b'\n');
        true
    }

    /// Appends the text that follows all events.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        self.begin_events(out);
        out.push(b'\n');
    }

    fn declaration(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        self.begin_types(out);
        let number = |index: usize| event.value(index).and_then(|value| value.as_u64()).unwrap_or_default();
        let description = event.value(2).and_then(|value| value.as_bytes()).unwrap_or_default();
        append_number(out, number(0));
        out.extend_from_slice(b": ");
        append_text(out, description);
        out.extend_from_slice(b" (size ");
        append_size(out, number(1) as u16);
        out.extend_from_slice(b")\n");
        self.descriptions.insert(number(0) as u16, description.to_vec());
    }

    fn begin_types(&mut self, out: &mut Vec<u8>) {
        match self.part {
            Part::Nothing => out.extend_from_slice(b"Event Types:\n"),
            Part::Events => out.extend_from_slice(b"\nEvent Types:\n"),
            Part::Types => {}
        }
        self.part = Part::Types;
    }

    #[inline]
    fn begin_events(&mut self, out: &mut Vec<u8>) {
        if self.part != Part::Events {
            if self.part == Part::Nothing {
                self.begin_types(out);
            }
            out.extend_from_slice(b"\nEvents:\n");
            self.part = Part::Events;
        }
    }
}
