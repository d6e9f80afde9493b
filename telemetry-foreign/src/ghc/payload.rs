//! The fields of a payload.

use super::layout::{Field, Layout};

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    /// A number.
    Number(u64),
    /// Text, without the NUL that may end it, or bytes.
    Run {
        /// The bytes.
        bytes: &'a [u8],
        /// True if it should be UTF-8.
        text: bool,
    },
    /// Numbers of 32 bits, as in the log.
    Counted(&'a [u8]),
}

impl Layout {
    /// Passes on the fields of a payload, whose length is as declared. An error says what is wrong
    /// with the first field that cannot be read, with its index.
    #[inline]
    pub(super) fn each<'a>(
        &self,
        payload: &'a [u8],
        mut visit: impl FnMut(usize, Wire<'a>),
    ) -> Result<(), (usize, &'static str)> {
        let mut rest = payload;
        for (index, field) in self.fields.iter().enumerate() {
            let short = (index, "the payload ends before it");
            let wire = match *field {
                Field::Number { bytes: 0..=8 } if rest.is_empty() && index >= self.optional => {
                    Wire::Number(0)
                }
                Field::Ended if rest.is_empty() && index >= self.optional => {
                    Wire::Run { bytes: &[], text: true }
                }
                Field::Number { bytes } => {
                    let (number, after) = rest.split_at_checked(bytes.into()).ok_or(short)?;
                    rest = after;
                    Wire::Number(number.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
                }
                Field::Log2 => {
                    let (&log, after) = rest.split_first().ok_or(short)?;
                    rest = after;
                    match 1_u32.checked_shl(log.into()) {
                        Some(number) => Wire::Number(number.into()),
                        None => return Err((index, "the logarithm of it is more than 31")),
                    }
                }
                Field::Rest { but, text } => {
                    let len = rest.len().checked_sub(but.into()).ok_or(short)?;
                    let (bytes, after) = rest.split_at_checked(len).ok_or(short)?;
                    rest = after;
                    Wire::Run { bytes, text }
                }
                Field::Ended => {
                    let end = rest.iter().position(|byte| *byte == 0).ok_or((index, "no NUL ends it"))?;
                    let (bytes, after) = rest.split_at_checked(end).ok_or(short)?;
                    rest = after.get(1..).unwrap_or_default();
                    Wire::Run { bytes, text: true }
                }
                Field::Counted => {
                    let (&count, after) = rest.split_first().ok_or(short)?;
                    let (numbers, after) = after
                        .split_at_checked(usize::from(count) * 4)
                        .ok_or((index, "the payload ends before its last number"))?;
                    rest = after;
                    Wire::Counted(numbers)
                }
            };
            visit(index, wire);
        }
        Ok(())
    }
}
