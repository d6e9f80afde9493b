//! Writes streams of work W, and the module of its registry, for measurements of the Python
//! reader: `cargo run --release -p telemetry-codegen-python --example work -- DIRECTORY EVENTS
//! [THREADS]`.

use std::error::Error;
use std::path::Path;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_schema::Registry;

const REGISTRY: &str = include_str!("../../tests/registries/work.toml");

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, directory, events, threads @ ..] = &args[..] else {
        return Err("expected DIRECTORY EVENTS".into());
    };
    let threads: u32 = threads.first().map_or(Ok(1), |threads| threads.parse())?;
    let registry =
        telemetry_schema::parse(REGISTRY).map_err(|invalid| invalid.render("work.toml", REGISTRY))?;
    let directory = Path::new(directory);
    std::fs::write(directory.join("work_events.py"), telemetry_codegen_python::module(&registry))?;
    let events: u64 = events.parse()?;
    std::fs::write(directory.join("work.tel"), stream(&registry, events, threads, None)?)?;
    // 300 events a block, as a program writes that emits 300 in a second.
    std::fs::write(directory.join("small.tel"), stream(&registry, events, threads, Some(2_700))?)?;
    Ok(())
}

/// Returns a stream of work W. With small blocks, it is of two kinds in turn.
fn stream(
    registry: &Registry,
    events: u64,
    threads: u32,
    small: Option<usize>,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 2_500_000_000_i64);
    let mut writer = Writer::new(Vec::new());
    if let Some(bytes) = small {
        writer = writer.block_size(bytes);
    }
    writer.session(1, &facts, 0, 1_700_000_000_000_000_000)?;
    let registry = writer.registry(1, registry)?;
    for i in 0..events {
        let lane = Lane { session: 1, thread: 1 + (i / 50) as u32 % threads, registry };
        let code = if small.is_some() && i % 2 == 1 { 3 } else { 1 };
        // As benches/record.rs emits them.
        let values = [
            Value::Pointer(0x7f3a_0000_0000 + i * 64),
            Value::Addr(0x5581_0000_0000 + (i.wrapping_mul(0x9e37) & 0xff_ffff)),
            Value::Word(16 + (i & 0xfff)),
            Value::Unsigned(i & 7),
        ];
        writer.event(lane, code, i * 40 + i % 13, &values)?;
    }
    writer.end(1, events * 40 + 100)?;
    Ok(writer.finish()?)
}
