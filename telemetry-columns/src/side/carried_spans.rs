//! Spans whose other part later events may have.

use telemetry_decode::KnownRegistry;
use telemetry_report::spans::{Carried, End, Found, Gaps, Key, Pairing, Which};

/// Marks a begin or an end of earlier events, some of which were missing.
pub(crate) const UNCERTAIN: u64 = 1;

/// The spans of some events that need later ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarriedSpans {
    /// The spans that are open, by the time of the begin.
    pub open: Vec<OpenSpan>,
    /// Ends without begins, by time. Blocks of other threads and kinds may come later, and have
    /// earlier events.
    pub early_ends: Vec<SpanPart>,
}

/// A span that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSpan {
    /// Its begin.
    pub begin: SpanPart,
    /// The nanoseconds up to `until_ns` in which no span that the thread began later was open.
    pub self_ns: i64,
    /// The last time of its thread that counts in `self_ns`, as events have it.
    pub until_ns: i64,
}

/// The begin or the end of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanPart {
    /// The fingerprint of the registry.
    pub fingerprint: u64,
    /// The name of the registry.
    pub registry: String,
    /// The name of the span in the registry.
    pub span: String,
    /// The value behind the name, if the name has one.
    pub detail: Option<String>,
    /// The id of the session.
    pub session: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The key, if it is a number.
    pub key: Option<u64>,
    /// The key, if it is a string.
    pub key_text: Option<Box<[u8]>>,
    /// The time of the event.
    pub ns: i64,
    /// The clock reading of the event.
    pub ticks: u64,
    /// Whether no event that would change the pair was missing.
    pub is_certain: bool,
}

impl CarriedSpans {
    /// Takes what is not paired.
    pub(crate) fn take(pairing: &mut Pairing, gaps: &Gaps, most: usize, found: &mut Vec<Found>) -> Self {
        let mut carried = CarriedSpans::default();
        for Carried { which, at, open } in pairing.take_carried(most, found) {
            let ticks = if open.is_some() { (at.ticks, u64::MAX) } else { (0, at.ticks) };
            let Some(part) = SpanPart::new(which, &at, ticks, pairing, gaps) else { continue };
            match open {
                Some((self_ns, until_ns)) => carried.open.push(OpenSpan { begin: part, self_ns, until_ns }),
                None => carried.early_ends.push(part),
            }
        }
        carried
    }

    /// Gives it to the pairing of later events. Returns what has an unknown registry or span.
    pub(crate) fn give(&self, pairing: &mut Pairing, registries: &[&KnownRegistry], most: usize) -> Self {
        let (mut parts, mut left) = (Vec::new(), CarriedSpans::default());
        let mut give = |part: &SpanPart, open| {
            let known = registries.iter().find(|known| known.fingerprint == part.fingerprint);
            let def = known.and_then(|known| pairing.def_of(known, &part.span, part.detail.as_deref()));
            let part = def.map(|def| part.parts(def));
            part.map(|(which, at)| parts.push(Carried { which, at, open })).is_some()
        };
        let open = self.open.iter().filter(|open| !give(&open.begin, Some((open.self_ns, open.until_ns))));
        left.open = open.cloned().collect();
        left.early_ends = self.early_ends.iter().filter(|end| !give(end, None)).cloned().collect();
        pairing.carry_on(parts, most);
        left
    }

    pub(crate) fn append(&mut self, other: CarriedSpans) {
        self.open.extend(other.open);
        self.early_ends.extend(other.early_ends);
    }
}

impl SpanPart {
    /// Returns `None` if the pairing does not know the span. `ticks` are the readings between which
    /// the other part may be.
    fn new(which: Which, at: &End, ticks: (u64, u64), pairing: &Pairing, gaps: &Gaps) -> Option<SpanPart> {
        let def = pairing.defs.get(which.def)?;
        let is_certain = at.marks != UNCERTAIN && gaps.are_none(def, &which, at.thread, ticks.0, ticks.1);
        let (key, key_text) = match which.key {
            Key::None => (None, None),
            Key::Number(number) => (Some(number), None),
            Key::Text(text) => (None, Some(text)),
        };
        Some(SpanPart {
            fingerprint: def.fingerprint,
            registry: def.registry.clone(),
            span: def.declared_name().to_owned(),
            detail: def.detail.clone(),
            session: which.session,
            thread: at.thread,
            key,
            key_text,
            ns: at.ns,
            ticks: at.ticks,
            is_certain,
        })
    }

    /// Returns the name as in the table `span`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} [{detail}]", self.span),
            None => self.span.clone(),
        }
    }

    fn parts(&self, def: usize) -> (Which, End) {
        let key = match (self.key, &self.key_text) {
            (Some(number), _) => Key::Number(number),
            (None, Some(text)) => Key::Text(text.clone()),
            (None, None) => Key::None,
        };
        let at = End {
            thread: self.thread,
            ns: self.ns,
            ticks: self.ticks,
            marks: if self.is_certain { 0 } else { UNCERTAIN },
            spent_ns: 0,
            offset: 0,
            number: 0,
        };
        (Which { def, session: self.session, key }, at)
    }
}
