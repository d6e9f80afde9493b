//! The result of `check` for a file.

use std::path::Path;

use telemetry_schema::version::Judgement;
use telemetry_schema::{LoadError, RegistryFile};

use crate::registry::released::{Released, incomparable};
use crate::term::ended::Failure;

/// The result of `check` for a file.
pub(super) enum Found {
    /// It is not a registry.
    Mistakes(LoadError),
    /// It could not be read.
    Unreadable(LoadError),
    /// It was never released.
    Unreleased(RegistryFile),
    /// The other side of the comparison is not available.
    Incomparable(RegistryFile, Failure),
    Compared(Box<Compared>),
}

/// A registry, and its changes since the release.
pub(super) struct Compared {
    pub(super) current: RegistryFile,
    pub(super) released: Released,
    pub(super) judgement: Judgement,
}

impl Found {
    /// Returns the result in one word, for the JSON form.
    pub(super) fn verdict(&self) -> &'static str {
        match self {
            Found::Mistakes(_) => "mistakes",
            Found::Unreadable(_) => "unreadable",
            Found::Unreleased(_) => "good",
            Found::Incomparable(..) => "incomparable",
            Found::Compared(compared) if incomparable(&compared.judgement).is_some() => "incomparable",
            Found::Compared(compared) if compared.judgement.is_met() => "good",
            Found::Compared(_) => "bump missing",
        }
    }
}

impl Compared {
    /// Returns the unmet demands as text, or only the reason if no comparison is possible.
    pub(super) fn problems(&self, path: &Path) -> String {
        let shown = path.display().to_string();
        let report = self.released.report(&self.judgement, &shown, &self.current);
        match incomparable(&self.judgement) {
            Some(judged) => format!("error: {}", report.change(judged)),
            None => report.render(),
        }
    }
}
