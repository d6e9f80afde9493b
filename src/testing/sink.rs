//! The sink of all captures of the process: it gives each one the blocks of its threads.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use telemetry_runtime::__private::testing::{
    BlockType, Header, flags, header, policy, set_policy, without_limits,
};
use telemetry_runtime::{Batch, Policy, Sink, SinkId, Start, add_sink_for, flush, remove_sink};

use super::recording::{Recording, lock};

/// How long a thread waits for memory while a capture is active. A test that emits much then is
/// slower, and does not fail.
const PATIENCE: Duration = Duration::from_secs(10);

/// The captures of the process, with what their blocks need.
struct Captures {
    recordings: Vec<Arc<Recording>>,
    /// Session, registries, threads and labels.
    facts: Vec<u8>,
    /// The incomplete block of each lane. A capture may begin in the middle of a block.
    open: Option<HashMap<Lane, Parts>>,
    /// Number of flushes of the sink.
    flushes: u64,
}

/// Thread, registry and kind.
type Lane = (u32, u64, u8);

/// The number of a block, and its parts so far.
type Parts = (u32, Vec<u8>);

static CAPTURES: Mutex<Captures> =
    Mutex::new(Captures { recordings: Vec::new(), facts: Vec::new(), open: None, flushes: 0 });

/// The sink while it is in use. Its lock comes before that of the sinks, which comes before that of
/// [`CAPTURES`].
static IN_USE: Mutex<InUse> = Mutex::new(InUse { captures: 0, process: 0, sink: None, policy: None });

struct InUse {
    captures: usize,
    /// The process whose captures these are. A child that it forks has none.
    process: u32,
    sink: Option<SinkId>,
    /// The policy to return to.
    policy: Option<Policy>,
}

/// Keeps all events on, and the sink in use.
pub(super) struct Active(());

impl Active {
    /// Adds the sink, if this is the first capture.
    pub(super) fn begin() -> io::Result<Active> {
        let (mut in_use, process) = (lock(&IN_USE), std::process::id());
        if in_use.captures > 0 && in_use.process != process {
            return Err(io::Error::other("this process was forked inside of a capture"));
        }
        in_use.process = process;
        if in_use.captures == 0 {
            let mut captures = lock(&CAPTURES);
            (captures.facts, captures.open) = (Vec::new(), None);
            drop(captures);
            in_use.sink = Some(add_sink_for("all", ToCaptures)?);
            if policy() == Policy::DropNewest {
                in_use.policy = Some(Policy::DropNewest);
                set_policy(Policy::Wait(PATIENCE));
            }
        }
        in_use.captures += 1;
        without_limits(true);
        Ok(Active(()))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut in_use = lock(&IN_USE);
        in_use.captures -= 1;
        without_limits(false);
        if in_use.captures > 0 {
            return;
        }
        if let Some(policy) = in_use.policy.take() {
            set_policy(policy);
        }
        in_use.sink.take().map(remove_sink);
    }
}

/// Adds a range of a thread to a capture, and what the sink has of the thread's open blocks. The
/// closure adds the range.
pub(super) fn add_thread<T>(recording: &Recording, add: impl FnOnce() -> T) -> T {
    let captures = lock(&CAPTURES);
    let open = captures.open.iter().flatten();
    let new = open.clone().filter(|((thread, ..), _)| !recording.has(*thread)).map(|(lane, _)| *lane);
    let new: Vec<_> = new.collect();
    let added = add();
    for (lane, (_, parts)) in open {
        if new.contains(lane) && recording.has(lane.0) {
            recording.add_block(&[parts]);
        }
    }
    added
}

/// Has the sink give a capture the blocks of its threads.
pub(super) fn enlist(recording: &Arc<Recording>) {
    lock(&CAPTURES).recordings.push(Arc::clone(recording));
}

/// Ends that. Returns the stream of the blocks: what they need, and the blocks.
pub(super) fn dismiss(recording: &Arc<Recording>) -> Vec<u8> {
    let mut captures = lock(&CAPTURES);
    captures.recordings.retain(|other| !Arc::ptr_eq(other, recording));
    let mut stream = captures.facts.clone();
    drop(captures);
    stream.append(&mut lock(&recording.blocks));
    stream
}

/// Writes what all threads have recorded so far to the captures. Returns false if another sink
/// delays that.
pub(super) fn write_all() -> bool {
    let flushes = || lock(&CAPTURES).flushes;
    let before = flushes();
    // Another sink may be slow, after this one has all.
    (0..3).any(|_| flush() || flushes() > before)
}

/// The sink.
struct ToCaptures;

impl Sink for ToCaptures {
    fn begin(&mut self, _: usize) -> io::Result<Start> {
        Ok(Start::Continued)
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut captures = lock(&CAPTURES);
        for block in blocks.iter() {
            if let Some(header) = header(block[0]) {
                captures.take(&header, &block);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&CAPTURES).flushes += 1;
        Ok(())
    }

    fn name(&self) -> String {
        "the captures of tests".into()
    }
}

impl Captures {
    fn take(&mut self, header: &Header, block: &[&[u8]]) {
        match header.block_type {
            // Labels have no thread.
            BlockType::Events if header.thread != 0 => {
                let lane = (header.thread, header.registry, header.kind);
                let open = self.open.get_or_insert_default().entry(lane).or_default();
                if open.0 != header.seq || header.offset == 0 {
                    *open = (header.seq, Vec::new());
                }
                block.iter().for_each(|bytes| open.1.extend_from_slice(bytes));
                if header.flags & flags::LAST != 0 {
                    self.open.get_or_insert_default().remove(&lane);
                }
                let of_thread = self.recordings.iter().filter(|recording| recording.has(header.thread));
                of_thread.for_each(|recording| recording.add_block(block));
            }
            // What it states is about all threads.
            BlockType::Sync => {}
            _ => block.iter().for_each(|bytes| self.facts.extend_from_slice(bytes)),
        }
    }
}
