//! Tracks: those of sessions, their threads and counters, and rows for spans that do not nest.

use std::io;

use hashbrown::HashMap;
use telemetry_decode::Session;

use super::fields::{counter, packet, sequence, track};
use super::packets::Packets;
use crate::common::proto::{bytes, message, number};
use crate::timeline::{Counter, Process, Processes, RowKey, Rows};

/// All tracks so far. Each is described when it is asked for first.
#[derive(Default)]
pub(super) struct Tracks {
    processes: Processes,
    rows: Rows,
    of_sessions: HashMap<u64, u64>,
    of_counters: HashMap<(u64, u64), u64>,
    of_threads: HashMap<(u64, u32), u64>,
    of_marks: Option<u64>,
    /// Number of tracks.
    number: u64,
}

impl Tracks {
    /// Returns the start of a session in nanoseconds since 1970.
    pub(super) fn start_of(&self, session: u64) -> i64 {
        self.processes.get(session).map_or(0, |process| process.start)
    }

    /// Returns the track of a session that has one.
    pub(super) fn of_session(&self, session: u64) -> u64 {
        self.of_sessions.get(&session).copied().unwrap_or_default()
    }

    /// Returns the track of a thread.
    pub(super) fn thread(
        &mut self,
        packets: &mut Packets<'_>,
        session: &Session,
        thread: u32,
    ) -> io::Result<u64> {
        if let Some(track) = self.of_threads.get(&(session.id, thread)) {
            return Ok(*track);
        }
        let parent = self.session(packets, session)?;
        let track = match thread {
            // What no thread did.
            0 => parent,
            _ => {
                let tid = self.processes.tid(session, thread);
                let pid = self.processes.get(session.id).map_or(0, |process| process.pid);
                self.describe(packets, |out, track| {
                    number(out, track::UUID, track);
                    number(out, track::PARENT, parent);
                    message(out, track::THREAD, |out| {
                        number(out, track::PID, pid.into());
                        number(out, track::TID, tid.into());
                        if let Some(name) = session.thread_name(thread) {
                            bytes(out, track::THREAD_NAME, name.as_bytes());
                        }
                    });
                })?
            }
        };
        self.of_threads.insert((session.id, thread), track);
        Ok(track)
    }

    /// Returns the track of a session.
    pub(super) fn session(&mut self, packets: &mut Packets<'_>, session: &Session) -> io::Result<u64> {
        if let Some(track) = self.of_sessions.get(&session.id) {
            return Ok(*track);
        }
        let Process { pid, name, .. } = self.processes.add(session).clone();
        let track = self.describe(packets, |out, track| {
            number(out, track::UUID, track);
            message(out, track::PROCESS, |out| {
                number(out, track::PID, pid.into());
                bytes(out, track::PROCESS_NAME, name.as_bytes());
            });
        })?;
        self.of_sessions.insert(session.id, track);
        Ok(track)
    }

    /// Returns the track of the marks of all sessions.
    pub(super) fn of_marks(&mut self, packets: &mut Packets<'_>) -> io::Result<u64> {
        if let Some(track) = self.of_marks {
            return Ok(track);
        }
        let track = self.describe(packets, |out, track| {
            number(out, track::UUID, track);
            bytes(out, track::NAME, b"marks");
        })?;
        self.of_marks = Some(track);
        Ok(track)
    }

    /// Returns the track of a counter of a session.
    pub(super) fn counter(
        &mut self,
        packets: &mut Packets<'_>,
        session: &Session,
        counter: &Counter,
    ) -> io::Result<u64> {
        let key = (session.id, counter.number);
        if let Some(track) = self.of_counters.get(&key) {
            return Ok(*track);
        }
        let parent = self.session(packets, session)?;
        let track = self.describe(packets, |out, track| {
            number(out, track::UUID, track);
            number(out, track::PARENT, parent);
            bytes(out, track::NAME, counter.name.as_bytes());
            message(out, track::COUNTER, |out| match &*counter.unit {
                "" => {}
                "ns" => number(out, counter::UNIT, counter::NANOSECONDS),
                "bytes" => number(out, counter::UNIT, counter::BYTES),
                unit => bytes(out, counter::UNIT_NAME, unit.as_bytes()),
            });
        })?;
        self.of_counters.insert(key, track);
        Ok(track)
    }

    /// Returns a row that is free from one time to another.
    pub(super) fn row(
        &mut self,
        packets: &mut Packets<'_>,
        key: RowKey,
        [from, until]: [i64; 2],
        (parent, name): (u64, &str),
    ) -> io::Result<u64> {
        let new = self.number + 1;
        let row = self.rows.take(key, from, until, || new);
        if row == new {
            self.describe(packets, |out, track| {
                number(out, track::UUID, track);
                number(out, track::PARENT, parent);
                bytes(out, track::NAME, name.as_bytes());
            })?;
        }
        Ok(row)
    }

    /// Writes the description of a new track, and returns its number.
    fn describe(
        &mut self,
        packets: &mut Packets<'_>,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) -> io::Result<u64> {
        self.number += 1;
        let track = self.number;
        packets.push(|out| {
            number(out, packet::SEQUENCE, sequence::EVENTS);
            message(out, packet::TRACK_DESCRIPTOR, |out| write(out, track));
        })?;
        Ok(track)
    }
}
