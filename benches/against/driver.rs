//! Reads a stream in one way, and prints the processor time of it in seconds.
//!
//! `benches/against.rs` builds this program with each of two versions of the library. It is also a
//! benchmark of this package, so that it compiles with the rest.

// The feature is of the package that `benches/against.rs` makes.
#![allow(missing_docs, unexpected_cfgs, clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;

use telemetry::decode::{Order, Reader, Value};
use telemetry::telemetry_event;

#[path = "../common/mod.rs"]
mod common;

#[telemetry_event("events.toml", decode)]
pub mod gc {}

#[telemetry_event("tests/registries/work.toml", decode)]
pub mod work {}

/// The number of events W in a stream.
const EMITTED: u64 = 10_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().filter(|arg| arg != "--bench").collect();
    if args.len() == 1 {
        println!("SKIPPED: no way and no stream; run `cargo bench --bench against -- COMMIT`");
        return Ok(());
    }
    let [_, way, stream] = &args[..] else { return Err("expected a way and a stream".into()) };
    if way == "emit" {
        return emit(stream);
    }
    let bytes = std::fs::read(stream)?;
    let start = processor_time();
    let events = match way.as_str() {
        "next" => next(&bytes, false)?,
        "values" => next(&bytes, true)?,
        "batch" => batch(&bytes)?,
        "gc" => typed_gc(&bytes)?,
        "work" => typed_work(&bytes)?,
        _ => return Err("an unknown way".into()),
    };
    println!("{} {events}", processor_time() - start);
    Ok(())
}

fn next(bytes: &[u8], values: bool) -> Result<u64, Box<dyn Error>> {
    let (mut count, mut sum) = (0, 0_u64);
    let mut events = Reader::from_slice(bytes).order(Order::Stream).events()?;
    while let Some(event) = events.next()? {
        count += 1;
        sum = sum.wrapping_add(event.ticks() ^ u64::from(event.schema().code));
        if values {
            sum = event.values().map(|value| bits(&value)).fold(sum, |sum, bits| sum ^ bits);
        }
    }
    black_box(sum);
    Ok(count)
}

fn bits(value: &Value<'_>) -> u64 {
    match *value {
        Value::Pointer(bits) | Value::Addr(bits) | Value::Word(bits) | Value::Unsigned(bits) => bits,
        _ => 0,
    }
}

#[cfg(not(feature = "without-batches"))]
fn batch(bytes: &[u8]) -> Result<u64, Box<dyn Error>> {
    let (mut count, mut sum) = (0, 0_u64);
    let mut events = Reader::from_slice(bytes).order(Order::Stream).events()?;
    while let Some(batch) = events.next_batch()? {
        for event in batch.iter() {
            count += 1;
            sum = sum.wrapping_add(event.ticks() ^ u64::from(event.schema().code));
        }
    }
    black_box(sum);
    Ok(count)
}

/// A version without batches reads event by event.
#[cfg(feature = "without-batches")]
fn batch(bytes: &[u8]) -> Result<u64, Box<dyn Error>> {
    next(bytes, false)
}

fn typed_gc(bytes: &[u8]) -> Result<u64, Box<dyn Error>> {
    let (mut count, mut sum) = (0, 0_u64);
    let mut events = Reader::from_slice(bytes).order(Order::Stream).typed::<gc::Decoder>()?;
    events.for_each(|at| {
        count += 1;
        match at.event {
            gc::Event::ObjectAlloc(event) => sum = sum.wrapping_add(event.size),
            _ => sum = sum.wrapping_add(at.ticks()),
        }
    })?;
    black_box(sum);
    Ok(count)
}

fn typed_work(bytes: &[u8]) -> Result<u64, Box<dyn Error>> {
    let (mut count, mut sum) = (0, 0_u64);
    let mut events = Reader::from_slice(bytes).order(Order::Stream).typed::<work::Decoder>()?;
    events.for_each(|at| {
        count += 1;
        if let work::Event::Alloc(event) = at.event {
            sum = sum.wrapping_add(event.pointer ^ event.address ^ event.size ^ u64::from(event.level));
        }
    })?;
    black_box(sum);
    Ok(count)
}

/// Writes a stream of events W.
fn emit(stream: &str) -> Result<(), Box<dyn Error>> {
    telemetry::Config::new().output(stream).control("all").buffer(64 << 20).start()?;
    for i in 0..EMITTED {
        let (pointer, address, size, level, _) = common::fields(i);
        work::alloc!(pointer, address, size, level);
        if i % 1_000_000 == 0 {
            telemetry::flush();
        }
    }
    telemetry::flush();
    Ok(())
}

/// Seconds of processor time of this process.
#[allow(unsafe_code)]
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is writable, and the clock exists on all Unix systems.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
