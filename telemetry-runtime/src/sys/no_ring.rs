//! Why a process has no ring file.

/// Why a file cannot be the ring file.
#[cfg_attr(any(not(unix), miri), expect(dead_code, reason = "there are no ring files"))]
pub(crate) enum NoRing {
    /// A running process uses it, or another copy of the runtime in this process.
    Busy,
    /// The file exists and is not a ring file.
    Foreign,
    /// The file of another user exists: the numbers of that user and of this one.
    Theirs(u32, u32),
    /// The path leads to a symbolic link.
    Link,
    /// Other users may open the new file.
    Open,
    /// The path leads to an old ring file, and the path where that would be moved leads to
    /// something else.
    Old,
    /// The system returned an error.
    System(std::io::Error),
}

impl NoRing {
    /// Returns the error number of the system.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            NoRing::System(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

impl From<std::io::Error> for NoRing {
    fn from(error: std::io::Error) -> Self {
        NoRing::System(error)
    }
}

impl core::fmt::Display for NoRing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            NoRing::Busy => f.write_str("a running process has it"),
            NoRing::Foreign => {
                f.write_str("found something else there, expected nothing or the ring of an earlier process")
            }
            NoRing::Theirs(theirs, ours) => {
                write!(f, "found a file of user {theirs}, expected nothing or an earlier ring of user {ours}")
            }
            NoRing::Link => f.write_str("found a symbolic link, expected nothing or an earlier ring"),
            NoRing::Open => {
                f.write_str("its file system lets others open it, expected one that keeps mode 0400")
            }
            NoRing::Old => f.write_str(
                "found one of an earlier process, and behind `.old`, where that would go, something else, \
                 expected nothing or an older ring",
            ),
            NoRing::System(error) => error.fmt(f),
        }
    }
}
