//! A shipper that runs all the time: takes streams of programs and closed files, and sends
//! segments.
//!
//! May use everything but the collector. Threads of their own read programs and directories,
//! because these block; one task sends.

mod allow;
mod figures;
mod live;
mod lost;
mod queue;
mod requests;
mod send;
mod service;
mod settings;
mod watch;

pub use allow::Allow;
pub use service::{Listen, Service};
pub use settings::Settings;
