//! What does not leave the host: kinds with sensitive parameters, as sinks over a network have it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;

use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_format::{BlockType, HEADER_LEN, Header, codec, flags};

use crate::segment::scrubbed::Scrubbed;
use crate::segment::text::{Text, own_fingerprint};

/// The kinds of one session that do not leave the host. If it is scrubbed, all of them do.
#[derive(Debug)]
pub(crate) struct Withheld {
    /// By fingerprint of each registry so far: its kinds, as bits. Of two texts of one registry,
    /// the stricter counts.
    kinds: HashMap<u64, u64>,
    /// Parts of texts that are not whole yet, by their offsets, and whether they are the last.
    parts: HashMap<u64, BTreeMap<u32, (Vec<u8>, bool)>>,
    /// The bytes of these parts.
    waiting: usize,
    /// Whether the texts of labels stay, too.
    labels: bool,
    scrubbed: Scrubbed,
}

/// The most bytes of parts that wait for others.
const MAX_WAITING: usize = 16 << 20;

/// A block as it leaves the host.
pub(crate) struct Leaving<'a> {
    pub(crate) header: Header,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// True if its events are not in it.
    pub(crate) is_withheld: bool,
}

impl<'a> Leaving<'a> {
    /// Returns a block that leaves as it is.
    pub(crate) fn whole(block: &Block<'a>) -> Leaving<'a> {
        let is_withheld = block.header.is_withheld();
        Leaving { header: block.header.clone(), bytes: block.bytes.into(), is_withheld }
    }
}

impl Withheld {
    /// Withholds what the registries of a session say.
    pub(crate) fn new() -> Withheld {
        Withheld {
            kinds: own_fingerprint().map(|own| (own, 0)).into_iter().collect(),
            parts: HashMap::new(),
            waiting: 0,
            labels: false,
            scrubbed: Scrubbed::default(),
        }
    }

    /// Learns from a session block whether the session is scrubbed.
    pub(crate) fn learn_session(&mut self, block: &Block<'_>) {
        self.scrubbed.learn(block);
    }

    /// Learns from the text of a registry in a block. Until all parts of a text are there, it is
    /// not known what the registry says.
    pub(crate) fn learn(&mut self, header: &Header, text: &[u8]) {
        let Some(text) = self.whole(header, text) else { return };
        // Most registries mark nothing, and are not parsed.
        let (kinds, labels) = match std::str::from_utf8(&text) {
            Ok(text) if !text.is_empty() && !text.contains("sensitive") => (0, false),
            Ok(text) => match telemetry_schema::parse_embedded(text) {
                Ok(parsed) => (parsed.withheld_kinds(), parsed.withholds_labels()),
                // What it marks is not known.
                Err(_) => (u64::MAX, true),
            },
            Err(_) => (u64::MAX, true),
        };
        *self.kinds.entry(header.registry).or_default() |= kinds;
        self.labels |= labels;
    }

    /// Returns the whole text to which a block belongs, if all of it is there.
    fn whole<'t>(&mut self, header: &Header, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let is_last = header.flags & flags::LAST != 0;
        let is_of_registry = |text: &str| {
            telemetry_schema::parse_embedded(text).is_ok_and(|parsed| parsed.fingerprint() == header.registry)
        };
        // Some writers do not mark the last part of a text that has only one.
        if header.offset == 0 && (is_last || std::str::from_utf8(text).is_ok_and(is_of_registry)) {
            return Some(text.into());
        }
        if self.waiting + text.len() > MAX_WAITING {
            return None;
        }
        self.waiting += text.len();
        let parts = self.parts.entry(header.registry).or_default();
        let before = parts.insert(header.offset, (text.to_vec(), is_last));
        self.waiting -= before.map_or(0, |(before, _)| before.len());
        let mut joined = Vec::new();
        for (offset, (part, is_last)) in parts.iter() {
            if *offset as usize != joined.len() {
                return None;
            }
            joined.extend_from_slice(part);
            if *is_last {
                let parts = self.parts.remove(&header.registry).unwrap_or_default();
                self.waiting -= parts.values().map(|(part, _)| part.len()).sum::<usize>();
                return Some(joined.into());
            }
        }
        None
    }

