//! The text of MPS's `mpseventtxt` from lines of `cnv` text, whose relations are known from elsewhere.

use telemetry_decode::{Labels, Mark, Namings, Said, Value};
use telemetry_schema::{Count, Event, NameBy, Registry};

use super::cnv_line::{CnvLine, Wrong};
use super::{param, txt};

/// Bytes for labels, as for those of a stream.
const LABEL_ROOM: usize = 32 << 20;

/// Makes `txt` lines of `cnv` lines, which come by time, so that a label is known before what it names.
pub(crate) struct TxtOfCnv<'r> {
    registries: &'r [Registry],
    /// By registry.
    namings: Vec<Namings>,
    labels: Labels,
    label_room: usize,
    scratch: Vec<u8>,
}

impl<'r> TxtOfCnv<'r> {
    /// For events of these registries, the first of which that has a code counts.
    pub(crate) fn new(registries: &'r [Registry]) -> Self {
        let namings = registries.iter().map(Namings::new).collect();
        TxtOfCnv {
            registries,
            namings,
            labels: Labels::default(),
            label_room: LABEL_ROOM,
            scratch: Vec::new(),
        }
    }

    /// Appends the line of a `cnv` line; a code that no registry has is an unknown event, as to `mpseventtxt`. Nothing is
    /// appended if the line is wrong.
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
        let code = line.code()?;
        let mut found = self.registries.iter().enumerate();
        let found = found.find_map(|(which, registry)| Some((which, registry, registry.event_index(code)?)));
        let Some((which, registry, index)) = found else {
            txt::unknown(out, ticks, code);
            return Ok(());
        };
        let event = &registry.events[index];
        for mark in 0..self.namings[which].of_event(index).len() {
            let mark = self.namings[which].of_event(index)[mark];
            self.name(line.clone(), ticks, registry, event, &mark)?;
        }
        txt::head(out, ticks, code, &event.name);
        for param in &event.params {
            line.space(&param.name)?;
            let (ty, repr) = (registry.ty(param.sort), registry.repr(param.sort));
            param::append(out, registry, &param.name);
            out.push(b':');
            match param.count {
                Count::One => {
                    let value = line.value(param.sort, repr, &mut self.scratch)?;
                    txt::labelled(out, &value, ty, &self.labels, ticks);
                }
                Count::Fixed(_) | Count::UpTo(_) => {
                    out.push(b'[');
                    let mut index = 0;
                    while line.has_element(index)? {
                        if index > 0 {
                            out.push(b',');
                        }
                        let value = line.value(param.sort, repr, &mut self.scratch)?;
                        txt::labelled(out, &value, ty, &self.labels, ticks);
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

    /// Takes what an event says by a mark. Its line is read to the end, so that a wrong one says nothing.
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
            let bits = value.number().unwrap_or_default() as u64;
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
        let said = if mark.naming.name == NameBy::Text { Said::Text(&text) } else { Said::Bits(by) };
        mark.note(ticks, of, said, &mut self.labels, &mut self.label_room);
        Ok(())
    }
}
