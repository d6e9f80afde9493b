//! Numbers in sentences and tables.

use core::fmt::{self, Display, Formatter};

/// Displays a number with its digits in groups of three, as in `1,234,567`. A width pads it.
#[derive(Debug, Clone, Copy)]
pub struct Grouped {
    is_negative: bool,
    magnitude: u64,
}

/// Displays a number with its noun, as in `1 event` and `2,000 events`.
#[derive(Debug, Clone, Copy)]
pub struct Count<'n>(pub u64, pub &'n str);

impl From<u64> for Grouped {
    fn from(magnitude: u64) -> Grouped {
        Grouped { is_negative: false, magnitude }
    }
}

impl From<i64> for Grouped {
    fn from(number: i64) -> Grouped {
        Grouped { is_negative: number < 0, magnitude: number.unsigned_abs() }
    }
}

impl Display for Grouped {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // 20 digits, six commas and a sign.
        let mut text = [b'0'; 27];
        let (mut start, mut rest) = (text.len(), self.magnitude);
        let mut put = |byte| {
            start = start.saturating_sub(1);
            text[start] = byte;
        };
        for digit in 0.. {
            if digit > 0 && digit % 3 == 0 {
                put(b',');
            }
            put(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if self.is_negative {
            put(b'-');
        }
        f.pad(core::str::from_utf8(&text[start..]).unwrap_or_default())
    }
}

impl Display for Count<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Count(number, noun) = *self;
        write!(f, "{} {noun}{}", Grouped::from(number), if number == 1 { "" } else { "s" })
    }
}
