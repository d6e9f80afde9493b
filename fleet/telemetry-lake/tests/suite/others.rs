//! Delta tables that another program changes between two commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use telemetry_decode::Value;
use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, make, registry};

use crate::commit::{all_events, streams};
use crate::lakes::{TestLake, events_of, renumber};
use crate::versions::{V1, stream};

fn plan() -> Plan {
    Plan { events: 400, block_size: 512, ..Plan::default() }
}

fn log(lake: &TestLake, table: &str) -> PathBuf {
    lake.path().join("tables").join(table).join("_delta_log")
}

fn version(lake: &TestLake, table: &str, number: usize) -> PathBuf {
    log(lake, table).join(format!("{number:020}.json"))
}

/// Adds a version of another program to a table. Returns its number.
fn add_version(lake: &TestLake, table: &str, actions: &[Json]) -> usize {
    let next = (0..).find(|number| !version(lake, table, *number).exists()).unwrap();
    let lines: String = actions.iter().map(|action| format!("{action}\n")).collect();
    fs::write(version(lake, table, next), lines).unwrap();
    next
}

/// All actions of a kind in the log of a table, in order.
fn actions(lake: &TestLake, table: &str, kind: &str) -> Vec<Json> {
    let versions = (0..).map_while(|number| fs::read_to_string(version(lake, table, number)).ok());
    let lines: Vec<Json> = versions
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
        .collect();
    lines.into_iter().map(|mut action| action[kind].take()).filter(Json::is_object).collect()
}

#[test]
fn new_columns_keep_the_properties_that_users_set() {
    let lake = TestLake::new(Format::Delta);
    let (seven, here) = (Value::Unsigned(7), Value::String("here".into()));
    let first = stream(1, V1, &[(1, &[seven, Value::Unsigned(1)])]);
    lake.ship("h1", &first);
    lake.commit();
    let mut changed = actions(&lake, "app_Tick", "metaData").pop().unwrap();
    changed["configuration"] = json!({"delta.logRetentionDuration": "interval 90 days"});
    add_version(&lake, "app_Tick", &[json!({"metaData": changed})]);
    let median = V1.replace("1.0.0", "1.1.0").replace(
        "{ name = \"n\"",
        "{ name = \"place\", sort = \"string\", max = 20, doc = \"where\" }, { name = \"n\"",
    );
    let second = stream(2, &median, &[(1, &[seven, here, Value::Unsigned(2)])]);
    lake.ship("h1", &second);
    lake.commit();
    let last = actions(&lake, "app_Tick", "metaData").pop().unwrap();
    assert!(last["schemaString"].as_str().unwrap().contains("\"place\""), "{last}");
    for kept in ["id", "configuration", "createdTime", "format", "partitionColumns"] {
        assert_eq!(last[kept], changed[kept], "{kept}");
    }
    assert_eq!(actions(&lake, "app_Tick", "protocol").len(), 1);
    lake.check(&[first, second].iter().flat_map(|stream| events_of("h1", stream)).collect());
}

/// A program that writes a checkpoint may delete the versions that it stands for.
#[test]
fn versions_that_are_gone_are_not_written_again() {
    let (lake, streams) = (TestLake::new(Format::Delta), streams(&plan()));
    for (host, stream) in &streams {
        lake.ship(host, stream);
        lake.succeed(&["commit", "--checkpoint", "1"]);
    }
    let mut gone = Vec::new();
    for table in lake.tables() {
        let own = (0..).find(|number| !version(&lake, &table, *number).exists()).unwrap() - 1;
        let checkpoint = |number: usize| log(&lake, &table).join(format!("{number:020}.checkpoint.parquet"));
        // A table of registries has one version.
        if !checkpoint(own).exists() {
            continue;
        }
        let add = || add_version(&lake, &table, &[json!({"commitInfo": {}})]);
        let last = [add(), add(), add()][2];
        // They change nothing, so the checkpoint is the same.
        fs::copy(checkpoint(own), checkpoint(last)).unwrap();
        fs::write(
            log(&lake, &table).join("_last_checkpoint"),
            json!({"version": last, "size": 9}).to_string(),
        )
        .unwrap();
        for path in (0..=last).map(|number| version(&lake, &table, number)) {
            gone.push((path.clone(), fs::read(&path).unwrap()));
            fs::remove_file(path).unwrap();
        }
    }
    assert!(gone.len() > 30, "{} versions", gone.len());
    let mut further = make(&registry(), &Plan { seed: 9, ..plan() }).stream;
    renumber(&mut further, 500);
    lake.ship("h2", &further);
    lake.succeed(&["commit"]);
    for (path, text) in gone {
        assert!(!path.exists(), "{}", path.display());
        fs::write(path, text).unwrap();
    }
    lake.check(&all_events(&streams).into_iter().chain(events_of("h2", &further)).collect());
}

