//! What a decoder of the old registry would read in a stream of the new one, without a version
//! check.

use serde::Serialize;
use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_decode::{Event, Order, Reader};
use telemetry_format::{BlockType, Header};
use telemetry_schema::Registry;
use telemetry_schema::version::{Change, Rule};

use super::sample;
use crate::term::ended::Failure;
use crate::text::print::{append_event, append_value};

/// The maximum of events that are shown for a change.
const MAX_SHOWN: usize = 2;

/// The text if no event is read.
const NOTHING: &str = "nothing";

/// An event that would be misread.
#[derive(Serialize, PartialEq, Eq)]
pub(crate) struct Misreading {
    /// Read by the new registry.
    pub(crate) wrote: String,
    /// Read by the old registry.
    pub(crate) would_read: String,
}

/// An event that was read, or the reason why it was not.
enum Read {
    Event {
        line: String,
        kind: String,
        /// Names and values of its parameters.
        params: Vec<(String, String)>,
    },
    Failed(String),
}

/// Finds some events of a code that the old registry would misread.
///
/// # Errors
/// None, if the registry is valid.
pub(super) fn of(
    change: &Change,
    old: &Registry,
    new: &Registry,
    code: u16,
) -> Result<Vec<Misreading>, Failure> {
    let stream = sample::stream(new, &[code])?;
    let mut found = Vec::new();
    for (wrote, would_read) in read(&stream, new)?.into_iter().zip(read(&stream, old)?) {
        if let Some(misreading) = misreading(change, wrote, would_read)
            && !found.contains(&misreading)
        {
            found.push(misreading);
        }
    }
    // A misreading is worse than an error.
    found.sort_by_key(|misreading| misreading.would_read.starts_with(NOTHING));
    found.truncate(MAX_SHOWN);
    Ok(found)
}

/// Returns both texts if they differ by more than a name, which would not be a misreading.
fn misreading(change: &Change, wrote: Read, would_read: Read) -> Option<Misreading> {
    let Read::Event { line: wrote, kind, params } = wrote else { return None };
    match would_read {
        Read::Failed(why) => Some(Misreading { wrote, would_read: why }),
        Read::Event { line, kind: old_kind, params: old } => {
            let is_same = |(place, (name, value)): (usize, &(String, String))| match params
                .iter()
                .find(|(new_name, _)| new_name == name)
            {
                Some((_, written)) => written == value,
                None => {
                    change.rule == Rule::ParamRenamed
                        && params.get(place).is_some_and(|(_, written)| written == value)
                }
            };
            let all_same = old.iter().enumerate().all(is_same);
            let same_kind = kind == old_kind || change.rule == Rule::KindRenamed;
            (!all_same || !same_kind).then_some(Misreading { wrote, would_read: line })
        }
    }
}

/// Reads the events of a stream, each in its own block, by a registry that may not be the stream's.
fn read(stream: &[u8], registry: &Registry) -> Result<Vec<Read>, Failure> {
    let mut before = Vec::new();
    let mut read = Vec::new();
    let mut blocks = Blocks::from_slice(stream);
    while let Some(piece) = blocks.next().map_err(impossible)? {
        let Piece::Block(Block { header, payload, .. }) = piece else { continue };
        match header.block_type {
            BlockType::Registry => append(&mut before, header, registry.to_toml().as_bytes(), registry),
            BlockType::Events => {
                // Each event is read alone, as the first of its lane, so that an unreadable one
                // affects no other.
                let mut alone = before.clone();
                append(&mut alone, Header { seq: 0, before: 0, ..header }, payload, registry);
                read.push(only_event(&alone)?);
            }
            _ => append(&mut before, header, payload, registry),
        }
    }
    Ok(read)
}

/// Appends a block, with its header changed to name this registry.
fn append(stream: &mut Vec<u8>, header: Header, payload: &[u8], registry: &Registry) {
    let fingerprint = if header.registry == 0 { 0 } else { registry.fingerprint() };
    let len = payload.len() as u32;
    let header = Header {
        registry: fingerprint,
        payload_len: len,
        unpacked_len: len,
        payload_crc: crc32c::crc32c(payload),
        ..header
    };
    stream.extend_from_slice(&header.encode(crc32c::crc32c));
    stream.extend_from_slice(payload);
}

fn only_event(stream: &[u8]) -> Result<Read, Failure> {
    // The values are made up.
    let reader = Reader::from_slice(stream).order(Order::Stream).show_sensitive(true);
    let mut events = reader.events().map_err(impossible)?;
    let mut read = None;
    while let Some(event) = events.next().map_err(impossible)? {
        read.get_or_insert_with(|| of_event(&event));
    }
    let undecodable = &events.completeness().undecodable;
    Ok(match (read, undecodable.first()) {
        (Some(Read::Event { line, kind, params }), Some(left)) => {
            // This alone is a misreading, whatever the values are.
            let line = format!("{line}, and then: {}", left.reason);
            Read::Event { line, kind, params: [params, vec![("".to_string(), "".to_string())]].concat() }
        }
        (Some(read), _) => read,
        (None, Some(left)) => Read::Failed(format!("{NOTHING}: {}", left.reason)),
        (None, None) => Read::Failed(NOTHING.to_string()),
    })
}

fn of_event(event: &Event<'_>) -> Read {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let params = event.params().enumerate().map(|(index, param)| {
        let mut value = Vec::new();
        append_value(&mut value, event, index, &param);
        (param.schema.name.clone(), text(value))
    });
    let mut line = format!("{}  ", event.kind().name).into_bytes();
    append_event(&mut line, event);
    Read::Event { line: text(line), kind: event.kind().name.clone(), params: params.collect() }
}

fn impossible(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("no witness: {error}"))
}
