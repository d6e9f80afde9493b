//! Reads a stream once, and fills several tables.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use pyo3::prelude::*;
use telemetry_columns::{
    Batch, Builder, CounterValues, Messages, Result, Spans, Table, Tables, block_table, side_tables,
};
use telemetry_decode::{Completeness, Events, Filter, Order, Reader};

use crate::input::{raised, reader, with_condition};

/// The side tables that are known before the first event.
const FACTS: [&str; 4] = ["session", "thread", "label", "name"];
/// The side tables that are known after the last event.
const ACCOUNTS: [&str; 3] = ["lane", "loss", "damage"];

/// A stream that is read once: its tables, some rows at a time.
pub(crate) struct Reading {
    events: Events<'static>,
    threads: Option<NonZeroUsize>,
    /// The names of the tables.
    wanted: HashSet<String>,
    /// Without it, no table needs events.
    is_read: bool,
    next: Step,
    /// Without it, no table is of an event type.
    builder: Option<Builder>,
    messages: Option<Messages>,
    counters: Option<CounterValues>,
    /// The spans, and the number of damages that they know of.
    spans: Option<(Spans, u64)>,
    /// The reader of the list of blocks, if it is wanted.
    blocks: Option<Reader<'static>>,
    /// The rest of that list, which may be long.
    block_rows: Option<Box<dyn Iterator<Item = Result<Batch>> + Send>>,
    /// Batches that were read.
    ready: VecDeque<Batch>,
}

/// The next step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Facts,
    Events,
    Rest,
    Accounts,
    Blocks,
    End,
}

impl Reading {
    /// Begins to read tables of a stream, with those events that meet a condition, on this many
    /// threads, or on all cores.
    pub(crate) fn new(
        files: &[File],
        tables: &[Arc<Table>],
        condition: Option<&str>,
        threads: Option<NonZeroUsize>,
        shows_sensitive: bool,
    ) -> PyResult<Reading> {
        let wanted: HashSet<String> = tables.iter().map(|table| table.name.clone()).collect();
        let wants = |names: &[&str]| names.iter().any(|name| wanted.contains(*name));
        let of_events = tables.iter().filter(|table| !table.event.is_empty());
        let names: Vec<String> =
            of_events.map(|table| format!("{}:{}", table.registry, table.event)).collect();
        let (messages, spans, counters) = (wants(&["message"]), wants(&["span"]), wants(&["counter_value"]));
        let is_by_time = !names.is_empty() || messages || spans || counters;
        let is_read = is_by_time || wants(&ACCOUNTS);
        let mut input = reader(files, None, shows_sensitive)?;
        let mut filter = with_condition(Filter::default(), condition)?;
        if !is_by_time {
            input = input.order(Order::Stream);
        } else if !messages && !spans && !counters && !wants(&ACCOUNTS) {
            filter = filter.events(names.iter().map(String::as_str));
        }
        let mut events = input.filter(filter).events().map_err(|error| raised(&error))?;
        if is_by_time {
            events.decode_ahead(number_of(threads));
        }
        let builder = (!names.is_empty()).then(|| Builder::new(Tables::of(events.registries())));
        let spans = spans.then(|| (Spans::new(&events.gaps()), events.damages()));
        let messages = messages.then(Messages::default);
        let counters = counters.then(CounterValues::default);
        let blocks = if wants(&["block"]) { Some(reader(files, None, shows_sensitive)?) } else { None };
        let (next, ready) = (Step::Facts, VecDeque::new());
        Ok(Reading {
            events,
            threads,
            wanted,
            is_read,
            next,
            builder,
            messages,
            counters,
            spans,
            blocks,
            block_rows: None,
            ready,
        })
    }

