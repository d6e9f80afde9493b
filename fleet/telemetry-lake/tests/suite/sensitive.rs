//! Sensitive data: what does not leave its host is excluded.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use telemetry_decode::Reader;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::scrub::{Method, Scrub};
use telemetry_format::{BlockType, Header};
use telemetry_lake::lake::Format;
use telemetry_testing::made::{Plan, blocks, header, make};

use crate::commit::FORMS;
use crate::lakes::{Row, TestLake, said};
use crate::texts::{LABEL, PERSON, SECRET, SHARED, has, private, text, with_texts};
use crate::versions;

/// All bytes of a lake, and of its segments.
fn bytes_in(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        bytes.extend(if path.is_dir() { bytes_in(&path) } else { std::fs::read(&path).unwrap() });
    }
    bytes
}

/// The sum of a column of the table `lane`.
fn sum(lake: &TestLake, column: &str) -> u64 {
    lake.lanes().values().map(|lane| lane.of(column)).sum()
}

#[test]
fn kinds_that_stay_on_their_host_are_excluded() {
    for form in FORMS {
        let lake = TestLake::new(form);
        lake.ship_cut("h1", &with_texts(100), 1 << 20);
        assert_eq!(lake.commit(), 400);
        // 200 labels, 200 of `Login`, and 100 of `VisitStart`.
        assert_eq!(["recorded", "rows", "excluded", "holes"].map(|of| sum(&lake, of)), [900, 400, 500, 0]);
        let said = lake.run(&["complete"]);
        let verdict = "complete: all sessions have ended; 500 events are excluded\n";
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), verdict));
        let all = bytes_in(lake.path());
        assert!(!has(&all, SECRET) && !has(&all, LABEL) && has(&all, SHARED));
    }
}

/// What is missing beside them is told, also the last block of a lane, which only the count of the
/// last sync block shows.
#[test]
fn what_is_missing_beside_them_is_told() {
    let lake = TestLake::new(Format::Parquet);
    let [segment] = &lake.ship_cut("h1", &with_texts(100), 1 << 20)[..] else { panic!("one segment") };
    let (bytes, mut all) = (std::fs::read(segment).unwrap(), Vec::new());
    let mut blocks = Blocks::from_slice(&bytes);
    while let Some(Piece::Block(block)) = blocks.next().unwrap() {
        all.push((block.header.clone(), block.bytes.to_vec()));
    }
    // Of the kind that leaves the host.
    let last = all.iter().rposition(|(header, _)| header.kind == 2 && header.events > 0).unwrap();
    let (header, _) = all.remove(last);
    let left: Vec<u8> = all.into_iter().flat_map(|(_, bytes)| bytes).collect();
    std::fs::write(segment, left).unwrap();
    assert_eq!(lake.commit(), 400 - u64::from(header.events));
    assert_eq!(["excluded", "holes"].map(|of| sum(&lake, of)), [500, 0]);
    let said = lake.run(&["complete"]);
    let missing = format!("; {} events on h1 not here between", header.events);
    assert!(said.code == Some(1) && said.stdout.contains(&missing), "{}", said.stdout);
}

/// A shipper may begin to send them in the middle of a session, or cease to. What it has withheld
/// is excluded exactly, and what is lost beside it is missing.
#[test]
fn a_shipper_that_is_changed_withholds_a_part() {
    let plan = Plan { events: 1200, threads: 2, block_size: 512, ..Plan::default() };
    let stream = make(&private(), &plan).stream;
    // The blocks of lanes whose numbers are wanted, with everything else.
    let select = |wanted: &dyn Fn(u32) -> bool| -> Vec<u8> {
        let is_wanted = |header: Header| header.block_type != BlockType::Events || wanted(header.seq);
        let blocks = blocks(&stream).into_iter().map(|block| &stream[block]);
        blocks.filter(|block| is_wanted(header(block))).flatten().copied().collect()
    };
    let events_in = |stream: &[u8], is_wanted: fn(&Header) -> bool| -> u64 {
        let headers = blocks(stream).into_iter().map(|block| header(&stream[block]));
        headers.filter(is_wanted).map(|header| u64::from(header.events)).sum()
    };
    let (early, late) = (select(&|seq| seq < 3), select(&|seq| seq >= 3));
    let one_is_lost = select(&|seq| seq < 3 && seq != 1);
    for (early, withholds_early) in
        [(&early, true), (&early, false), (&one_is_lost, true), (&one_is_lost, false)]
    {
        let lake = TestLake::new(Format::Parquet);
        match withholds_early {
            true => (lake.ship_cut("h1", early, 1 << 20), lake.ship_all("h1", &late)),
            false => (lake.ship_all("h1", early), lake.ship_cut("h1", &late, 1 << 20)),
        };
        lake.commit();
        let withheld = events_in(if withholds_early { early } else { &late }, |header| header.kind == PERSON);
        let all = |stream| events_in(stream, |_| true);
        let lost = all(&stream) - all(early) - all(&late);
        let found = ["recorded", "rows", "excluded", "holes"].map(|of| sum(&lake, of));
        assert_eq!(found, [1200, 1200 - withheld - lost, withheld, lost], "{withholds_early}");
        assert!(withheld > 0 && (lost > 0) == (early == &one_is_lost));
    }
}