    /// Returns true if the texts of labels stay on the host.
    pub(crate) fn withholds_labels(&self) -> bool {
        self.labels && !self.scrubbed.is_scrubbed()
    }

    /// Returns a block as it leaves the host. `is_label` says whether it has texts of labels.
    pub(crate) fn leaving<'a>(&self, block: &Block<'a>, is_label: bool) -> Leaving<'a> {
        let header = &block.header;
        let header = match header.block_type {
            // Other values are in the place of sensitive ones.
            _ if self.scrubbed.is_scrubbed() => return Leaving::whole(block),
            // What its registry would say is not known: it is damaged. So these events are missing.
            BlockType::Events if !self.kinds.contains_key(&header.registry) => without_events(header),
            BlockType::Events if self.withholds(header, is_label) => withheld(header),
            _ => return Leaving::whole(block),
        };
        let bytes = header.encode(crc32c::crc32c).to_vec().into();
        Leaving { header, bytes, is_withheld: true }
    }

    fn withholds(&self, header: &Header, is_label: bool) -> bool {
        let kinds = self.kinds.get(&header.registry).copied().unwrap_or_default();
        is_label && self.labels || kinds >> (header.kind & 63) & 1 != 0
    }

    /// Returns true if events stay because their registry is missing.
    fn is_unknown(&self, header: &Header) -> bool {
        !self.kinds.contains_key(&header.registry) && !self.scrubbed.is_scrubbed()
    }

    fn is_any(&self) -> bool {
        let marks = self.labels || self.kinds.values().any(|kinds| *kinds != 0);
        marks && !self.scrubbed.is_scrubbed()
    }
}

/// Returns true if a registry in the segment in this file says that something does not leave the
/// host, and the session is not scrubbed. Returns true, too, if the registry of some events is
/// missing.
pub(crate) fn marks_sensitive(segment: &Path) -> io::Result<bool> {
    let (mut blocks, mut withheld) = (Blocks::new(File::open(segment)?), Withheld::new());
    while let Some(piece) = blocks.next()? {
        let Piece::Block(block) = piece else { continue };
        match block.header.block_type {
            BlockType::Session => withheld.learn_session(&block),
            BlockType::Registry => withheld.learn(&block.header, Text::of(&block).bytes()),
            BlockType::Events if withheld.is_unknown(&block.header) => return Ok(true),
            _ => {}
        }
    }
    Ok(withheld.is_any())
}

/// Returns the header of a part that stays, without its payload. It follows from the part alone, so
/// a stream that is cut again gives the same. Its offset is the end of the part, so a segment with
/// it has another name than one with the part itself.
fn withheld(header: &Header) -> Header {
    Header { flags: flags::WITHHELD, ..without_payload(header) }
}

/// Returns the header of a part without events after those of a part.
fn without_events(header: &Header) -> Header {
    Header {
        before: header.before.saturating_add(header.events.into()),
        events: 0,
        ..without_payload(header)
    }
}

fn without_payload(header: &Header) -> Header {
    Header {
        offset: header.offset.saturating_add(header.unpacked_len),
        header_len: HEADER_LEN as u16,
        flags: 0,
        codec: codec::NONE,
        payload_len: 0,
        unpacked_len: 0,
        payload_crc: 0,
        ..header.clone()
    }
}

#[cfg(test)]
mod tests {
    use telemetry_format::Loss;

    use super::*;

    fn part(before: u64, events: u32, sink: u64, excluded: u64) -> Header {
        let lost = Loss { pool: 9, sink, ..Loss::default() };
        let (payload_len, unpacked_len, codec, flags) = (50, 80, codec::DEFLATE, flags::LAST);
        let of_block = Header { thread: 3, kind: 5, registry: 7, ..Header::new(BlockType::Events, 1) };
        Header {
            before,
            events,
            lost,
            excluded,
            payload_len,
            unpacked_len,
            codec,
            flags,
            offset: 20,
            ..of_block
        }
    }

