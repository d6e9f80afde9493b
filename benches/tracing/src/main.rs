//! What a layer of `tracing` costs, beside other layers, with the same spans and events.
//!
//!     cargo run --release --manifest-path benches/tracing/Cargo.toml
//!
//! Each way runs in processes of its own, in turn with the others. The figures are processor time
//! of the whole process, the best of some rounds, without that of a process that does nothing. It
//! includes what other threads do for a layer, and the writing of a file.

use std::process::Command;

use tracing::{Subscriber, info, info_span};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

/// Spans of a process, each with two fields and an event inside.
const SPANS: u64 = 200_000;
const ROUNDS: usize = 5;

const WAYS: [&str; 10] =
    ["registry", "off", "telemetry", "fmt", "fmt-ends", "fmt-full", "json", "chrome", "perfetto", "fastrace"];

fn main() {
    let folder = std::env::temp_dir().join(format!("bench-tracing-{}", std::process::id()));
    match std::env::args().nth(1) {
        Some(way) => return run(&way),
        None => std::fs::create_dir_all(&folder).expect("a folder"),
    }
    let program = std::env::current_exe().expect("this program");
    let cpu_ms = |way: &str| {
        let before = children_ns();
        let mut command = Command::new(&program);
        command.arg(way).current_dir(&folder).env("TELEMETRY_CONTROL", if way == "off" { "" } else { "all" });
        assert!(command.status().expect("the program").success(), "{way}");
        (children_ns() - before) as f64
    };
    let mut best = [f64::INFINITY; WAYS.len()];
    let mut nothing = f64::INFINITY;
    for _ in 0..ROUNDS {
        nothing = nothing.min(cpu_ms("nothing"));
        for (best, way) in best.iter_mut().zip(WAYS) {
            *best = best.min(cpu_ms(way));
        }
    }
    let of_one = |ns: f64| (ns - nothing) / SPANS as f64;
    let ours = of_one(best[2]);
    println!("{:<10} {:>8} {:>12}", "way", "ns/span", "telemetry=1");
    for (best, way) in best.into_iter().zip(WAYS) {
        println!("{way:<10} {:>8.0} {:>12.2}", of_one(best), of_one(best) / ours);
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// Processor time of the children that have ended.
fn children_ns() -> i64 {
    // SAFETY: zeros are a value of this type, and the call writes one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    [usage.ru_utime, usage.ru_stime].iter().map(|time| (time.tv_sec * 1_000_000 + time.tv_usec) * 1000).sum()
}

/// What one process does.
fn run(way: &str) {
    let file = || std::fs::File::create(format!("{way}.out")).expect("a file");
    let fmt = || tracing_subscriber::fmt::layer().with_ansi(false);
    match way {
        "nothing" => {}
        "registry" => work(Registry::default()),
        "off" | "telemetry" => work(Registry::default().with(telemetry_tracing::layer())),
        // A line for each event, with the fields of its spans.
        "fmt" => work(Registry::default().with(fmt().with_writer(file()))),
        // A line for each new span and its end, too.
        "fmt-ends" => {
            let ends = FmtSpan::NEW | FmtSpan::CLOSE;
            work(Registry::default().with(fmt().with_span_events(ends).with_writer(file())))
        }
        // A line for each entry and exit, too: what this project records.
        "fmt-full" => {
            work(Registry::default().with(fmt().with_span_events(FmtSpan::FULL).with_writer(file())))
        }
        "json" => {
            work(Registry::default().with(fmt().json().with_span_events(FmtSpan::FULL).with_writer(file())))
        }
        "chrome" => {
            let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new().file("chrome.out").build();
            work(Registry::default().with(layer.boxed()));
            drop(guard);
        }
        "perfetto" => {
            let layer = tracing_perfetto::PerfettoLayer::new(std::sync::Mutex::new(file()));
            work(Registry::default().with(layer.with_debug_annotations(true)));
        }
        "fastrace" => fastrace_work(),
        other => panic!("unknown way {other}"),
    }
}

fn work(subscriber: impl Subscriber + Send + Sync) {
    tracing::subscriber::with_default(subscriber, || {
        for number in 0..SPANS {
            let _span = info_span!("request", number, path = "/index").entered();
            info!(bytes = number * 17, "answered");
        }
    });
}

/// Discards what it gets.
struct Discards;

impl fastrace::collector::Reporter for Discards {
    fn report(&mut self, _: Vec<fastrace::collector::SpanRecord>) {}
}

/// The same with the library that needs no `tracing`: nothing is written anywhere.
fn fastrace_work() {
    use fastrace::prelude::*;
    fastrace::set_reporter(Discards, fastrace::collector::Config::default());
    for number in 0..SPANS {
        let root = Span::root("request", SpanContext::random());
        let _entered = root.set_local_parent();
        LocalSpan::add_properties(|| [("number", number.to_string()), ("path", "/index".to_string())]);
        LocalSpan::add_event(Event::new("answered").with_property(|| ("bytes", (number * 17).to_string())));
    }
    fastrace::flush();
}
