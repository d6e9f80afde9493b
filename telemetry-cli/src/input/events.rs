//! What commands that read events share: options, reading with progress, output, verdict.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use telemetry_decode::condition::Condition as Conditions;
use telemetry_decode::rows::Copies;
use telemetry_decode::{Event, EventBatch, Events, Filter, KnownRegistry, Order, Session};
use telemetry_filter::{Condition, SpanCondition};

use crate::input::inputs::{InputArgs, Inputs, cannot_read};
use crate::input::lake::Fetched;
use crate::input::selection::{FilterArgs, expect_no_names, not_fitting};
use crate::input::turns::{Spare, in_turns};
use crate::input::verdict::Verdict;
use crate::term::ended::{Context, Ended, Failure};
use crate::term::output::{Output, OutputArgs};
use crate::term::progress::{EVENTS_PER_READING, Progress};

/// The most events of a job, and the bytes of their texts after which it is complete.
const JOB_EVENTS: usize = 4096;
const JOB_BYTES: usize = 64 << 10;

#[derive(clap::Args)]
pub(crate) struct EventArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Events of the named streams.
pub(crate) struct Opened {
    pub(crate) inputs: Inputs,
    pub(crate) events: Events<'static>,
    output: OutputArgs,
    strict: bool,
}

impl EventArgs {
    /// Begins to read.
    pub(crate) fn open(&self, order: Order) -> Result<Opened, Failure> {
        self.open_with(&[], order)
    }

    /// Begins to read, with each event of another system's log at the time that it was written.
    pub(crate) fn open_as_recorded(&self, order: Order) -> Result<Opened, Failure> {
        self.start(self.input.inputs()?.recorded(), order)
    }

    /// Begins to read, with further files.
    pub(crate) fn open_with(&self, further: &[PathBuf], order: Order) -> Result<Opened, Failure> {
        self.start(self.input.inputs_with(further)?, order)
    }

    /// Begins to read by time, for a command whose condition is one on spans.
    ///
    /// # Errors
    /// If the condition does not fit the registries, too.
    pub(crate) fn open_for_spans(&self) -> Result<(Opened, Option<SpanCondition>), Failure> {
        let (filter, condition) = self.filter.apart()?;
        self.start_with_spans(self.input.inputs()?, filter, condition)
    }

    /// Begins to read by time, for a command that shows events and spans. A condition with fields
    /// of spans is one on spans, and others are on events.
    pub(crate) fn open_for_both(&self) -> Result<(Opened, Option<SpanCondition>), Failure> {
        self.start_for_both(self.input.inputs()?, |filter, condition| filter.condition(condition))
    }

    /// Begins to read one file, like [`EventArgs::open_for_both`].
    pub(crate) fn open_one_for_both(&self, path: &Path) -> Result<(Opened, Option<SpanCondition>), Failure> {
        self.start_for_both(self.input.only(path)?, |filter, condition| filter.condition(condition))
    }

    /// Begins to read what was fetched of a lake, like [`EventArgs::open_for_both`]. Its times are
    /// those of the wall clock.
    pub(crate) fn open_lake(&self, lake: &Fetched) -> Result<(Opened, Option<SpanCondition>), Failure> {
        let inputs = Inputs::new(vec![lake.path().to_path_buf()], self.input.registries.load()?)
            .showing(self.input.sensitive);
        self.start_for_both(inputs, |filter, condition| {
            filter.from_ns(None).until_ns(None).condition(lake.condition(condition))
        })
    }

    fn start_for_both(
        &self,
        inputs: Inputs,
        with: impl Fn(Filter, Option<Arc<dyn Conditions>>) -> Filter,
    ) -> Result<(Opened, Option<SpanCondition>), Failure> {
        let (filter, condition) = self.filter.apart()?;
        let (of_spans, of_events) = match condition {
            Some(condition) if condition.has_span_fields() => (Some(condition), None),
            condition => (None, condition.map(|condition| Arc::new(condition.clone()) as _)),
        };
        self.start_with_spans(inputs, with(filter, of_events), of_spans)
    }

