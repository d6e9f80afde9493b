//! The reader for generated decoders.

use std::marker::PhantomData;

use telemetry_format::Label;
use telemetry_schema::Registry;

use crate::decode::reading::{Reading, Stamp, Take};
use crate::order::events::Events;
use crate::registry::event::Event;
use crate::report::completeness::{Cause, Completeness, Damage, Reason};
use crate::report::error::{Error, Result};
use crate::report::mismatch::FormMismatch;
use crate::report::opaque::opaque;
use crate::sessions::labels::AddressName;
use crate::sessions::session::Session;
use crate::typed::forms::{Account, Direct, FormMatch, Forms, Skipped};
use crate::typed::generated::{Decoded, Packed, Typed};
use crate::values::raw::Raw;

/// The events of one registry as generated structs.
///
/// The stream's registry is compared with the program's once, at its first event. The comparison
/// costs no time for each event:
///
/// - Events of the same form are read by generated code, whatever the minor and median versions.
/// - Parameters that only the stream has are skipped. Parameters that only the program has, because
///   the stream is older, are `None` (`since` in the registry).
/// - Events with another form in the stream, because the median version changed, are skipped. They
///   are counted and explained in [`TypedEvents::other_forms`], or refused by
///   [`TypedEvents::strict`].
/// - Events that the program's registry does not have, and those of other registries, are skipped
///   and counted in [`TypedEvents::skipped`].
/// - Another major version is refused.
#[must_use = "`next` reads the events"]
pub struct TypedEvents<'s, D> {
    events: Events<'s>,
    forms: Forms,
    account: Account,
    scratch: Vec<Raw>,
    decoder: PhantomData<D>,
}

opaque!([D] TypedEvents<'_, D>, "TypedEvents");

/// An event with its time and place.
#[derive(Debug, Clone, Copy)]
pub struct Timed<'a, E> {
    /// The generated struct.
    pub event: E,
    pub(crate) ticks: u64,
    pub(crate) thread: u32,
    pub(crate) session: &'a Session,
    pub(crate) offset: u64,
}

impl<'a, E> Timed<'a, E> {
    fn of(generic: &Event<'a>, event: E) -> Self {
        let Event { session, ticks, thread, offset, .. } = *generic;
        Timed { event, ticks, thread, session, offset }
    }

    /// Returns the nanoseconds since the session's start.
    #[inline]
    pub fn time_ns(&self) -> i64 {
        self.session.clock.ns(self.ticks)
    }

    /// Returns the event's time in nanoseconds since 1970-01-01 UTC.
    pub fn wall_ns(&self) -> i64 {
        self.session.clock.wall_ns(self.ticks)
    }

    /// Returns the clock reading.
    #[inline]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the session's number for the thread that emitted the event.
    #[inline]
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the thread's name, if the stream has it.
    pub fn thread_name(&self) -> Option<&'a str> {
        self.session.thread_name(self.thread)
    }

    /// Returns the session of the event.
    #[inline]
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Returns the byte offset of the event's first byte in the input.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the string for a label, if the stream has it.
    pub fn label(&self, label: Label) -> Option<&'a str> {
        self.session.labels.string(label.0)
    }

    /// Returns the name of an address at the time of the event, if it had one.
    pub fn name_of(&self, address: u64) -> Option<AddressName<'a>> {
        self.session.labels.name_of(address, self.ticks)
    }
}

impl<'s, D: Typed> TypedEvents<'s, D> {
    pub(crate) fn new(events: Events<'s>, own: Registry) -> Self {
        let (forms, account, scratch) = (Forms::new(own), Account::default(), Vec::new());
        TypedEvents { events, forms, account, scratch, decoder: PhantomData }
    }

