//! Measures how fast streams are decoded, by order and source: `cargo run --release --example speed
//! [FILE]`.
//!
//! Without a file, it makes a stream of events with a pointer, an address, a word and a `u32`, on
//! four threads. It prints the nanoseconds per event of the fastest of five rounds.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use telemetry_decode::writer::Writer;
use telemetry_decode::{Events, Facts, Order, Reader};
use telemetry_testing::work::{self, Made};

const EVENTS: u64 = 4_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stream = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => stream()?,
    };
    println!("{} bytes", stream.len());
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &stream)?;
    let stream_order = || Reader::from_slice(&stream).order(Order::Stream).events();
    measure("memory, stream order, time alone", stream_order, false)?;
    measure("memory, stream order", stream_order, true)?;
    measure("memory, by time", || Reader::from_slice(&stream).events(), true)?;
    measure("pipe, stream order", || Reader::from_reader(&stream[..]).order(Order::Stream).events(), true)?;
    measure("file, stream order", || Reader::open(file.path())?.order(Order::Stream).events(), true)?;
    measure("file, by time", || Reader::open(file.path())?.events(), true)?;
    Ok(())
}

fn measure<'s>(
    what: &str,
    open: impl Fn() -> telemetry_decode::Result<Events<'s>>,
    values: bool,
) -> telemetry_decode::Result<()> {
    let mut best = f64::MAX;
    let mut count = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let mut events = open()?;
        let mut sum = 0_u64;
        count = 0_u64;
        while let Some(event) = events.next()? {
            count += 1;
            sum = sum.wrapping_add(event.time_ns() as u64);
            if values {
                for value in event.values() {
                    sum = sum.wrapping_add(value.as_u64().unwrap_or(1));
                }
            }
        }
        std::hint::black_box(sum);
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    println!("{what:32} {best:6.1} ns/event {:6.1} M events/s, {count} events", 1e3 / best);
    Ok(())
}

fn stream() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut facts = Facts::default();
    facts.set("clock", "tsc");
    facts.set("ticks_per_second", 3_000_000_000_i64);
    work::write(Writer::new(Vec::new()), &facts, EVENTS, 100, |i| Made {
        ticks: i * 40 + i % 13,
        values: [
            0x7f3a_0000_0000 + i * 64,
            0x5581_0000_0000 + ((i * 0x9e37) & 0xff_ffff),
            16 + (i & 0xfff),
            i & 7,
        ],
    })
}
