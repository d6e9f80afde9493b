//! A program on a host, as `tests/suite/chaos` runs it: `emit VERSION EVENTS ROUNDS [late]`.
//!
//! Two threads emit this number of events each, in two kinds, and rest between the rounds. Each
//! event has its number in its lane, so a check of rows needs no other account. With `late`, the
//! kind `High` is output only from the middle on.

use std::time::Duration;

use telemetry::telemetry_event;

#[telemetry_event("examples/emit/first.toml")]
mod first {}
#[telemetry_event("examples/emit/minor.toml")]
mod minor {}
#[telemetry_event("examples/emit/median.toml")]
mod median {}
#[telemetry_event("examples/emit/changed.toml")]
mod changed {}
#[telemetry_event("examples/emit/major.toml")]
mod major {}

/// Emits the event with this number in the lane of its thread, in either kind.
#[derive(Clone, Copy)]
struct Version {
    low: fn(u64),
    high: fn(u64),
}

fn version(name: &str) -> Version {
    let high: fn(u64) = |i| first::tock!(i, "high");
    match name {
        "first" => Version { low: |i| first::tick!(i, i as u32), high },
        "minor" => Version {
            low: |i| minor::tick!(i, i as u32),
            high: |i| match i % 2 {
                0 => minor::tock!(i, "high"),
                _ => minor::note!(i),
            },
        },
        "median" => {
            Version { low: |i| median::tick!(i, i as u32, "here"), high: |i| median::tock!(i, "high") }
        }
        "changed" => Version { low: |i| changed::tick!(i, "much"), high: |i| changed::tock!(i, "high") },
        "major" => Version { low: |i| major::tick!(i, i % 2 == 0), high: |i| major::tock!(i, "high") },
        other => panic!("`{other}`, expected first, minor, median, changed or major"),
    }
}

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [name, events, rounds, rest @ ..] = args.as_slice() else { panic!("too few arguments") };
    let version = version(name);
    let [events, rounds]: [u64; 2] = [events, rounds].map(|number| number.parse().expect("a number"));
    let is_late = rest == ["late"];
    if is_late {
        telemetry::reset("all");
        telemetry::set("Low");
        telemetry::recorder::set("all");
    }
    let emit = |from: u64, until: u64| {
        for i in from..until {
            (version.low)(i);
            (version.high)(i);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..rounds {
                    emit(events * round / rounds, events * (round + 1) / rounds);
                    if is_late && round == rounds / 2 {
                        telemetry::set("High");
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
    });
}
