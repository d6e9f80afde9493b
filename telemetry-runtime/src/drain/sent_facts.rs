//! The facts that the reader of a sink needs to make sense of events: session, registries, threads
//! and labels.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;

use telemetry_format::{BlockType, HEADER_LEN, Header, flags};

use crate::control::words::Words;
use crate::memory::facts;
use crate::memory::record::Owner;
use crate::model::registry_def::RegistryDef;
use crate::own::labels;
use crate::own::overhead;
use crate::run::state;
use crate::store::progress::head;

/// The facts that were sent to the reader of a sink.
#[derive(Default)]
pub(crate) struct SentFacts {
    pub(crate) session: bool,
    pub(crate) registries: BTreeSet<u64>,
    pub(crate) threads: BTreeSet<u32>,
    pub(crate) labels: labels::Position,
}

/// A text block that is to be sent.
pub(crate) struct Fact {
    pub(crate) head: [u8; HEADER_LEN],
    pub(crate) text: Cow<'static, str>,
}

impl SentFacts {
    /// Returns the facts that the reader needs before events of these lanes, and does not know yet.
    /// `words` are those of a sink that has its own.
    // A function of its own, so that its part of the drain's stack is free again when the sink is
    // called.
    #[inline(never)]
    pub(crate) fn facts(
        &self,
        owners: &[&Owner],
        own: Option<&RegistryDef>,
        words: Option<&Words>,
        max_block: usize,
    ) -> (Vec<Fact>, SentFacts) {
        let mut new = SentFacts::default();
        let mut facts = Vec::new();
        let mut add = |block_type, registry, thread, text| {
            split(fact(block_type, registry, thread), text, max_block, &mut facts);
        };
        if !self.session {
            let rate = facts::ticks_per_second();
            overhead::measure(rate);
            let words = words.map(|words| words as &dyn Display);
            add(BlockType::Session, 0, 0, facts::session_text(rate, words).into());
        }
        for def in owners.iter().map(|owner| owner.registry.def()).chain(own) {
            if !self.registries.contains(&def.fingerprint) && new.registries.insert(def.fingerprint) {
                add(BlockType::Registry, def.fingerprint, 0, def.text.into());
            }
        }
        for owner in owners {
            if !self.threads.contains(&owner.thread) && new.threads.insert(owner.thread) {
                add(BlockType::Thread, 0, owner.thread, facts::thread(owner).into());
            }
        }
        (facts, new)
    }
}

/// Returns the header of a text block about the session.
fn fact(block_type: BlockType, registry: u64, thread: u32) -> Header {
    let moment = state::moment();
    Header {
        registry,
        thread,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        ..Header::new(block_type, state::session())
    }
}

/// Splits a text into blocks of at most `max_block` bytes. Does not copy a text that fits, since a
/// registry may be long.
fn split(header: Header, text: Cow<'static, str>, max_block: usize, into: &mut Vec<Fact>) {
    let most = max_block.saturating_sub(HEADER_LEN).max(512);
    let mut at = 0;
    loop {
        let end = text.floor_char_boundary(at + most);
        let is_last = end == text.len();
        let header = Header {
            offset: at as u32,
            payload_len: (end - at) as u32,
            unpacked_len: (end - at) as u32,
            flags: if is_last { flags::LAST } else { 0 },
            ..header.clone()
        };
        let head = head(&header, &text.as_bytes()[at..end]);
        if is_last && at == 0 {
            return into.push(Fact { head, text });
        }
        into.push(Fact { head, text: text[at..end].to_owned().into() });
        if is_last {
            return;
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, owner, registry};
    use crate::own::registry as own;

    fn header(fact: &Fact) -> Header {
        Header::decode(&fact.head, crc32c::crc32c).expect("a header")
    }

    /// Splits a text, and checks the lengths of its parts.
    #[track_caller]
    fn check(text: &str, max_block: usize, expected: &[usize]) {
        let mut facts = Vec::new();
        let whole = Header { registry: 7, ..Header::new(BlockType::Registry, 1) };
        split(whole.clone(), text.to_owned().into(), max_block, &mut facts);
        let lens: Vec<usize> = facts.iter().map(|fact| fact.text.len()).collect();
        assert_eq!(lens, expected);
        assert_eq!(facts.iter().map(|fact| &*fact.text).collect::<String>(), text);
        let mut offset = 0;
        for (at, fact) in facts.iter().enumerate() {
            let part = Header {
                flags: if at + 1 == facts.len() { flags::LAST } else { 0 },
                offset,
                payload_len: fact.text.len() as u32,
                unpacked_len: fact.text.len() as u32,
                payload_crc: crc32c::crc32c(fact.text.as_bytes()),
                ..whole.clone()
            };
            assert_eq!(header(fact), part);
            offset += part.payload_len;
        }
    }

    #[test]
    fn a_long_text_has_several_blocks() {
        let text = "x".repeat(1200);
        check("", usize::MAX, &[0]);
        check(&text, usize::MAX, &[1200]);
        check(&text, HEADER_LEN + 1200, &[1200]);
        check(&text, HEADER_LEN + 1199, &[1199, 1]);
        check(&text, HEADER_LEN + 600, &[600, 600]);
        // Not less than this.
        check(&text, 0, &[512, 512, 176]);
        check(&text, HEADER_LEN + 513, &[513, 513, 174]);
        // Between characters of two bytes.
        check(&format!("x{}", "ä".repeat(300)), 0, &[511, 90]);
    }

    #[test]
    fn a_reader_is_told_each_fact_once() {
        let (registry, other) = (registry(), own::registry());
        let owners = [owner(registry, ACCESS), owner(registry, TRACE), owner(other, 0)];
        let owners: Vec<&Owner> = owners.iter().collect();
        let mut sent = SentFacts::default();
        let mut check = |owners: &[&Owner], own: bool, expected: &[(BlockType, u64, u32)]| {
            let (facts, new) = sent.facts(owners, own.then(|| other.def()), None, usize::MAX);
            let headers = facts.iter().map(header);
            let told: Vec<_> = headers.map(|fact| (fact.block_type, fact.registry, fact.thread)).collect();
            assert_eq!(told, expected);
            sent.session = true;
            sent.registries.extend(new.registries);
            sent.threads.extend(new.threads);
        };
        let session = (BlockType::Session, 0, 0);
        let (cache, own) = ((BlockType::Registry, 0xca, 0), (BlockType::Registry, other.fingerprint(), 0));
        let thread = (BlockType::Thread, 0, 7);
        check(&[], false, &[session]);
        check(&owners[..2], false, &[cache, thread]);
        check(&owners[..2], false, &[]);
        check(&owners, true, &[own]);
        check(&owners, true, &[]);
    }
}
