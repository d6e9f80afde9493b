//! Blocks of text that were written in parts. Parts are joined in any order, from all copies.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use telemetry_format::{BlockType, Header, flags};

use crate::lanes::coverage::Coverage;

/// The maximum length of one text.
const MAX_TEXT: usize = 4 << 20;

/// The maximum length of all incomplete texts. Beyond it they are discarded.
const MAX_WAITING: usize = 4 * MAX_TEXT;

/// The memory overhead of a part.
const PART_OVERHEAD: usize = 512;

/// Texts that are incomplete, or may be.
#[derive(Default)]
pub(crate) struct Texts {
    waiting: HashMap<Key, Waiting>,
    bytes: usize,
}

/// The key of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    block_type: BlockType,
    session: u64,
    registry: u64,
    thread: u32,
}

struct Waiting {
    /// Byte offset of its first block in the input.
    at: u64,
    /// Parts by their offset in the text.
    parts: BTreeMap<u32, Vec<u8>>,
    /// The bytes of the text that the parts have.
    covered: Coverage,
    /// The length of the text, after its last part was found.
    len: Option<u32>,
    bytes: usize,
    /// The error in the first part when it is read alone.
    wrong: Option<String>,
}

/// The role of a block of text.
pub(crate) enum Text<'p> {
    /// The whole text, joined with earlier parts.
    Whole(Cow<'p, [u8]>),
    /// The beginning of the text. If the writer does not mark parts, it may be the whole text.
    Beginning(&'p [u8]),
    /// A part that does not complete the text.
    Part,
}

impl Texts {
    /// Takes a block of text.
    pub(crate) fn take<'p>(&mut self, at: u64, header: &Header, payload: &'p [u8]) -> Text<'p> {
        let key = Key::from(header);
        let is_last = header.flags & flags::LAST != 0;
        if header.offset == 0 && is_last {
            self.forget(header);
            return Text::Whole(Cow::Borrowed(payload));
        }
        let end = header.offset.saturating_add(payload.len() as u32);
        if end as usize <= MAX_TEXT {
            if self.bytes + payload.len() > MAX_WAITING {
                *self = Texts::default();
            }
            let waiting = self.waiting.entry(key).or_insert_with(|| Waiting::new(at));
            self.bytes += waiting.add(header.offset, payload);
            if is_last {
                waiting.len = Some(end);
            }
            if let Some(whole) = waiting.joined() {
                self.forget(header);
                return Text::Whole(Cow::Owned(whole));
            }
        }
        if header.offset == 0 { Text::Beginning(payload) } else { Text::Part }
    }

    /// Discards the parts of a text that is known.
    pub(crate) fn forget(&mut self, header: &Header) {
        if let Some(waiting) = self.waiting.remove(&Key::from(header)) {
            self.bytes -= waiting.bytes;
        }
    }

    /// Stores the error in the beginning of a text, in case no more parts come.
    pub(crate) fn note(&mut self, header: &Header, why: String) {
        if let Some(waiting) = self.waiting.get_mut(&Key::from(header)) {
            waiting.wrong = Some(why);
        }
    }

    /// Returns the incomplete texts with their byte offset and error, except for those of
    /// registries that are known otherwise.
    pub(crate) fn incomplete(&self, is_known: impl Fn(u64) -> bool) -> impl Iterator<Item = (u64, String)> {
        let unknown = self.waiting.iter().filter(move |(key, _)| !is_known(key.registry));
        unknown.filter_map(|(key, waiting)| {
            let is_alone = waiting.len.is_none() && waiting.parts.keys().eq(&[0]);
            let why = match &waiting.wrong {
                Some(why) if is_alone => why.clone(),
                _ if is_alone => return None,
                _ => "parts of its text are missing".to_string(),
            };
            Some((waiting.at, format!("{}: {why}", name(key.block_type))))
        })
    }
}

/// Returns the name of a type of block for messages.
pub(crate) fn name(block_type: BlockType) -> &'static str {
    match block_type {
        BlockType::Session => "session block",
        BlockType::Registry => "registry block",
        _ => "thread block",
    }
}

impl From<&Header> for Key {
    fn from(header: &Header) -> Key {
        let Header { block_type, session, registry, thread, .. } = *header;
        Key { block_type, session, registry, thread }
    }
}

impl Waiting {
    fn new(at: u64) -> Waiting {
        Waiting { at, parts: BTreeMap::new(), covered: Coverage::default(), len: None, bytes: 0, wrong: None }
    }

    /// Adds a part, and returns the memory that it takes.
    fn add(&mut self, offset: u32, payload: &[u8]) -> usize {
        let is_new = !self.parts.contains_key(&offset);
        let part = self.parts.entry(offset).or_default();
        let more = payload.len().saturating_sub(part.len());
        if more > 0 {
            *part = payload.to_vec();
        }
        let more = more + if is_new { PART_OVERHEAD } else { 0 };
        let range = u64::from(offset)..u64::from(offset) + payload.len() as u64;
        while let Some(gap) = self.covered.first_gap(range.clone()) {
            self.covered.add(gap, 0, 0);
        }
        self.bytes += more;
        more
    }

    /// Returns the whole text, if it is complete. Parts of several copies may overlap.
    fn joined(&self) -> Option<Vec<u8>> {
        let len = self.len.filter(|len| self.covered.first_gap(0..(*len).into()).is_none())? as usize;
        let mut whole = Vec::new();
        for (offset, part) in &self.parts {
            let known = whole.len().checked_sub(*offset as usize)?;
            whole.extend_from_slice(part.get(known..).unwrap_or_default());
        }
        whole.truncate(len);
        Some(whole)
    }
}
