//! Speed of events into columns, beside generic decoding in the same run: `cargo bench -p
//! telemetry-columns -- [FILE]...`. Without files, it measures a made-up stream.

#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use telemetry_columns::Batches;
use telemetry_decode::{Order, Reader};
use telemetry_testing::work::allocations;

const EVENTS: u64 = 10_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if files.is_empty() {
        measure("made-up allocations", &allocations(EVENTS)?)?;
    }
    for file in files {
        measure(&file, &std::fs::read(&file)?)?;
    }
    Ok(())
}

/// Prints the medians of all rounds.
fn measure(name: &str, stream: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        rates[0].push(decode(stream)?);
        rates[1].push(columns(stream, Order::Stream, true)?);
        rates[2].push(columns(stream, Order::Stream, false)?);
        rates[3].push(columns(stream, Order::Time, true)?);
    }
    let [decode, reused, kept, by_time] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    });
    println!("{name}, in M events/s and as a part of generic decoding");
    let rows = [
        ("generic decoding", decode),
        ("columns", reused),
        ("columns that are kept", kept),
        ("columns, in time order", by_time),
    ];
    for (what, rate) in rows {
        println!("  {what:<24}{rate:>8.1}{:>8.2}", rate / decode);
    }
    Ok(())
}

fn decode(stream: &[u8]) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut events = Reader::from_slice(stream).order(Order::Stream).events()?;
    let (mut count, mut sum) = (0_u64, 0_u64);
    while let Some(event) = events.next()? {
        count += 1;
        sum = event.bits().fold(sum ^ event.ticks(), |sum, bits| sum ^ bits);
    }
    std::hint::black_box(sum);
    Ok(count as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// Reads batches whose memory is used again, or is new for each.
fn columns(stream: &[u8], order: Order, reuse: bool) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut batches = Batches::new(Reader::from_slice(stream).order(order).events()?);
    let mut count = 0;
    while let Some(batch) = batches.next_batch()? {
        count += batch.rows();
        std::hint::black_box(&batch);
        if reuse {
            batches.reuse(batch);
        }
    }
    Ok(count as f64 / start.elapsed().as_secs_f64() / 1e6)
}
