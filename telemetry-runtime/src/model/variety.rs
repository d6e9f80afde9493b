//! Which events are compiled in.

use crate::sys::atomic::{AtomicU8, Ordering};

/// The events that a program's build has compiled in. The environment variable `TELEMETRY_VARIETY`
/// chooses them at build time. Put it into the `[env]` table of the program's `.cargo/config.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variety {
    /// All events. The default.
    Cool,
    /// The events whose `always` is true.
    Hot,
    /// No events.
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

/// The mark by which `telemetry doctor` finds the variety in a program's file.
pub(crate) const MARK: &str = match VARIETY {
    Variety::Cool => mark!("cool"),
    Variety::Hot => mark!("hot"),
    Variety::Rash => mark!("rash"),
};

impl Variety {
    /// Returns the name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Variety::Cool => "cool",
            Variety::Hot => "hot",
            Variety::Rash => "rash",
        }
    }

    /// Returns true if an event with this `always` is compiled in.
    // Incremental builds inline nothing from other crates that does not ask for it.
    #[inline(always)]
    pub const fn has(self, always: bool) -> bool {
        matches!((self, always), (Variety::Cool, _) | (Variety::Hot, true))
    }
}

/// Returns true if an event is on. This is the test before every event: compiled out, or a bit of
/// one byte.
///
/// The compiler is told to expect false. Where the event is off, the code around it then continues
/// without a jump, and keeps no registers free for a call. For that, nothing in this function may
/// panic, so the caller finds the byte of the mask.
// `always` is no const parameter: the compiler takes long to check a constant in a type.
#[inline(always)]
pub fn is_on(always: bool, byte: &'static AtomicU8, bit: usize) -> bool {
    if VARIETY.has(always) && byte.load(Ordering::Relaxed) & 1 << (bit % 8) != 0 {
        telemetry_format::put::cold_path();
        true
    } else {
        false
    }
}

/// Returns the switches of this many events, all on. Bits without an event are off.
pub const fn switches<const BYTES: usize>(events: usize) -> [AtomicU8; BYTES] {
    let mut mask = [const { AtomicU8::new(!0) }; BYTES];
    if !events.is_multiple_of(8) {
        mask[events / 8] = AtomicU8::new(!(!0 << (events % 8)));
    }
    mask
}

/// Returns true if an event with this `always` is compiled in.
#[inline(always)]
pub const fn is_compiled(always: bool) -> bool {
    VARIETY.has(always)
}

/// Returns true if two texts are equal. For a check at compile time.
pub const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variety_has_all_events_or_those_that_are_always_there_or_none() {
        for (variety, name, always, others) in [
            (Variety::Cool, "cool", true, true),
            (Variety::Hot, "hot", true, false),
            (Variety::Rash, "rash", false, false),
        ] {
            assert_eq!((variety.name(), variety.has(true), variety.has(false)), (name, always, others));
        }
        assert_eq!([is_compiled(true), is_compiled(false)], [VARIETY.has(true), VARIETY.has(false)]);
    }

    #[test]
    fn an_event_is_on_if_its_bit_is_set() {
        static BYTE: AtomicU8 = AtomicU8::new(0b1000_0101);
        let on: Vec<usize> = (8..16).filter(|bit| is_on(true, &BYTE, *bit)).collect();
        let expected: &[usize] = if VARIETY.has(true) { &[8, 10, 15] } else { &[] };
        assert_eq!(on, expected);
    }

    #[test]
    fn there_is_a_switch_for_each_event() {
        let bits =
            |mask: &[AtomicU8]| mask.iter().map(|byte| byte.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert_eq!(bits(&switches::<1>(1)), [0b1]);
        assert_eq!(bits(&switches::<1>(7)), [0b111_1111]);
        assert_eq!(bits(&switches::<1>(8)), [0xff]);
        assert_eq!(bits(&switches::<2>(11)), [0xff, 0b111]);
        assert_eq!(bits(&switches::<2>(16)), [0xff, 0xff]);
    }

    #[test]
    fn texts_are_compared_as_a_whole() {
        for (one, other, expected) in [
            ("", "", true),
            ("abc", "abc", true),
            ("abc", "abd", false),
            ("abc", "xbc", false),
            ("abc", "ab", false),
            ("ab", "abc", false),
            ("", "a", false),
        ] {
            assert_eq!(is_same(one, other), expected, "{one} {other}");
        }
    }
}
