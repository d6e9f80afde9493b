//! Tests of the events that a program emits. `docs/testing.md` in the repository is the guide.
//!
//! [`capture`] runs a closure and returns the events that its thread emits, and the threads that it
//! starts. It needs no file and no variable of the environment, and tests may run in parallel.
//!
//! ```
//! use telemetry::testing::capture;
//!
//! #[telemetry::telemetry_event("tests/registries/evictions.toml", decode)]
//! pub mod events {}
//!
//! # fn main() {
//! let captured = capture(|| {
//!     events::evicted!(1_u64, 128_usize, events::Why::Full);
//!     events::miss!(1_u64);
//! });
//! captured.expect::<events::Evicted>().with(|evicted| evicted.size > 64).then::<events::Miss>();
//! captured.expect_none::<events::Hit>();
//! # }
//! ```
//!
//! The feature is for `[dev-dependencies]`:
//!
//! ```toml
//! [dev-dependencies]
//! telemetry-events = { version = "0.1", features = ["testing"] }
//! ```

mod account;
mod capture;
mod captured;
mod failure;
mod positions;
mod recording;
mod sink;
mod threads;

pub use capture::capture;
pub use captured::{Captured, Expected};
pub use threads::{Inherit, inherit};
