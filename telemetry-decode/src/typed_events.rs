//! The reader that generated decoders are driven by.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::marker::PhantomData;

use telemetry_format::{Label, Malformed};
use telemetry_schema::{Event as Form, Registry, parse_embedded};

use crate::completeness::Completeness;
use crate::event::{Event, Raw};
use crate::events::Events;
use crate::part::{Reading, Take};
use crate::plan::EventPlan;
use crate::registries::KnownRegistry;
use crate::session::Session;
use crate::typed::{Decoded, Packed, Typed};

/// The events of one relation as the structs that were generated for them.
///
/// The stream's registry is compared with the program's once. An event of the same form is read by
/// generated code, also if parameters were appended to it since; any other is passed over and
/// counted in [`TypedEvents::others`].
pub struct TypedEvents<'s, D> {
    events: Events<'s>,
    /// The program's own registry.
    own: Registry,
    /// By fingerprint.
    forms: HashMap<u64, Box<[Known]>>,
    others: u64,
    scratch: Vec<Raw>,
    decoder: PhantomData<D>,
}

/// An event, and where and when it was.
#[derive(Debug, Clone, Copy)]
pub struct At<'a, E> {
    /// What the generated decoder made of it.
    pub event: E,
    /// Clock reading.
    pub ticks: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The run that it is of.
    pub session: &'a Session,
}

impl<E> At<'_, E> {
    /// Nanoseconds since the session began.
    pub fn time_ns(&self) -> i64 {
        self.session.clock.ns(self.ticks)
    }

    /// The string that a label stands for, where the stream has it.
    pub fn label(&self, label: Label) -> Option<&str> {
        self.session.labels.string(label.0)
    }

    /// The number of the name that an address had when the event was emitted, if it had one.
    pub fn name_of(&self, address: u64) -> Option<Label> {
        self.session.labels.name_of(address, self.ticks).map(Label)
    }
}

/// What the program knows of an event of the stream, by its index in the stream's registry.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// Nothing, or another form.
    No,
    /// Its index in the program's registry.
    Same(u32),
    /// The same, and the stream's has more parameters.
    Longer(u32),
}

impl<'s, D: Typed> TypedEvents<'s, D> {
    pub(crate) fn new(events: Events<'s>) -> io::Result<Self> {
        let own = parse_embedded(D::REGISTRY).map_err(|invalid| {
            io::Error::new(io::ErrorKind::InvalidInput, invalid.render("the decoder's registry", D::REGISTRY))
        })?;
        let (forms, scratch) = (HashMap::new(), Vec::new());
        Ok(TypedEvents { events, own, forms, others: 0, scratch, decoder: PhantomData })
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// Those of the input, and another major version of the relation in the stream.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> io::Result<Option<At<'_, D::Event<'_>>>> {
        loop {
            if !self.events.advance()? {
                return Ok(None);
            }
            let Some(event) = self.events.current() else { return Ok(None) };
            if typed::<D>(&event, forms(&mut self.forms, &self.own, event.registry)?).is_some() {
                break;
            }
            self.others += 1;
        }
        // Decoded again: what is lent in a loop cannot leave it.
        let Some(event) = self.events.current() else { return Ok(None) };
        let Event { session, ticks, thread, registry, .. } = event;
        let event = typed::<D>(&event, forms(&mut self.forms, &self.own, registry)?);
        Ok(event.map(|event| At { event, ticks, thread, session }))
    }

    /// Calls a function with every event that is left. In stream order this is the fastest way.
    ///
    /// # Errors
    /// As [`TypedEvents::next`].
    pub fn for_each(&mut self, mut f: impl FnMut(At<'_, D::Event<'_>>)) -> io::Result<()> {
        if !self.events.is_in_stream_order() {
            while let Some(event) = self.next()? {
                f(event);
            }
            return Ok(());
        }
        while let Some((decoder, part, payload)) = self.events.next_part()? {
            let (registry, thread) = decoder.origin(part);
            let forms = forms(&mut self.forms, &self.own, registry)?;
            let (scratch, others) = (&mut self.scratch, &mut self.others);
            scratch.resize(registry.plan.max_params(), Raw::default());
            let mut taker = Taker::<D, _> { f: &mut f, forms, thread, scratch, others, read: None, kept: 0 };
            decoder.read_all(part, payload, &mut taker);
            decoder.report.events += taker.kept;
        }
        Ok(())
    }

