//! Times of operations beside the hot path, on this machine: `cargo bench --bench around`.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Goal, Row, fields, table, time};
use telemetry::{recorder::Traceback, telemetry_event};

#[telemetry_event("tests/registries/work.toml")]
pub mod events {}

const CALLS: u64 = 20_000;
const ROUNDS: u64 = 9;
/// Enough to fill a pool of 16 MiB.
const EVENTS: u64 = 4_000_000;

fn main() -> std::io::Result<()> {
    let dir = tempfile::tempdir()?;
    let (stream, snapshot) = (dir.path().join("telemetry.tel"), dir.path().join("snapshot.tel"));
    telemetry::Config::new().output(stream).record("all").buffer(16 << 20).start().unwrap();
    for number in 0..EVENTS {
        let (pointer, address, size, level, _) = fields(number);
        events::alloc!(pointer, address, size, level);
    }
    let mut rows = vec![
        Row::new("intern! at a site", "ns", Goal::Less),
        Row::new("intern of a known string", "ns", Goal::Less),
        Row::new("intern of a new string", "ns", Goal::Less),
        Row::new("label of an address", "ns", Goal::Less),
        Row::new("Traceback::all_threads, pool of 16 MiB full", "ms", Goal::Less),
        Row::new("snapshot of the same", "ms", Goal::Less),
    ];
    let milliseconds = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    for round in 0..ROUNDS {
        let names: Vec<String> = (0..CALLS).map(|number| format!("name {round} {number}")).collect();
        let each = |work: &dyn Fn(usize)| time(CALLS, |n| (0..n as usize).for_each(work));
        rows[0].add(each(&|_| _ = black_box(telemetry::intern!("nursery"))), 1.0);
        // New strings first: the second time they are known.
        rows[2].add(each(&|at| _ = black_box(telemetry::intern(&names[at]))), 1.0);
        rows[1].add(each(&|at| _ = black_box(telemetry::intern(&names[at]))), 1.0);
        let label = telemetry::intern!("nursery");
        rows[3].add(each(&|at| telemetry::label(0x1000 + 64 * at as u64, label)), 1.0);
        let since = Instant::now();
        black_box(Traceback::all_threads(20).to_string());
        rows[4].add(milliseconds(since), 1.0);
        let since = Instant::now();
        telemetry::recorder::snapshot(&snapshot)?;
        rows[5].add(milliseconds(since), 1.0);
    }
    table(rows);
    Ok(())
}
