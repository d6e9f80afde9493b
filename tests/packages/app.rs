//! A program with its own events and those of a library.

mod outer {
    #[telemetry::telemetry_event("registries/app.toml", at = "outer::events")]
    pub mod events {
        /// Other items of the module stay in it.
        pub const LIBRARY: &str = "cache";
    }
}

use cache::events::{self as library, Why};

fn main() {
    outer::events::started!(outer::events::LIBRARY);
    cache::inner::look_up(10);
    library::miss!(20, Why::Evicted);
    cache::events::hit!(21);
}
