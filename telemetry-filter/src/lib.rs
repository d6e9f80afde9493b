//! Conditions on the values of events, and limits for the figures of two runs.
//!
//! A condition compares fields and parameters: `size > 4096 and why == Full and thread == "gc"`. It
//! is checked against the registry of a stream, and a reader's filter then tests each event.
//!
//! ```
//! use telemetry_filter::Condition;
//!
//! let registry = telemetry_schema::parse(
//!     r#"
//!     [registry]
//!     name = "cache"
//!     version = "1.0.0"
//!     doc = "A cache"
//!     [kinds]
//!     Lookup = { bit = 0, doc = "per lookup" }
//!     [[event]]
//!     name = "Hit"
//!     code = 1
//!     kind = "Lookup"
//!     doc = "An entry was found"
//!     params = [{ name = "size", sort = "word", unit = "bytes", doc = "its size" }]
//!     "#,
//! )
//! .unwrap();
//! let condition = Condition::parse("siez > 64k").unwrap();
//! let error = condition.fits([&registry].into_iter()).unwrap_err();
//! assert!(error.to_string().contains("did you mean `size`?"));
//! ```

mod condition;
mod fit;
mod syntax;
mod test;

pub use condition::{Condition, Marker, Marks, SpanCondition, SpanParts};
pub use syntax::error::Error;
pub use syntax::limit::{Figure, Limit};
