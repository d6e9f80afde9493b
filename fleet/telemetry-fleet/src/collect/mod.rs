//! The collector: receives segments of hosts over TLS, and stores them.
//!
//! May use everything but what ships. Memory is bounded: `connection` reads no further than the
//! store has taken, and `places` bounds the number of connections.

#[cfg(unix)]
mod admin;
mod collector;
mod connection;
mod figures;
mod greet;
mod incoming;
mod places;
mod requests;
mod server;
mod task;

#[cfg(unix)]
pub use admin::Admin;
pub use collector::{Collector, Limits};
pub use figures::Figures;
