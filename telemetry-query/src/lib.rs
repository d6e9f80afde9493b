//! SQL over telemetry streams: their tables for DataFusion.
//!
//! A [`Recording`] is read as often as a query names its tables, and only then. Each read decodes
//! the blocks of one event type, and of them those whose times and threads the query wants. `docs/`
//! of the repository has the tables (`columns.md`), the program (`query.md`) and the design
//! (`design/query.md`).

mod arrays;
mod catalog;
mod engine;
mod error;
mod files;
mod filter;
mod out;
mod queue;
mod recording;
mod scan;
mod schema;
mod sides;
mod table;

pub use catalog::Catalog;
pub use engine::{Engine, Rows};
pub use error::message;
pub use files::FileTables;
pub use recording::{Read, Recording, Source};
pub use schema::is_address;
pub use table::EventTable;
