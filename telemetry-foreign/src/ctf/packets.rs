//! The files of threads: packets, each with its own account of what was discarded.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::fields::string;

/// The first bytes of each packet.
const MAGIC: u32 = 0xc1fc_1fc1;

/// Places in a packet, in bytes.
const END: u64 = 24;
const PACKET_SIZE: u64 = 40;
const SEQ_NUM: u64 = 48;
const FIXED: usize = 64;

/// A thread of a session.
#[derive(Debug)]
pub(super) struct Stream {
    path: PathBuf,
    number: u64,
    /// What follows the numbers in the context of each packet.
    who: Vec<u8>,
    /// Events that are not written yet.
    pub(super) events: Vec<u8>,
    /// The times of the first and the last of them.
    begin: u64,
    pub(super) end: u64,
}

/// What is missing up to a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    pub(super) until: u64,
    /// The number of events; none if it is unknown.
    pub(super) events: Option<u64>,
}

impl Stream {
    /// Begins the file with a packet without events, at the start of the session. Readers count
    /// what was discarded from one packet to the next.
    pub(super) fn new(
        directory: &Path,
        number: u64,
        ids: [u32; 2],
        names: [&str; 2],
        start: u64,
    ) -> io::Result<Stream> {
        let mut who: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        names.iter().for_each(|name| string(&mut who, name.as_bytes()));
        let path = directory.join(format!("thread_{number}"));
        let mut stream = Stream { path, number, who, events: Vec::new(), begin: start, end: start };
        stream.flush()?;
        Ok(stream)
    }

    /// Notes the time of an event that is appended. Returns it, or that of the last event if that
    /// is later.
    pub(super) fn at(&mut self, time: u64) -> u64 {
        let time = time.max(self.end);
        if self.events.is_empty() {
            self.begin = time;
        }
        self.end = time;
        time
    }

    /// Writes a packet.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let len = (FIXED + self.who.len() + self.events.len()) as u64;
        let mut out = Vec::with_capacity(FIXED + self.who.len());
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        // Number and discarded events are written at the end.
        for word in [self.number, self.begin, self.end, 8 * len, 8 * len, 0, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.who);
        // There may be more threads than a process may have open files.
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(&out)?;
        file.write_all(&self.events)?;
        self.events.clear();
        // An event of a megabyte must not keep its memory.
        self.events.shrink_to(64 << 10);
        self.begin = self.end;
        Ok(())
    }

    /// Writes the last packets, and into all packets their numbers and the sums of what was
    /// discarded. Takes what is missing in the order of its time.
    pub(super) fn finish(&mut self, missing: &[Missing]) -> io::Result<()> {
        if !self.events.is_empty() {
            self.flush()?;
        }
        if let Some(last) = missing.last() {
            // What is missing after the last event needs a packet.
            self.end = self.end.max(last.until);
            self.begin = self.end;
            self.flush()?;
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let (mut at, mut number, mut discarded, mut missing) = (0, 0_u64, 0_u64, missing.iter().peekable());
        let len = file.metadata()?.len();
        while at < len {
            let end = word(&mut file, at + END)?;
            // The first packet is that from which readers count.
            while let Some(next) = missing.next_if(|next| at > 0 && next.until <= end) {
                match next.events {
                    Some(events) => discarded = discarded.saturating_add(events),
                    // The number of a packet is missing, too.
                    None => number += 1,
                }
            }
            file.seek(SeekFrom::Start(at + SEQ_NUM))?;
            file.write_all(&number.to_le_bytes())?;
            file.write_all(&discarded.to_le_bytes())?;
            number += 1;
            at += (word(&mut file, at + PACKET_SIZE)? / 8).max(FIXED as u64);
        }
        Ok(())
    }
}

fn word(file: &mut File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
