//! The payloads of frames.

use std::fmt;

use crate::wire::frame::{Kind, MAX_CONTROL, header};
use crate::wire::version::Version;

/// The first bytes of a shipper's first frame.
const MAGIC: &[u8; 8] = b"telfleet";

/// The first message of a shipper. Its form is the same in all versions.
#[derive(Clone, PartialEq, Eq)]
pub struct Hello {
    /// The oldest and the newest version that it speaks.
    pub versions: (Version, Version),
    /// The name of its host.
    pub host: String,
    /// Its token, or nothing if its certificate says who it is.
    pub token: String,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is a secret, also in a log.
        f.debug_struct("Hello")
            .field("versions", &self.versions)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// The answer of a collector that accepts a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The version that both speak from now on.
    pub version: Version,
    /// The most bytes of segments that may be sent and not answered. A longer segment is sent
    /// alone.
    pub window: u64,
    /// The most bytes of a segment.
    pub max_segment: u64,
}

/// A segment follows, in frames of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// A number that the answer repeats.
    pub number: u32,
    /// Bytes.
    pub len: u64,
    /// Its name.
    pub name: String,
}

/// The outcome of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The number of the segment.
    pub number: u32,
    /// Its outcome.
    pub outcome: Outcome,
    /// Why it is refused.
    pub text: String,
}

/// The outcome of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// The store has it, on disk.
    Stored = 1,
    /// The store had the same bytes before.
    WasThere = 2,
    /// The store has other bytes under this name.
    Differs = 3,
    /// It is not a segment of this host.
    Refused = 4,
}

/// Why a collector ends a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bye {
    /// Whether the same shipper may be served later without a change on its host.
    pub is_passing: bool,
    /// The reason, for a person.
    pub text: String,
}

/// The state of a shipper's spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Bytes of whole segments in the spool.
    pub spool: u64,
    /// Nanoseconds since 1970 UTC at which its oldest segment begins, or 0 if it is empty.
    pub oldest_ns: u64,
    /// Events that the shipper shed.
    pub shed: u64,
    /// Whether it takes requests. Since version 1.2.
    pub takes_requests: bool,
}

/// What a collector asks a program of the host to do. Since version 1.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A number that the answer repeats.
    pub number: u32,
    /// What to do.
    pub ask: Ask,
    /// The name of the program.
    pub program: String,
    /// Words of control, with spaces between them.
    pub words: String,
}

/// What a program can be asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ask {
    /// Switch on what the words name.
    Set = 1,
    /// Switch off what the words name.
    Reset = 2,
    /// Write everything to its sinks.
    Flush = 3,
    /// Send what it has in memory.
    Snapshot = 4,
}

impl Ask {
    /// All, by their numbers.
    pub const ALL: [Ask; 4] = [Ask::Set, Ask::Reset, Ask::Flush, Ask::Snapshot];

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Ask::Set => "set",
            Ask::Reset => "reset",
            Ask::Flush => "flush",
            Ask::Snapshot => "snapshot",
        }
    }
}

/// The outcome of a request. Since version 1.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The number of the request.
    pub number: u32,
    /// Whether the program did it.
    pub is_done: bool,
    /// What it said, or why it was not done, for a person.
    pub text: String,
}

/// Any message but data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as their contents")]
pub enum Message {
    Hello(Hello),
    Welcome(Welcome),
    Segment(Segment),
    Done(Done),
    Alive,
    Bye(Bye),
    Status(Status),
    Request(Request),
    Reply(Reply),
}

