//! Logs of other systems. The format is a small one defined here: each line of text is the event of
//! a lane.

use std::io::{Seek, Write};

use telemetry_decode::foreign::{Extent, Log, LogBytes, LogFile, LogLane, Page, Survey};
use telemetry_decode::{Clock, Completeness, Facts, Filter, Order, Reader, Session, Value};
use telemetry_schema::{Registry, Sort, parse_embedded};

/// The registry of `Step` and `Note`.
const REGISTRY: &str = r#"
[registry]
name = "lines"
version = { major = 1, median = 0, minor = 0 }
doc = "A log of lines"

[kinds]
Walk = { bit = 0, doc = "steps" }
Talk = { bit = 1, doc = "notes" }

[[event]]
name = "Step"
code = 1
kind = "Walk"
doc = "A step"
params = [
  { name = "size", sort = "i32", doc = "how far" },
  { name = "feet", sort = "[word]", max = 9, doc = "on which" },
]

[[event]]
name = "Note"
code = 2
kind = "Talk"
doc = "Something said"
params = [{ name = "text", sort = "string", max = 99, doc = "what" }]
"#;

/// A line is `LANE TICKS SIZE FOOT…` or `LANE TICKS "TEXT`. Consecutive lines of one lane are an
/// extent; any other line is damage.
struct Lines;

impl Log for Lines {
    fn survey(&mut self, bytes: &mut LogBytes<'_>) -> telemetry_decode::Result<Survey> {
        let registry = registry();
        let mut survey = Survey::default();
        survey.counts.push(vec![0; registry.events.len()]);
        survey.registries.push(registry);
        let mut facts = Facts::default();
        facts.set("program", "lines");
        let mut session = Session::new(7, facts, Clock::nanoseconds(0, 0));
        session.ended = true;
        survey.sessions.push(session);
        let all = bytes.at(0, usize::MAX)?.to_vec();
        let mut at = 0;
        for line in all.split_inclusive(|byte| *byte == b'\n') {
            let range = at..at + line.len() as u64;
            at = range.end;
            let Some((lane, ticks, values)) = parse(line) else {
                let cause = telemetry_decode::completeness::Cause::Log("no line of a lane".into());
                survey.damage.push(telemetry_decode::completeness::Damage::new(range, cause, 0));
                continue;
            };
            survey.counts[0][usize::from(values.starts_with('"'))] += 1;
            while survey.lanes.len() <= lane as usize {
                survey.lanes.push(LogLane::new(0, survey.lanes.len() as u32 + 1));
            }
            let len = line.len() as u32;
            match survey.extents.last_mut() {
                Some(last) if last.lane == lane && last.at + u64::from(last.len) == range.start => {
                    last.len += len;
                    last.events += 1;
                    last.first_ticks = last.first_ticks.min(ticks);
                }
                _ => survey.extents.push(Extent::new(lane, range, 1, ticks)),
            }
        }
        Ok(survey)
    }

    fn read(&self, _: &Extent, bytes: &[u8], page: &mut Page) {
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some((_, ticks, values)) = parse(line) else { return };
            match values.strip_prefix('"') {
                Some(text) => page.event(0, 1, ticks, at, line.len()).run(text.as_bytes()),
                None => {
                    let mut numbers = values.split(' ').filter_map(|word| word.parse::<i64>().ok());
                    let mut event = page.event(0, 0, ticks, at, line.len());
                    event.number(numbers.next().unwrap_or_default() as u64);
                    let feet: Vec<u64> = numbers.map(|number| number as u64).collect();
                    event.array(Sort::Word, feet.into_iter());
                }
            }
            at += line.len();
        }
    }
}

fn parse(line: &[u8]) -> Option<(u32, u64, &str)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let mut parts = line.splitn(3, ' ');
    let (lane, ticks, values) = (parts.next()?, parts.next()?, parts.next()?);
    Some((lane.parse().ok().filter(|lane| *lane < 10)?, ticks.parse().ok()?, values))
}

fn registry() -> Registry {
    parse_embedded(REGISTRY).unwrap_or_else(|invalid| panic!("{}", invalid.render("lines", REGISTRY)))
}

/// Reads from memory and from a file, which must give the same events, as lines, and the same
/// counts.
fn check(log: &str, order: Order, filter: Filter, expected: &str) -> Completeness {
    let slice = Reader::from_log(log.as_bytes(), Lines).order(order).filter(filter.clone());
    let (events, completeness) = shown(slice);
    assert_eq!(events, expected, "from memory");
    let file = Reader::from_logs([log_file(log)]).expect("a temporary file");
    let (events, again) = shown(file.order(order).filter(filter));
    assert_eq!(events, expected, "from a file");
    assert_eq!(format!("{completeness:?}"), format!("{again:?}"));
    assert_eq!(completeness.bytes.total(), log.len() as u64, "every byte is accounted for");
    completeness
}

