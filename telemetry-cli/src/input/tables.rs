//! All tables of what a command reads, for `parquet` and Arrow files.

use telemetry_columns::{Batch, Builder, Messages, Spans, Tables, block_table, side_tables};
use telemetry_decode::KnownRegistry;

use crate::input::events::Opened;
use crate::input::inputs::cannot_read;
use crate::term::ended::{Ended, Failure};
use crate::term::progress::Progress;

/// Passes the batches of all tables to a function: those of events, and then the side tables.
pub(crate) fn each_batch(
    opened: &mut Opened,
    mut take: impl FnMut(Batch, &[KnownRegistry]) -> Ended,
) -> Ended {
    each_of_events(opened, &mut take)?;
    for batch in side_tables(&opened.events) {
        take(batch, opened.registries())?;
    }
    let Some(index) = opened.inputs.index_again()? else { return Ok(()) };
    for batch in block_table(&index) {
        take(batch.map_err(|error| Failure::new(error.to_string()))?, opened.registries())?;
    }
    Ok(())
}

/// Passes the batches of events to a function.
#[cfg(feature = "arrow")]
pub(crate) fn each_batch_of_events(opened: &mut Opened, mut take: impl FnMut(Batch) -> Ended) -> Ended {
    let progress = Progress::of_bytes(opened.inputs.len());
    let mut builder = Builder::new(Tables::of(opened.registries()));
    while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
        for event in batch.iter() {
            builder.push(&event).map_or(Ok(()), &mut take)?;
        }
        progress.events(batch.len(), || opened.events.bytes_done());
    }
    std::iter::from_fn(|| builder.finish()).try_for_each(take)
}

fn each_of_events(opened: &mut Opened, mut take: impl FnMut(Batch, &[KnownRegistry]) -> Ended) -> Ended {
    let progress = Progress::of_bytes(opened.inputs.len());
    let mut builder = Builder::new(Tables::of(opened.registries()));
    let mut messages = Messages::default();
    let (mut spans, mut damages) = (Spans::new(&opened.events.gaps()), opened.events.damages());
    while let Some(event) = opened.events.next().map_err(cannot_read)? {
        let batches = [builder.push(&event), messages.push(&event), spans.push(&event)];
        progress.event(|| opened.events.bytes_done());
        // Damage is found before the first event after it.
        if opened.events.damages() != damages {
            damages = opened.events.damages();
            spans.set_gaps(&opened.events.gaps());
        }
        for batch in batches.into_iter().flatten() {
            take(batch, opened.registries())?;
        }
    }
    spans.set_gaps(&opened.events.gaps());
    let rest = std::iter::from_fn(|| builder.finish());
    let rest =
        rest.chain(std::iter::from_fn(|| messages.finish())).chain(std::iter::from_fn(|| spans.finish()));
    for batch in rest {
        take(batch, opened.registries())?;
    }
    Ok(())
}