/// The files of a newer protocol may need what this does not write.
#[test]
fn a_newer_protocol_is_refused_until_it_is_gone() {
    let (lake, streams) = (TestLake::new(Format::Delta), streams(&plan()));
    lake.ship(streams[0].0, &streams[0].1);
    lake.commit();
    let mut wanted: BTreeSet<_> = events_of(streams[0].0, &streams[0].1).into_iter().collect();
    let protocol = |reader: u64, writer: u64| {
        add_version(
            &lake,
            "lane",
            &[json!({"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}})],
        )
    };
    for (number, (reader, writer)) in [(1, 3), (3, 7)].into_iter().enumerate() {
        let mut further = make(&registry(), &Plan { seed: 9, ..plan() }).stream;
        renumber(&mut further, 500 + number as u64 * 100);
        protocol(reader, writer);
        lake.ship("h2", &further);
        let error = format!(
            "error: `tables/lane/_delta_log`: found reader version {reader} and writer version {writer}, expected 1 and \
             2; help: return the table to them by the program that changed it\n"
        );
        for _ in 0..2 {
            let said = lake.run(&["commit"]);
            assert_eq!((said.code, &said.stderr), (Some(2), &error));
        }
        protocol(1, 2);
        lake.commit();
        wanted.extend(events_of("h2", &further));
        lake.check(&wanted);
    }
}

/// A file of another program may mix sessions. One that comes after the plan is left, and told.
#[cfg(feature = "failpoints")]
#[test]
fn a_deletion_leaves_files_that_may_mix_sessions() {
    let (lake, streams) = (TestLake::new(Format::Delta), streams(&plan()));
    for (host, stream) in &streams {
        lake.ship(host, stream);
        lake.commit();
    }
    let of_h1 = |table: &String| lake.files(table).into_iter().find(|path| path.contains("host=h1/"));
    let (table, path) =
        lake.tables().into_iter().find_map(|table| of_h1(&table).map(|path| (table, path))).unwrap();
    let mut command = lake.command(&["delete", "--host", "h1", "--session", "2"]);
    let ended = command.env("FAILPOINT", "plan:1").output().unwrap();
    assert!(!ended.status.success());
    let mixed = format!("{}/part-0-a.snappy.parquet", path.rsplit_once('/').unwrap().0);
    let of_table = lake.path().join("tables").join(&table);
    fs::copy(of_table.join(&path), of_table.join(&mixed)).unwrap();
    let partition = json!({"day": "2023-11-14", "host": "h1"});
    let add = json!({"path": mixed, "partitionValues": partition, "size": 1, "modificationTime": 1, "dataChange": true});
    add_version(&lake, &table, &[json!({"add": add})]);
    let said = lake.run(&["commit"]);
    let error = format!(
        "error: `tables/{table}/{mixed}` is of another program, and may have such rows; help: delete the rows by Delta's \
         own `DELETE`\n"
    );
    assert_eq!((said.code, said.stderr), (Some(2), error));
    assert_eq!(lake.succeed(&["commit"]), "no new segments\n");
    assert!(of_table.join(&mixed).exists());
    fs::remove_file(of_table.join(&mixed)).unwrap();
    add_version(
        &lake,
        &table,
        &[json!({"remove": {"path": mixed, "deletionTimestamp": 1, "dataChange": true}})],
    );
    let stays = |key: &crate::lakes::EventKey| (key.0.as_str(), key.1) != ("h1", 2);
    lake.check(&all_events(&streams).into_iter().filter(stays).collect());
}

/// A deletion removes what another program has replaced, but no file that it may be about to add.
#[test]
fn a_deletion_leaves_new_files_of_other_programs_alone() {
    let (lake, streams) = (TestLake::new(Format::Delta), streams(&plan()));
    for (host, stream) in &streams {
        lake.ship(host, stream);
        lake.commit();
    }
    let (mut stay, mut go) = (Vec::new(), Vec::new());
    for table in lake.tables() {
        let files = lake.files(&table);
        let Some(of_h1) = files.iter().find(|path| path.contains("host=h1/")) else { continue };
        let (folder, _) = of_h1.rsplit_once('/').unwrap();
        let of_table = lake.path().join("tables").join(&table);
        let [new, replaced] = ["part-0-a", "part-1-b"].map(|name| format!("{folder}/{name}.snappy.parquet"));
        for path in [&new, &replaced] {
            fs::copy(of_table.join(of_h1), of_table.join(path)).unwrap();
        }
        let partition = json!({"day": "2023-11-14", "host": "h1"});
        let add = json!({"path": replaced, "partitionValues": partition, "size": 1, "modificationTime": 1, "dataChange": false});
        add_version(&lake, &table, &[json!({"add": add})]);
        let remove = json!({"path": replaced, "deletionTimestamp": 1, "dataChange": false});
        add_version(&lake, &table, &[json!({"remove": remove})]);
        stay.push(of_table.join(new));
        go.extend([of_table.join(replaced), of_table.join(of_h1)]);
    }
    assert!(!stay.is_empty());
    lake.succeed(&["delete", "--host", "h1"]);
    assert_eq!(stay.iter().filter(|path| !path.exists()).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    assert_eq!(go.iter().filter(|path| path.exists()).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    let wanted: BTreeSet<_> = all_events(&streams).into_iter().filter(|key| key.0 != "h1").collect();
    assert!(!wanted.is_empty());
    stay.iter().for_each(|path| fs::remove_file(path).unwrap());
    lake.check(&wanted);
}

/// An earlier version of this program may have begun a batch, with other columns.
#[cfg(feature = "failpoints")]
#[test]
fn files_that_are_there_have_their_own_lengths() {
    let lake = TestLake::new(Format::Delta);
    lake.ship("h1", &make(&registry(), &Plan { events: 400, ..Plan::default() }).stream);
    let mut command = lake.command(&["commit"]);
    assert_eq!(command.env("FAILPOINT", "files").output().unwrap().status.code(), None);
    let file = |table: &str| lake.path().join("tables").join(table).join("0000000001.parquet");
    fs::copy(file("thread"), file("segment")).unwrap();
    lake.commit();
    let mut checked = 0;
    for table in lake.tables() {
        for added in actions(&lake, &table, "add") {
            let path = lake.path().join("tables").join(&table).join(added["path"].as_str().unwrap());
            assert_eq!(added["size"], fs::metadata(&path).unwrap().len(), "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}
