//! The Rust reader's view of a stream, in the text of `scripts/dump.py`.

use std::fmt::Write;
use std::path::Path;

use telemetry_decode::{AddressName, Event, Order, Reader, Value};
use telemetry_format::MAGIC;
use telemetry_schema::Registry;

use crate::python::{Module, Script, interpreters};

/// Every event of a registry, every bit of it, and the verdict.
pub(crate) fn dump(registry: &Registry, order: Order, stream: &[u8], hides: bool) -> Vec<String> {
    let reader = Reader::from_slice(stream).order(order).registry(registry.clone()).show_sensitive(!hides);
    let mut events = reader.events().unwrap();
    let mut lines = Vec::new();
    let mut others = 0;
    while let Some(event) = events.next().unwrap() {
        if event.registry().name == registry.name {
            lines.push(line(&event));
        } else {
            others += 1;
        }
    }
    lines.push(format!("others {others}"));
    lines.extend(events.completeness().to_string().lines().map(str::to_string));
    lines
}

impl Compared<'_> {
    /// Compares the columns of a stream with the events by time: event by event, by code. Also
    /// compares the verdict, if the stream is incomplete.
    #[track_caller]
    pub(crate) fn check_columns(&mut self, stream: &[u8], context: &str) {
        let path = self.module.with("stream.tel", stream);
        let lines = dump(self.registry, Order::Time, stream, false);
        let border = lines.iter().position(|line| line.starts_with("others ")).unwrap();
        let (events, verdict) = (&lines[..border], &lines[border + 1..]);
        let mut events: Vec<Vec<_>> =
            events.iter().map(|line| line.split(' ').map(str::to_string).collect()).collect();
        events.sort_by_key(|words| words[3].parse::<u16>().ok());
        let mut expected: Vec<_> = events.iter().map(|words| without_labels(words)).collect();
        if verdict[0].starts_with("incomplete") || verdict[0].starts_with("nothing") {
            expected.extend(verdict.iter().map(|line| without_first(line)));
        }
        for found in self.columns(&path, context) {
            let found: Vec<_> = found.iter().map(|line| without_first(line)).collect();
            let differs = (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at));
            if let Some(at) = differs {
                panic!("{context}, line {at}:\n{:?}, expected\n{:?}", found.get(at), expected.get(at));
            }
        }
    }

    /// Compares the columns of two streams of the same events.
    #[track_caller]
    pub(crate) fn check_same_columns(&mut self, streams: [&[u8]; 2], context: &str) {
        let [first, second] = streams.map(|stream| {
            let path = self.module.with("stream.tel", stream);
            self.columns(&path, context)
        });
        assert!(first == second, "{context}: the columns differ");
    }

    /// Returns the columns of a stream as lines, by interpreter with NumPy.
    fn columns(&mut self, path: &Path, context: &str) -> Vec<Vec<String>> {
        let question = format!("{} time columns {}", self.module.path("events.py").display(), path.display());
        let found = self.scripts.iter_mut().map(|script| script.ask(&question));
        let (without, found): (Vec<_>, Vec<_>) =
            found.partition(|found| found.first().is_some_and(|line| line.starts_with("no numpy")));
        without.iter().for_each(|lines| eprintln!("SKIPPED: {context}: {}", lines[0]));
        found
    }
}

/// Returns a line of a verdict without its example. Columns are read by lane, so theirs is another.
fn without_first(line: &str) -> String {
    line.split("; the first at byte").next().unwrap_or_default().to_string()
}

/// Returns true if a stream may be cut off inside its first block's magic number, or later.
fn begins_like_a_block(stream: &[u8]) -> bool {
    stream.iter().zip(&MAGIC).all(|(found, expected)| found == expected)
}

/// Returns the words of an event without its kind, and without the strings of labels.
fn without_labels(words: &[String]) -> String {
    let mut line = words[..2].join(" ");
    for word in &words[3..] {
        let plain = |word: &str| word.split([':', '@']).next().unwrap_or_default().to_string();
        let elements: Vec<_> = word
            .split(',')
            .map(|word| match word.ends_with(']') {
                true if word.contains([':', '@']) => plain(word) + "]",
                _ => plain(word),
            })
            .collect();
        line.push(' ');
        line += &elements.join(",");
    }
    line
}

