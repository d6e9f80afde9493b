//! `Debug` for types whose fields mean nothing to their users.

/// Implements `Debug` with only the name of the type. Generics come first, in brackets.
macro_rules! opaque {
    ([$($generics:tt)*] $type:ty, $name:literal) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
    ($type:ty, $name:literal) => {
        opaque!([] $type, $name);
    };
}

pub(crate) use opaque;
