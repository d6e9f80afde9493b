//! The text of a lock file.

use std::fmt::{self, Write};

use crate::model::canonical::{fnv1a, quoted};
use crate::version::lock::{Docs, Lock, LockEvent, LockMessage, LockParam, State};

/// The beginning of the first line, which ends in the number of the format.
pub(super) const FIRST_WORD: &str = "telemetry-lock";

/// The beginning of the last line, which ends in the checksum of everything before it.
pub(super) const LAST_WORD: &str = "checksum";

const NOTE: &str = "# Written by `telemetry release`. Not to be edited: restore or release it.";

impl Lock {
    /// True if a text is meant as a lock file, and not as an `events.toml`.
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with(FIRST_WORD)
    }

    /// The lock file as the text of `events.lock`. The same lock file always gives the same text,
    /// with a line for each kind, type, value, event, parameter, span and message, each in its
    /// order. `docs/versions.md` describes it.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(256 + 256 * self.events.len());
        let _ = writeln!(out, "{FIRST_WORD} {}\n{NOTE}", Lock::FORMAT);
        let _ = writeln!(out, "registry {} {}{}", self.registry, self.version, self.docs);
        for kind in &self.kinds {
            let _ = writeln!(out, "kind {} {} {}{}", kind.bit, kind.name, kind.clock.name(), kind.docs);
        }
        for ty in &self.types {
            let repr = ty.repr.name().unwrap_or_default();
            let _ = writeln!(out, "type {} {repr} {}{}", ty.name, ty.form.name(), ty.docs);
            for value in &ty.values {
                let _ = writeln!(out, "  value {} {}{}", value.number, value.name, value.docs);
            }
        }
        for event in &self.events {
            write_event(&mut out, event);
        }
        for span in &self.spans {
            let _ = write!(out, "span {} {} {}", span.name, span.begin, span.end);
            if let Some(key) = &span.key {
                let _ = write!(out, " key={key}");
            }
            let _ = writeln!(out, "{}", span.docs);
        }
        for message in &self.messages {
            write_message(&mut out, message);
        }
        let checksum = checksum(&out);
        let _ = writeln!(out, "{LAST_WORD} {checksum}");
        out
    }
}

fn write_event(out: &mut String, event: &LockEvent) {
    let _ = write!(out, "event {:#06x} {} {}", event.code, event.name, event.kind);
    if event.always {
        out.push_str(" always");
    }
    if !event.replay.is_empty() {
        let _ = write!(out, " replay={}", quoted(&event.replay));
    }
    if !event.time.is_empty() {
        let _ = write!(out, " time={}", event.time);
    }
    match event.state {
        State::Used => {}
        State::Retired => out.push_str(" retired"),
        State::Gone(last) => {
            let _ = write!(out, " gone={last}");
        }
    }
    let _ = writeln!(out, "{}", event.docs);
    for param in &event.params {
        write_param(out, param);
    }
}

fn write_param(out: &mut String, param: &LockParam) {
    let _ = write!(out, "  param {} {}", param.name, param.sort);
    if let Some(max) = param.max {
        let _ = write!(out, " max={max}");
    }
    if param.align > 1 {
        let _ = write!(out, " align={}", param.align);
    }
    if !param.unit.is_empty() {
        let _ = write!(out, " unit={}", quoted(&param.unit));
    }
    if !param.names.is_empty() {
        let _ = write!(out, " names={}", param.names);
    }
    if !param.numbers.is_empty() {
        let _ = write!(out, " numbers={}", param.numbers);
    }
    if let Some(since) = param.since {
        let _ = write!(out, " since={since}");
    }
    let _ = writeln!(out, "{}", param.docs);
}

fn write_message(out: &mut String, message: &LockMessage) {
    let _ = write!(out, "message {} {}", message.name, message.begin);
    if let Some(end) = &message.end {
        let _ = write!(out, " end={end}");
    }
    if let Some(key) = &message.key {
        let _ = write!(out, " key={key} limit={}", message.limit);
    }
    let _ = writeln!(out, "{}", message.docs);
}

/// The checksum of a lock file's lines before the last.
pub(super) fn checksum(lines: &str) -> String {
    format!("{:016x}", fnv1a(lines.as_bytes()))
}

/// At the end of a line; nothing for an empty doc.
impl fmt::Display for Docs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            hash => write!(f, " docs={hash:08x}"),
        }
    }
}
