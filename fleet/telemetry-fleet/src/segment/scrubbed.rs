//! Sessions of which `telemetry scrub` has replaced the sensitive values.

use telemetry_decode::Session;
use telemetry_decode::blocks::{Block, Blocks, Piece};
use telemetry_format::{BlockType, flags};

use crate::segment::text::Text;

/// What the session blocks of one session say so far.
#[derive(Debug, Default)]
pub(crate) struct Scrubbed {
    /// A block says that the session is scrubbed.
    says: bool,
    /// Another one does not. Later ones do not change this: the stricter wins.
    denies: bool,
    /// Where the next part of a text begins that has no last part yet.
    next: u32,
}

impl Scrubbed {
    /// Takes a session block.
    pub(crate) fn learn(&mut self, block: &Block<'_>) {
        let header = &block.header;
        let is_last = header.flags & flags::LAST != 0;
        // The fact is in the last part of a text. So a text that is cut does not have it.
        let is_cut = header.offset != self.next;
        self.next = if is_last { 0 } else { header.offset.saturating_add(header.unpacked_len) };
        let says = is_last && has_fact(Text::of(block).bytes());
        self.says |= says;
        self.denies |= is_cut || is_last && !says;
    }

    /// Returns true if all blocks so far say that the session is scrubbed.
    pub(crate) fn is_scrubbed(&self) -> bool {
        self.says && !self.denies && self.next == 0
    }
}

fn has_fact(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let value = line.strip_prefix(Session::SCRUBBED.as_bytes());
        value.is_some_and(|value| value.starts_with(b" = "))
    })
}

/// Returns true if all session blocks of a session in these segments say that it is scrubbed.
pub fn is_scrubbed(segments: &[u8], session: u64) -> bool {
    let (mut blocks, mut scrubbed) = (Blocks::from_slice(segments), Scrubbed::default());
    while let Ok(Some(piece)) = blocks.next() {
        if let Piece::Block(block) = piece
            && block.header.block_type == BlockType::Session
            && block.header.session == session
        {
            scrubbed.learn(&block);
            // Nearly always the first block says so.
            if scrubbed.denies {
                return false;
            }
        }
    }
    scrubbed.is_scrubbed()
}
