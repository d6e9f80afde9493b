//! The list of parameter types: what one value of a parameter can be, its names and its encoding.
#![warn(clippy::wildcard_enum_match_arm)]

use std::ops::RangeInclusive;

use telemetry_format::Encoding;

macro_rules! sorts {
    ($($(#[$doc:meta])* $sort:ident $name:literal => $encoding:ident $($letter:literal)?;)*) => {
        /// The type of one value, and the only list of parameter types. For a new one, the compiler
        /// finds every generator and decoder that has to know it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Sort {
            $($(#[$doc])* $sort,)*
            /// The name of an enum or of flags: index into [`crate::Registry::types`].
            Named(usize),
        }

        impl Sort {
            /// Every type that needs no definition: all but [`Sort::Named`].
            pub const ALL: &[Sort] = &[$(Sort::$sort),*];

            /// Returns the long name, which the canonical form uses. `None` for [`Sort::Named`],
            /// which has the name of its type ([`crate::Registry::sort_name`]).
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Sort::$sort => Some($name),)*
                    Sort::Named(_) => None,
                }
            }

            /// Returns the encoding of a value. `None` for [`Sort::Named`], which has that of its
            /// type's repr ([`crate::Registry::encoding`]).
            pub const fn encoding(self) -> Option<Encoding> {
                match self {
                    $(Sort::$sort => Some(Encoding::$encoding),)*
                    Sort::Named(_) => None,
                }
            }

            /// Returns the MPS's letter for it, if there is one.
            pub const fn letter(self) -> Option<char> {
                match self {
                    $(Sort::$sort => sorts!(@letter $($letter)?),)*
                    Sort::Named(_) => None,
                }
            }
        }
    };
    (@letter $letter:literal) => { Some($letter) };
    (@letter) => { None };
}

sorts! {
    /// `P`, `pointer`: the address of something, shown as hexadecimal, labeled. Encoded as a delta.
    Pointer "pointer" => Delta 'P';
    /// `A`, `addr`: an address in managed memory. Encoded as a delta.
    Addr "addr" => Delta 'A';
    /// `W`, `word`: a size or count of 64 bits. Encoded as a delta.
    Word "word" => Delta 'W';
    /// `u8`: one byte.
    U8 "u8" => Byte;
    /// `u16`.
    U16 "u16" => Unsigned16;
    /// `U`, `u32`.
    U32 "u32" => Unsigned32 'U';
    /// `u64`.
    U64 "u64" => Unsigned64;
    /// `i8`: one byte.
    I8 "i8" => SignedByte;
    /// `i16`.
    I16 "i16" => Signed16;
    /// `i32`.
    I32 "i32" => Signed32;
    /// `i64`.
    I64 "i64" => Signed64;
    /// `f32`.
    F32 "f32" => F32;
    /// `D`, `f64`.
    F64 "f64" => F64 'D';
    /// `B`, `bool`: one byte.
    Bool "bool" => Bool 'B';
    /// `S`, `string`: UTF-8.
    String "string" => Run 'S';
    /// `bytes`.
    Bytes "bytes" => Run;
    /// `label`: a number that stands for an interned string.
    Label "label" => Unsigned64;
}

impl Sort {
    /// Returns the type with a long name or an MPS letter.
    pub fn from_text(text: &str) -> Option<Sort> {
        let letter = |sort: &Sort| sort.letter().is_some_and(|c| text.len() == 1 && text.starts_with(c));
        Sort::ALL.iter().copied().find(|sort| sort.name() == Some(text) || letter(sort))
    }

    /// Returns true for pointers, addresses and words: encoded as the distance from the last value
    /// in the parameter's delta slot ([`crate::Registry::slots`]).
    pub const fn is_delta(self) -> bool {
        matches!(self.encoding(), Some(Encoding::Delta))
    }

    /// Returns true for strings and byte strings, whose `max` is in bytes and which cannot be in
    /// arrays.
    pub const fn is_run(self) -> bool {
        matches!(self.encoding(), Some(Encoding::Run))
    }

    /// Returns true for numbers that count or measure, and so may have a unit.
    pub const fn is_number(self) -> bool {
        self.int_range().is_some() || matches!(self, Sort::Word | Sort::F32 | Sort::F64)
    }

    /// Returns the smallest and largest number of `u8` to `u64` and `i8` to `i64`, which can encode
    /// an enum. Those from 0 can encode flags.
    pub const fn int_range(self) -> Option<RangeInclusive<i128>> {
        match self {
            Sort::U8 => Some(0..=u8::MAX as i128),
            Sort::U16 => Some(0..=u16::MAX as i128),
            Sort::U32 => Some(0..=u32::MAX as i128),
            Sort::U64 => Some(0..=u64::MAX as i128),
            Sort::I8 => Some(i8::MIN as i128..=i8::MAX as i128),
            Sort::I16 => Some(i16::MIN as i128..=i16::MAX as i128),
            Sort::I32 => Some(i32::MIN as i128..=i32::MAX as i128),
            Sort::I64 => Some(i64::MIN as i128..=i64::MAX as i128),
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::F32 | Sort::F64 => None,
            Sort::Bool | Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters_find_their_sort_and_are_distinct() {
        let mut seen = std::collections::HashSet::new();
        for &sort in Sort::ALL {
            let name = sort.name().expect("every listed sort has a name");
            assert!(seen.insert(name.to_string()), "{name} stands twice");
            assert_eq!(Sort::from_text(name), Some(sort));
            if let Some(letter) = sort.letter() {
                assert!(seen.insert(letter.to_string()), "{letter} stands twice");
                assert_eq!(Sort::from_text(&letter.to_string()), Some(sort));
            }
        }
        let letters: String = Sort::ALL.iter().filter_map(|sort| sort.letter()).collect();
        assert_eq!(letters, "PAWUDBS");
        for other in ["", "p", "PA", "U32", "Named", "pointer "] {
            assert_eq!(Sort::from_text(other), None, "{other:?}");
        }
    }
}
