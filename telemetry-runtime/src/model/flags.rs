//! Flags as text.

use core::fmt::{Formatter, Result};

/// Writes the names of the flags that are set, as `Mode(Read | Write)`. Bits without a name follow
/// as one number.
pub fn debug(f: &mut Formatter<'_>, name: &str, bits: u64, flags: &[(&str, u64)]) -> Result {
    write!(f, "{name}(")?;
    let mut rest = bits;
    let mut separator = "";
    for &(flag, number) in flags.iter().filter(|&&(_, number)| number != 0 && bits & number == number) {
        write!(f, "{separator}{flag}")?;
        separator = " | ";
        rest &= !number;
    }
    if rest != 0 || separator.is_empty() {
        write!(f, "{separator}{rest:#x}")?;
    }
    f.write_str(")")
}

#[cfg(test)]
mod tests {
    struct Mode(u64);

    impl core::fmt::Debug for Mode {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            super::debug(f, "Mode", self.0, &[("None", 0), ("Read", 1), ("Write", 2), ("Both", 3)])
        }
    }

    #[test]
    fn flags_are_shown_by_name() {
        let table = [
            (0, "Mode(0x0)"),
            (1, "Mode(Read)"),
            (2, "Mode(Write)"),
            (3, "Mode(Read | Write | Both)"),
            (5, "Mode(Read | 0x4)"),
            (1 << 63, "Mode(0x8000000000000000)"),
        ];
        for (bits, expected) in table {
            assert_eq!(format!("{:?}", Mode(bits)), expected);
        }
    }
}
