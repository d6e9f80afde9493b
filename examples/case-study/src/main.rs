//! The database redb at work, with its transactions, the calls to its file and its allocations
//! recorded: see docs/case-study.md.

use redb::{Database, ReadableDatabase, StorageBackend, TableDefinition, backends::FileBackend};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Result;

#[telemetry::telemetry_event("events.toml")]
pub mod events {}

/// The system's allocator, with an event for each call.
struct Heap;
#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: every call is passed on to the system's allocator, and the caller keeps its contract.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = unsafe { System.alloc(layout) };
        events::allocated!(block, layout.size());
        block
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        events::freed!(block, layout.size());
        unsafe { System.dealloc(block, layout) }
    }
}

/// The database's file, with an event for each call, and one after those that take long.
#[derive(Debug)]
struct Disk(FileBackend);

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        events::file_read!(offset, out.len());
        self.0.read(offset, out)
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        events::write_start!(offset, data.len());
        let result = self.0.write(offset, data);
        events::write_end!();
        result
    }
    fn sync_data(&self) -> Result<()> {
        events::sync_start!();
        let result = self.0.sync_data();
        events::sync_end!();
        result
    }
    fn set_len(&self, size: u64) -> Result<()> {
        events::resized!(size);
        self.0.set_len(size)
    }
}

type Done = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;
const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("entries");
const ENTRIES: u64 = 100_000;

/// Writes `count` entries in one transaction. Each has its turn once in 100,000 steps, in no order.
fn update(database: &Database, first: u64, count: u64) -> Done {
    events::update_start!(count as u32);
    let transaction = database.begin_write()?;
    let mut table = transaction.open_table(TABLE)?;
    for step in first..first + count {
        table.insert(step * 7919 % ENTRIES, &[step as u8; 100][..])?;
    }
    drop(table);
    events::commit_start!();
    transaction.commit()?;
    events::commit_end!();
    events::update_end!();
    Ok(())
}

fn main() -> Done {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("no path; expected that of the new database")?;
    let updates = arguments.next().map_or(Ok(1000), |number| number.parse())?;
    let cache = arguments.next().map_or(Ok(1 << 30), |bytes| bytes.parse())?;
    let disk = Disk(FileBackend::new(std::fs::File::create_new(path)?)?);
    let database = &Database::builder().set_cache_size(cache).create_with_backend(disk)?;
    // Each phase is a thread, so that filters select it by its name.
    let phase = |name: &str, updates: u64, entries: u64| {
        let work = || (0..updates).try_for_each(|step| update(database, step, entries));
        let named = std::thread::Builder::new().name(name.into());
        std::thread::scope(|scope| named.spawn_scoped(scope, work)?.join().expect("no panic"))
    };
    phase("load", 1, ENTRIES)?;
    phase("before", updates, 1)?;
    events::snapshot_start!();
    let snapshot = database.begin_read()?;
    phase("beside", updates, 1)?;
    drop(snapshot);
    events::snapshot_end!();
    phase("after", updates, 1)
}
