//! The pool's memory and its owners: blocks, records and accounts of lanes, registries in use,
//! facts. Uses `model`, `run` and the rooms before them. It never decides about sealed blocks, and
//! never writes to a sink. Nothing here allocates.

pub(crate) mod account;
pub(crate) mod block;
pub(crate) mod facts;
pub(crate) mod image;
pub(crate) mod lanes;
pub(crate) mod mapping;
pub(crate) mod pool;
pub(crate) mod record;
pub(crate) mod registry;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod walk;
