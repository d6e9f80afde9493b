//! The scan of a whole log: the places of events, and damage.

mod block;
mod extents;
mod scan;
mod search;
mod session;
mod unusual;
mod walk;

pub(super) use walk::{Kind, Walk};
