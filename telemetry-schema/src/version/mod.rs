//! Versions: what differs between a relation and its release, and which number must rise for it.
//!
//! [`compare`] finds the [`Change`]s between a [`Lock`] and a registry. Each is of a [`Rule`], and
//! [`Rule::row`] is its row in the one table of rules, of which `docs/versions.md` is made too.
//! [`judge`] holds them against the version and the `[[allow]]`s, and [`Report`] says what is wrong
//! as the other diagnostics do, in the terms of the file.

mod allow;
mod change;
mod compare;
mod fix;
mod judgement;
mod lock;
mod places;
mod report;
mod rule;

pub use allow::{Allow, Target};
pub use change::{Change, Thing};
pub use compare::compare;
pub use fix::{fixed, without_allows};
pub use judgement::{Judged, Judgement, judge};
pub use lock::{
    Docs, Lock, LockEvent, LockKind, LockMessage, LockParam, LockSpan, LockType, LockValue, State,
};
pub use report::{Report, Side};
pub use rule::{Demand, Effect, Row, Rule};
