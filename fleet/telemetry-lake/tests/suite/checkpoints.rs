//! Checkpoints of Delta's logs.

use std::collections::BTreeSet;
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use telemetry_lake::lake::Format;
use telemetry_testing::made::Plan;

use crate::commit::streams;
use crate::lakes::{TestLake, said};

/// Makes a lake of three batches and a deletion, with checkpoints of each second version.
fn lake() -> TestLake {
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 400, block_size: 512, ..Plan::default() });
    for (number, (host, stream)) in streams.iter().enumerate() {
        lake.ship(host, stream);
        let said = lake.run(&["commit", "--checkpoint", "2"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        if number == 0 {
            assert_eq!(lake.run(&["delete", "--host", host]).code, Some(0));
        }
    }
    lake
}

/// The paths of the files that a checkpoint adds or removes.
fn paths(lake: &TestLake, table: &str, version: u64, kind: &str) -> BTreeSet<String> {
    let name = format!("tables/{table}/_delta_log/{version:020}.checkpoint.parquet");
    let file = std::fs::File::open(lake.path().join(name)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let of_row = |row: parquet::record::Row| {
        let (_, field) = row.get_column_iter().find(|(name, _)| *name == kind)?;
        let Field::Group(fields) = field else { return None };
        match fields.get_column_iter().find(|(name, _)| *name == "path")?.1 {
            Field::Str(path) => Some(path.clone()),
            _ => None,
        }
    };
    reader.get_row_iter(None).unwrap().filter_map(|row| of_row(row.unwrap())).collect()
}

#[test]
fn a_checkpoint_has_what_its_version_has() {
    let lake = lake();
    let (mut found, mut removed) = (0, 0);
    for table in lake.tables() {
        let log = lake.path().join("tables").join(&table).join("_delta_log");
        let mut names: Vec<_> = std::fs::read_dir(log)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in names.iter().filter_map(|name| name.strip_suffix(".checkpoint.parquet")) {
            let version: u64 = name.parse().unwrap();
            let live = lake.live(&table, version);
            assert_eq!(paths(&lake, &table, version, "add"), live, "{table}");
            removed += paths(&lake, &table, version, "remove").len();
            found += 1;
        }
    }
    assert!(found > 5 && removed > 5, "{found} checkpoints tell {removed} removed files");
}

/// Another reader needs no version before a checkpoint.
#[test]
fn another_reader_begins_with_a_checkpoint() {
    let Some(python) = std::env::var_os("TELEMETRY_DELTA") else {
        eprintln!("SKIPPED: TELEMETRY_DELTA names no Python with `deltalake`");
        return;
    };
    let lake = lake();
    let script = r#"
import deltalake, glob, os, sys
for table in sorted(glob.glob(sys.argv[1] + "/tables/*")):
    log = table + "/_delta_log/"
    before = deltalake.DeltaTable(table)
    files, schema, version = sorted(before.file_uris()), before.schema(), before.version()
    checkpoints = sorted(glob.glob(log + "*.checkpoint.parquet"))
    if not checkpoints:
        continue
    last = int(os.path.basename(checkpoints[-1])[:20])
    for number in range(last):
        os.remove(log + f"{number:020}.json")
    after = deltalake.DeltaTable(table)
    assert (sorted(after.file_uris()), after.schema(), after.version()) == (files, schema, version), table
    partitions = sorted(map(str, after.partitions())) if after.metadata().partition_columns else []
    print(os.path.basename(table), last, len(files), after.metadata().name, partitions)
"#;
    let run = said(&Command::new(python).args(["-c", script]).arg(lake.path()).output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(lines.len() > 5, "{}", run.stdout);
    assert!(lines.iter().any(|line| line.contains("'host': 'h2'")), "{}", run.stdout);
}
