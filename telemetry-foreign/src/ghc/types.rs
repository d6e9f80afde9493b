//! The types of events of one log, from the registry and from the log's header.

use std::collections::{BTreeMap, HashSet};

use telemetry_decode::names::Namings;
use telemetry_schema::{Event, Param, Registry, Sort, is_unprintable};

use super::layout::{EVENT_TYPE, Field, HEAD, LEN, Layout, TYPES, VARIABLE, usual};
use super::payload::Wire;

/// The length of a name that is made of a description.
const MAX_NAME: usize = 48;
/// The most characters of a description that are kept as a doc.
const MAX_DOC: usize = 200;
/// The most bytes that the registry allows in a parameter.
const MAX_DATA: u32 = 16_384;

/// The most types, in all logs together, of which only the description is known. Each is an event
/// of the registry.
pub(super) const MAX_UNKNOWN: usize = 4_096;

/// The types of events of one log.
pub(super) struct Types {
    /// The registry, with types that it does not have, and without fields that this log's events do
    /// not have.
    pub(super) registry: Registry,
    /// By index of the event.
    layouts: Vec<Layout>,
    /// By tag.
    entries: Vec<Entry>,
    /// The declarations of the log.
    declared: BTreeMap<u16, (u16, Vec<u8>)>,
    /// The events that give strings for numbers.
    pub(super) namings: Namings,
    /// The number of types for which there was no room.
    pub(super) left_out: usize,
}

/// The data that is needed to skip events of a tag.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    /// Bytes of the payload, or [`VARIABLE`].
    size: u16,
    /// Index in the registry.
    pub(super) event: u16,
    /// False if no event of the tag is allowed.
    is_declared: bool,
    /// False if a survey needs only the time of an event.
    pub(super) is_special: bool,
}

/// An event's head.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) tag: u16,
    pub(super) entry: Entry,
    pub(super) time: u64,
    /// Bytes before the payload.
    pub(super) head: usize,
    /// Bytes of the event.
    pub(super) len: usize,
}

/// The reason why there is no event.
pub(super) enum NoFrame {
    /// The log does not declare this type.
    Undeclared(u16),
    /// The bytes end in it. This is its length, if known.
    Cut(Option<usize>),
}

impl Types {
    /// Makes the types of a log with these declarations. `is_special` selects tags that a survey
    /// wants to see. If the header is damaged, types that it does not have get their usual
    /// declaration.
    pub(super) fn new(
        base: &Registry,
        declared: BTreeMap<u16, (u16, Vec<u8>)>,
        is_damaged: bool,
        is_special: impl Fn(u16) -> bool,
        room: &mut usize,
    ) -> Types {
        let mut left_out = 0;
        let mut registry = base.clone();
        let mut layouts: BTreeMap<u16, Layout> = BTreeMap::new();
        let unknown = registry.kinds.iter().position(|kind| kind.name == "Unknown").unwrap_or_default();
        // Most logs have no unknown types, and need no names.
        let mut names: Option<HashSet<String>> = None;
        for (&tag, (size, description)) in &declared {
            let found = registry.event_index(tag).filter(|_| tag != EVENT_TYPE);
            if let Some(index) = found {
                let layout = Layout::new(base, &registry.events[index], *size);
                if let Some(layout) = layout {
                    registry.events[index].params.truncate(layout.fields.len());
                    layouts.insert(tag, layout);
                    continue;
                }
                if let Some(names) = &mut names {
                    names.remove(&registry.events[index].name.to_lowercase());
                }
                remove(&mut registry, index);
            }
            if tag == EVENT_TYPE {
                continue;
            }
            let Some(less) = room.checked_sub(1) else {
                left_out += 1;
                continue;
            };
            *room = less;
            let names = names.get_or_insert_with(|| names_of(&registry));
            let event = unknown_event(tag, description, unknown, names);
            let index = registry.events.partition_point(|event| event.code < tag);
            for span in &mut registry.spans {
                span.begin += usize::from(span.begin >= index);
                span.end += usize::from(span.end >= index);
            }
            registry.events.insert(index, event);
            let fields = vec![Field::Rest { but: 0, text: false }];
            layouts.insert(tag, Layout { fields, optional: usize::MAX, size: *size });
        }
        let mut sizes: BTreeMap<u16, u16> = declared.iter().map(|(tag, (size, _))| (*tag, *size)).collect();
        if is_damaged {
            for (tag, ..) in TYPES {
                let event = registry.event(*tag);
                if let Some((_, size)) = event.and_then(|event| usual(base, event))
                    && !sizes.contains_key(tag)
                    && let Some(layout) = event.and_then(|event| Layout::new(base, event, size))
                {
                    sizes.insert(*tag, size);
                    layouts.insert(*tag, layout);
                }
            }
        }
        let mut entries = Vec::new();
        for (tag, size) in sizes {
            let (Some(index), Some(layout)) = (registry.event_index(tag), layouts.get(&tag)) else {
                continue;
            };
            entries.resize(usize::from(tag) + 1, Entry::default());
            let tells_time = registry.events[index].time.is_some();
            let is_special = is_special(tag) || tells_time || !layout.is_plain();
            entries[usize::from(tag)] = Entry { size, event: index as u16, is_declared: true, is_special };
        }
        let layouts =
            registry.events.iter().map(|event| layouts.remove(&event.code).unwrap_or_default()).collect();
        let namings = Namings::new(&registry);
        Types { registry, layouts, entries, declared, namings, left_out }
    }

