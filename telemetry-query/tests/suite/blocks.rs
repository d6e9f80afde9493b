//! Conditions reach the headers of blocks: a block without wanted rows is not decoded.

use std::num::NonZeroUsize;
use std::sync::Arc;

use telemetry_decode::blocks::{Index, IndexedLane};
use telemetry_decode::{Events, Filter, Order, Reader};
use telemetry_query::{Engine, FileTables, Read, Recording, Source};
use telemetry_testing::made::{Plan, make, registry};

/// A stream in memory.
struct Bytes(&'static [u8]);

impl Source for Bytes {
    fn events(&self, order: Order, filter: Filter) -> Result<Events<'static>, String> {
        Reader::from_slice(self.0).order(order).filter(filter).events().map_err(|error| error.to_string())
    }

    fn index(&self) -> Result<Option<Index>, String> {
        Reader::from_slice(self.0).index().map(Some).map_err(|error| error.to_string())
    }
}

fn stream() -> &'static [u8] {
    let plan = Plan { seed: 9, threads: 3, events: 3000, block_size: 700, ..Plan::default() };
    make(&registry(), &plan).stream.leak()
}

/// Decides by lane, and by the times of a block.
type Passes = Box<dyn Fn(&IndexedLane, i64, i64) -> bool>;

/// Answers a query on some threads. Returns the number of rows, and what was read.
fn answer(stream: &'static [u8], sql: &str, threads: usize) -> (u64, Vec<Read>) {
    let threads = NonZeroUsize::new(threads).unwrap();
    let recording = Arc::new(Recording::open(Box::new(Bytes(stream)), threads).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let rows = runtime.block_on(async {
        let files = FileTables::default();
        let engine = Engine::new(Some(&recording), &files, threads, 64 << 20).await.unwrap();
        let mut answer = engine.query(sql).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = answer.next().await.unwrap() {
            rows += batch.num_rows() as u64;
        }
        rows
    });
    (rows, recording.reads())
}

/// Returns the length of the blocks that pass: by lane, and by the times of the block.
fn length(stream: &[u8], passes: impl Fn(&IndexedLane, i64, i64) -> bool) -> u64 {
    let index = Reader::from_slice(stream).index().unwrap();
    let mut sum = 0;
    for block in index.blocks() {
        let block = block.unwrap();
        let lane = &index.lanes[block.lane as usize];
        let clock = &index.sessions[lane.session].clock;
        if passes(lane, clock.ns(block.base_ticks), clock.ns(block.end_ticks)) {
            sum += u64::from(block.len);
        }
    }
    sum
}

#[test]
fn only_blocks_with_wanted_rows_are_decoded() {
    let stream = stream();
    let cell = registry()
        .events
        .iter()
        .find(|event| event.name == "Made")
        .map(|event| registry().kind_of(event).bit);
    let cell = cell.unwrap();
    let all = length(stream, |_, _, _| true);
    // The middle of the times.
    let (_, reads) = answer(stream, "SELECT * FROM Made", 1);
    assert!(reads[0].rows > 100, "{}", reads[0].rows);
    let middle = {
        let index = Reader::from_slice(stream).index().unwrap();
        let clock = &index.sessions[0].clock;
        let times: Vec<i64> = index.blocks().map(|block| clock.ns(block.unwrap().base_ticks)).collect();
        (times.iter().min().unwrap() + times.iter().max().unwrap()) / 2
    };
    let table: [(String, Passes); 5] = [
        ("SELECT count(*) FROM Made".to_string(), Box::new(|_, _, _| true)),
        ("SELECT count(*) FROM Made WHERE thread = 2".to_string(), Box::new(|lane, _, _| lane.thread == 2)),
        (
            "SELECT count(*) FROM Made WHERE thread IN (1, 2)".to_string(),
            Box::new(|lane, _, _| lane.thread == 1 || lane.thread == 2),
        ),
        (
            format!("SELECT count(*) FROM Made WHERE time_ns < {middle}"),
            Box::new(move |_, from, _| from < middle),
        ),
        (
            format!("SELECT count(*) FROM (SELECT * FROM Made) WHERE thread = 2 AND time_ns < {middle}"),
            Box::new(move |lane, from, _| lane.thread == 2 && from < middle),
        ),
    ];
    for (sql, passes) in &table {
        let expected = length(stream, |lane, from, until| lane.kind == cell && passes(lane, from, until));
        for threads in [1, 2, 3] {
            let (_, reads) = answer(stream, sql, threads);
            let [read] = &reads[..] else { panic!("{sql}: {} reads", reads.len()) };
            // Blocks that start at the bound have no wanted row, and may be decoded.
            let decoded = all - read.completeness.bytes.filtered;
            assert!(
                decoded >= expected && decoded <= expected + 1000,
                "{sql}: {decoded}, expected {expected}"
            );
            assert!(read.completeness.is_complete(), "{sql}");
        }
        assert!(expected > 0 && expected < all, "{sql}");
    }
}

#[test]
fn conditions_do_not_change_the_rows() {
    let stream = stream();
    for condition in
        ["time_ns >= 20000", "time_ns BETWEEN 9000 AND 90000", "thread = 3", "thread = 99", "session = 7"]
    {
        let (all, _) = answer(stream, &format!("SELECT * FROM Made WHERE {condition}"), 2);
        // No header of a block can answer this form.
        let (same, _) = answer(
            stream,
            &format!("SELECT * FROM (SELECT *, random() AS r FROM Made) WHERE {condition} AND r >= 0"),
            2,
        );
        assert_eq!(all, same, "{condition}");
    }
}

#[test]
fn only_named_tables_are_read() {
    let stream = stream();
    for (sql, tables) in [
        ("SELECT 1", &[][..]),
        ("SELECT * FROM Made LIMIT 0", &[][..]),
        ("SELECT count(*) FROM Numbers", &["Numbers"][..]),
        ("SELECT count(*) FROM Made, session", &["Made", "session"][..]),
    ] {
        let (_, reads) = answer(stream, sql, 2);
        let mut found: Vec<_> = reads.iter().map(|read| read.table.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, tables, "{sql}");
    }
}

#[test]
fn a_query_that_needs_no_more_rows_ends_its_reads() {
    let (rows, reads) = answer(stream(), "SELECT * FROM span LIMIT 1", 2);
    assert!(rows <= 1 && reads.len() == 1, "{rows} {}", reads.len());
}

#[test]
fn an_engine_may_read_a_table_again() {
    let sql = "WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n, (SELECT count(*) AS c FROM Made) \
               WHERE i < 2 AND c > 0) SELECT i FROM n";
    assert_eq!(answer(stream(), sql, 2).0, 3);
}
