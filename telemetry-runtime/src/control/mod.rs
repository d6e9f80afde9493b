//! Turns words into bits of the registries' masks, which say which events are on. Uses `store` and
//! the rooms before it. It never emits: `own` reports a changed switch, without the lock.

pub(crate) mod meant;
pub(crate) mod switches;
mod timed;
pub(crate) mod words;