    /// Returns the next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            while let Some(batch) = self.ready.pop_front() {
                if self.wanted.contains(&batch.table().name) {
                    return Ok(Some(batch));
                }
            }
            self.next = match self.next {
                Step::Facts => {
                    self.sides(&FACTS);
                    Step::Events
                }
                Step::Events => match self.read()? {
                    true => Step::Events,
                    false => Step::Rest,
                },
                Step::Rest => {
                    self.finish();
                    Step::Accounts
                }
                Step::Accounts => {
                    self.sides(&ACCOUNTS);
                    Step::Blocks
                }
                Step::Blocks => match self.blocks()? {
                    true => Step::Blocks,
                    false => Step::End,
                },
                Step::End => return Ok(None),
            };
        }
    }

    /// Returns what was read so far, and what was missing; `None` if no table needs events.
    pub(crate) fn completeness(&self) -> Option<Completeness> {
        self.is_read.then(|| self.events.completeness())
    }

    /// Takes those side tables of these names that are wanted.
    fn sides(&mut self, names: &[&str]) {
        if names.iter().any(|name| self.wanted.contains(*name)) {
            let batches = side_tables(&self.events).into_iter();
            self.ready.extend(batches.filter(|batch| names.contains(&batch.table().name.as_str())));
        }
    }

    /// Reads events until there is a batch. Returns false at the end.
    fn read(&mut self) -> Result<bool> {
        let Reading { events, threads, builder, messages, counters, spans, ready, is_read, .. } = self;
        if messages.is_none() && counters.is_none() && spans.is_none() {
            let Some(builder) = builder else {
                // Accounts need no values, only that all blocks are decoded.
                if *is_read {
                    read_all(events, *threads)?;
                }
                return Ok(false);
            };
            while let Some(event) = events.next()? {
                if let Some(batch) = builder.push(&event) {
                    ready.push_back(batch);
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        while let Some(batch) = events.next_batch()? {
            // A closure, or `extend`, would be a call for each event.
            for event in batch.iter() {
                if let Some(batch) = builder.as_mut().and_then(|builder| builder.push(&event)) {
                    ready.push_back(batch);
                }
                if let Some(batch) = messages.as_mut().and_then(|messages| messages.push(&event)) {
                    ready.push_back(batch);
                }
                if let Some(batch) = counters.as_mut().and_then(|counters| counters.push(&event)) {
                    ready.push_back(batch);
                }
            }
            if let Some((spans, damages)) = spans {
                ready.extend(spans.push_batch(&batch));
                if events.damages() != *damages {
                    *damages = events.damages();
                    spans.set_gaps(&events.gaps());
                }
            }
            if !ready.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the last rows.
    fn finish(&mut self) {
        if let Some(mut builder) = self.builder.take() {
            self.ready.extend(std::iter::from_fn(|| builder.finish()));
        }
        if let Some(mut messages) = self.messages.take() {
            self.ready.extend(messages.finish());
        }
        if let Some(mut counters) = self.counters.take() {
            self.ready.extend(std::iter::from_fn(|| counters.finish()));
        }
        if let Some((mut spans, _)) = self.spans.take() {
            spans.set_gaps(&self.events.gaps());
            self.ready.extend(std::iter::from_fn(|| spans.finish()));
        }
    }

    /// Takes the next batch of the list of blocks. Returns false at the end.
    fn blocks(&mut self) -> Result<bool> {
        if let Some(reader) = self.blocks.take() {
            self.block_rows = Some(Box::new(block_table(reader.index()?)));
        }
        let batch = self.block_rows.as_mut().and_then(Iterator::next).transpose()?;
        let has_more = batch.is_some();
        self.ready.extend(batch);
        Ok(has_more)
    }
}

/// Reads all events in stream order for their accounts, on this many threads, or on all cores.
pub(crate) fn read_all(
    events: &mut Events<'_>,
    threads: Option<NonZeroUsize>,
) -> telemetry_decode::Result<()> {
    let read = |shard: &mut Events<'_>| {
        while shard.next_batch()?.is_some() {}
        Ok(())
    };
    events.read_shards(number_of(threads), read, |(), _| {})
}

/// Returns the number of threads that decode: what the caller wishes, or one for each core.
pub(crate) fn number_of(threads: Option<NonZeroUsize>) -> NonZeroUsize {
    threads.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}
