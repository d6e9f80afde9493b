//! The available allocators.

use std::str::FromStr;

/// An allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// The system's `malloc`.
    System,
    #[cfg(feature = "mimalloc")]
    Mimalloc,
}

impl Allocator {
    pub(crate) const ALL: &[Allocator] = &[
        Allocator::System,
        #[cfg(feature = "mimalloc")]
        Allocator::Mimalloc,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Allocator::System => "system",
            #[cfg(feature = "mimalloc")]
            Allocator::Mimalloc => "mimalloc",
        }
    }
}

impl FromStr for Allocator {
    type Err = String;

    fn from_str(text: &str) -> Result<Allocator, String> {
        Allocator::ALL.iter().copied().find(|allocator| allocator.name() == text).ok_or_else(|| {
            let names: Vec<_> = Allocator::ALL.iter().map(|allocator| allocator.name()).collect();
            format!("expected {}", names.join(" or "))
        })
    }
}
