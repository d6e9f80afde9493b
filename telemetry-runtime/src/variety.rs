//! Which events are compiled in.

use crate::sync::{AtomicU64, Ordering};

/// What a program's build has compiled in, chosen by the environment variable `TELEMETRY_VARIETY`
/// at build time (put it into the `[env]` table of the program's `.cargo/config.toml`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variety {
    /// All events. The default.
    Cool,
    /// Those events whose `always` is true.
    Hot,
    /// None.
    Rash,
}

/// The variety of this build.
pub const VARIETY: Variety = if cfg!(telemetry_variety = "rash") {
    Variety::Rash
} else if cfg!(telemetry_variety = "hot") {
    Variety::Hot
} else {
    Variety::Cool
};

impl Variety {
    /// In lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Variety::Cool => "cool",
            Variety::Hot => "hot",
            Variety::Rash => "rash",
        }
    }

    /// True if an event with this `always` is compiled in.
    pub const fn has(self, always: bool) -> bool {
        matches!((self, always), (Variety::Cool, _) | (Variety::Hot, true))
    }
}

/// The test in front of every event: compiled out, or one load and one bit.
#[inline(always)]
pub fn is_on<const ALWAYS: bool>(mask: &'static [AtomicU64], index: usize) -> bool {
    VARIETY.has(ALWAYS) && mask[index / 64].load(Ordering::Relaxed) & 1 << (index % 64) != 0
}
