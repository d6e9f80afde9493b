//! Writes a stream for measurements of the command: `cargo run --release --example big_stream FILE
//! [MILLIONS]`.
//!
//! Its events have a pointer, an address, a word and a `u32`, on four threads that take turns.
//! Measure, for example, with `time telemetry cnv FILE > /dev/null`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use telemetry_decode::Facts;
use telemetry_decode::writer::Writer;
use telemetry_testing::work::{self, Made};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let path = args.next().ok_or("expected the name of the file to write")?;
    let millions: u64 = args.next().map_or(Ok(10), |number| number.to_string_lossy().parse())?;

    let mut facts = Facts::default();
    facts.set("program", "big_stream");
    facts.set("clock", "os");
    let mut seed = 1_u64;
    let writer = Writer::new(BufWriter::new(File::create(path)?));
    work::write(writer, &facts, millions * 1_000_000, 50, |number| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Made {
            ticks: number * 25,
            values: [
                0x7f00_0000_1000 + (seed >> 60) * 0x40,
                0x7f10_0000_0000 + number * 48,
                16 << (seed >> 62),
                seed >> 61,
            ],
        }
    })?;
    Ok(())
}