/// Returns lines without the details that only one of two TOML parsers reports.
fn comparable(lines: &[String]) -> Vec<&str> {
    let of_toml = |line: &str| line.find("not understood: ").and_then(|_| Some(line.find(" block: ")? + 8));
    lines.iter().map(|line| &line[..of_toml(line).unwrap_or(line.len())]).collect()
}

fn line(event: &Event<'_>) -> String {
    let (session, kind) = (event.session().id, event.kind().bit);
    let (thread, ticks, time_ns) = (event.thread(), event.ticks(), event.time_ns());
    let mut line = format!("{session:x} {thread} {kind} {} {ticks} {time_ns}", event.schema().code);
    for value in event.values() {
        line.push(' ');
        line += &shown(event, &value);
        match event.name_of_value(&value) {
            Some(AddressName::Text(text)) => {
                line.push('@');
                text.bytes().for_each(|byte| line += &format!("{byte:02x}"));
            }
            Some(AddressName::Number(number)) => {
                let _ = write!(line, "@#{number}");
            }
            _ => {}
        }
    }
    line
}

fn shown(event: &Event<'_>, value: &Value<'_>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    match *value {
        // Widening quiets a signalling NaN.
        Value::F32(x) if x.is_nan() => "nan".to_string(),
        Value::F32(x) => format!("{:08x}", x.to_bits()),
        Value::F64(x) => format!("{:016x}", x.to_bits()),
        Value::String(text) => format!("s{}", hex(text.0)),
        Value::Bytes(bytes) => format!("b{}", hex(bytes)),
        Value::Label(number) => {
            let text = event.label(number).map_or("-".to_string(), |text| hex(text.as_bytes()));
            format!("{number}:{text}")
        }
        Value::Array(array) => {
            let all: Vec<_> = array.iter().map(|value| shown(event, &value)).collect();
            format!("[{}]", all.join(","))
        }
        Value::Named(named) if named.name().is_some_and(|name| name.starts_with('<')) => {
            format!("s{}", hex(named.name().unwrap_or_default().as_bytes()))
        }
        plain => plain.as_i128().unwrap().to_string(),
    }
}

/// Streams of a registry, read by Python and Rust.
pub(crate) struct Compared<'r> {
    registry: &'r Registry,
    module: Module,
    scripts: Vec<Script>,
}

impl<'r> Compared<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        let scripts = interpreters().iter().map(|name| Script::new(name, "dump.py")).collect();
        Compared { registry, module: Module::new(registry), scripts }
    }

    /// Compares what both make of a stream, in both orders, also where values are hidden.
    #[track_caller]
    pub(crate) fn check(&mut self, stream: &[u8], context: &str) {
        let path = self.module.with("stream.tel", stream);
        let ways = [
            (Order::Stream, "stream", "read"),
            (Order::Time, "time", "read"),
            (Order::Stream, "stream", "hide"),
            (Order::Time, "time", "hide"),
        ];
        let ways = if self.registry.is_sensitive() { &ways[..] } else { &ways[..2] };
        for (order, name, way) in ways.iter().copied() {
            let hides = way == "hide";
            let mut expected = dump(self.registry, order, stream, hides);
            let is_nothing = expected.iter().any(|line| line.starts_with("nothing to read: no session"));
            let is_no_stream = is_nothing && (stream.is_empty() || !begins_like_a_block(stream));
            if !is_no_stream && order == Order::Time && !hides {
                self.check_columns(stream, &format!("columns of {context}"));
            }
            for script in &mut self.scripts {
                let module = self.module.path("events.py");
                let found = script.ask(&format!("{} {name} {way} {}", module.display(), path.display()));
                if is_no_stream {
                    // Python raises an error.
                    assert!(
                        matches!(&found[..], [line] if line.starts_with("no stream: ")),
                        "{context}: {found:?}"
                    );
                    expected.clone_from(&found);
                }
                let (found, expected) = (comparable(&found), comparable(&expected));
                let differs =
                    (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at));
                if let Some(at) = differs {
                    panic!(
                        "{context}, order {name}, {way}, line {at}:\n{:?}, expected\n{:?}",
                        found.get(at),
                        expected.get(at)
                    );
                }
            }
        }
    }
}
