//! How programs ended, by the runtime's own events of the kind `Program`.

use std::collections::BTreeMap;

use serde::Serialize;
use telemetry_decode::blocks::Index;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, Filter, Order, Value};

use crate::input::inputs::{Inputs, cannot_read};
use crate::term::ended::Failure;
use crate::text::{escaped_text, grouped};

/// The events that say how a program ended.
const EVENTS: [&str; 3] = ["Panicked", "Exited", "Signaled"];

/// What a session says of its end.
#[derive(Serialize, Debug, Default, PartialEq)]
pub(super) struct Ending {
    /// The status with which the program ended, if it was not 0.
    exit_code: Option<i64>,
    /// The last panic.
    panic: Option<Panic>,
    /// Number of panics, also of those that were caught.
    panics: u64,
    /// The last fatal signal.
    signal: Option<Signal>,
}

/// A fatal signal.
#[derive(Serialize, Debug, PartialEq)]
struct Signal {
    /// Such as `SIGSEGV`.
    name: String,
    code: i64,
    /// Hexadecimal, with `0x`.
    address: String,
    thread: u32,
    time_ns: i64,
}

/// A panic.
#[derive(Serialize, Debug, PartialEq)]
struct Panic {
    message: String,
    file: String,
    line: u64,
    thread: u32,
    time_ns: i64,
}

/// Returns how the programs of the sessions ended, by the id of the session. Reads events only if
/// there are any of that kind. An input that cannot be read again has none.
pub(super) fn endings(inputs: &Inputs, index: &Index) -> Result<BTreeMap<u64, Ending>, Failure> {
    let mut endings = BTreeMap::new();
    if !has_any(index) || !inputs.are_files() {
        return Ok(endings);
    }
    let filter = Filter::default().registries([RUNTIME_REGISTRY]).events(EVENTS);
    let mut events = inputs.events(Order::Time, filter)?;
    while let Some(event) = events.next().map_err(cannot_read)? {
        let ending: &mut Ending = endings.entry(event.session().id).or_default();
        ending.add(&event);
    }
    Ok(endings)
}

/// Returns true if the input has events of the kind that such events have.
fn has_any(index: &Index) -> bool {
    let own = index.registries.iter().filter(|known| known.registry.name == RUNTIME_REGISTRY);
    let kinds = own.flat_map(|known| {
        let of_events = known.registry.events.iter().filter(|event| EVENTS.contains(&&*event.name));
        of_events.map(|event| (known.fingerprint, known.registry.kinds[event.kind].bit))
    });
    let kinds: Vec<_> = kinds.collect();
    index.lanes.iter().any(|lane| lane.events > 0 && kinds.contains(&(lane.registry, lane.kind)))
}

impl Ending {
    fn add(&mut self, event: &Event<'_>) {
        let text = |name: &str| match event.get(name) {
            Some(Value::String(text)) => text.to_string(),
            _ => String::new(),
        };
        match event.name() {
            "Exited" => self.exit_code = event.get("status").and_then(|status| status.as_i64()),
            "Signaled" => {
                let name = match event.get("signal") {
                    Some(Value::Named(signal)) => format!("SIG{}", signal.to_string().to_uppercase()),
                    _ => String::new(),
                };
                let number = |value: Option<Value<'_>>| match value {
                    Some(Value::Addr(address)) => address,
                    _ => 0,
                };
                self.signal = Some(Signal {
                    name,
                    code: event.get("code").and_then(|code| code.as_i64()).unwrap_or_default(),
                    address: format!("{:#x}", number(event.get("address"))),
                    thread: event.thread(),
                    time_ns: event.time_ns(),
                });
            }
            _ => {
                self.panics += 1;
                self.panic = Some(Panic {
                    message: text("message"),
                    file: text("file"),
                    line: event.get("line").and_then(|line| line.as_u64()).unwrap_or_default(),
                    thread: event.thread(),
                    time_ns: event.time_ns(),
                });
            }
        }
    }

    /// Returns names and texts of what is known.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let panic = self.panic.as_ref().map(|panic| {
            let Panic { message, file, line, thread, .. } = panic;
            let more = match self.panics {
                1 => String::new(),
                panics => format!(", the last of {}", grouped(panics)),
            };
            let text = escaped_text(&format!("{message}, at {file}:{line}"));
            ("panic", format!("{text}, in thread {thread}{more}"))
        });
        let signal = self.signal.as_ref().map(|signal| {
            let Signal { name, code, address, thread, .. } = signal;
            let at = if *code > 0 { format!(" at {address}") } else { String::new() };
            ("signal", escaped_text(&format!("{name}{at}, code {code}, in thread {thread}")))
        });
        let exit_code = self.exit_code.map(|code| ("exit code", code.to_string()));
        panic.into_iter().chain(signal).chain(exit_code)
    }
}
