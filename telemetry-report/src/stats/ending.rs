//! How programs ended, by the runtime's own events of the kind `Program`.

use serde::Serialize;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, Value};
use telemetry_format::Grouped;

/// The events that say how a program ended.
pub const ENDINGS: [&str; 3] = ["Panicked", "Exited", "Signaled"];

/// What a session says of its end.
#[derive(Serialize, Debug, Default, PartialEq)]
pub struct Ending {
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

impl Ending {
    /// Returns true if an event says how its program ended.
    pub fn is_said_by(event: &Event<'_>) -> bool {
        event.registry().name == RUNTIME_REGISTRY && ENDINGS.contains(&event.name())
    }

    /// Takes an event that says how the program ended.
    pub fn add(&mut self, event: &Event<'_>) {
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

    /// Returns names and texts of what is known. The texts may have control characters.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let panic = self.panic.as_ref().map(|panic| {
            let Panic { message, file, line, thread, .. } = panic;
            let more = match self.panics {
                1 => String::new(),
                panics => format!(", the last of {}", Grouped::from(panics)),
            };
            ("panic", format!("{message}, at {file}:{line}, in thread {thread}{more}"))
        });
        let signal = self.signal.as_ref().map(|signal| {
            let Signal { name, code, address, thread, .. } = signal;
            let at = if *code > 0 { format!(" at {address}") } else { String::new() };
            ("signal", format!("{name}{at}, code {code}, in thread {thread}"))
        });
        let exit_code = self.exit_code.map(|code| ("exit code", code.to_string()));
        panic.into_iter().chain(signal).chain(exit_code)
    }
}
