//! Shards: pieces of a stream that threads read at once.
//!
//! A shard is a list of whole blocks. A block can be decoded alone, so each thread has a decoder of
//! its own. The accounts of a lane need its blocks in order. So each thread notes what it did with
//! each block, and the decoder of the whole stream repeats that in order, without decoding.
//!
//! The cuts depend on the stream alone, never on the number of threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::decode::part::PartState;
use crate::order::by_lane::{ByLane, InStreamOrder, Wanted};
use crate::order::events::{Events, Ordered};
use crate::order::in_stream::{Feed, InStream, TakenBlock};
use crate::report::error::Result;

/// The bytes of a shard's blocks, or a few more. Threads then work for tens of milliseconds without
/// each other.
const SHARD_LEN: u64 = 16 << 20;

/// What a thread did with a shard.
struct Journal {
    blocks: Vec<TakenBlock>,
    /// The ends of the parts that were read.
    ends: Vec<PartState>,
}

impl<'s> Events<'s> {
    /// Reads all events in stream order on several threads. Calls `read` for each shard of the
    /// stream, with the events of that shard, and `merge` with each result, in the order of the
    /// stream. Afterwards this reader is at its end, and its accounts are those of all events.
    ///
    /// The shards do not depend on the number of threads, and neither do the results. There is only
    /// one for logs, pipes, streams in time order, and streams whose blocks need each other. A
    /// function that stops before the end of a shard leaves its other events out of the accounts.
    ///
    /// ```no_run
    /// # use telemetry_decode::{Order, Reader};
    /// let mut events = Reader::open("telemetry.tel")?.order(Order::Stream).events()?;
    /// let threads = std::thread::available_parallelism()?;
    /// let mut bytes = 0;
    /// events.read_shards(
    ///     threads,
    ///     |shard| {
    ///         let mut bytes = 0;
    ///         while let Some(batch) = shard.next_batch()? {
    ///             bytes += batch.iter().map(|event| u64::from(event.packed_len())).sum::<u64>();
    ///         }
    ///         Ok(bytes)
    ///     },
    ///     |of_shard, _| bytes += of_shard,
    /// )?;
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first of `read`, in the order of the stream.
    ///
    /// # Panics
    /// If `read` panics.
    pub fn read_shards<R: Send>(
        &mut self,
        threads: NonZeroUsize,
        read: impl Fn(&mut Events<'_>) -> Result<R> + Sync,
        merge: impl FnMut(R, &Events<'s>),
    ) -> Result<()> {
        self.read_shards_of(SHARD_LEN, threads, read, merge)
    }

    /// Reads shards of another length, for tests.
    #[doc(hidden)]
    pub fn read_shards_of<R: Send>(
        &mut self,
        shard_len: u64,
        threads: NonZeroUsize,
        read: impl Fn(&mut Events<'_>) -> Result<R> + Sync,
        mut merge: impl FnMut(R, &Events<'s>),
    ) -> Result<()> {
        let Some((source, shards)) = self.cut(shard_len) else {
            let result = read(self)?;
            merge(result, self);
            return Ok(());
        };
        // Only there can threads read from one file at once.
        let threads = if cfg!(unix) { threads.get().min(shards.len()) } else { 1 };
        let worker = || Worker { events: self.fork(&source), source: source.clone() };
        let mut workers: Vec<_> = (0..threads).map(|_| worker()).collect();
        if let [worker] = &mut workers[..] {
            for shard in shards {
                let (result, journal) = worker.read(shard, &read)?;
                self.account_for(journal);
                merge(result, self);
            }
            return Ok(());
        }
        std::thread::scope(|scope| {
            let ((jobs, queue), (done, results)) = (channel::<(usize, Wanted)>(), channel());
            let queue = std::sync::Arc::new(Mutex::new(queue));
            for mut worker in workers {
                let (queue, done, read) = (queue.clone(), done.clone(), &read);
                scope.spawn(move || {
                    let next = || queue.lock().ok()?.recv().ok();
                    while let Some((number, shard)) = next() {
                        let mut answer = Answer { done: &done, number, result: None };
                        answer.result = Some(worker.read(shard, read));
                    }
                });
            }
            let (count, mut shards) = (shards.len(), shards.into_iter().enumerate());
            // The results that wait for an earlier one are limited, too.
            for job in shards.by_ref().take(2 * threads) {
                let _ = jobs.send(job);
            }
            let mut waiting = BTreeMap::new();
            for number in 0..count {
                let answer = loop {
                    if let Some(answer) = waiting.remove(&number) {
                        break answer;
                    }
                    match results.recv() {
                        Ok((number, Some(answer))) => waiting.insert(number, answer),
                        // A thread has panicked, which the scope passes on.
                        _ => return Ok(()),
                    };
                };
                let (result, journal) = answer?;
                self.account_for(journal);
                merge(result, self);
                if let Some(job) = shards.next() {
                    let _ = jobs.send(job);
                }
            }
            Ok(())
        })
    }

    /// Takes all blocks in shards of this many bytes. Returns `None` if they must be read together.
    fn cut(&mut self, shard_len: u64) -> Option<(Source<'s>, Vec<Wanted>)> {
        let Ordered::Stream(InStream { feed: Feed::Listed { source, blocks, helpers, .. }, .. }) =
            &mut self.order
        else {
            return None;
        };
        let shards = shards(blocks.unread()?, &self.decoder, shard_len).filter(|shards| shards.len() > 1)?;
        *helpers = None;
        **blocks = InStreamOrder::new(ByLane::from(Vec::new()), &self.decoder);
        Some((source.clone(), shards))
    }

    /// Makes a reader for shards.
    fn fork(&self, source: &Source<'s>) -> Events<'s> {
        let decoder = self.decoder.fork();
        let order = InStream::listed(source.clone(), ByLane::from(Vec::new()), &decoder, None);
        Events { decoder, order: Ordered::Stream(order) }
    }

    /// Accounts for the blocks of a shard.
    fn account_for(&mut self, journal: Journal) {
        let mut ends = journal.ends.into_iter();
        for TakenBlock { block, want, loaded, is_read } in journal.blocks {
            let part = loaded.open(&block, want, &mut self.decoder);
            debug_assert_eq!(part.is_some(), is_read, "the same decision as in the shard");
            let end = if is_read { ends.next() } else { None };
            if let Some((part, end)) = part.zip(end) {
                self.decoder.account_for(part, end);
            }
        }
    }
}

/// A thread's reader.
struct Worker<'s> {
    events: Events<'s>,
    source: Source<'s>,
}

impl Worker<'_> {
    /// Reads a shard.
    fn read<R>(
        &mut self,
        shard: Wanted,
        read: &impl Fn(&mut Events<'_>) -> Result<R>,
    ) -> Result<(R, Journal)> {
        let Worker { events, source } = self;
        events.decoder.renew();
        let blocks = ByLane::from(shard);
        let order = InStream::listed(source.clone(), blocks, &events.decoder, Some(Vec::new()));
        events.order = Ordered::Stream(order);
        let result = read(events)?;
        let blocks = match &mut events.order {
            Ordered::Stream(InStream { feed: Feed::Listed { taken, .. }, .. }) => taken.take(),
            _ => None,
        };
        Ok((result, Journal { blocks: blocks.unwrap_or_default(), ends: events.decoder.take_ends() }))
    }
}

/// The answer of a thread, which is sent when it is dropped: without a result after a panic.
struct Answer<'d, T> {
    done: &'d Sender<(usize, Option<T>)>,
    number: usize,
    result: Option<T>,
}

impl<T> Drop for Answer<'_, T> {
    fn drop(&mut self) {
        // Without a receiver, an earlier shard has failed.
        let _ = self.done.send((self.number, self.result.take()));
    }
}

/// Cuts blocks into shards, in the order in which they would be read. The parts and copies of a
/// block stay together, because parts continue each other, and copies count once. Returns `None` if
/// blocks overlap otherwise, or if reading may reach a limit.
fn shards(blocks: &ByLane, decoder: &Decoder, shard_len: u64) -> Option<Vec<Wanted>> {
    let ByLane::InMemory { blocks, order, wants } = blocks else { return None };
    if !decoder.can_be_forked() {
        return None;
    }
    // By lane: the place of its next block, the last block's number and shard, and the end of the
    // events so far.
    struct OfLane {
        next: usize,
        last: Option<(u32, usize)>,
        end: u64,
    }
    let mut next = 0;
    let mut lanes: Vec<OfLane> = Vec::with_capacity(decoder.lanes.len());
    for lane in 0..decoder.lanes.len() as u32 {
        lanes.push(OfLane { next, last: None, end: 0 });
        next += order[next..].iter().take_while(|index| blocks[**index as usize].lane == lane).count();
    }
    let mut shards: Vec<Wanted> = Vec::new();
    let mut len = 0;
    for slot in blocks {
        let lane = &mut lanes[slot.lane as usize];
        let index = *order.get(lane.next)? as usize;
        lane.next += 1;
        let block = &blocks[index];
        let range = block.event_range().range();
        let shard = match lane.last {
            Some((seq, shard)) if seq == block.seq => shard,
            _ if range.start < lane.end => return None,
            _ => (len / shard_len) as usize,
        };
        (lane.last, lane.end) = (Some((block.seq, shard)), lane.end.max(range.end));
        len += u64::from(block.len);
        if shard >= shards.len() {
            shards.resize_with(shard + 1, Vec::new);
        }
        shards[shard].push((block.clone(), wants[index]));
    }
    shards.retain(|shard| !shard.is_empty());
    Some(shards)
}
