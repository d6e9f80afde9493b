//! The text of `mprof-report --debug`: a line per event, in the order of the log.

mod events;
mod lines;

use std::io::{self, Write};

use telemetry_decode::completeness::Damage;
use telemetry_decode::foreign::{LogBytes, Survey};

use super::decode::{Item, Visit, decode};
use super::header::FileHead;
use super::known::Known;
use super::layout::Version;
use super::output::Output;
use super::read_ahead::ReadAhead;
use super::walk::{Layouts, Step, Walk};
use super::what::What;
use super::words;
use lines::Lines;

/// Writes the output of `mprof-report --debug` for a log: that of 2010 for data version 1, that of
/// Mono 6.8 for 17. Returns what could not be read. Two things differ. After an allocation, the
/// tool of 2010 prints its read position in its own memory; here it is the position in the buffer.
/// And classes and methods of version 17 have their names even before the log gives them.
///
/// # Errors
/// Those of the input and of the output.
pub fn debug(bytes: &mut LogBytes<'_>, out: &mut dyn Write) -> io::Result<Vec<Damage>> {
    let layouts = Layouts::shared();
    let mut lines = Lines::new(Output::new(out));
    let mut ahead = ReadAhead::new(bytes.len());
    let (mut heads, mut damaged) = (Vec::<FileHead>::new(), Vec::new());
    let mut walk = Walk::new(layouts);
    loop {
        match walk.next(bytes)? {
            Step::End => break,
            Step::Damage(damage) => damaged.push(damage),
            Step::File(head) => {
                if head.version == Version::Seventeen && heads.is_empty() {
                    lines.all = all_names(layouts, bytes)?;
                }
                ahead.read_to(walk.at());
                heads.push(*head);
            }
            Step::Buffer(placed) => {
                let layout = layouts.of(placed.version);
                lines.buffer(&placed, if placed.version == Version::One { ahead.at() } else { placed.at });
                ahead.read_to(placed.payload_at());
                let payload = bytes.at(placed.payload_at(), placed.len)?;
                let payload = &payload[..placed.len.min(payload.len())];
                let decoded = decode(layout, &placed.head, payload, &mut lines);
                ahead.read_to(placed.payload_at() + placed.len as u64);
                lines.stacks.all[lines.thread].1.last = decoded.ticks;
                damaged.extend(walk.damage(&placed, &decoded));
                if let Some(why) = Survey::full_of_lanes(lines.stacks.all.len()) {
                    damaged.push(walk.leave_out(bytes, walk.at(), why));
                }
            }
        }
        lines.to.take_if_full(&mut lines.out);
        if lines.to.has_failed() {
            break;
        }
    }
    lines.end();
    heads.iter().for_each(|head| words::header(head, &mut lines.out));
    lines.to.end(&mut lines.out)?;
    Ok(damaged)
}

/// Returns all names in the log.
fn all_names(layouts: &Layouts, bytes: &mut LogBytes<'_>) -> io::Result<Known> {
    let (mut names, mut walk) = (AllNames::default(), Walk::new(layouts));
    loop {
        match walk.next(bytes)? {
            Step::End => return Ok(names.0),
            Step::Damage(_) | Step::File(_) => {}
            Step::Buffer(placed) => {
                let payload = bytes.at(placed.payload_at(), placed.len)?;
                let payload = &payload[..placed.len.min(payload.len())];
                decode(layouts.of(placed.version), &placed.head, payload, &mut names);
            }
        }
    }
}

#[derive(Default)]
struct AllNames(Known);

impl Visit for AllNames {
    fn call(&mut self, _: What, _: u64, _: u64, _: usize, _: usize) {}

    fn event(&mut self, item: &Item<'_>) {
        self.0.take(item);
    }
}