    /// Events passed over so far: of other registries, or of a form that the program does not know.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// What was read so far, and what was not; the verdict once `next` has given `None`.
    pub fn completeness(&self) -> Completeness {
        self.events.completeness()
    }
}

/// Takes the events of a part one by one.
struct Taker<'p, 't, D: Typed, F> {
    f: &'t mut F,
    forms: &'t [Known],
    thread: u32,
    scratch: &'t mut [Raw],
    others: &'t mut u64,
    read: Option<D::Event<'p>>,
    kept: u64,
}

impl<'p, D: Typed, F: FnMut(At<'_, D::Event<'_>>)> Take<'p> for Taker<'p, '_, D, F> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    #[inline(always)]
    fn read(&mut self, event: &EventPlan, reading: &mut Reading<'p, '_>) -> Result<(), Malformed> {
        match self.forms.get(event.index as usize) {
            Some(Known::Same(index)) => {
                let slots = event.slots.start as usize..event.slots.end as usize;
                let slots = reading.slots.get_mut(slots).unwrap_or_default();
                let mut packed = Packed { cursor: reading.cursor, slots, not_utf8: false };
                let read = D::read(*index, &mut packed)?;
                reading.cursor = packed.cursor;
                self.read = (!packed.not_utf8).then_some(read);
            }
            other => {
                event.read(&mut reading.cursor, reading.slots, reading.payload.len(), self.scratch)?;
                self.read = match other {
                    Some(Known::Longer(index)) => decoded::<D>(*index, self.scratch, reading.payload),
                    _ => None,
                };
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn keep(&mut self, _: &EventPlan, ticks: u64, _: u32, session: &Session) {
        self.kept += 1;
        match self.read.take() {
            Some(event) => (self.f)(At { event, ticks, thread: self.thread, session }),
            None => *self.others += 1,
        }
    }
}

/// What a generic event is in the program's terms.
fn typed<'a, D: Typed>(event: &Event<'a>, forms: &[Known]) -> Option<D::Event<'a>> {
    match forms.get(event.index)? {
        Known::No => None,
        Known::Same(index) | Known::Longer(index) => decoded::<D>(*index, event.raw, event.payload),
    }
}

fn decoded<'a, D: Typed>(index: u32, raw: &[Raw], payload: &'a [u8]) -> Option<D::Event<'a>> {
    let mut source = Decoded { raw, payload, not_utf8: false };
    let event = D::read(index, &mut source).ok()?;
    (!source.not_utf8).then_some(event)
}

/// What the program knows of the events of a registry.
fn forms<'f>(
    forms: &'f mut HashMap<u64, Box<[Known]>>,
    own: &Registry,
    registry: &KnownRegistry,
) -> io::Result<&'f [Known]> {
    let place = match forms.entry(registry.fingerprint) {
        Entry::Occupied(known) => return Ok(known.into_mut()),
        Entry::Vacant(place) => place,
    };
    if registry.name == own.name && registry.version.major != own.version.major {
        let text = format!(
            "registry `{}` has version {} in the stream, expected {}.x of this program; \
             decode it generically, or with a program of that version",
            own.name, registry.version, own.version.major
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let known = registry.events.iter().map(|event| match registry.name == own.name {
        true => known(own, registry, event),
        false => Known::No,
    });
    Ok(place.insert(known.collect()))
}

fn known(own: &Registry, registry: &Registry, event: &Form) -> Known {
    let Some(index) = own.event_index(event.code) else { return Known::No };
    let mine = &own.events[index];
    let same = mine.name == event.name
        && mine.params.len() <= event.params.len()
        && mine.params.iter().zip(&event.params).all(|(mine, theirs)| {
            mine.name == theirs.name
                && mine.count == theirs.count
                && own.sort_name(mine.sort) == registry.sort_name(theirs.sort)
                && own.repr(mine.sort) == registry.repr(theirs.sort)
                && mine.unit == theirs.unit
        });
    match (same, mine.params.len() == event.params.len()) {
        (false, _) => Known::No,
        (true, true) => Known::Same(index as u32),
        (true, false) => Known::Longer(index as u32),
    }
}
