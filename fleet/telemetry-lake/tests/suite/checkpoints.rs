//! Checkpoints of Delta's logs.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, make, registry};

use crate::commit::{all_events, streams};
use crate::lakes::{TestLake, events_of, renumber, said};

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
        for version in checkpoints(&lake, &table) {
            let live = lake.live(&table, version);
            assert_eq!(paths(&lake, &table, version, "add"), live, "{table}");
            removed += paths(&lake, &table, version, "remove").len();
            found += 1;
        }
    }
    assert!(found > 5 && removed > 5, "{found} checkpoints tell {removed} removed files");
}

/// The logs of tables that are cut, with what was cut off.
type CutOff = Vec<(PathBuf, Vec<u8>)>;

/// Deletes all versions before the last checkpoint of each table that has one. Returns them.
fn cut_logs(lake: &TestLake) -> CutOff {
    let mut cut = CutOff::new();
    for table in lake.tables() {
        let log = lake.path().join("tables").join(&table).join("_delta_log");
        let Some(last) = checkpoints(lake, &table).pop() else { continue };
        for version in 0..=last {
            let path = log.join(format!("{version:020}.json"));
            cut.push((path.clone(), std::fs::read(&path).unwrap()));
            std::fs::remove_file(path).unwrap();
        }
    }
    cut
}

/// The versions of the checkpoints of a table, in order.
fn checkpoints(lake: &TestLake, table: &str) -> Vec<u64> {
    let log = lake.path().join("tables").join(table).join("_delta_log");
    let names =
        std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut versions: Vec<_> =
        names.filter_map(|name| name.strip_suffix(".checkpoint.parquet")?.parse().ok()).collect();
    versions.sort();
    versions
}

fn restore(cut: &CutOff) {
    cut.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
}

/// Delta's own programs delete versions that a checkpoint stands for.
#[test]
fn commands_begin_with_the_last_checkpoint() {
    let lake = lake();
    let cut = cut_logs(&lake);
    assert!(cut.len() > 10, "{} versions are gone", cut.len());
    let mut further = make(&registry(), &Plan { seed: 9, events: 400, ..Plan::default() }).stream;
    renumber(&mut further, 500);
    for (number, part) in [2000, 5000].into_iter().enumerate() {
        let mut stream = further.clone();
        renumber(&mut stream, number as u64 * 100);
        lake.ship_cut("h2", &stream, part);
        lake.succeed(&["commit", "--checkpoint", "2", "--max-segments", "2"]);
    }
    let joined = lake.succeed(&["compact"]);
    assert_ne!(joined, "0 files are no longer needed\n");
    lake.succeed(&["delete", "--host", "h3"]);
    restore(&cut);
    let events = lake.events();
    assert!(events.iter().all(|key| key.0 == "h2") && events.iter().any(|key| key.1 >= 500));
    lake.check(&events);
}

/// Without a checkpoint, all versions are needed.
#[test]
fn a_log_without_beginning_and_checkpoint_is_refused() {
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 400, block_size: 512, ..Plan::default() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
        lake.succeed(&["commit"]);
    }
    let first = lake.path().join(format!("tables/lane/_delta_log/{:020}.json", 0));
    let text = std::fs::read(&first).unwrap();
    std::fs::remove_file(&first).unwrap();
    let error = "error: `tables/lane/_delta_log`: earlier versions than 2 are gone, and no checkpoint of one or more \
                 Parquet files stands for them; help: write such a checkpoint by the program that deleted them\n";
    for command in [&["delete", "--host", "h1"][..], &["vacuum", "--older-than", "0"], &["compact"]] {
        let said = lake.run(command);
        assert_eq!((said.code, said.stderr.as_str()), (Some(2), error), "{command:?}");
    }
    // Nothing was begun that later commands would have to complete.
    assert_eq!(lake.succeed(&["commit"]), "no new segments\n");
    std::fs::write(first, text).unwrap();
    assert_ne!(lake.succeed(&["compact"]), "0 files are no longer needed\n");
    lake.check(&all_events(&streams));
}

