//! Notices: what a runtime reports on standard error, with codes for programs that read it.

use core::fmt;

/// The start of every line that a runtime writes to standard error.
pub const NOTICE_PREFIX: &str = "telemetry: ";

/// A condition that a runtime reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A sink cannot be written to.
    SinkFailed,
    /// An address does not name a sink.
    SinkAddress,
    /// Another user has put a file in the stream's place.
    SinkUntrusted,
    /// A program with raised privileges has not named its stream.
    SinkPrivileged,
    /// The stream's file is in use, and the stream goes to another one.
    FileInUse,
    /// The stream of the last run is overwritten, because its other name is taken.
    StreamReplaced,
    /// A sink was closed before its reader took all events.
    EventsUnsent,
    /// The process has lost events.
    EventsLost,
    /// An old segment cannot be removed.
    SegmentKept,
    /// A word of control matches no kind or event.
    UnknownName,
    /// There are more words of control than the runtime remembers.
    TooManyWords,
    /// A variable of the environment has an invalid value.
    InvalidSetting,
    /// The ring file cannot be used.
    RingFailed,
    /// The ring file is in use, and the process uses another one.
    RingInUse,
    /// The ring file cannot grow.
    RingFull,
    /// The link that leads tools to the ring file cannot be made.
    RingUnlisted,
    /// The process has no control socket.
    SocketFailed,
    /// The drain's thread cannot be started.
    ThreadFailed,
    /// Threads are not sampled.
    SamplingFailed,
}

impl Notice {
    /// All notices.
    pub const ALL: [Notice; 19] = [
        Notice::SinkFailed,
        Notice::SinkAddress,
        Notice::SinkUntrusted,
        Notice::SinkPrivileged,
        Notice::FileInUse,
        Notice::StreamReplaced,
        Notice::EventsUnsent,
        Notice::EventsLost,
        Notice::SegmentKept,
        Notice::UnknownName,
        Notice::TooManyWords,
        Notice::InvalidSetting,
        Notice::RingFailed,
        Notice::RingInUse,
        Notice::RingFull,
        Notice::RingUnlisted,
        Notice::SocketFailed,
        Notice::ThreadFailed,
        Notice::SamplingFailed,
    ];

    /// Returns the word in brackets at the start of the line.
    pub const fn code(self) -> &'static str {
        match self {
            Notice::SinkFailed => "sink-failed",
            Notice::SinkAddress => "sink-address",
            Notice::SinkUntrusted => "sink-untrusted",
            Notice::SinkPrivileged => "sink-privileged",
            Notice::FileInUse => "file-in-use",
            Notice::StreamReplaced => "stream-replaced",
            Notice::EventsUnsent => "events-unsent",
            Notice::EventsLost => "events-lost",
            Notice::SegmentKept => "segment-kept",
            Notice::UnknownName => "unknown-name",
            Notice::TooManyWords => "too-many-words",
            Notice::InvalidSetting => "invalid-setting",
            Notice::RingFailed => "ring-failed",
            Notice::RingInUse => "ring-in-use",
            Notice::RingFull => "ring-full",
            Notice::RingUnlisted => "ring-unlisted",
            Notice::SocketFailed => "socket-failed",
            Notice::ThreadFailed => "thread-failed",
            Notice::SamplingFailed => "sampling-failed",
        }
    }
}

/// The tag of a notice, for programs: `[sink-failed 28]` in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeTag {
    /// The condition.
    pub notice: Notice,
    /// The number of the system's error, if the system gave one.
    pub errno: Option<i32>,
}

impl NoticeTag {
    /// Parses the tag at the start of a text, and returns it with the rest. Returns `None` if there
    /// is no tag, or one that this version does not know.
    pub fn parse(text: &str) -> Option<(NoticeTag, &str)> {
        let (tag, rest) = text.strip_prefix('[')?.split_once(']')?;
        let (code, errno) = match tag.split_once(' ') {
            Some((code, errno)) => (code, Some(errno.parse().ok()?)),
            None => (tag, None),
        };
        let notice = Notice::ALL.into_iter().find(|notice| notice.code() == code)?;
        Some((NoticeTag { notice, errno }, rest.trim_start()))
    }
}

impl From<Notice> for NoticeTag {
    fn from(notice: Notice) -> NoticeTag {
        NoticeTag { notice, errno: None }
    }
}

impl fmt::Display for NoticeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errno {
            Some(errno) => write!(f, "[{} {errno}]", self.notice.code()),
            None => write!(f, "[{}]", self.notice.code()),
        }
    }
}