impl Message {
    /// Returns the whole frame. Text that is too long is cut.
    pub fn frame(&self) -> Vec<u8> {
        let mut to = vec![0; 8];
        let kind = match self {
            Message::Hello(Hello { versions: (oldest, newest), host, token }) => {
                to.extend_from_slice(MAGIC);
                to.extend_from_slice(&[oldest.major, oldest.minor, newest.major, newest.minor]);
                put_text(&mut to, host);
                put_text(&mut to, token);
                Kind::Hello
            }
            Message::Welcome(Welcome { version, window, max_segment }) => {
                to.extend_from_slice(&[version.major, version.minor]);
                to.extend_from_slice(&window.to_le_bytes());
                to.extend_from_slice(&max_segment.to_le_bytes());
                Kind::Welcome
            }
            Message::Segment(Segment { number, len, name }) => {
                to.extend_from_slice(&number.to_le_bytes());
                to.extend_from_slice(&len.to_le_bytes());
                put_text(&mut to, name);
                Kind::Segment
            }
            Message::Done(Done { number, outcome, text }) => {
                to.extend_from_slice(&number.to_le_bytes());
                to.push(*outcome as u8);
                put_text(&mut to, text);
                Kind::Done
            }
            Message::Alive => Kind::Alive,
            Message::Bye(Bye { is_passing, text }) => {
                to.push(u8::from(*is_passing));
                put_text(&mut to, text);
                Kind::Bye
            }
            Message::Status(Status { spool, oldest_ns, shed, takes_requests }) => {
                for number in [spool, oldest_ns, shed] {
                    to.extend_from_slice(&number.to_le_bytes());
                }
                to.push(u8::from(*takes_requests));
                Kind::Status
            }
            Message::Request(Request { number, ask, program, words }) => {
                to.extend_from_slice(&number.to_le_bytes());
                to.push(*ask as u8);
                put_text(&mut to, program);
                put_text(&mut to, words);
                Kind::Request
            }
            Message::Reply(Reply { number, is_done, text }) => {
                to.extend_from_slice(&number.to_le_bytes());
                to.push(u8::from(*is_done));
                put_text(&mut to, text);
                Kind::Reply
            }
        };
        let len = to.len() - 8;
        to[..8].copy_from_slice(&header(kind, len));
        to
    }

    /// Parses a payload. Bytes beyond what this version knows are those of a newer one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(kind: Kind, payload: &[u8]) -> Result<Message, String> {
        let mut from = From(payload);
        let message = (|| {
            Some(match kind {
                Kind::Hello => {
                    from.take(8).filter(|magic| magic == MAGIC)?;
                    let versions = (from.version()?, from.version()?);
                    Message::Hello(Hello { versions, host: from.text()?, token: from.text()? })
                }
                Kind::Welcome => {
                    let (version, window, max_segment) = (from.version()?, from.u64()?, from.u64()?);
                    Message::Welcome(Welcome { version, window, max_segment })
                }
                Kind::Segment => {
                    let (number, len, name) = (from.u32()?, from.u64()?, from.text()?);
                    Message::Segment(Segment { number, len, name })
                }
                Kind::Done => {
                    let (number, outcome, text) = (from.u32()?, from.outcome()?, from.text()?);
                    Message::Done(Done { number, outcome, text })
                }
                Kind::Alive => Message::Alive,
                Kind::Bye => Message::Bye(Bye { is_passing: from.take(1)? == [1], text: from.text()? }),
                Kind::Status => {
                    let (spool, oldest_ns, shed) = (from.u64()?, from.u64()?, from.u64()?);
                    let takes_requests = from.take(1) == Some(&[1]);
                    Message::Status(Status { spool, oldest_ns, shed, takes_requests })
                }
                Kind::Request => {
                    let (number, ask) = (from.u32()?, from.ask()?);
                    Message::Request(Request { number, ask, program: from.text()?, words: from.text()? })
                }
                Kind::Reply => {
                    let (number, is_done) = (from.u32()?, from.take(1)? == [1]);
                    Message::Reply(Reply { number, is_done, text: from.text()? })
                }
                Kind::Data => return None,
            })
        })();
        message.ok_or_else(|| format!("a frame {kind:?} with a wrong payload"))
    }
}

/// The most bytes of a text in a message.
pub const MAX_TEXT: usize = MAX_CONTROL / 4;

fn put_text(to: &mut Vec<u8>, text: &str) {
    let mut most = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    to.extend_from_slice(&(most as u16).to_le_bytes());
    to.extend_from_slice(&text.as_bytes()[..most]);
}

/// The rest of a payload.
struct From<'a>(&'a [u8]);

impl From<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn version(&mut self) -> Option<Version> {
        let bytes = self.take(2)?;
        Some(Version { major: bytes[0], minor: bytes[1] })
    }

    fn outcome(&mut self) -> Option<Outcome> {
        let code = *self.take(1)?.first()?;
        let all = [Outcome::Stored, Outcome::WasThere, Outcome::Differs, Outcome::Refused];
        all.into_iter().find(|outcome| *outcome as u8 == code)
    }

    fn ask(&mut self) -> Option<Ask> {
        let code = *self.take(1)?.first()?;
        Ask::ALL.into_iter().find(|ask| *ask as u8 == code)
    }

    fn text(&mut self) -> Option<String> {
        let len = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        String::from_utf8(self.take(usize::from(len))?.to_vec()).ok()
    }
}
