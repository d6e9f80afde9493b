//! Labels: numbers that represent strings.

/// The number of an interned string, from 1 in a session. In a block it is an unsigned number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u64);

impl Label {
    /// The label of no string.
    pub const NONE: Label = Label(0);
}
