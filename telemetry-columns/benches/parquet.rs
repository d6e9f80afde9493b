//! Speed and size of Parquet files, of streams or of a made-up one: `cargo bench -p
//! telemetry-columns --bench parquet -- [STREAM]...`.

#![allow(missing_docs, clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

use telemetry_columns::{Batches, ParquetWriter};
use telemetry_decode::{Order, Reader};
use telemetry_testing::work::allocations;

const EVENTS: u64 = 4_000_000;
const ROUNDS: usize = 3;

/// Counts the bytes of a file.
#[derive(Default)]
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
    let mut rates = [Vec::new(), Vec::new()];
    let mut size = 0.0;
    for _ in 0..ROUNDS {
        rates[0].push(columns(stream)?);
        let (rate, bytes) = files(stream)?;
        rates[1].push(rate);
        size = bytes;
    }
    let [columns, files] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    });
    println!("{name}, in M events/s");
    println!("  columns, in time order  {columns:>8.1}");
    println!("  Parquet files           {files:>8.1}   {size:.2} bytes an event");
    Ok(())
}

fn columns(stream: &[u8]) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut batches = Batches::new(Reader::from_slice(stream).order(Order::Time).events()?);
    let mut count = 0;
    while let Some(batch) = batches.next_batch()? {
        count += batch.rows();
        std::hint::black_box(&batch);
    }
    Ok(count as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// Writes a file for each table. Returns the rate, and the bytes an event.
fn files(stream: &[u8]) -> Result<(f64, f64), Box<dyn Error>> {
    let start = Instant::now();
    let mut batches = Batches::new(Reader::from_slice(stream).order(Order::Time).events()?);
    let mut files = HashMap::new();
    let mut count = 0;
    while let Some(batch) = batches.next_batch()? {
        count += batch.rows();
        let table = batch.table().clone();
        let file = files
            .entry(table.name.clone())
            .or_insert_with(|| ParquetWriter::new(Count::default(), &table, batches.events().registries()));
        file.push(batch)?;
    }
    let mut bytes = 0;
    for file in files.into_values() {
        bytes += file.finish()?.0;
    }
    Ok((count as f64 / start.elapsed().as_secs_f64() / 1e6, bytes as f64 / count as f64))
}
