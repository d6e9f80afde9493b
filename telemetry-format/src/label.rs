//! Labels: numbers that stand for strings.

/// The number of an interned string. In a block an unsigned number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u64);
