//! Labels: numbers that stand for strings.

/// The number of an interned string, from 1 in a session. In a block an unsigned number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u64);

impl Label {
    /// Stands for no string.
    pub const NONE: Label = Label(0);
}
