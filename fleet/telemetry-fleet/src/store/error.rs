//! Why a store cannot be used.

use std::fmt;

/// Why a store cannot be used.
#[derive(Debug)]
pub struct StoreError(String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    pub(crate) fn new(text: String) -> StoreError {
        StoreError(text)
    }
}
