//! A subscriber for the whole process. `tracing` gives it what a value says while it is formatted.

use std::fmt;

use telemetry::decode::Reader;
use telemetry::sinks::{self, Memory};
use tracing::info;
use tracing_subscriber::prelude::*;

/// Uses `tracing` while it is formatted, and is formatted there again.
struct Talks(u32);

impl fmt::Display for Talks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before {} ", self.0)?;
        if self.0 > 0 {
            info!("{}", Talks(self.0 - 1));
        }
        write!(f, "after {}", self.0)
    }
}

/// A sink that uses `tracing` in each write.
struct Noisy(Memory);

impl sinks::Sink for Noisy {
    fn write(&mut self, blocks: &sinks::Batch<'_>) -> std::io::Result<()> {
        info!("written");
        self.0.write(blocks)
    }
}

#[test]
fn values_and_sinks_that_use_tracing() {
    tracing_subscriber::registry().with(telemetry_tracing::layer()).init();
    let memory = Memory::new(1 << 20);
    sinks::add(Noisy(memory.clone())).expect("a sink");
    telemetry::set("tracing:Log");
    info!("{}", Talks(3));
    assert!(telemetry::flush());
    telemetry::reset("all");
    assert!(telemetry::flush());
    let stream = memory.to_vec();
    let mut events = Reader::from_slice(&stream).events().expect("a stream");
    let (mut talks, mut written) = (Vec::new(), 0);
    while let Some(event) = events.next().expect("a sound stream") {
        match event.get("message").map(|message| message.to_string()) {
            Some(text) if text == "written" => written += 1,
            Some(text) => talks.push(text),
            None => {}
        }
    }
    let text = |number: u32| format!("before {number} after {number}");
    assert_eq!(talks, [text(0), text(1), text(2), text(3)]);
    // What the sink says is in its next write: a loop, but one that does not grow.
    assert!(written < 100, "{written}");
}
