//! Processor time of the counts of `telemetry stats`, beside generic decoding by batch in the same
//! process: `cargo bench -p telemetry-report --bench stats -- [FILE]...`. Without files, it
//! measures a made-up stream.

#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;

use telemetry_decode::{EventBatch, Order, Reader};
use telemetry_report::stats::Tally;
use telemetry_testing::processor_time::of_thread;
use telemetry_testing::work::allocations;

const EVENTS: u64 = 10_000_000;
const ROUNDS: usize = 7;

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

/// Prints the least processor time of all rounds, which read in both ways in turn.
fn measure(name: &str, stream: &[u8]) -> Result<(), Box<dyn Error>> {
    let (mut decode, mut stats) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let mut sum = 0;
        decode = decode.min(time(stream, |batch| {
            let events = batch.iter().map(|event| event.ticks() ^ u64::from(event.schema().code));
            sum = events.fold(sum, u64::wrapping_add);
        })?);
        black_box(sum);
        let mut tally = Tally::default();
        stats = stats.min(time(stream, |batch| tally.add_batch(batch))?);
        black_box(&tally);
    }
    println!("{name}: decoding {decode:.3} s, stats {stats:.3} s, {:.2} times decoding", stats / decode);
    Ok(())
}

/// Reads all batches, and returns the seconds of processor time.
fn time(stream: &[u8], mut take: impl FnMut(&EventBatch<'_>)) -> Result<f64, Box<dyn Error>> {
    let now = || of_thread().ok_or("the system does not state the processor time of a thread");
    let start = now()?;
    let mut events = Reader::from_slice(stream).order(Order::Stream).events()?;
    while let Some(batch) = events.next_batch()? {
        take(&batch);
    }
    Ok((now()? - start).as_secs_f64())
}
