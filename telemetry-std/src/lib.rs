//! An allocator, locks, threads and tasks that telemetry watches.
//!
//! ```
//! use telemetry_std::{Allocator, Mutex};
//!
//! #[global_allocator]
//! static ALLOCATOR: Allocator = Allocator::system();
//!
//! static CACHE: Mutex<Vec<String>> = Mutex::new("cache", Vec::new());
//!
//! fn main() -> std::io::Result<()> {
//!     let worker = telemetry_std::thread::spawn("worker", || {
//!         CACHE.lock().expect("no panic").push("an entry".into());
//!     })?;
//!     worker.join().expect("no panic");
//!     Ok(())
//! }
//! ```
//!
//! The registry is `std`: `TELEMETRY_CONTROL=std:all` switches on everything, `std:Memory` only the
//! counters of the allocator. `docs/std.md` in the repository is the guide.

mod allocator;
mod lock;
pub mod task;
pub mod thread;

pub use allocator::Allocator;
pub use lock::{Mutex, RwLock};

/// The events and counters of the registry `std`.
#[telemetry::telemetry_event("std.toml")]
pub mod events {}