    fn start_with_spans(
        &self,
        inputs: Inputs,
        filter: Filter,
        condition: Option<&Condition>,
    ) -> Result<(Opened, Option<SpanCondition>), Failure> {
        let opened = Opened::start(&self.input, inputs, filter, self.output.clone(), Order::Time)?;
        let registries = opened.registries().iter().map(|known| &known.registry);
        let condition = condition.map(|condition| SpanCondition::new(condition, registries)).transpose();
        Ok((opened, condition.map_err(not_fitting)?))
    }

    fn start(&self, inputs: Inputs, order: Order) -> Result<Opened, Failure> {
        Opened::start(&self.input, inputs, self.filter.filter()?, self.output.clone(), order)
    }
}

impl Opened {
    /// Begins to read, for a command that has an output of its own.
    #[cfg(feature = "parquet")]
    pub(crate) fn new(input: &InputArgs, filter: &FilterArgs, order: Order) -> Result<Opened, Failure> {
        Opened::start(input, input.inputs()?, filter.filter()?, OutputArgs::default(), order)
    }

    fn start(
        input: &InputArgs,
        inputs: Inputs,
        filter: Filter,
        output: OutputArgs,
        order: Order,
    ) -> Result<Opened, Failure> {
        expect_no_names(&input.files)?;
        let events = inputs.events(order, filter)?;
        Ok(Opened { inputs, events, output, strict: input.strict })
    }

    /// Returns the sessions found so far.
    pub(crate) fn sessions(&self) -> &[Session] {
        self.events.sessions()
    }

    /// Returns the registries found so far.
    pub(crate) fn registries(&self) -> &[KnownRegistry] {
        self.events.registries()
    }

    /// Returns true if values of a registry found so far are hidden. Those of a scrubbed stream are
    /// not.
    pub(crate) fn hides_sensitive(&self) -> bool {
        self.registries().iter().any(|KnownRegistry { registry, .. }| {
            let mut params = registry.events.iter().flat_map(|event| &event.params);
            params.any(|param| registry.hidden_as(param).is_some())
        })
    }

