//! The list of sorts: what one value of a parameter can be, and what each is called.

use std::ops::RangeInclusive;

macro_rules! sorts {
    ($($(#[$doc:meta])* $sort:ident $name:literal $($letter:literal)?;)*) => {
        /// The type of one value: the only list of sorts. Adding one leads the compiler through every
        /// generator and decoder.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Sort {
            $($(#[$doc])* $sort,)*
            /// The name of an enum or of flags: index into [`crate::Registry::types`].
            Named(usize),
        }

        impl Sort {
            /// Every sort that needs no definition: all but [`Sort::Named`].
            pub const ALL: &[Sort] = &[$(Sort::$sort),*];

            /// The long name, which the canonical form uses; none for [`Sort::Named`], whose name is
            /// its type's ([`crate::Registry::sort_name`]).
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Sort::$sort => Some($name),)*
                    Sort::Named(_) => None,
                }
            }

            /// The letter that the MPS gives it, where it does.
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
    /// `P`, `pointer`: the address of something, shown as hexadecimal, labelled. Packed as a delta.
    Pointer "pointer" 'P';
    /// `A`, `addr`: an address in the memory that is managed. Packed as a delta.
    Addr "addr" 'A';
    /// `W`, `word`: a size or count of 64 bits. Packed as a delta.
    Word "word" 'W';
    /// `u8`: one byte.
    U8 "u8";
    /// `u16`.
    U16 "u16";
    /// `U`, `u32`.
    U32 "u32" 'U';
    /// `u64`.
    U64 "u64";
    /// `i8`: one byte.
    I8 "i8";
    /// `i16`.
    I16 "i16";
    /// `i32`.
    I32 "i32";
    /// `i64`.
    I64 "i64";
    /// `f32`.
    F32 "f32";
    /// `D`, `f64`.
    F64 "f64" 'D';
    /// `B`, `bool`: one byte.
    Bool "bool" 'B';
    /// `S`, `string`: UTF-8.
    String "string" 'S';
    /// `bytes`.
    Bytes "bytes";
    /// `label`: a number that stands for an interned string.
    Label "label";
}

impl Sort {
    /// The sort of a long name or of an MPS letter.
    pub fn from_text(text: &str) -> Option<Sort> {
        let letter = |sort: &Sort| sort.letter().is_some_and(|c| text.len() == 1 && text.starts_with(c));
        Sort::ALL.iter().copied().find(|sort| sort.name() == Some(text) || letter(sort))
    }

    /// True for pointers, addresses and words: packed as the distance from the last value in the
    /// parameter's slot ([`crate::Registry::slots`]).
    pub const fn is_delta(self) -> bool {
        matches!(self, Sort::Pointer | Sort::Addr | Sort::Word)
    }

    /// True for strings and byte strings, whose `max` is in bytes and which cannot be in arrays.
    pub const fn is_run(self) -> bool {
        matches!(self, Sort::String | Sort::Bytes)
    }

    /// True for what counts or measures, and so may have a unit.
    pub const fn is_number(self) -> bool {
        self.int_range().is_some() || matches!(self, Sort::Word | Sort::F32 | Sort::F64)
    }

    /// Smallest and largest number of `u8` to `u64` and `i8` to `i64`, which can carry an enum; those
    /// from 0 can carry flags.
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
