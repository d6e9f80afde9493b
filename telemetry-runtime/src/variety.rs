//! Which events are compiled in.

use crate::sync::{AtomicU8, Ordering};

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

macro_rules! mark {
    ($variety:literal) => {
        concat!("telemetry-runtime ", env!("CARGO_PKG_VERSION"), " variety=", $variety, "\n")
    };
}

/// What `telemetry doctor` finds in a program's file.
pub(crate) const MARK: &str = match VARIETY {
    Variety::Cool => mark!("cool"),
    Variety::Hot => mark!("hot"),
    Variety::Rash => mark!("rash"),
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

/// The test in front of every event: compiled out, or a bit of one byte.
///
/// The compiler is told to expect that it is false: where the event is off the code around it then goes on without
/// a jump, and keeps no registers free for a call. It hears of that only while there is nothing here that may panic.
#[inline(always)]
pub fn is_on<const ALWAYS: bool>(byte: &'static AtomicU8, bit: u8) -> bool {
    if VARIETY.has(ALWAYS) && byte.load(Ordering::Relaxed) & 1 << (bit % 8) != 0 {
        core::hint::cold_path();
        true
    } else {
        false
    }
}

/// True if an event with this `always` is compiled in.
pub const fn is_compiled<const ALWAYS: bool>() -> bool {
    VARIETY.has(ALWAYS)
}

/// True if a module's full path is the given one in its crate. For a check at compile time.
pub const fn is_at(module_path: &str, path: &str) -> bool {
    let (full, path) = (module_path.as_bytes(), path.as_bytes());
    let Some(start) = full.len().checked_sub(path.len()) else { return false };
    // `crate_name::path`, with nothing between.
    let (mut at, mut separators) = (0, 0);
    while at < start {
        if full[at] == b':' {
            separators += 1;
        }
        at += 1;
    }
    while at < full.len() {
        if full[at] != path[at - start] {
            return false;
        }
        at += 1;
    }
    separators == 2 && start > 0 && full[start - 1] == b':'
}

#[cfg(test)]
mod tests {
    #[test]
    fn modules_are_found_at_their_path_only() {
        let check = |full, path, expected| assert_eq!(super::is_at(full, path), expected, "{full} at {path}");
        check("gc::events", "events", true);
        check("gc::heap::events", "heap::events", true);
        check("gc::heap::events", "events", false);
        check("gc::my_events", "events", false);
        check("events", "events", false);
        check("gc", "events", false);
    }
}
