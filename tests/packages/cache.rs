//! A library that emits events in modules of its own.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub)]

use telemetry::telemetry_event;

/// The library's events.
#[telemetry_event("events.toml")]
pub mod events {}

mod private {
    /// The store's events. Other crates reach them only through the re-export.
    #[telemetry::telemetry_event("store.toml", at = "store")]
    pub mod store {}
}
pub use private::store;

pub mod inner {
    //! The code that emits.

    /// Looks up a key that is not there.
    pub fn look_up(key: u64) {
        use crate::events::Why;
        crate::events::miss!(key, Why::Never);
        deeper::found(key);
    }

    mod deeper {
        use crate::events;
        use crate::events::hit;

        pub(super) fn found(key: u64) {
            hit!(key);
            events::hit!(key + 1);
            super::super::events::hit! { key + 2 }
        }
    }
}
