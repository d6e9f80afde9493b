//! What the reader of a sink must know before it can make sense of events: the session, registries, threads and
//! labels.

use std::collections::BTreeSet;

use telemetry_format::{BlockType, HEADER_LEN, Header, flags};

use crate::record::Owner;
use crate::relation::Relation;
use crate::{facts, labels, start};

/// What the reader of a sink knows.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) session: bool,
    pub(crate) registries: BTreeSet<u64>,
    pub(crate) threads: BTreeSet<u32>,
    pub(crate) labels: labels::Position,
}

impl Told {
    /// What the reader needs to know before events of these lanes, and does not know yet.
    pub(crate) fn facts(
        &self,
        owners: &[&Owner],
        own: Option<&Relation>,
        max_block: usize,
    ) -> (Vec<(Header, String)>, Told) {
        let mut new = Told::default();
        let mut facts = Vec::new();
        let mut add = |block_type, registry, thread, text: String| {
            for (header, text) in split(fact(block_type, registry, thread), text, max_block) {
                facts.push((header, text));
            }
        };
        if !self.session {
            let mut text = String::new();
            let _ = facts::session(&mut text, Some(facts::ticks_per_second()));
            add(BlockType::Session, 0, 0, text);
        }
        for relation in owners.iter().map(|owner| owner.registry.relation()).chain(own) {
            if !self.registries.contains(&relation.fingerprint) && new.registries.insert(relation.fingerprint)
            {
                add(BlockType::Registry, relation.fingerprint, 0, relation.text.to_owned());
            }
        }
        for owner in owners {
            if !self.threads.contains(&owner.thread) && new.threads.insert(owner.thread) {
                add(BlockType::Thread, 0, owner.thread, facts::thread(owner));
            }
        }
        (facts, new)
    }
}

/// The header of a block of text about the session.
fn fact(block_type: BlockType, registry: u64, thread: u32) -> Header {
    let moment = start::moment();
    Header {
        registry,
        thread,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        ..Header::new(block_type, start::session())
    }
}

/// A text in blocks of at most so many bytes.
fn split(header: Header, text: String, max_block: usize) -> Vec<(Header, String)> {
    let most = max_block.saturating_sub(HEADER_LEN).max(512);
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    loop {
        let (now, later) = rest.split_at(rest.floor_char_boundary(most));
        parts.push((
            Header {
                offset: (text.len() - rest.len()) as u32,
                payload_len: now.len() as u32,
                unpacked_len: now.len() as u32,
                flags: if later.is_empty() { flags::LAST } else { 0 },
                ..header.clone()
            },
            now.to_owned(),
        ));
        rest = later;
        if rest.is_empty() {
            return parts;
        }
    }
}