/// The same with the program that ships.
#[test]
fn the_shipper_withholds_them() {
    let program = Path::new(env!("CARGO_BIN_EXE_telemetry-lake")).with_file_name("telemetry-fleet");
    if !program.exists() {
        return eprintln!("SKIPPED: telemetry-fleet is not built; help: cargo build -p telemetry-fleet");
    }
    let lake = TestLake::new(Format::Parquet);
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("shop.tel"), with_texts(100)).unwrap();
    let ship = |options: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["ship", "--host=h1", "--spool=spool", "shop.tel"]).args(options);
        command.arg(format!("--to=file://{}", lake.path().display())).current_dir(host.path());
        let said = said(&command.output().unwrap());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    };
    ship(&[]);
    assert_eq!(lake.commit(), 400);
    assert_eq!((sum(&lake, "excluded"), has(&bytes_in(lake.path()), SECRET)), (500, false));
    // What comes later, because it is sent on purpose, is not excluded. Its values are hidden.
    ship(&["--send-sensitive"]);
    assert_eq!(lake.commit(), 500);
    assert_eq!(["recorded", "rows", "excluded", "holes"].map(|of| sum(&lake, of)), [900, 900, 0, 0]);
    assert_eq!(lake.run(&["complete"]).stdout, "complete: all sessions have ended\n");
    assert!(!values(&lake).iter().any(|value| value.contains(SECRET)));
}

/// All values of the tables.
fn values(lake: &TestLake) -> Vec<String> {
    lake.tables().into_iter().flat_map(|table| lake.rows(&table)).flat_map(BTreeMap::into_values).collect()
}