/// A newer protocol may hide files and rows, so nothing is deleted.
#[test]
fn tables_of_a_newer_protocol_are_left_alone() {
    let protocol = |reader: u64, writer: u64| {
        let action =
            format!("{{\"protocol\": {{\"minReaderVersion\": {reader}, \"minWriterVersion\": {writer}}}}}");
        let found = format!(
            "found reader version {reader} and writer version {writer}, expected 1 and 2; help: return the table to them \
             by the program that changed it"
        );
        (action, found, false)
    };
    let no_vector = "found a deletion vector, expected none; help: use the program that changed the table";
    let vector = r#"{"add": {"path": "a.parquet", "size": 1, "deletionVector": {"storageType": "u"}}}"#;
    for (action, found, may_grow) in
        [protocol(3, 7), protocol(1, 3), (vector.to_owned(), no_vector.to_owned(), true)]
    {
        let lake = lake();
        let log = lake.path().join("tables/lane/_delta_log");
        let versions =
            || (0..).take_while(|version| log.join(format!("{version:020}.json")).exists()).count();
        let next = versions();
        std::fs::write(log.join(format!("{next:020}.json")), &action).unwrap();
        let error = format!("error: `tables/lane/_delta_log`: {found}\n");
        for command in [&["delete", "--host", "h2"][..], &["vacuum", "--older-than", "0"], &["compact"]] {
            let said = lake.run(command);
            assert_eq!((said.code, &said.stderr), (Some(2), &error), "{command:?}");
        }
        // A checkpoint would leave out what it does not know.
        let known = checkpoints(&lake, "lane");
        let mut further = make(&registry(), &Plan { seed: 9, events: 400, ..Plan::default() }).stream;
        renumber(&mut further, 500);
        lake.ship("h2", &further);
        let said = lake.run(&["commit", "--checkpoint", "1"]);
        match may_grow {
            true => assert_eq!((said.code, versions() > next + 1), (Some(0), true)),
            false => assert_eq!((said.stderr, versions()), (error, next + 1)),
        }
        assert_eq!(checkpoints(&lake, "lane"), known);
    }
}

/// A checkpoint tells removals for a week only. Their files go all the same.
#[test]
fn vacuum_finds_files_whose_removal_is_not_told() {
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 400, block_size: 512, ..Plan::default() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
        while lake.succeed(&["commit", "--max-segments", "2"]) != "no new segments\n" {}
    }
    lake.succeed(&["compact"]);
    let removed: usize = lake.tables().iter().map(|table| set_back_removals(&lake, table)).sum();
    assert!(removed > 10, "{removed}");
    let wanted = all_events(&streams);
    let mut further = make(&registry(), &Plan { seed: 9, events: 400, ..Plan::default() }).stream;
    renumber(&mut further, 500);
    lake.ship("h2", &further);
    lake.succeed(&["commit", "--checkpoint", "1"]);
    let cut = cut_logs(&lake);
    let wanted: BTreeSet<_> = wanted.into_iter().chain(events_of("h2", &further)).collect();
    // It is not known when the files were removed, but only that it was before the checkpoint.
    let vacuum = |files: usize| {
        let said = lake.succeed(&["vacuum", "--older-than", "1"]);
        let deleted = said.split_once(" segments and ").unwrap().1;
        assert_eq!(deleted, format!("{files} files\n"));
    };
    vacuum(0);
    let old = SystemTime::now() - Duration::from_secs(3 * 86_400);
    for table in lake.tables() {
        // A table of registries has one version.
        let Some(version) = checkpoints(&lake, &table).pop() else { continue };
        let name = format!("tables/{table}/_delta_log/{version:020}.checkpoint.parquet");
        assert_eq!(paths(&lake, &table, version, "remove"), BTreeSet::new());
        let file = File::options().append(true).open(lake.path().join(name)).unwrap();
        file.set_modified(old).unwrap();
    }
    vacuum(removed);
    restore(&cut);
    lake.check(&wanted);
    lake.succeed(&["compact"]);
    lake.check(&wanted);
}

/// Lets all removals in a log be of three weeks ago. Returns their number.
fn set_back_removals(lake: &TestLake, table: &str) -> usize {
    let (mut removals, log) = (0, lake.path().join("tables").join(table).join("_delta_log"));
    for entry in std::fs::read_dir(log).unwrap() {
        let path = entry.unwrap().path();
        let mut text = String::new();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let mut action: serde_json::Value = serde_json::from_str(line).unwrap();
            if let Some(time) = action.get_mut("remove").map(|remove| &mut remove["deletionTimestamp"]) {
                *time = (time.as_u64().unwrap() - 21 * 86_400_000).into();
                removals += 1;
            }
            text += &format!("{action}\n");
        }
        std::fs::write(path, text).unwrap();
    }
    removals
}

/// A checkpoint of another program, with other compression and further columns.
#[test]
fn checkpoints_of_another_program_are_read() {
    let Some(python) = std::env::var_os("TELEMETRY_DELTA") else {
        eprintln!("SKIPPED: TELEMETRY_DELTA names no Python with `deltalake`");
        return;
    };
    let lake = TestLake::new(Format::Delta);
    let streams = streams(&Plan { events: 400, block_size: 512, ..Plan::default() });
    for (host, stream) in &streams {
        lake.ship(host, stream);
        while lake.succeed(&["commit", "--max-segments", "2"]) != "no new segments\n" {}
    }
    let script = r#"
import deltalake, glob, sys
for table in sorted(glob.glob(sys.argv[1] + "/tables/*")):
    deltalake.DeltaTable(table).create_checkpoint()
"#;
    let made = said(&Command::new(python).args(["-c", script]).arg(lake.path()).output().unwrap());
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    let cut = cut_logs(&lake);
    assert!(cut.len() > 10, "{} versions are gone", cut.len());
    assert_ne!(lake.succeed(&["compact"]), "0 files are no longer needed\n");
    lake.succeed(&["delete", "--host", "h3"]);
    restore(&cut);
    lake.check(&all_events(&streams).into_iter().filter(|key| key.0 != "h3").collect());
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
