//! The text of the MPS's `mpseventtxt`, from lines of `cnv` text and given registries.

use telemetry_decode::names::{Mark, NameValue, NamedAt, Namings};
use telemetry_decode::{Labels, Value};
use telemetry_schema::{Count, Event, NameBy, Registry};

use super::cnv_line::{CnvLine, Wrong};
use super::cnv_registries::TextRegistries;
use super::{param, txt};

/// Limit for labels in bytes, as for those of a stream.
const LABEL_ROOM: usize = 32 << 20;

/// Converts `cnv` lines to `txt` lines. The input is in time order, so a label precedes its use.
pub(crate) struct TxtOfCnv<'r> {
    registries: &'r TextRegistries,
    /// By registry.
    namings: Vec<Namings>,
    labels: Labels,
    label_room: usize,
    scratch: Vec<u8>,
}

impl<'r> TxtOfCnv<'r> {
    /// Begins with events of these registries.
    pub(crate) fn new(registries: &'r TextRegistries) -> Self {
        let namings = registries.all().iter().map(Namings::new).collect();
        TxtOfCnv {
            registries,
            namings,
            labels: Labels::default(),
            label_room: LABEL_ROOM,
            scratch: Vec::new(),
        }
    }

    /// Appends the line for a `cnv` line. A code that no registry has is an unknown event, as in
    /// `mpseventtxt`. Appends nothing if the line is malformed.
    pub(crate) fn line(&mut self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), Wrong> {
        let start = out.len();
        let appended = self.append(out, text);
        if appended.is_err() {
            out.truncate(start);
        }
        appended
    }

    fn append(&mut self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), Wrong> {
        let mut line = CnvLine::new(text);
        let ticks = line.clock()?;
        let (name, code) = line.code(self.registries)?;
        let Some((which, index)) = self.registries.find(name, code) else {
            txt::unknown(out, ticks, code);
            return Ok(());
        };
        let registry = &self.registries.all()[which];
        let event = &registry.events[index];
        for mark in 0..self.namings[which].of_event(index).len() {
            let mark = self.namings[which].of_event(index)[mark];
            self.name(line.clone(), ticks, registry, event, &mark)?;
        }
        txt::head(out, ticks, code, name, &event.name);
        for param in &event.params {
            line.space(&param.name)?;
            let (ty, repr) = (registry.ty(param.sort), registry.repr(param.sort));
            param::append(out, registry, &param.name);
            out.push(b':');
            match param.count {
                Count::One => {
                    let value = line.value(param.sort, repr, &mut self.scratch)?;
                    txt::labeled(out, &value, ty, &self.labels, ticks);
                }
                Count::Fixed(_) | Count::UpTo(_) => {
                    out.push(b'[');
                    let mut index = 0;
                    while line.has_element(index)? {
                        if index > 0 {
                            out.push(b',');
                        }
                        let value = line.value(param.sort, repr, &mut self.scratch)?;
                        txt::labeled(out, &value, ty, &self.labels, ticks);
                        index += 1;
                    }
                    out.push(b']');
                }
            }
            out.push(b' ');
        }
        line.end(&event.name)?;
        out.push(b'\n');
        Ok(())
    }

    /// Applies the mark of an event. The line is parsed completely first, so a malformed one has no
    /// effect.
    fn name(
        &mut self,
        mut line: CnvLine<'_>,
        ticks: u64,
        registry: &Registry,
        event: &Event,
        mark: &Mark,
    ) -> Result<(), Wrong> {
        let (mut of, mut by, mut text) = (0, 0, Vec::new());
        for (index, param) in event.params.iter().enumerate() {
            line.space(&param.name)?;
            let mut element = 0;
            while param.count != Count::One && line.has_element(element)? {
                line.value(param.sort, registry.repr(param.sort), &mut self.scratch)?;
                element += 1;
            }
            if param.count != Count::One {
                continue;
            }
            let value = line.value(param.sort, registry.repr(param.sort), &mut self.scratch)?;
            let bits = value.as_i128().unwrap_or_default() as u64;
            if index == mark.naming.of {
                of = bits;
            } else if index == mark.naming.by {
                by = bits;
                if let Value::String(said) = value {
                    text = said.0.to_vec();
                }
            }
        }
        line.end(&event.name)?;
        let said =
            if mark.naming.name == NameBy::Text { NameValue::Text(&text) } else { NameValue::Bits(by) };
        mark.note(NamedAt::in_order(ticks), of, said, &mut self.labels, &mut self.label_room);
        Ok(())
    }
}
