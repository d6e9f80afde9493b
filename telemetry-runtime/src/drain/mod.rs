//! The way out: passes give sealed blocks and parts of open ones to all sinks, with the facts that
//! readers need. Uses the rooms up to `sinks`. `passes` has the lock, `outputs` all sinks, `output`
//! one, and `delivery` calls it. A pass never waits for a sink without a limit, and never drops one
//! under the lock.

pub(crate) mod actions;
pub(crate) mod config;
pub(crate) mod delivery;
mod guarded;
pub(crate) mod output;
pub(crate) mod outputs;
pub(crate) mod passes;
pub(crate) mod selection;
pub(crate) mod sent_facts;
