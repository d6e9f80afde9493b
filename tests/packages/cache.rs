//! A library that tells what it does, in modules of its own.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub)]

use telemetry::telemetry_event;

/// What it tells.
#[telemetry_event("events.toml")]
pub mod events {}

pub mod inner {
    //! Where it works.

    /// Looks up a key that was never there.
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
