//! A lake in a directory, and what its tables have.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Order, Reader};
use telemetry_fleet::segment::{Cutter, Segment};
use telemetry_lake::lake::Format;
use telemetry_lake::state::SessionState;
use tempfile::TempDir;

/// What is chosen at `init`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Form {
    pub(crate) format: Format,
    pub(crate) buckets: Option<u32>,
}

impl Form {
    /// The arguments of `init`, without the address.
    pub(crate) fn init(self) -> Vec<String> {
        let buckets = self.buckets.map(|buckets| format!("--buckets={buckets}"));
        ["init".to_owned(), format!("--format={}", self.format.word())].into_iter().chain(buckets).collect()
    }
}

impl From<Format> for Form {
    fn from(format: Format) -> Form {
        Form { format, buckets: None }
    }
}

/// A lake in a directory of its own.
pub(crate) struct TestLake {
    dir: TempDir,
    pub(crate) form: Form,
}

/// What a run of the command said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// An event: host, session, thread, kind, number in its lane, type, and time.
pub(crate) type EventKey = (String, i64, u32, u8, i64, String, i64);

/// A row as text, by column.
pub(crate) type Row = BTreeMap<String, String>;

/// A lane: host, session, fingerprint of the registry, thread, kind.
pub(crate) type LaneKey = (String, u64, u64, u32, u8);

/// What the tables have of a lane.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The row of the table `lane`.
    pub(crate) account: Row,
    /// The rows of the table `lane_range`.
    pub(crate) ranges: Vec<Range<u64>>,
    /// The rows of events, by number.
    pub(crate) found: BTreeMap<u64, Found>,
}

/// What a row of an event has.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) table: String,
    pub(crate) time_ns: i64,
    /// The parameter `i`, if it has one.
    pub(crate) i: Option<u64>,
}

impl Lane {
    /// A number of its account.
    pub(crate) fn of(&self, name: &str) -> u64 {
        self.account[name].parse().unwrap()
    }
}

