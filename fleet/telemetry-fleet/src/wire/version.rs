//! Versions of the protocol.

use std::fmt;
use std::str::FromStr;

/// A version of the protocol. Peers agree on the highest that both speak.
///
/// A program speaks its own minor version and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Differs between programs that do not understand each other.
    pub major: u8,
    /// Grows with each addition.
    pub minor: u8,
}

impl Version {
    /// The newest version that this program speaks.
    pub const NEWEST: Version = Version { major: 1, minor: 2 };
    /// The oldest version that this program speaks.
    pub const OLDEST: Version = Version { major: 1, minor: 1 };

    /// Says whether the names of a peer's segments have the checksum of all intervals.
    pub fn has_all_intervals(self) -> bool {
        self >= Version { major: 1, minor: 2 }
    }

    /// Says whether a peer understands requests.
    pub fn has_requests(self) -> bool {
        self >= Version { major: 1, minor: 2 }
    }

    /// Returns the highest version in both ranges.
    pub fn agree(one: (Version, Version), other: (Version, Version)) -> Option<Version> {
        let (oldest, newest) = (one.0.max(other.0), one.1.min(other.1));
        (oldest <= newest).then_some(newest)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let parse = || {
            let (major, minor) = text.split_once('.')?;
            Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        let spoken = Version::OLDEST..=Version::NEWEST;
        parse()
            .filter(|version| spoken.contains(version))
            .ok_or_else(|| format!("expected a version from {} to {}", Version::OLDEST, Version::NEWEST))
    }
}
