//! Counts events by type and pairs spans. This works for any stream: it uses the registry in the
//! stream, and knows only the registry's name.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use telemetry::decode::{Completeness, Event, Filter, Order, Reader};

/// The name of the collector's registry.
const NAME: &str = "gc";

/// Counts of a stream.
#[derive(Debug)]
pub(crate) struct Counts {
    /// In the order of their bits.
    pub(crate) kinds: Vec<Kind>,
    /// Durations in ns of the registry's spans, by name.
    pub(crate) spans: BTreeMap<String, Vec<i64>>,
    /// Begins without an end, and ends without a begin.
    pub(crate) unpaired: u64,
    /// What was read of the stream, and what was lost.
    pub(crate) completeness: Completeness,
}

/// A kind of events.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    pub(crate) name: String,
    /// Bytes of its blocks, including headers.
    pub(crate) bytes: u64,
    /// By name, the most frequent first.
    pub(crate) events: Vec<(String, u64)>,
}

impl Counts {
    /// Reads a stream.
    ///
    /// # Errors
    /// If the file cannot be read; damage in it is in `completeness`.
    pub(crate) fn read(path: &Path) -> telemetry::decode::Result<Counts> {
        let mut counting = Counting::default();
        // The runtime's own events have a registry of their own.
        let filter = Filter::default().registries([NAME]);
        // Both ends of a span are of one thread and kind, whose order the stream keeps. Merging all
        // threads by time would take longer.
        let mut events = Reader::open(path)?.order(Order::Stream).filter(filter).events()?;
        while let Some(event) = events.next()? {
            counting.take(&event);
        }
        let completeness = events.completeness();
        let unpaired = counting.unpaired + counting.open.values().map(|open| open.len() as u64).sum::<u64>();
        let mut kinds: BTreeMap<u8, Kind> = BTreeMap::new();
        for row in counting.rows.into_iter().flatten() {
            let (bit, name) = row.kind;
            let kind = kinds.entry(bit).or_default();
            kind.name = name;
            kind.events.push((row.name, row.count));
        }
        for kind in kinds.values_mut() {
            kind.events.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        let index = Reader::open(path)?.index()?;
        let known = &index.registries;
        let is_ours = |fingerprint| {
            known.iter().any(|known| known.fingerprint == fingerprint && known.registry.name == NAME)
        };
        for lane in index.lanes.iter().filter(|lane| lane.blocks > 0 && is_ours(lane.registry)) {
            kinds.entry(lane.kind).or_default().bytes += lane.bytes;
        }
        let spans = counting.spans.into_iter().collect();
        Ok(Counts { kinds: kinds.into_values().collect(), spans, unpaired, completeness })
    }
}

/// The state while a stream is read.
#[derive(Default)]
struct Counting {
    /// By code.
    rows: Vec<Option<Row>>,
    /// The registry's spans: name and durations.
    spans: Vec<(String, Vec<i64>)>,
    /// Begin times of open spans, by thread, span and key.
    open: HashMap<(u32, usize, u64), Vec<i64>>,
    unpaired: u64,
}

/// An event type.
struct Row {
    /// Bit and name.
    kind: (u8, String),
    name: String,
    count: u64,
    begins: Vec<End>,
    ends: Vec<End>,
}

/// One end of a span: the span's index, and the index of the parameter that is the key.
type End = (usize, Option<usize>);

impl Row {
    fn new(event: &Event<'_>) -> Row {
        let registry = event.registry();
        let mut row = Row {
            kind: (event.kind().bit, event.kind().name.clone()),
            name: event.name().to_string(),
            count: 0,
            begins: Vec::new(),
            ends: Vec::new(),
        };
        for (number, span) in registry.spans.iter().enumerate() {
            let is_key = |name: &str| span.key.as_deref() == Some(name);
            let end = (number, event.schema().params.iter().position(|param| is_key(&param.name)));
            let is_this = |index: usize| registry.events[index].code == event.schema().code;
            row.begins.extend(is_this(span.begin).then_some(end));
            row.ends.extend(is_this(span.end).then_some(end));
        }
        row
    }
}

impl Counting {
    fn take(&mut self, event: &Event<'_>) {
        let code = usize::from(event.schema().code);
        if self.rows.len() <= code {
            self.rows.resize_with(code + 1, || None);
        }
        let row = self.rows[code].get_or_insert_with(|| {
            let spans = &event.registry().spans;
            self.spans.extend(spans[self.spans.len()..].iter().map(|span| (span.name.clone(), Vec::new())));
            Row::new(event)
        });
        row.count += 1;
        let value = |param: Option<usize>| event.value(param?)?.as_u64();
        let key = |(span, param): &End| (event.thread(), *span, value(*param).unwrap_or_default());
        for end in &row.ends {
            match self.open.get_mut(&key(end)).and_then(Vec::pop) {
                Some(began) => self.spans[end.0].1.push(event.time_ns() - began),
                None => self.unpaired += 1,
            }
        }
        for begin in &row.begins {
            self.open.entry(key(begin)).or_default().push(event.time_ns());
        }
    }
}
