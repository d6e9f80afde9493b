//! Spans of which only a part has come, and that go on with later events.

use telemetry_decode::KnownRegistry;

use super::super::earlier::{Carried, Earlier, MAX_KEY};
use super::super::found::{End, Found, Which};
use super::super::identity::Identity;
use super::super::roles;
use super::{NONE, Pairing};

impl Pairing {
    /// Visits the ends whose begins did not come, and the spans that are still open. Both are in
    /// order.
    pub fn finish(&mut self, mut visit: impl FnMut(Found)) {
        let mut found = Vec::new();
        self.apply_earlier(u64::MAX, &mut found);
        found.into_iter().for_each(&mut visit);
        for (which, end) in self.earlier.ends.drain(..) {
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

    /// Returns the index into `defs` of a span with a name of its registry, and the value behind
    /// the name if it has one; `None` if the registry has no such span.
    pub fn def_of(&mut self, known: &KnownRegistry, span: &str, detail: Option<&str>) -> Option<usize> {
        let (names, hides, defs) = (&self.names, self.hides_sensitive, &mut self.defs);
        let (def, hidden) = roles::def_named(known, span, names, hides, defs)?;
        let detail = detail.map(|detail| hidden.unwrap_or(detail));
        Some(detail.map_or(def, |detail| self.detailed(def, detail.into())) as usize)
    }

    /// Goes on with the begins and ends that earlier events left without the other. Up to `most`
    /// ends are kept for later events. Call it before the first event.
    pub fn carry_on(&mut self, mut parts: Vec<Carried>, most: usize) {
        parts.sort_by_key(|part| (part.at.ticks, part.open.is_none()));
        self.earlier = Earlier { parts: parts.into(), most, ..Earlier::default() };
    }

    /// Returns the begins and ends that later events may complete, and forgets them. Of more open
    /// spans than `most`, those that began first stay.
    pub fn take_carried(&mut self, most: usize, found: &mut Vec<Found>) -> Vec<Carried> {
        self.apply_earlier(u64::MAX, found);
        let mut parts = Vec::new();
        let mut at = self.newest;
        while let Some(open) = self.open.get(at as usize).filter(|_| parts.len() < most) {
            let (index, has_room) = (at, open.identity.key.text_len() <= MAX_KEY);
            at = open.all.before;
            if has_room {
                let (which, at, self_ns) = self.remove(index);
                let thread = self.threads.get(&(which.session, at.thread));
                let until_ns = thread.map_or(at.ns, |thread| thread.until_ns);
                parts.push(Carried { which, at, open: Some((self_ns, until_ns)) });
            }
        }
        parts.reverse();
        parts.extend(self.earlier.ends.drain(..).map(|(which, at)| Carried { which, at, open: None }));
        parts
    }

    /// Applies what earlier events left, up to a clock reading.
    pub(super) fn apply_earlier(&mut self, ticks: u64, found: &mut Vec<Found>) {
        while self.earlier.parts.front().is_some_and(|part| part.at.ticks <= ticks) {
            let Some(Carried { which, at, open }) = self.earlier.parts.pop_front() else { return };
            let Some(identity) = self.identity(&which, &at) else { continue };
            let Some((self_ns, until_ns)) = open else {
                self.end(identity, at, found);
                continue;
            };
            self.begin(identity, which.def as u32, at, found);
            self.open[self.newest as usize].self_ns = self_ns;
            if let Some(thread) = self.threads.get_mut(&(which.session, at.thread)) {
                thread.until_ns = thread.until_ns.max(until_ns);
            }
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
