//! Lakes in which hosts are in buckets: other files, and the same answers.

use std::collections::BTreeSet;

use parquet::file::reader::SerializedFileReader;
use telemetry_testing::made::Plan;

use crate::commit::{BUCKETS, FORMS, all_events, streams};
use crate::lakes::{Row, TestLake};

fn plan() -> Plan {
    Plan { events: 400, block_size: 512, lose: 20, ..Plan::default() }
}

/// Commits the streams of all hosts, a batch for each.
fn commit_all(lake: &TestLake) {
    for (host, stream) in &streams(&plan()) {
        lake.ship(host, stream);
        lake.commit();
    }
}

/// Returns the bucket and the hosts of each Parquet object with rows of hosts, by its name in the
/// store. The hosts are in their order there.
fn hosts_of_objects(lake: &TestLake) -> Vec<(String, String, Vec<String>)> {
    let mut found = Vec::new();
    for name in lake.objects().into_keys() {
        let Some((_, rest)) = name.split_once("/bucket=") else { continue };
        let bucket = rest.split_once('/').unwrap().0.to_owned();
        let file = std::fs::File::open(lake.path().join(&name)).unwrap();
        let rows = SerializedFileReader::new(file).unwrap().into_iter();
        let host = |row: parquet::record::Row| {
            row.get_column_iter().find(|(name, _)| *name == "host").unwrap().1.to_string()
        };
        let mut hosts: Vec<_> = rows.map(|row| host(row.unwrap()).trim_matches('"').to_owned()).collect();
        hosts.dedup();
        found.push((name, bucket, hosts));
    }
    assert!(!found.is_empty());
    found
}

#[test]
fn each_host_is_in_its_bucket() {
    let lake = TestLake::new(BUCKETS);
    commit_all(&lake);
    for (name, bucket, hosts) in hosts_of_objects(&lake) {
        let wanted = match hosts[0].as_str() {
            "h1" | "h2" => "2",
            _ => "1",
        };
        assert_eq!((bucket.as_str(), hosts.len()), (wanted, 1), "{name}");
        assert_eq!(crc32c::crc32c(hosts[0].as_bytes()) % 4, wanted.parse::<u32>().unwrap());
    }
}

/// All tables have the rows of a lake without buckets, and `complete` says the same.
#[test]
fn answers_are_the_same() {
    let rows = |lake: &TestLake| {
        let of_table = |table: String| {
            let mut rows: Vec<Row> = lake.rows(&table);
            for row in &mut rows {
                row.retain(|column, _| !["bucket", "stored_ns"].contains(&column.as_str()));
            }
            rows.sort();
            (table, rows)
        };
        lake.tables().into_iter().map(of_table).collect::<Vec<_>>()
    };
    let [without, with] = [FORMS[0], BUCKETS].map(TestLake::new);
    for lake in [&without, &with] {
        commit_all(lake);
    }
    assert!(rows(&without).len() > 10 && rows(&without) == rows(&with));
    for arguments in [&["complete"] as &[&str], &["complete", "--host=h2"], &["complete", "--host=h9"]] {
        assert_eq!(without.run(arguments), with.run(arguments));
    }
    for arguments in [&["compact"] as &[&str], &["delete", "--host=h2"], &["delete", "--session=1"]] {
        for lake in [&without, &with] {
            let said = lake.run(arguments);
            assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        }
        assert!(rows(&without) == rows(&with), "after {arguments:?}");
        assert_eq!(without.run(&["complete"]), with.run(&["complete"]));
    }
}

/// Files of all hosts of a bucket are joined. A deletion leaves no row of a host in any object, and
/// other buckets as they are.
#[test]
fn hosts_of_a_bucket_are_joined_and_deleted() {
    let lake = TestLake::new(BUCKETS);
    commit_all(&lake);
    let wanted = all_events(&streams(&plan()));
    assert_eq!(lake.run(&["compact"]).code, Some(0));
    lake.check(&wanted);
    // One file of each bucket is live, and hosts are in order there.
    let live = |lake: &TestLake, table: &str| lake.files(table).into_iter().collect::<BTreeSet<_>>();
    let joined = live(&lake, "all_sorts_Arrays");
    assert_eq!(joined.len(), 2, "{joined:?}");
    let objects = hosts_of_objects(&lake);
    assert!(objects.iter().any(|(name, _, hosts)| name.contains("-several-") && *hosts == ["h1", "h2"]));

    let of_other = |path: &String| path.contains("bucket=1/");
    let other: BTreeSet<_> = joined.iter().filter(|path| of_other(path)).cloned().collect();
    #[cfg(feature = "failpoints")]
    for point in ["file", "delete:2", "done"] {
        let copy = TestLake::new(BUCKETS);
        commit_all(&copy);
        assert_eq!(copy.run(&["compact"]).code, Some(0));
        let mut command = copy.command(&["delete", "--host", "h2"]);
        assert_eq!(command.env("FAILPOINT", point).output().unwrap().status.code(), None, "{point}");
        assert_eq!(copy.commit(), 0);
        copy.check(&wanted.iter().filter(|key| key.0 != "h2").cloned().collect());
        assert!(
            hosts_of_objects(&copy).iter().all(|(.., hosts)| !hosts.contains(&"h2".to_owned())),
            "{point}"
        );
    }
    assert_eq!(lake.run(&["delete", "--host", "h2"]).code, Some(0));
    let wanted: BTreeSet<_> = wanted.into_iter().filter(|key| key.0 != "h2").collect();
    lake.check(&wanted);
    for (name, _, hosts) in hosts_of_objects(&lake) {
        assert!(!hosts.contains(&"h2".to_owned()), "{name}");
    }
    let left: BTreeSet<_> = live(&lake, "all_sorts_Arrays").into_iter().filter(of_other).collect();
    assert_eq!(left, other, "the files of the other bucket");
    assert_eq!(lake.run(&["compact"]).code, Some(0));
    lake.check(&wanted);
    // The day of all events is long ago.
    assert_eq!(lake.run(&["delete", "--older-than", "30", "--host", "h1"]).code, Some(0));
    lake.check(&wanted.iter().filter(|key| key.0 == "h3").cloned().collect());
    assert_eq!(lake.run(&["delete", "--older-than", "30"]).code, Some(0));
    assert_eq!(lake.events(), BTreeSet::new());
}