    #[test]
    fn a_part_that_stays_keeps_its_numbers() {
        for (before, sink, excluded) in [(0, 0, 0), (100, 4, 30), (100, 500, 600), (u64::MAX - 10, 0, 0)] {
            let header = part(before, 10, sink, excluded);
            let found = withheld(&header);
            let numbers = |header: &Header| (header.before, header.events, header.lost, header.excluded);
            assert_eq!(numbers(&found), numbers(&header));
            assert_eq!((found.offset, found.block_len()), (100, HEADER_LEN as u64));
            assert!(found.is_withheld());
            assert_eq!(Header::decode(&found.encode(crc32c::crc32c), crc32c::crc32c), Ok(found.clone()));
            assert_eq!(withheld(&found), found, "the same again");
        }
    }

    #[test]
    fn a_part_whose_registry_is_missing_states_none() {
        for (before, wanted) in [(0, 10), (100, 110), (u64::MAX, u64::MAX)] {
            let header = part(before, 10, 4, 30);
            let found = without_events(&header);
            assert_eq!((found.before, found.events, found.offset), (wanted, 0, 100));
            assert_eq!((found.lost, found.excluded), (header.lost, header.excluded));
            assert!(!found.is_withheld());
        }
    }

    #[test]
    fn a_registry_that_cannot_be_read_gives_nothing() {
        let text = |kinds: &str, sensitive: &str| {
            format!(
                r#"
[registry]
name = "later"
version = "1.0.0"
doc = "Of a later version"
later = true

[kinds]
Work = {{ bit = 3, {kinds}doc = "work" }}
Rest = {{ bit = 4, doc = "rest" }}

[[event]]
name = "Worked"
code = 1
kind = "Work"
doc = "Someone worked"
params = [{{ name = "who", sort = "label", {sensitive}doc = "who" }}]
"#
            )
        };
        for (text, wanted) in [
            (text("", ""), (0, false)),
            (text("", "sensitive = \"personal\", "), (1 << 3, true)),
            (text("network = \"allow\", ", "sensitive = \"personal\", "), (0, false)),
            ("sensitive =".to_owned(), (u64::MAX, true)),
            (String::new(), (u64::MAX, true)),
            ("no registry".to_owned(), (0, false)),
        ] {
            let mut withheld = Withheld::new();
            let header = Header { registry: 7, flags: flags::LAST, ..Header::new(BlockType::Registry, 1) };
            withheld.learn(&header, text.as_bytes());
            assert_eq!((withheld.kinds[&7], withheld.labels), wanted, "{text}");
            // In parts, in any order, and again. Until the last one, nothing is known.
            let mut withheld = Withheld::new();
            let parts = |length: usize| text.as_bytes().chunks(length).enumerate();
            let last = parts(7).count().saturating_sub(1);
            for (number, part) in parts(7).chain(parts(7)).skip(last) {
                let header = Header {
                    offset: 7 * number as u32,
                    flags: if number == last { flags::LAST } else { 0 },
                    ..header.clone()
                };
                assert_eq!(withheld.kinds.get(&7), None, "{text}");
                withheld.learn(&header, part);
                if withheld.kinds.contains_key(&7) {
                    assert_eq!((withheld.kinds[&7], withheld.labels), wanted, "{text}");
                    assert_eq!((withheld.waiting, withheld.parts.len()), (0, 0));
                    break;
                }
            }
            assert_eq!(withheld.kinds.contains_key(&7), !text.is_empty(), "{text}");
        }
    }

    #[test]
    fn of_two_texts_the_stricter_counts() {
        let header = Header { registry: 7, flags: flags::LAST, ..Header::new(BlockType::Registry, 1) };
        let mut withheld = Withheld::new();
        withheld.learn(&header, b"sensitive =");
        withheld.learn(&header, b"nothing is marked");
        assert_eq!(withheld.kinds[&7], u64::MAX);
    }
}
