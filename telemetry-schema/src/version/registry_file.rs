//! A registry file: the registry, and the data that only the file has.

use crate::model::registry::Registry;
use crate::version::allow::Allow;

/// A parsed `events.toml`, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryFile {
    /// The registry, which travels in streams.
    pub registry: Registry,
    /// The `[[allow]]`s for the rules about versions, which do not.
    pub allows: Vec<Allow>,
    /// The text of the file, for the places of later diagnostics.
    pub text: String,
}

impl RegistryFile {
    /// Creates a file from a registry and its text, without `[[allow]]`s.
    #[must_use]
    pub fn new(registry: Registry, text: impl Into<String>) -> Self {
        RegistryFile { registry, allows: Vec::new(), text: text.into() }
    }
}
