//! Makes tables of the telemetry segments in an object store.

pub mod append;
pub mod catalog;
mod checkpoint;
pub mod chosen;
pub mod commit;
mod compact;
pub mod complete;
pub mod convert;
pub mod delete;
pub mod delta;
mod groups;
mod hidden;
pub mod hosts;
pub mod lake;
pub mod layout;
pub mod lease;
pub mod log;
pub mod marks;
pub mod missing;
mod planning;
pub mod rows;
pub mod selector;
mod session;
pub mod sides;
pub mod state;
