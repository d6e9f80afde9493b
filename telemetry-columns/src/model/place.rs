//! The places of an event's parameters in the columns of its table.

/// The table of an event of a registry, and the columns of its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Index of the table.
    pub(crate) table: usize,
    /// By parameter.
    pub(crate) params: Vec<ParamPlace>,
}

/// The columns of a parameter, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParamPlace {
    /// The column of its values.
    pub(crate) value: usize,
    /// The column of the names of its numbers.
    pub(crate) names: Option<usize>,
    /// The column of its bytes where they are not UTF-8.
    pub(crate) bytes: Option<usize>,
}
