//! The input of commands: streams, logs of other systems, text, and growing files. It also holds
//! the options that choose inputs and events, and the verdict on the input.
//!
//! It may use `text` and `term`. It never interprets values of events: commands do.

pub(crate) mod cnv_input;
pub(crate) mod events;
mod fit;
pub(crate) mod follow;
pub(crate) mod inputs;
pub(crate) mod lake;
pub(crate) mod lines;
pub(crate) mod live;
pub(crate) mod marks;
pub(crate) mod opening;
mod perf;
pub(crate) mod pipe;
pub(crate) mod remedy;
pub(crate) mod selection;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod tables;
pub(crate) mod threads;
pub(crate) mod turns;
pub(crate) mod verdict;
