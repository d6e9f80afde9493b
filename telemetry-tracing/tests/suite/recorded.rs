//! Runs a closure with the layer, and returns what was recorded.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::{Mutex, Once, PoisonError};

use telemetry::decode::{Event, Reader, Value};
use telemetry::sinks::{self, Batch, Sink};
use tracing_subscriber::Registry;
use tracing_subscriber::prelude::*;

/// Everything that the process recorded. A sink that is added later gets the blocks that are open,
/// and these may begin with events of other tests.
static STREAM: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The recordings of a process take turns: what is on is on for all of it.
static TURN: Mutex<()> = Mutex::new(());

struct Kept;

impl Sink for Kept {
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut stream = STREAM.lock().expect("no panic");
        blocks.iter().flatten().for_each(|bytes| stream.extend_from_slice(bytes));
        Ok(())
    }
}

/// Runs a closure while the events of `words` are on. Calls another one with each event by time.
pub(crate) fn events(words: &str, run: impl FnOnce(), each: impl FnMut(&Event<'_>)) {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| _ = sinks::add(Kept).expect("a sink"));
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = read(0, |_| ());
    telemetry::set(words);
    run();
    telemetry::reset("all");
    assert!(telemetry::flush());
    let counters = telemetry::counters::total();
    assert_eq!((counters.lost_pool, counters.lost_sink), (0, 0));
    read(before, each);
}

/// Reads the events of the layer, and those that it makes of marks, after the first ones. Returns
/// their number with those.
fn read(first: usize, mut each: impl FnMut(&Event<'_>)) -> usize {
    let stream = STREAM.lock().expect("no panic");
    let mut number = 0;
    if !stream.is_empty() {
        let mut events = Reader::from_slice(&stream).events().expect("a stream");
        while let Some(event) = events.next().expect("a sound stream") {
            if matches!(&*event.registry().name, "tracing" | "collector" | "every") {
                number += 1;
                (number > first).then(|| each(&event));
            }
        }
    }
    number
}

/// Runs a closure with the layer as the thread's subscriber. Returns the events, a line each, by
/// time.
///
/// Numbers of spans and events count from 1 in the order of their appearance. Lines and times are
/// left out.
pub(crate) fn record(words: &str, run: impl FnOnce()) -> Vec<String> {
    let subscriber = Registry::default().with(telemetry_tracing::layer());
    let (mut numbers, mut lines) = (BTreeMap::new(), Vec::new());
    let run = || tracing::subscriber::with_default(subscriber, run);
    events(words, run, |event| lines.push(line(event, &mut numbers)));
    lines
}

/// Checks what a closure records.
pub(crate) fn check(run: impl FnOnce(), expected: &[&str]) {
    assert_eq!(record("tracing:all", run), expected);
}

fn line(event: &Event<'_>, numbers: &mut BTreeMap<u64, usize>) -> String {
    let mut line = event.name().to_string();
    for param in event.params() {
        let name = &*param.schema.name;
        let value = match (name, &param.value) {
            ("span" | "parent" | "follows" | "owner" | "number", value) => match value.as_u64() {
                Some(0) => "none".to_string(),
                number => {
                    let next = numbers.len() + 1;
                    numbers.entry(number.expect("a number")).or_insert(next).to_string()
                }
            },
            (_, Value::Label(label)) => {
                let text = event.label(*label).unwrap_or("none");
                match text.rsplit_once(".rs:") {
                    Some((file, _)) => file.rsplit('/').next().expect("a name").to_string(),
                    None => text.to_string(),
                }
            }
            (_, value) => value.to_string(),
        };
        write!(line, " {name}:{value}").expect("room");
    }
    line
}
