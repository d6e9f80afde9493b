//! Versions: the differences between a registry and its release, and the number that must rise.
//!
//! [`compare`] finds the [`Change`]s between a [`Lock`] and a registry, each with its [`Rule`].
//! [`judge`] compares them with the version and the `[[allow]]`s. [`Report`] describes the result.
//!
//! It may use `text` and `model`. It never does I/O. The rules are in one table, [`Rule::row`].

pub(crate) mod allow;
pub(crate) mod change;
mod compare;
mod fix;
pub(crate) mod judgement;
pub(crate) mod lock;
mod places;
pub(crate) mod registry_file;
mod report;
pub(crate) mod rule;

pub use allow::{Allow, Target};
pub use change::{Change, Thing};
pub use compare::compare;
pub use fix::{fixed, without_allows};
pub use judgement::{Judged, Judgement, judge};
pub use lock::{
    Docs, Lock, LockEvent, LockKind, LockMessage, LockParam, LockPreset, LockSpan, LockType, LockValue, State,
};
pub use report::{Report, Side};
pub use rule::{Demand, Effect, MEDIAN, Row, Rule};
