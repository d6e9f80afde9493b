//! Loads a log that is `cnv` text.

use std::path::Path;

use rusqlite::OptionalExtension;
use telemetry_schema::{Count, Registry};

use super::insert::Insert;
use super::load::{Load, Loaded, Log};
use super::{record, value};
use crate::input::cnv_input::{Line, Lines, Wrongs, too_long};
use crate::term::ended::{Context, Failure};
use crate::text::cnv_line::{CnvLine, Wrong};
use crate::text::cnv_registries::TextRegistries;
use crate::text::path::display;

/// A log of `cnv` text. It has no sessions, threads or times, so all its events belong to one new
/// session.
pub(crate) struct TextLog<'r> {
    log: Log,
    lines: Lines,
    wrongs: Wrongs,
    registries: &'r TextRegistries,
}

impl<'r> TextLog<'r> {
    /// Opens text of events of some registries. `is_mps` is true if no registry was given, so that
    /// they are the MPS's.
    pub(crate) fn open(path: &Path, registries: &'r TextRegistries, is_mps: bool) -> Result<Self, Failure> {
        let lines = Lines::open(path)?;
        Ok(TextLog { log: Log::new(path), lines, wrongs: Wrongs::new(display(path), is_mps), registries })
    }

    /// Returns the length of the text in bytes, if known.
    pub(crate) fn len(&self) -> Option<u64> {
        self.lines.len()
    }

    /// Loads all events; none if there are none. A result without a serial number means that the
    /// database has this text already, and nothing must be committed.
    pub(crate) fn load(
        mut self,
        context: &mut Context,
        mut load: Load<'_, '_>,
        refresh: bool,
        again: bool,
        mut tick: impl FnMut(u64, u64),
    ) -> Result<Option<Loaded>, Failure> {
        let mut places = Vec::new();
        for registry in self.registries.given() {
            let fingerprint = registry.fingerprint();
            load.add_registry(fingerprint, registry, refresh)?;
            places.push(load.registry_index(fingerprint));
        }
        let session = record::nameless_session(load.connection()).map_err(|error| load.failed(&error))?;
        let (mut number, mut size, mut checksum, mut events) = (0, 0, 0, 0);
        let (mut scratch, mut json) = (Vec::new(), Vec::new());
        while let Some(line) = self.lines.next()? {
            number += 1;
            let text = match line {
                Line::Whole(text) => text,
                Line::TooLong => {
                    self.wrongs.add(context, number, &too_long());
                    continue;
                }
            };
            size += text.len() as u64 + 1;
            checksum = crc32c::crc32c_append(checksum, text);
            checksum = crc32c::crc32c_append(checksum, b"\n");
            let taken = match head(text, self.registries) {
                Ok(head) => {
                    // The runtime's own registry gets tables only if it has events here.
                    if let Some(own) = self.registries.all()[..=head.registry].get(places.len()) {
                        let fingerprint = own.fingerprint();
                        load.add_registry(fingerprint, own, refresh)?;
                        places.push(load.registry_index(fingerprint));
                    }
                    take(&mut load, head, &places, self.registries.all(), session, &mut scratch, &mut json)
                }
                Err(why) => Ok(Err(why)),
            };
            match taken.map_err(|error| load.failed(&error))? {
                Ok(()) => {
                    load.counted(size, &mut tick)?;
                    events += 1;
                }
                Err(why) => self.wrongs.add(context, number, &why),
            }
        }
        self.wrongs.end(context, events);
        if events == 0 {
            return Ok(None);
        }
        let content = format!("{size}-{checksum:08x}");
        let find = "SELECT serial FROM event_log WHERE content = ?";
        let known: Option<i64> = load
            .connection()
            .query_row(find, [&content], |row| row.get(0))
            .optional()
            .map_err(|error| load.failed(&error))?;
        if known.is_some() && !again {
            return Ok(Some(Loaded { events: 0, serial: None }));
        }
        self.log.read(size);
        load.finish(&self.log, Some(&content)).map(Some)
    }
}

/// The start of a line, and the rest.
struct Head<'l> {
    ticks: u64,
    /// Index of the registry.
    registry: usize,
    /// Index of the event in it.
    event: usize,
    rest: CnvLine<'l>,
}

fn head<'l>(text: &'l [u8], registries: &TextRegistries) -> Result<Head<'l>, Wrong> {
    let mut line = CnvLine::new(text);
    let ticks = line.clock()?;
    let (name, code) = line.code(registries)?;
    match registries.find(name, code) {
        Some((registry, event)) => Ok(Head { ticks, registry, event, rest: line }),
        None => Err(format!("code {code:X} matches no event of the registry")),
    }
}

/// Makes a row of a line.
fn take(
    load: &mut Load<'_, '_>,
    head: Head<'_>,
    places: &[usize],
    registries: &[Registry],
    session: i64,
    scratch: &mut Vec<u8>,
    json: &mut Vec<u8>,
) -> rusqlite::Result<Result<(), Wrong>> {
    let row = load.row(places[head.registry], head.event)?;
    if let Err(why) = values(head.rest, &registries[head.registry], head.event, row, scratch, json) {
        row.undo_row();
        return Ok(Err(why));
    }
    row.integer(head.ticks as i64);
    row.integer(session);
    row.null();
    row.null();
    row.end_row()?;
    Ok(Ok(()))
}

/// Reads the values of a line into a row.
fn values(
    mut line: CnvLine<'_>,
    registry: &Registry,
    event: usize,
    row: &mut Insert<'_>,
    scratch: &mut Vec<u8>,
    json: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let event = &registry.events[event];
    for param in &event.params {
        line.space(&param.name)?;
        let repr = registry.repr(param.sort);
        if param.count == Count::One {
            value::push(row, &line.value(param.sort, repr, scratch)?);
            continue;
        }
        json.clear();
        json.push(b'[');
        let mut index = 0;
        while line.has_element(index)? {
            value::element(json, index, &line.value(param.sort, repr, scratch)?);
            index += 1;
        }
        json.push(b']');
        row.text(|all| all.extend_from_slice(json));
    }
    line.end(&event.name)
}