fn log_file(log: &str) -> LogFile<'static> {
    LogFile { file: file_of(log), log: Box::new(Lines), cut: None }
}

fn file_of(log: &str) -> std::fs::File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(log.as_bytes()).and_then(|()| file.rewind()).expect("room for a few bytes");
    file
}

fn shown(reader: Reader<'_>) -> (String, Completeness) {
    let mut events = reader.events().expect("readable");
    let mut text = String::new();
    while let Some(event) = events.next().expect("readable") {
        let values: Vec<_> = event.values().map(|value| value.to_string()).collect();
        text += &format!("{} {} {} {}\n", event.offset(), event.thread(), event.ticks(), values.join(" "));
    }
    (text, events.completeness())
}

const LOG: &str = "0 5 1 10 20\n0 3 -2\n1 4 \"hello\n0 5 3\n1 5 4\n2 1 5 7\n";

#[test]
fn events_come_by_time_and_those_of_one_time_as_they_stand() {
    let all = "42 3 1 5 [7]\n12 1 3 -2 []\n19 2 4 hello\n0 1 5 1 [10 20]\n30 1 5 3 []\n36 2 5 4 []\n";
    let completeness = check(LOG, Order::Time, Filter::default(), all);
    assert!(completeness.is_complete());
    assert_eq!(completeness.events, 6);
}

#[test]
fn events_come_as_they_stand() {
    let all = "0 1 5 1 [10 20]\n12 1 3 -2 []\n19 2 4 hello\n30 1 5 3 []\n36 2 5 4 []\n42 3 1 5 [7]\n";
    check(LOG, Order::Stream, Filter::default(), all);
}

#[test]
fn filters_apply() {
    let kinds = Filter::default().kinds(["Talk"]);
    let completeness = check(LOG, Order::Time, kinds, "19 2 4 hello\n");
    assert_eq!(completeness.lanes.iter().map(|lane| lane.filtered).sum::<u64>(), 5);
    assert!(completeness.is_complete());
    let threads = Filter::default().threads(["3"]);
    check(LOG, Order::Stream, threads, "42 3 1 5 [7]\n");
    let times = Filter::default().from_ns(4).until_ns(5);
    check(LOG, Order::Time, times, "19 2 4 hello\n");
    let events = Filter::default().events(["lines:Nothing"]);
    let unmatched = check(LOG, Order::Time, events, "").unmatched;
    assert_eq!(unmatched[0].to_string(), "event `lines:Nothing`");
}

#[test]
fn damage_is_told_and_what_is_around_it_is_read() {
    let log = "0 1 1\nrubbish\n0 2 2\n";
    let completeness = check(log, Order::Time, Filter::default(), "0 1 1 1 []\n14 1 2 2 []\n");
    assert!(!completeness.is_complete());
    assert_eq!(completeness.bytes.damaged, 8);
    assert_eq!(completeness.damage[0].cause.to_string(), "no line of a lane");
}

#[test]
fn several_logs_are_merged_and_keep_their_sessions_apart() {
    let logs = ["0 1 1\n0 4 2\n", "0 3 3\n"].map(log_file);
    let mut events = Reader::from_logs(logs).expect("files").events().expect("readable");
    let mut seen = Vec::new();
    while let Some(event) = events.next().expect("readable") {
        seen.push((event.session().id, event.ticks(), event.offset()));
    }
    assert_eq!(seen, [(7, 1, 0), (8, 3, 12), (7, 4, 6)]);
    let counts = events.log_counts().expect("a log");
    assert_eq!(counts.iter().map(|count| count.count).sum::<u64>(), 3);
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_no_loss_unsaid() {
    let mut file = file_of(LOG);
    let reader = Reader::from_logs([LogFile {
        file: file.try_clone().expect("a file"),
        log: Box::new(Lines),
        cut: None,
    }]);
    let mut events = reader.expect("a file").events().expect("readable");
    file.set_len(20).and_then(|()| file.rewind()).expect("a shorter file");
    let mut read = 0;
    while let Some(event) = events.next().expect("readable") {
        read += 1;
        assert!(matches!(event.value(0), Some(Value::Signed(_))));
    }
    assert_eq!(read, 2);
    let completeness = events.completeness();
    assert_eq!(completeness.bytes.total(), LOG.len() as u64);
    assert_eq!(completeness.damage[0].cause.to_string(), "the input was changed while it was read");
}

#[test]
fn a_file_that_is_known_to_be_cut_is_damaged() {
    let log = LogFile { cut: Some("half of it is missing".to_string()), ..log_file(LOG) };
    let (_, completeness) = shown(Reader::from_logs([log]).expect("a file"));
    assert_eq!((completeness.events, completeness.damaged_ranges), (6, 1));
    assert_eq!(completeness.damage[0].range, LOG.len() as u64..LOG.len() as u64);
    assert!(!completeness.is_complete());
}