    /// Passes all events to a function, and shows progress.
    pub(crate) fn each(&mut self, mut visit: impl FnMut(&Event<'_>)) -> Result<(), Failure> {
        let progress = Progress::of_bytes(self.inputs.len());
        while let Some(event) = self.events.next().map_err(cannot_read)? {
            visit(&event);
            progress.event(|| self.events.bytes_done());
        }
        Ok(())
    }

    /// Passes all events in stream order to a function, on several threads, and shows progress. The
    /// results of the shards are merged in order.
    pub(crate) fn each_shard<R: Default + Send>(
        &mut self,
        threads: NonZeroUsize,
        visit: impl Fn(&EventBatch<'_>, &mut R) + Sync,
        mut merge: impl FnMut(R),
    ) -> Result<(), Failure> {
        let progress = Mutex::new(Progress::of_bytes(self.inputs.len()));
        let done = AtomicU64::new(0);
        let read = |shard: &mut Events<'_>| {
            let (mut result, mut skipped, mut counted) = (R::default(), 0, 0);
            while let Some(batch) = shard.next_batch()? {
                visit(&batch, &mut result);
                skipped += batch.len();
                if skipped >= EVENTS_PER_READING as usize {
                    let bytes = shard.bytes_done() - counted;
                    (skipped, counted) = (0, counted + bytes);
                    let all = done.fetch_add(bytes, Relaxed) + bytes;
                    // Another thread that holds it shows the progress.
                    if let Ok(progress) = progress.try_lock() {
                        progress.at(all);
                    }
                }
            }
            Ok(result)
        };
        self.events.read_shards(threads, read, |result, _| merge(result)).map_err(cannot_read)
    }

    /// Opens the output, which replaces no input.
    pub(crate) fn output(&self) -> Result<Output, Failure> {
        self.output.open(&self.inputs.paths())
    }

    /// Passes all batches of events to a function, and shows progress beside the output. If the
    /// input fails, the output has what was appended before the failure.
    pub(crate) fn append_batches(
        &mut self,
        output: &mut Output,
        mut append: impl FnMut(&mut Vec<u8>, &EventBatch<'_>),
    ) -> Result<(), Failure> {
        self.append_first(output, u64::MAX, &mut append).map(drop)
    }

    /// Formats at most this many events on several threads, and writes the text in the order of the
    /// events. `make` returns a function that formats, for each thread. Returns true if there are
    /// more events. If the input fails, the events before the failure are written.
    pub(crate) fn write_first<F: FnMut(&mut Vec<u8>, &EventBatch<'_>) + Send>(
        &mut self,
        output: &mut Output,
        most: u64,
        threads: NonZeroUsize,
        make: impl Fn() -> F + Sync,
    ) -> Result<bool, Failure> {
        // A single thread needs no copies of the events.
        let known = if threads.get() > 1 { self.events.known() } else { None };
        let Some(known) = known else { return self.append_first(output, most, &mut make()) };
        let mut progress = Progress::beside(output, self.inputs.len());
        let (idle, spare, texts) = (Spare::<F>::default(), Spare::<Copies>::default(), Spare::default());
        let format = |mut copies: Copies| {
            let mut append = idle.take().unwrap_or_else(&make);
            let mut text: Vec<u8> = texts.take().unwrap_or_default();
            copies.each(&known, |batch| append(&mut text, batch));
            idle.give(append);
            copies.clear();
            spare.give(copies);
            text
        };
        let write = |mut text: Vec<u8>| {
            let written = output.append(&text);
            text.clear();
            texts.give(text);
            written
        };
        let (mut left, mut read) = (most, None);
        let next = || {
            if read.is_some() {
                return Ok(None);
            }
            // One thread at a time has it.
            let progress = &mut progress;
            let mut copies = spare.take().unwrap_or_default();
            while copies.len() < JOB_EVENTS && copies.bytes() < JOB_BYTES {
                let batch = match self.events.next_batch() {
                    Ok(Some(batch)) => batch,
                    Ok(None) => {
                        read = Some(Ok(false));
                        break;
                    }
                    Err(error) => {
                        read = Some(Err(cannot_read(error)));
                        break;
                    }
                };
                if batch.len() as u64 > left {
                    copies.add(&batch.first(left as usize));
                    read = Some(Ok(true));
                    break;
                }
                left -= batch.len() as u64;
                copies.add(&batch);
                progress.events(batch.len(), || self.events.bytes_done());
            }
            Ok(Some(copies))
        };
        in_turns(threads, next, format, write)?;
        let read = read.unwrap_or(Ok(false));
        if read.is_err() {
            output.flush()?;
        }
        read
    }

    /// Appends at most this many events on this thread. Returns true if there are more.
    fn append_first(
        &mut self,
        output: &mut Output,
        most: u64,
        append: &mut impl FnMut(&mut Vec<u8>, &EventBatch<'_>),
    ) -> Result<bool, Failure> {
        let progress = Progress::beside(output, self.inputs.len());
        let mut left = most;
        loop {
            let batch = match self.events.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(false),
                Err(error) => {
                    output.flush()?;
                    return Err(cannot_read(error));
                }
            };
            if batch.len() as u64 > left {
                append(output.buffer(), &batch.first(left as usize));
                return Ok(true);
            }
            left -= batch.len() as u64;
            append(output.buffer(), &batch);
            if output.relieve()? {
                progress.at(self.events.bytes_done());
            }
        }
    }

    /// Returns the verdict on what was read.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::new(&self.events.completeness(), self.sessions(), &self.inputs)
    }

    /// Ends the command with its verdict.
    pub(crate) fn end(&self, context: &mut Context) -> Ended {
        self.end_with(&self.verdict(), context)
    }

    /// Ends the command with a verdict that was taken earlier.
    pub(crate) fn end_with(&self, verdict: &Verdict, context: &mut Context) -> Ended {
        verdict.report(context, self.strict);
        Ok(())
    }
}
