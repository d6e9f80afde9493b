//! Notices on standard error.

use core::error::Error;
use core::fmt;
use std::io::{self, ErrorKind, Write};

use telemetry_format::{NOTICE_PREFIX, Notice, NoticeTag};

/// Reports a condition on standard error. Does not use `eprintln!`, which panics if that is closed.
pub(crate) fn report(tag: impl Into<NoticeTag>, text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{NOTICE_PREFIX}{} {text}", tag.into());
}

/// Returns a tag with the notice of an error and its number.
pub(crate) fn with_errno(notice: Notice, error: &io::Error) -> NoticeTag {
    NoticeTag { notice, errno: error.raw_os_error() }
}

/// Returns the tag of a sink's error: the one it was made with, or the tag for a failed sink.
pub(crate) fn tag_of(error: &io::Error) -> NoticeTag {
    let tagged = error.get_ref().and_then(|error| error.downcast_ref::<Tagged>());
    tagged.map_or_else(|| with_errno(Notice::SinkFailed, error), |tagged| tagged.tag)
}

/// Creates an error with its own text and a notice.
pub(crate) fn tagged(kind: ErrorKind, tag: impl Into<NoticeTag>, text: impl Into<String>) -> io::Error {
    io::Error::new(kind, Tagged { tag: tag.into(), text: text.into() })
}

#[derive(Debug)]
struct Tagged {
    tag: NoticeTag,
    text: String,
}

impl fmt::Display for Tagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Tagged {}
