//! Logs of other systems.

use std::collections::BTreeMap;
use std::io::Read;

use telemetry_columns::{Builder, Tables};
use telemetry_decode::Reader;
use telemetry_foreign::{ghc::GhcLog, mono::MonoLog, mps::MpsLog};
use telemetry_testing::reference::{folder, names, read};

use crate::text::check_reader;

/// Checks all reference logs of a system.
fn check_logs(system: &str, ending: &str, open: impl Fn(&[u8]) -> Reader<'_>) {
    let Some(folder) = folder(system) else { return };
    for name in names(&folder, ending) {
        let Some(mut bytes) = read(&folder.join(format!("{name}{ending}"))) else { return };
        if telemetry_foreign::is_gzip(&bytes) {
            let packed = std::mem::take(&mut bytes);
            flate2::bufread::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        }
        let rows = check_reader(|| open(&bytes), |tables| Builder::new(tables).rows(5000));
        // The log's own count of each event type, from before any event was read.
        let events = open(&bytes).events().unwrap();
        let tables = Tables::of(events.registries());
        let mut counted = BTreeMap::<String, usize>::new();
        for count in events.log_counts().unwrap().iter().filter(|count| count.count > 0) {
            let fingerprint = events.registries()[count.registry].fingerprint;
            let table = tables.table_of(fingerprint, count.event).unwrap();
            *counted.entry(table.name.clone()).or_default() += count.count as usize;
        }
        let found: BTreeMap<_, _> = rows.into_iter().map(|(name, rows)| (name, rows.len())).collect();
        assert!(!found.is_empty() && found == counted, "{name}: {found:?}, counted {counted:?}");
    }
}

#[test]
fn logs_of_the_mps() {
    check_logs("mps", ".mpsio.log", |log| Reader::from_log(log, MpsLog::new()));
}

#[test]
fn logs_of_ghc() {
    check_logs("ghc", ".eventlog", |log| Reader::from_log(log, GhcLog::new()));
}

#[test]
fn logs_of_mono() {
    check_logs("mono", ".mlpd", |log| Reader::from_log(log, MonoLog::new()));
}
