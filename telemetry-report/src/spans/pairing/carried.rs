//! Spans of which only a part has come, and that go on with later events.

use telemetry_decode::KnownRegistry;

use super::super::early_ends::EarlyEnds;
use super::super::found::{End, Found, Which};
use super::super::identity::Identity;
use super::super::nesting::Place;
use super::super::roles;
use super::{NONE, Pairing, Thread};

/// An open span, apart from the pairing that found its begin.
#[derive(Debug, Clone)]
pub struct Carried {
    pub which: Which,
    pub begin: End,
    /// The time in which no span that the thread began later was open, until `until_ns`.
    pub self_ns: i64,
    pub until_ns: i64,
}

impl Pairing {
    /// Visits the ends whose begins did not come, and the spans that are still open. Both are in
    /// order.
    pub fn finish(&mut self, mut visit: impl FnMut(Found)) {
        for (which, end) in self.take_early_ends() {
            visit(Found::NoBegin(which, end));
        }
        while self.oldest != NONE {
            let place = self.nesting.place_of_open(self.oldest);
            let (which, begin, _) = self.remove(self.oldest);
            if self.defs[which.def].is_wanted {
                visit(Found::NoEnd(which, begin, place));
            }
        }
    }

    /// Keeps up to `most` ends, whose begins may come with later events. Call it before the first
    /// event.
    pub fn keep_early_ends(&mut self, most: usize) {
        self.early_ends = EarlyEnds::new(most);
    }

    /// Returns the ends whose begins did not come, by time, and forgets them.
    pub fn take_early_ends(&mut self) -> Vec<(Which, End)> {
        let mut ends = self.early_ends.take_all();
        let key = |(which, end): &(Which, End)| (end.ticks, end.thread, which.def);
        ends.sort_by(|one, other| key(one).cmp(&key(other)).then_with(|| one.0.key.cmp(&other.0.key)));
        ends
    }

    /// Returns false if an open span began after an end, which is that of an earlier begin.
    pub(super) fn may_end(&self, index: u32, end: &End) -> bool {
        !self.early_ends.keeps() || self.open[index as usize].begin.ticks <= end.ticks
    }

    /// Returns a span whose end came before its begin. Spans inside of it are not known.
    pub(super) fn whole_at_once(&mut self, identity: Identity, def: u32, begin: End, end: End) -> Found {
        let (path, self_ns) = (self.paths.of(NONE, def), end.since(&begin));
        Found::Whole { which: identity.which(def), begin, end, self_ns, path, row: 0, place: Place::Apart }
    }

    /// Returns the spans that are still open, in the order of their begins, and forgets them. Of
    /// more than `most`, those that began first stay.
    pub fn take_open(&mut self, most: usize) -> Vec<Carried> {
        let mut open = Vec::new();
        while self.newest != NONE && open.len() < most {
            let (which, begin, self_ns) = self.remove(self.newest);
            let thread = self.threads.get(&(which.session, begin.thread));
            let until_ns = thread.map_or(begin.ns, |thread| thread.until_ns);
            open.push(Carried { which, begin, self_ns, until_ns });
        }
        open.reverse();
        open
    }

    /// Returns the index into `defs` of a span with a name of its registry, and the value behind
    /// the name if it has one; `None` if the registry has no such span.
    pub fn def_of(&mut self, known: &KnownRegistry, span: &str, detail: Option<&str>) -> Option<usize> {
        let (names, hides, defs) = (&self.names, self.hides_sensitive, &mut self.defs);
        let (def, hidden) = roles::def_named(known, span, names, hides, defs)?;
        let detail = detail.map(|detail| hidden.unwrap_or(detail));
        Some(detail.map_or(def, |detail| self.detailed(def, detail.into())) as usize)
    }

    /// Goes on with spans that were open at the end of earlier events, and with ends whose begins
    /// had not come. Call it before the first event.
    pub fn carry_on(&mut self, open: Vec<Carried>, early_ends: Vec<(Which, End)>) {
        for (which, end) in early_ends {
            if let Some(identity) = self.identity(&which, &end) {
                drop(self.early_ends.keep(identity, end));
            }
        }
        for Carried { which, begin, .. } in &open {
            if let Some(identity) = self.identity(which, begin) {
                self.begin(identity, which.def as u32, *begin, &mut Vec::<Found>::new());
            }
        }
        // `begin` has counted the time up to the next span as that of the one around it.
        let mut at = self.oldest;
        for Carried { which, self_ns, until_ns, .. } in open {
            let Some(open) = self.open.get_mut(at as usize) else { return };
            (open.self_ns, at) = (self_ns, open.all.behind);
            let thread = (which.session, open.begin.thread);
            let thread = self.threads.entry(thread).or_insert(Thread::at(until_ns));
            thread.until_ns = thread.until_ns.max(until_ns);
        }
    }

    /// Returns the identity of a span, one end of which is on this thread.
    fn identity(&self, which: &Which, end: &End) -> Option<Identity> {
        let shown = self.defs.get(which.def)?;
        let def = self.defs.iter().position(|def| {
            def.detail.is_none()
                && def.fingerprint == shown.fingerprint
                && def.span.name == shown.declared_name()
        })?;
        let thread = self.defs[def].span.key.is_none().then_some(end.thread);
        Some(Identity { def: def as u32, session: which.session, thread, key: which.key.clone() })
    }
}
