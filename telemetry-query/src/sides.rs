//! The side tables: what a stream says beside its events.

use telemetry_columns::{CounterValues, Messages, Spans, block_table, side_tables};
use telemetry_decode::{Events, Filter, Order};

use crate::out::{Out, Scan, Stop};
use crate::recording::Read;

/// Reads a side table. Reads only headers of blocks if they have all of it.
pub(crate) fn read(scan: &Scan, out: &Out<'_>) -> Result<(), Stop> {
    let source = scan.recording.source();
    let events = |order| source.events(order, Filter::default()).map_err(Stop::Failed);
    match scan.table.name.as_str() {
        "block" => of_blocks(scan, out),
        "message" => {
            let mut events = events(Order::Stream)?;
            let mut messages = Messages::default();
            while let Some(event) = events.next().map_err(failed)? {
                messages.push(&event).map_or(Ok(()), |batch| out.give(batch))?;
            }
            let rest = std::iter::from_fn(|| messages.finish()).try_for_each(|batch| out.give(batch));
            out.note(&events, rest.is_err());
            rest
        }
        "counter_value" => {
            let mut events = events(Order::Stream)?;
            let mut counters = CounterValues::default();
            while let Some(event) = events.next().map_err(failed)? {
                counters.push(&event).map_or(Ok(()), |batch| out.give(batch))?;
            }
            let rest = std::iter::from_fn(|| counters.finish()).try_for_each(|batch| out.give(batch));
            out.note(&events, rest.is_err());
            rest
        }
        "span" => of_spans(events(Order::Time)?, out),
        "session" | "thread" | "label" | "name" => match source.index().map_err(Stop::Failed)? {
            // These are known before the first event.
            Some(index) => {
                let events = events(Order::Stream)?;
                let given = side_tables(&events).into_iter().try_for_each(|batch| out.give(batch));
                out.note_read(Read {
                    table: scan.table.name.clone(),
                    completeness: index.completeness,
                    sessions: events.sessions().to_vec(),
                    is_of_headers: true,
                    is_stopped: given.is_err(),
                    rows: 0,
                });
                given
            }
            None => after_all(events(Order::Stream)?, out),
        },
        _ => after_all(events(Order::Stream)?, out),
    }
}

/// Reads a table that is known after all events.
fn after_all(mut events: Events<'static>, out: &Out<'_>) -> Result<(), Stop> {
    out.read_all(&mut events, |shard| {
        while shard.next_batch()?.is_some() {}
        Ok(Ok(()))
    })?;
    side_tables(&events).into_iter().try_for_each(|batch| out.give(batch))
}

fn of_blocks(scan: &Scan, out: &Out<'_>) -> Result<(), Stop> {
    // A log of another system has no blocks.
    let Some(index) = scan.recording.source().index().map_err(Stop::Failed)? else {
        return after_all(
            scan.recording.source().events(Order::Stream, Filter::default()).map_err(Stop::Failed)?,
            out,
        );
    };
    let (sessions, completeness) = (index.sessions.clone(), index.completeness.clone());
    let given = block_table(index).try_for_each(|batch| {
        let batch = batch.map_err(|error| Stop::Failed(error.to_string()))?;
        out.give(batch)
    });
    out.note_read(Read {
        table: scan.table.name.clone(),
        completeness,
        sessions,
        is_of_headers: true,
        is_stopped: given.is_err(),
        rows: 0,
    });
    given
}

fn of_spans(mut events: Events<'static>, out: &Out<'_>) -> Result<(), Stop> {
    let (mut spans, mut damages) = (Spans::new(&events.gaps()), events.damages());
    while let Some(event) = events.next().map_err(failed)? {
        let batch = spans.push(&event);
        // Damage is found before the first event after it.
        if events.damages() != damages {
            damages = events.damages();
            spans.set_gaps(&events.gaps());
        }
        if let Some(Err(stop)) = batch.map(|batch| out.give(batch)) {
            out.note(&events, true);
            return Err(stop);
        }
    }
    spans.set_gaps(&events.gaps());
    let rest = std::iter::from_fn(|| spans.finish()).try_for_each(|batch| out.give(batch));
    out.note(&events, rest.is_err());
    rest
}

fn failed(error: telemetry_decode::Error) -> Stop {
    Stop::Failed(format!("cannot read the stream: {error}"))
}