/// What comes anyway has no values in the tables, unless a commit keeps them.
#[test]
fn values_are_hidden_unless_a_commit_keeps_them() {
    for form in FORMS {
        let lake = TestLake::new(form);
        let stream = with_texts(0);
        lake.ship_all("h1", &stream);
        assert_eq!(lake.commit(), 1000);
        let all = values(&lake);
        let has = |all: &[String], text: &str| all.iter().any(|value| value.contains(text));
        // The second is of a kind that may leave the host, and is sensitive nevertheless.
        assert!(!has(&all, SECRET) && !has(&all, SHARED));
        let login = lake.rows("private_Login");
        assert_eq!(login.len(), 200);
        let is_hidden = |row: &Row, name: &str| row[name] == "null";
        assert!(login.iter().all(|row| is_hidden(row, "user") && !is_hidden(row, "number")));
        assert!(lake.rows("span").iter().any(|row| row["span"] == "Visit [<personal>]"));
        let interned = lake.rows("telemetry_Intern");
        assert!(interned.len() == 200 && interned.iter().all(|row| is_hidden(row, "string")));
        let visit = &lake.rows("shop_VisitStart")[0];
        let hidden = ["user", "user__bytes", "town", "town__name", "plan", "plan__name"];
        let hidden: Vec<_> = hidden.into_iter().filter(|name| visit.contains_key(*name)).collect();
        assert!(hidden.len() > 4 && hidden.iter().all(|name| is_hidden(visit, name)), "{visit:?}");
        assert!(!is_hidden(visit, "visit") && !is_hidden(visit, "page"), "{visit:?}");
        // Another host, whose values are kept, in the same tables.
        lake.ship_all("h2", &stream);
        let said = lake.run(&["commit", "--show-sensitive"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let all = values(&lake);
        assert!(has(&all, SECRET) && has(&all, LABEL) && has(&all, SHARED));
        let shown = lake.rows("private_Login").into_iter().filter(|row| row["user"] == SECRET);
        assert!(shown.map(|row| row["host"].clone()).eq(vec!["h2"; 200]));
        assert_eq!(sum(&lake, "rows"), 2000);
    }
}

/// The rows of a table that a host has.
fn rows_of(lake: &TestLake, table: &str, host: &str) -> Vec<Row> {
    let mut rows = lake.rows(table);
    rows.retain(|row| row["host"] == host);
    assert!(!rows.is_empty(), "{table} has rows of {host}");
    rows
}

/// A scrubbed session has nothing to hide, unless it is there as it was, too.
#[test]
fn what_is_scrubbed_is_not_hidden_again() {
    let (stream, mut scrubbed, mut how) = (with_texts(0), Vec::new(), Scrub::default());
    how.personal = Method::Truncate;
    Reader::from_slice(&stream).scrub(&how, &mut scrubbed).unwrap();
    let lake = TestLake::new(Format::Parquet);
    lake.ship("h1", &scrubbed);
    assert_eq!(lake.commit(), 1000);
    let login = rows_of(&lake, "private_Login", "h1");
    assert!(login.len() == 200 && login.iter().all(|row| row["user"] == "Love"));
    assert!(lake.rows("span").iter().any(|row| row["span"] == "Visit [Love]"));
    assert!(rows_of(&lake, "telemetry_Intern", "h1").iter().all(|row| row["string"] == "Labe"));
    lake.ship_all("h2", &[&scrubbed[..], &stream].concat());
    lake.commit();
    assert!(rows_of(&lake, "private_Login", "h2").iter().all(|row| row["user"] == "null"));
}

/// A session may get the registry that hides its labels after a batch.
#[test]
fn strings_of_labels_are_hidden_once_the_lake_knows_the_registry() {
    let lake = TestLake::new(Format::Delta);
    // `h1` and `h3` have no registry with a sensitive label.
    for (host, labels, is_hidden) in [("h1", 200, false), ("h2", 0, true), ("h3", 200, true)] {
        lake.ship_all(host, &with_texts(labels));
        lake.commit();
        let mut interned = rows_of(&lake, "telemetry_Intern", host).into_iter();
        assert!(interned.all(|row| (row["string"] == "null") == is_hidden), "{host}");
        // Where a label is not sensitive, it has its string.
        let tick = &rows_of(&lake, "private_Tick", host)[0];
        assert!(tick.values().any(|value| value.starts_with(LABEL)), "{tick:?}");
    }
}

/// The fingerprint does not cover which parameters are sensitive.
#[test]
fn the_stricter_of_two_texts_counts() {
    let registry = |mark: &str| {
        format!(
            r#"
[registry]
name = "logins"
version = "1.0.0"
doc = "A registry"

[kinds]
User = {{ bit = 0, doc = "users" }}

[[event]]
name = "Login"
code = 1
kind = "User"
doc = "A user came"
params = [{{ name = "user", sort = "string", max = 64{mark}, doc = "who" }}]
"#
        )
    };
    let marked = ", sensitive = \"personal\"";
    let user = [text(SECRET)];
    let ship = |lake: &TestLake, host: &str, mark: &str| {
        lake.ship_all(host, &versions::stream(1, &registry(mark), &[(1, &user)]));
    };
    let check = |lake: &TestLake, host: &str, shown: &str| {
        assert_eq!(rows_of(lake, "logins_Login", host)[0]["user"], shown, "{host}");
    };
    let lake = TestLake::new(Format::Parquet);
    for (host, mark, shown) in
        [("h1", "", SECRET), ("h2", marked, "null"), ("h3", "", "null"), ("h4", "", "null")]
    {
        ship(&lake, host, mark);
        assert_eq!(lake.commit(), 1);
        check(&lake, host, shown);
    }
    // In one batch, those after the first that marks it.
    let lake = TestLake::new(Format::Parquet);
    [("h1", ""), ("h2", marked), ("h3", "")].into_iter().for_each(|(host, mark)| ship(&lake, host, mark));
    assert_eq!(lake.commit(), 3);
    for (host, shown) in [("h1", SECRET), ("h2", "null"), ("h3", "null")] {
        check(&lake, host, shown);
    }
}

/// A batch that was begun goes on as it was begun.
#[cfg(feature = "failpoints")]
#[test]
fn a_batch_that_was_killed_goes_on_as_it_was_begun() {
    let lake = TestLake::new(Format::Delta);
    lake.ship_all("h1", &with_texts(0));
    let killed = lake.command(&["commit", "--show-sensitive"]).env("FAILPOINT", "files:1").output();
    assert_eq!(killed.unwrap().status.code(), None);
    assert_eq!(lake.commit(), 1000);
    assert!(values(&lake).iter().any(|value| value == SECRET));
}
