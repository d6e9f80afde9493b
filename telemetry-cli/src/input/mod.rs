//! What commands read: streams, logs of other systems, text, and files that still grow. It also holds the
//! options that choose inputs and events, and the verdict on what was read.
//!
//! It may use `text` and `term`. It never interprets values of events: that is for the commands.

pub(crate) mod cnv_input;
pub(crate) mod events;
mod fit;
pub(crate) mod follow;
pub(crate) mod inputs;
pub(crate) mod live;
pub(crate) mod opening;
pub(crate) mod pipe;
pub(crate) mod selection;
pub(crate) mod verdict;
