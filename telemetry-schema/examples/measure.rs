//! How long a registry of 1,000 events with four parameters each takes: `cargo run --release
//! --example measure`. The macro does the first line at every build.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use telemetry_schema::parse;

fn main() {
    let text = text_of(1000);
    let registry = parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("registry", &text)));
    eprintln!("registry of {} bytes, {} events", text.len(), registry.events.len());
    report("parse", || parse(black_box(&text)).is_ok());
    report("to_toml", || registry.to_toml());
    report("fingerprint", || registry.fingerprint());
    report("slots", || registry.slots());
    let broken = text.replace("sort = \"word\"", "sort = \"wrd\"");
    let invalid = parse(&broken).expect_err("its sorts are unknown");
    report("parse, 1,000 mistakes", || parse(black_box(&broken)).is_err());
    report("render them", || invalid.render("registry", &broken));
}

/// Prints the least time of some runs.
fn report<T>(what: &str, mut run: impl FnMut() -> T) {
    let mut least = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        black_box(run());
        least = least.min(start.elapsed());
    }
    eprintln!("{what:22} {:8.2} ms", least.as_secs_f64() * 1e3);
}

fn text_of(events: usize) -> String {
    let mut text = String::from(
        "[registry]\nname = \"large\"\nversion = { major = 1, median = 0, minor = 0 }\ndoc = \"A large registry\"\n\
         [kinds]\nPool = { bit = 0, doc = \"per pool\" }\nTrace = { bit = 1, doc = \"per trace\" }\n\
         [types.Why]\nrepr = \"u8\"\nvalues = { Full = 1, Asked = 2 }\n",
    );
    for code in 0..events {
        let kind = if code % 3 == 0 { "Pool" } else { "Trace" };
        let _ = write!(
            text,
            "\n[[event]]\nname = \"SomethingHappened{code}\"\ncode = {code:#06x}\nkind = \"{kind}\"\n\
             doc = \"Something happened that is worth to be said in a sentence\"\nparams = [\n  \
             {{ name = \"pool\", sort = \"P\", doc = \"the pool it happened to\" }},\n  \
             {{ name = \"why\", sort = \"Why\", doc = \"what asked for it\" }},\n  \
             {{ name = \"size\", sort = \"word\", unit = \"bytes\", doc = \"how much of it there was\" }},\n  \
             {{ name = \"label\", sort = \"string\", max = 64, doc = \"what it was called\" }},\n]\n"
        );
    }
    text
}