    /// Returns true if a log with these declarations has the same types.
    pub(super) fn is_of(&self, declared: &BTreeMap<u16, (u16, Vec<u8>)>) -> bool {
        self.declared == *declared
    }

    /// Returns the layout of an event, by its index.
    pub(super) fn layout(&self, event: u16) -> Option<&Layout> {
        self.layouts.get(usize::from(event))
    }

    /// Returns the time that an event tells of, if it differs from the time when it was written.
    pub(super) fn told_time(&self, event: u16, payload: &[u8]) -> Option<u64> {
        let param = self.registry.events.get(usize::from(event))?.time?;
        let mut told = None;
        let read = self.layout(event)?.each(payload, |index, wire| match wire {
            Wire::Number(number) if index == param => told = Some(number),
            _ => {}
        });
        told.filter(|_| read.is_ok())
    }

    /// Returns the size that is declared for a tag, and its layout.
    pub(super) fn declared(&self, tag: u16) -> Option<(u16, &Layout)> {
        let entry = self.entries.get(usize::from(tag)).filter(|entry| entry.is_declared)?;
        Some((entry.size, self.layout(entry.event)?))
    }

    /// Reads the head of the event at the start of bytes, and checks that all of it is there.
    #[inline(always)]
    pub(super) fn frame(&self, bytes: &[u8]) -> Result<Frame, NoFrame> {
        let Some(tag) = bytes.first_chunk() else { return Err(NoFrame::Cut(None)) };
        let tag = u16::from_be_bytes(*tag);
        let entry = self.entries.get(usize::from(tag)).copied().unwrap_or_default();
        if !entry.is_declared {
            return Err(NoFrame::Undeclared(tag));
        }
        let Some(time) = bytes.get(2..).and_then(|bytes| bytes.first_chunk()) else {
            return Err(NoFrame::Cut(None));
        };
        let time = u64::from_be_bytes(*time);
        let (head, len) = if entry.size == VARIABLE {
            let Some(len) = bytes.get(HEAD..).and_then(|bytes| bytes.first_chunk()) else {
                return Err(NoFrame::Cut(None));
            };
            let len = usize::from(u16::from_be_bytes(*len));
            (HEAD + LEN, HEAD + LEN + len)
        } else {
            (HEAD, HEAD + usize::from(entry.size))
        };
        match bytes.len() < len {
            true => Err(NoFrame::Cut(Some(len))),
            false => Ok(Frame { tag, entry, time, head, len }),
        }
    }
}

/// Removes an event, and the spans of it, from a registry.
fn remove(registry: &mut Registry, index: usize) {
    registry.events.remove(index);
    registry.spans.retain(|span| span.begin != index && span.end != index);
    for span in &mut registry.spans {
        span.begin -= usize::from(span.begin > index);
        span.end -= usize::from(span.end > index);
    }
}

/// Returns all names that an event must not have, in lower case.
fn names_of(registry: &Registry) -> HashSet<String> {
    let kinds = registry.kinds.iter().map(|kind| &kind.name);
    let types = registry.types.iter().map(|ty| &ty.name);
    let events = registry.events.iter().map(|event| &event.name);
    kinds.chain(types).chain(events).map(|name| name.to_lowercase()).collect()
}

/// Returns the event of a type of which only the description is known.
fn unknown_event(tag: u16, description: &[u8], kind: usize, names: &mut HashSet<String>) -> Event {
    let text = String::from_utf8_lossy(description).replace(is_unprintable, " ");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words {
        let first = word.chars().take(1).flat_map(char::to_uppercase);
        name.extend(first.chain(word.chars().skip(1)));
    }
    name.truncate(MAX_NAME);
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        name.insert_str(0, "Type");
    }
    if names.contains(&name.to_lowercase()) || name == "Type" {
        name = format!("{name}Type{tag}");
    }
    while !names.insert(name.to_lowercase()) {
        name.push('X');
    }
    // Text that is cut may end with white space, which a registry's docs do not have.
    let doc = text.trim().chars().take(MAX_DOC).collect::<String>().trim_end().to_string();
    let mut data = Param::new("data", Sort::Bytes);
    data.doc = "the payload as it is".to_string();
    data.max_len = MAX_DATA;
    let mut event = Event::new(name, tag, kind);
    event.doc = if doc.is_empty() { format!("Type {tag}") } else { doc };
    event.params = vec![data];
    event
}
