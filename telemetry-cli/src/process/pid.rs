//! The names of processes: the number, or `4711-2` for the second runtime in process 4711, which a
//! shared library has brought.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A process, or another copy of the runtime in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pid {
    /// The system's number.
    pub(crate) number: u32,
    /// From 1.
    pub(crate) copy: u32,
}

impl Display for Pid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.copy {
            1 => write!(f, "{}", self.number),
            copy => write!(f, "{}-{copy}", self.number),
        }
    }
}

impl FromStr for Pid {
    type Err = String;

    /// Accepts only the displayed form, without signs and leading zeros.
    fn from_str(text: &str) -> Result<Pid, String> {
        let (number, copy) = text.split_once('-').unwrap_or((text, "1"));
        let pid = number.parse().ok().zip(copy.parse().ok()).map(|(number, copy)| Pid { number, copy });
        pid.filter(|pid| pid.copy > 0 && pid.to_string() == text)
            .ok_or_else(|| "expected the number of a process, as `telemetry list` shows it".into())
    }
}

#[cfg(test)]
mod tests {
    use super::Pid;

    #[test]
    fn pids_are_read_as_they_are_displayed() {
        for text in ["1", "4711", "4711-2", "4294967295-16"] {
            assert_eq!(text.parse::<Pid>().map(|pid| pid.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "-", "-2", "4711-", "4711-1", "4711-0", "4711-02", "+1", "01", "4294967296", "self"]
        {
            assert!(text.parse::<Pid>().is_err(), "{text:?}");
        }
    }
}
