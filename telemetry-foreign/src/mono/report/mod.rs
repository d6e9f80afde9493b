//! The tables of `mprof-report`.

mod classes;
mod counters;
mod gc;
mod heap;
mod listed;
mod methods;
mod monitors;
mod options;
mod order;
mod print;
mod samples;
mod tally;
mod traces;

use std::io::{self, Write};

use telemetry_decode::completeness::Damage;
use telemetry_decode::foreign::LogBytes;

use super::decode::decode;
use super::header::FileHead;
use super::walk::{Layouts, Step, Walk};
use tally::Tally;

pub use options::ReportOptions;

/// Writes the tables of `mprof-report` for a log: that of 2010 for data version 1, that of Mono 6.8
/// for 17. With traces, references between the classes of a heap are omitted. Returns what could
/// not be read.
///
/// # Errors
/// Those of the input and of the output.
pub fn report(
    bytes: &mut LogBytes<'_>,
    options: ReportOptions,
    out: &mut dyn Write,
) -> io::Result<Vec<Damage>> {
    let layouts = Layouts::shared();
    let mut walk = Walk::new(layouts);
    let mut damaged = Vec::new();
    let mut heads = Vec::<FileHead>::new();
    let mut tally = Tally::new(options.traces);
    let mut has_buffers = false;
    loop {
        match walk.next(bytes)? {
            Step::End => break,
            Step::Damage(damage) => damaged.push(damage),
            Step::File(head) => {
                // A log that follows another one has its own report.
                if has_buffers {
                    let ended = std::mem::replace(&mut tally, Tally::new(options.traces));
                    print::print(ended, heads.pop(), options, out)?;
                    has_buffers = false;
                }
                heads.push(*head);
            }
            Step::Buffer(placed) => {
                has_buffers = true;
                tally.buffer(&placed.head);
                let payload = bytes.at(placed.payload_at(), placed.len)?;
                let payload = &payload[..placed.len.min(payload.len())];
                let decoded = decode(layouts.of(placed.version), &placed.head, payload, &mut tally);
                tally.buffer_ended(decoded.ticks);
                damaged.extend(walk.damage(&placed, &decoded));
                if let Some(why) = tally.full() {
                    damaged.push(walk.leave_out(bytes, placed.at, why));
                }
            }
        }
    }
    if has_buffers || !heads.is_empty() {
        print::print(tally, heads.pop(), options, out)?;
    }
    Ok(damaged)
}
