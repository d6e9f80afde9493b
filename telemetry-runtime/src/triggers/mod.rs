//! Triggers: conditions on events, or periods, and what is done when they are met. A pass shows
//! them each block, so emitters do nothing for them. It may use `own`, `store` and the rooms before
//! them. It never does an action and never writes to a sink: it says which actions are due.

pub(crate) mod condition;
pub(crate) mod list;
pub(crate) mod parse;