    /// Refuses the stream if a selected event has another form in it than in the program. By
    /// default, such events are skipped.
    ///
    /// # Errors
    /// [`Error::Version`], for the registries found so far. These are all of the stream, unless a
    /// pipe is read in stream order; then [`TypedEvents::next`] returns the error for later ones.
    pub fn strict(mut self) -> Result<Self> {
        self.forms.strict = true;
        let in_stream = self.events.registries().iter().filter(|registry| registry.at.is_some());
        for registry in in_stream {
            self.forms.of(registry, &mut self.account)?;
        }
        Ok(self)
    }

    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if the input fails. [`Error::Version`] for another major version and, after
    /// [`TypedEvents::strict`], for events of another form. [`Error::Damaged`] if a
    /// [`Log`](crate::foreign::Log) gives values of other types than its registry declares. In one
    /// pass over a pipe, [`Error::Filter`] as for [`Events::next`](crate::Events::next).
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Timed<'_, D::Event<'_>>>> {
        let known = loop {
            if !self.events.advance()? {
                return Ok(None);
            }
            let Some(event) = self.events.current() else { return Ok(None) };
            let known = self.forms.of(event.known, &mut self.account)?.get(event.index).copied();
            if self.forms.can_read(known.as_ref(), event.raw, event.payload) {
                break known;
            }
            self.account.pass_over(known.as_ref());
        };
        // Decoded outside the loop: a value borrowed in the loop cannot be returned from it.
        let Some(event) = self.events.current() else { return Ok(None) };
        match typed::<D>(&event, known.as_ref()) {
            Some(read) => Ok(Some(Timed::of(&event, read))),
            None => Err(unreadable(&event)),
        }
    }

    /// Calls a function with each remaining event. In stream order this is the fastest way.
    ///
    /// # Errors
    /// As [`TypedEvents::next`].
    pub fn for_each(&mut self, mut f: impl FnMut(Timed<'_, D::Event<'_>>)) -> Result<()> {
        if !self.events.is_in_stream_order() {
            while self.events.advance()? {
                self.give(&mut f)?;
            }
            return Ok(());
        }
        // The rest of a part that `next` has begun.
        while self.events.advance_in_part() {
            self.give(&mut f)?;
        }
        while let Some((decoder, mut part, payload)) = self.events.next_part()? {
            let ((registry, thread), at) = (decoder.origin(&part), part.offset(0));
            let step = part.offset(1) - at;
            let (mut scratch, account) = (std::mem::take(&mut self.scratch), &mut self.account);
            let (forms, direct) = self.forms.of_part(registry, part.kind(), account)?;
            scratch.resize(registry.plan.max_params(), Raw::default());
            let mut taker =
                Taker { f: &mut f, forms, direct, thread, at, step, scratch, account, decoder: PhantomData };
            decoder.read_all(&mut part, payload, &mut taker);
            self.scratch = taker.scratch;
        }
        Ok(())
    }

    /// Calls a function with the current event, or skips it.
    #[inline]
    fn give(&mut self, f: &mut impl FnMut(Timed<'_, D::Event<'_>>)) -> Result<()> {
        let Some(event) = self.events.current() else { return Ok(()) };
        let known = self.forms.of(event.known, &mut self.account)?.get(event.index);
        match typed::<D>(&event, known) {
            Some(read) => f(Timed::of(&event, read)),
            None => self.account.pass_over(known),
        }
        Ok(())
    }

    /// Returns the counts of skipped events so far.
    pub fn skipped(&self) -> Skipped {
        self.account.skipped
    }

    /// Returns the events that have another form in the registries so far, whether or not any
    /// occurred.
    pub fn other_forms(&self) -> &[FormMismatch] {
        &self.account.other_forms
    }

    /// Returns the counts of read and unread events so far. They are the verdict after `next` has
    /// returned `None`.
    #[must_use = "it says whether events are missing"]
    pub fn completeness(&self) -> Completeness {
        self.events.completeness()
    }
}

