//! The table of counters whose events carry changes.

use std::collections::BTreeMap;

use telemetry_columns::CounterValues;
use telemetry_decode::Reader;
use telemetry_decode::foreign::LogBytes;
use telemetry_foreign::mono::{self, MonoLog, ReportOptions};
use telemetry_testing::mono::{reported_counters, seventeen};
use telemetry_testing::reference::{folder, read};

use crate::text::described;

/// The last values are those that the profiler's report prints.
fn check(log: &[u8]) -> usize {
    let mut events = Reader::from_log(log, MonoLog::new()).events().unwrap();
    let (mut counters, mut batches) = (CounterValues::default(), Vec::new());
    while let Some(event) = events.next().unwrap() {
        batches.extend(counters.push(&event));
    }
    batches.extend(std::iter::from_fn(|| counters.finish()));
    let rows = described(&batches).remove("counter_value").unwrap();
    // The last row of each counter stays.
    let found: BTreeMap<_, _> =
        rows.iter().map(|row| (row["counter"].trim_matches('\'').to_string(), row)).collect();
    let mut report = Vec::new();
    let options = ReportOptions::default().verbose(true);
    mono::report(&mut LogBytes::from_slice(log), options, &mut report).unwrap();
    let reported = reported_counters(&String::from_utf8(report).unwrap());
    for counter in &reported {
        let last = &found[&counter.name]["value"];
        let value = f64::from_bits(u64::from_str_radix(last, 16).unwrap());
        assert!(counter.shows(value), "{}: {value}", counter.name);
    }
    reported.len()
}

#[test]
fn values_of_mono_are_those_of_the_report() {
    assert!(check(&seventeen()) > 0);
    let Some(folder) = folder("mono") else { return };
    for log in ["v17-small-heapshot.mlpd", "v17-small-alloc.mlpd"] {
        let Some(log) = read(&folder.join(log)) else { return };
        assert!(check(&log) > 50);
    }
}
