//! made
