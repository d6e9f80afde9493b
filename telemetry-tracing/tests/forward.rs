//! Events of telemetry reach the subscribers of `tracing`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use telemetry::sinks;
use telemetry_tracing::Forward;
use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

#[telemetry::telemetry_event("../tests/registries/work.toml")]
pub mod events {}

/// Keeps what a subscriber writes.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}

impl Lines {
    fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().expect("no panic"));
        String::from_utf8(bytes).expect("text").lines().map(str::to_string).collect()
    }
}

#[test]
fn events_come_once() {
    let lines = Lines::default();
    let fmt = tracing_subscriber::fmt::layer().without_time().with_ansi(false).with_writer(lines.clone());
    tracing_subscriber::registry().with(telemetry_tracing::layer()).with(fmt).init();
    sinks::add(Forward::new(Level::INFO)).expect("a sink");
    telemetry::set("all");
    // The first event is in an open block, which the second write contains again.
    for round in 0..3_usize {
        events::alloc!(0x10 + round, 0x100_usize, 64_usize, 1_u32);
        assert!(telemetry::flush());
        let found: Vec<_> = lines.take().into_iter().filter(|line| line.contains("Alloc")).collect();
        let [line] = &found[..] else { panic!("{found:?}") };
        let text = format!("Alloc  pointer:{:#x}  address:0x100  size:64 bytes  level:1", 0x10 + round);
        assert!(line.starts_with(" INFO telemetry::forward: ") && line.contains(&text), "{line}");
        assert!(line.contains("registry=\"work\" kind=\"Precise\" thread=\""), "{line}");
    }
}