/// Takes the events of a part.
struct Taker<'t, D, F> {
    f: &'t mut F,
    forms: &'t [FormMatch],
    direct: &'t [Direct],
    thread: u32,
    /// Offset of the part's payload in the input.
    at: u64,
    /// Bytes of the input per byte of the payload: 1, or 0 for a compressed payload.
    step: u64,
    scratch: Vec<Raw>,
    account: &'t mut Account,
    decoder: PhantomData<D>,
}

impl<'p, D: Typed, F: FnMut(Timed<'_, D::Event<'_>>)> Take<'p> for Taker<'_, D, F> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    #[inline(always)]
    fn take(
        &mut self,
        reading: &mut Reading<'p, '_>,
        code: u64,
        stamp: Option<Stamp<'_>>,
    ) -> Result<(), Reason> {
        let Some(Direct { index, first_slot }) = Direct::of(self.direct, code) else {
            return self.take_other(reading, code, stamp);
        };
        let slots = reading.slots.get_mut(first_slot as usize..).unwrap_or_default();
        let mut packed = Packed { cursor: reading.cursor, slots, not_utf8: false };
        D::read(index, &mut packed, |packed, event| match stamp {
            Some(stamp) if !packed.not_utf8 => self.give(event, &stamp),
            Some(_) => self.account.pass_over(Some(&FormMatch::Same(index))),
            None => {}
        })?;
        reading.cursor = packed.cursor;
        Ok(())
    }
}

impl<D: Typed, F: FnMut(Timed<'_, D::Event<'_>>)> Taker<'_, D, F> {
    #[inline(always)]
    fn give(&mut self, event: D::Event<'_>, stamp: &Stamp<'_>) {
        let Stamp { time: ticks, at, session, .. } = *stamp;
        let offset = self.at + self.step * u64::from(at);
        (self.f)(Timed { event, ticks, thread: self.thread, session, offset });
    }

    /// Takes an event that generated code cannot read in place, or cannot read at all.
    #[inline(never)]
    fn take_other(
        &mut self,
        reading: &mut Reading<'_, '_>,
        code: u64,
        stamp: Option<Stamp<'_>>,
    ) -> Result<(), Reason> {
        let event = reading.event(code)?;
        let mut raw = std::mem::take(&mut self.scratch);
        let read = reading.params(event, &mut raw);
        if let (Ok(()), Some(stamp)) = (read, stamp) {
            let known = self.forms.get(event.index as usize);
            let raw = raw.get(..event.params()).unwrap_or_default();
            let event = match known {
                Some(FormMatch::Same(index) | FormMatch::Appended(index)) => {
                    decoded::<D>(*index, raw, reading.payload)
                }
                _ => None,
            };
            match event {
                Some(event) => self.give(event, &stamp),
                None => self.account.pass_over(known),
            }
        }
        self.scratch = raw;
        Ok(read?)
    }
}

/// Converts a generic event to the program's struct.
fn typed<'a, D: Typed>(event: &Event<'a>, known: Option<&FormMatch>) -> Option<D::Event<'a>> {
    match known? {
        FormMatch::Same(index) | FormMatch::Appended(index) => decoded::<D>(*index, event.raw, event.payload),
        FormMatch::Other(_) | FormMatch::Unknown | FormMatch::Foreign => None,
    }
}

/// Returns the error for an event whose values do not match its registry.
#[cold]
fn unreadable(event: &Event<'_>) -> Error {
    let why = format!("event `{}` has values of other types than its registry declares", event.name());
    let range = event.offset..event.offset + u64::from(event.packed_len);
    Error::Damaged(Box::new(Damage { range, cause: Cause::Log(why), events: 1 }))
}

pub(crate) fn decoded<'a, D: Typed>(index: u32, raw: &[Raw], payload: &'a [u8]) -> Option<D::Event<'a>> {
    let mut source = Decoded { raw, payload, not_utf8: false };
    D::read(index, &mut source, |source, event| (!source.not_utf8).then_some(event)).ok()?
}