impl TestLake {
    pub(crate) fn new(form: impl Into<Form>) -> TestLake {
        let lake = TestLake { dir: tempfile::tempdir().unwrap(), form: form.into() };
        let said = lake.run(&lake.form.init());
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        lake
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn command(&self, args: &[impl AsRef<str>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-lake"));
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        command.arg(args[0]).arg(format!("file://{}", self.path().display())).args(&args[1..]);
        command
    }

    pub(crate) fn run(&self, args: &[impl AsRef<str>]) -> Said {
        said(&self.command(args).output().unwrap())
    }

    /// Runs a command that must succeed. Returns what it printed.
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{args:?}");
        said.stdout
    }

    /// Commits everything. Returns the number of rows.
    pub(crate) fn commit(&self) -> u64 {
        let said = self.run(&["commit"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
        let rows =
            |line: &str| -> Option<u64> { line.strip_suffix(" rows")?.rsplit(' ').next()?.parse().ok() };
        said.stdout.lines().filter_map(rows).sum()
    }

    /// Copies objects of another store, with this prefix.
    pub(crate) fn fill(&self, objects: impl IntoIterator<Item = (String, Vec<u8>)>, prefix: &str) {
        for (key, bytes) in objects {
            let place = self.path().join(key.strip_prefix(prefix).unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, bytes).unwrap();
        }
    }

    /// Removes all objects.
    #[cfg(feature = "failpoints")]
    pub(crate) fn clear(&self) {
        for entry in std::fs::read_dir(self.path()).unwrap() {
            let path = entry.unwrap().path();
            let removed =
                if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            removed.unwrap();
        }
    }

    /// Stores an object, unless there is one of its name. No reader sees a part of it.
    #[cfg(feature = "failpoints")]
    pub(crate) fn put_if_absent(&self, name: &str, bytes: &[u8]) {
        let (place, whole) = (self.path().join(name), tempfile::NamedTempFile::new_in(self.path()).unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(whole.path(), bytes).unwrap();
        if let Err(error) = std::fs::hard_link(whole.path(), place) {
            assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{name}");
        }
    }

    /// Puts a stream into the store, as `telemetry-fleet ship` does. Returns the segments.
    pub(crate) fn ship(&self, host: &str, stream: &[u8]) -> Vec<PathBuf> {
        self.ship_cut(host, stream, 1 << 14)
    }

    /// Puts a stream into the store in segments of about this many bytes.
    pub(crate) fn ship_cut(&self, host: &str, stream: &[u8], max_len: u64) -> Vec<PathBuf> {
        self.ship_with(host, stream, |cutter| cutter, max_len)
    }

    /// Puts a stream into the store with all kinds, as `ship --send-sensitive` does.
    pub(crate) fn ship_all(&self, host: &str, stream: &[u8]) -> Vec<PathBuf> {
        self.ship_with(host, stream, |cutter| cutter.send_sensitive(true), 1 << 14)
    }

    fn ship_with(
        &self,
        host: &str,
        stream: &[u8],
        how: impl FnOnce(Cutter) -> Cutter,
        max_len: u64,
    ) -> Vec<PathBuf> {
        let open = tempfile::tempdir().unwrap();
        let mut cutter = how(Cutter::new(open.path(), host.parse().unwrap(), max_len));
        let mut blocks = Blocks::from_slice(stream);
        let mut segments = Vec::new();
        while let Some(piece) = blocks.next().unwrap() {
            if let Piece::Block(block) = piece {
                segments.extend(cutter.push(&block).unwrap());
            }
        }
        segments.extend(cutter.finish().unwrap());
        let place = |segment: &Segment| {
            let place = self.path().join(segment.name.to_string());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(&segment.path, &place).unwrap();
            place
        };
        segments.iter().map(place).collect()
    }

    /// Returns all objects but the segments, by name.
    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let mut names = Vec::new();
        files_in(self.path(), self.path(), &mut names);
        names.retain(|name| !name.starts_with("segments/"));
        names.into_iter().map(|name| (name.clone(), std::fs::read(self.path().join(name)).unwrap())).collect()
    }

    /// Returns the names of the tables that have files.
    pub(crate) fn tables(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.path().join("tables"))
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .into_iter()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns the names of a table's files: those of its log, or all.
    pub(crate) fn files(&self, table: &str) -> Vec<String> {
        let folder = self.path().join("tables").join(table);
        let mut all = Vec::new();
        files_in(&folder, &folder, &mut all);
        all.retain(|name| name.ends_with(".parquet"));
        if self.form.format == Format::Parquet {
            return all;
        }
        let live = self.live(table, u64::MAX);
        assert!(live.iter().all(|name| all.contains(name)), "all files of the log exist");
        live.into_iter().collect()
    }

    /// Returns the names of the files that a version of a table has.
    pub(crate) fn live(&self, table: &str, last: u64) -> BTreeSet<String> {
        let folder = self.path().join("tables").join(table);
        let mut live = BTreeSet::new();
        for version in 0..=last {
            let log = folder.join(format!("_delta_log/{version:020}.json"));
            let Ok(text) = std::fs::read_to_string(log) else { break };
            for action in text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
                if let Some(path) = action["remove"]["path"].as_str() {
                    assert!(live.remove(path), "{path} was there");
                }
                if let Some(path) = action["add"]["path"].as_str() {
                    assert!(live.insert(path.to_owned()), "{path} is added once");
                }
            }
        }
        live
    }

    /// Returns all rows of a table.
    pub(crate) fn rows(&self, table: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        for name in self.files(table) {
            let file = std::fs::File::open(self.path().join("tables").join(table).join(&name)).unwrap();
            let partitions: Vec<_> = name.split('/').filter_map(|part| part.split_once('=')).collect();
            for row in SerializedFileReader::new(file).unwrap().get_row_iter(None).unwrap() {
                let row = row.unwrap();
                let cell = |(name, field): (&String, &Field)| {
                    let text = match field {
                        Field::Str(text) => text.clone(),
                        other => other.to_string(),
                    };
                    (name.clone(), text)
                };
                let mut row: Row = row.get_column_iter().map(cell).collect();
                row.extend(partitions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
                rows.push(row);
            }
        }
        rows
    }

    /// Returns the latest states of all sessions.
    pub(crate) fn states(&self) -> Vec<SessionState> {
        let (root, mut names) = (self.path().join("state"), Vec::new());
        files_in(&root, &root, &mut names);
        names.sort();
        let mut latest = BTreeMap::new();
        for name in names.iter().filter(|name| name.ends_with(".json")) {
            latest.insert(name.rsplit_once('/').unwrap().0.to_owned(), name.clone());
        }
        let read = |name: &String| serde_json::from_slice(&std::fs::read(root.join(name)).unwrap()).unwrap();
        latest.values().map(read).collect()
    }

    /// Returns the events of all tables of events. Each is there once.
    pub(crate) fn events(&self) -> BTreeSet<EventKey> {
        let states = self.states();
        let mut events = BTreeSet::new();
        for table in self.tables() {
            let rows = self.rows(&table);
            if !rows.first().is_some_and(|row| row.contains_key("n") && row.contains_key("lane")) {
                continue;
            }
            for row in rows {
                let number = |name: &str| row[name].parse::<i64>().unwrap();
                let state = states
                    .iter()
                    .find(|state| state.session as i64 == number("session") && state.host == row["host"]);
                let lane = &state.unwrap().lanes[number("lane") as usize];
                assert_eq!(i64::from(lane.thread), number("thread"));
                let key = (
                    row["host"].clone(),
                    number("session"),
                    lane.thread,
                    lane.bit,
                    number("n"),
                    table.clone(),
                    number("time_ns"),
                );
                assert!(events.insert(key), "{table}: {row:?} is there twice");
            }
        }
        events
    }

    /// Checks that no key is there twice, whether or not a batch is done.
    #[cfg(feature = "failpoints")]
    pub(crate) fn check_keys(&self) {
        let mut keys = BTreeSet::new();
        for table in self.tables() {
            for row in self.rows(&table) {
                if let (Some(lane), Some(n)) = (row.get("lane"), row.get("n")) {
                    let key =
                        (table.clone(), row["host"].clone(), row["session"].clone(), lane.clone(), n.clone());
                    assert!(keys.insert(key), "{table}: {row:?} is there twice");
                }
            }
        }
    }

    /// Checks that the tables have exactly these events, and that the accounts of lanes are right.
    pub(crate) fn check(&self, wanted: &BTreeSet<EventKey>) {
        let found = self.events();
        assert_eq!(found.len(), wanted.len());
        assert!(found == *wanted, "the same events");
        let lanes = self.lanes();
        assert_eq!(lanes.values().map(|lane| lane.found.len()).sum::<usize>(), found.len());
    }

    /// Returns all lanes, with their rows and their accounts. Each account is exact.
    pub(crate) fn lanes(&self) -> BTreeMap<LaneKey, Lane> {
        let number = |row: &Row, name: &str| row[name].parse::<u64>().unwrap();
        let place = |row: &Row| (row["host"].clone(), row["session"].clone(), row["lane"].clone());
        let mut lanes = BTreeMap::new();
        for row in self.latest("lane") {
            let lane = Lane { account: row.clone(), ..Lane::default() };
            assert!(lanes.insert(place(&row), lane).is_none(), "a lane is there twice: {row:?}");
        }
        for row in self.latest("lane_range") {
            let lane = lanes.get_mut(&place(&row)).expect("the lane of a range");
            lane.ranges.push(number(&row, "from_n")..number(&row, "until_n"));
        }
        for table in self.tables() {
            let rows = self.rows(&table);
            let of_events = |row: &Row| row.contains_key("n") && row.contains_key("lane");
            for row in rows.into_iter().filter(of_events) {
                let lane = lanes.get_mut(&place(&row)).expect("the lane of a row");
                let (n, i) = (number(&row, "n"), row.get("i").and_then(|i| i.parse().ok()));
                let found = Found { table: table.clone(), time_ns: row["time_ns"].parse().unwrap(), i };
                assert!(lane.found.insert(n, found).is_none(), "{table}: {row:?} is there twice");
            }
        }
        for lane in lanes.values() {
            let of = |name: &str| lane.of(name);
            let parts = ["rows", "lost_sink", "excluded", "shed", "deleted", "holes"].map(of);
            assert_eq!(of("recorded"), parts.iter().sum::<u64>(), "{:?}", lane.account);
            let in_ranges = lane.ranges.iter().cloned().flatten();
            assert!(lane.found.keys().copied().eq(in_ranges), "the rows that count: {:?}", lane.account);
            assert_eq!(of("rows"), lane.found.len() as u64, "{:?}", lane.account);
        }
        let key = |lane: &Lane| {
            let account = &lane.account;
            let fingerprint = account["fingerprint"].parse::<i64>().unwrap() as u64;
            let session = account["session"].parse::<i64>().unwrap() as u64;
            let (thread, bit) = (number(account, "thread") as u32, number(account, "bit") as u8);
            (account["host"].clone(), session, fingerprint, thread, bit)
        };
        lanes.into_values().map(|lane| (key(&lane), lane)).collect()
    }

    /// Returns the rows of a table of sessions that count: those of the latest batch of a session.
    pub(crate) fn latest(&self, table: &str) -> Vec<Row> {
        let key = |row: &Row| (row["host"].clone(), row["session"].clone());
        let batch = |row: &Row| row["batch"].parse::<u64>().unwrap();
        let mut last = BTreeMap::new();
        for row in self.rows("session") {
            let known = last.entry(key(&row)).or_insert(0);
            *known = batch(&row).max(*known);
        }
        self.rows(table).into_iter().filter(|row| batch(row) == last[&key(row)]).collect()
    }
}

pub(crate) fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The events of a stream, as the tables should have them.
pub(crate) fn events_of(host: &str, stream: &[u8]) -> BTreeSet<EventKey> {
    let mut events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    let mut keys = BTreeSet::new();
    while let Some(event) = events.next().unwrap() {
        let registry = event.registry();
        let major = registry.version.major;
        let suffix = if major > 1 { format!("_m{major}") } else { String::new() };
        let table = format!("{}_{}{suffix}", registry.name, event.name());
        keys.insert((
            host.to_owned(),
            event.session().id as i64,
            event.thread(),
            event.kind().bit,
            event.position().unwrap() as i64,
            table,
            event.time_ns(),
        ));
    }
    keys
}

/// Adds to the number of the session in each block.
pub(crate) fn renumber(stream: &mut [u8], add: u64) {
    for block in telemetry_testing::made::blocks(stream) {
        telemetry_testing::made::edit(&mut stream[block], |header| header.session += add);
    }
}

/// Returns all files below a directory.
#[cfg(feature = "failpoints")]
pub(crate) fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    files_in(folder, folder, &mut names);
    names.into_iter().map(|name| folder.join(name)).collect()
}

fn files_in(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_in(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
}
