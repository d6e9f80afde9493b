//! Which events of a lane were found, lost and excluded, as ranges of event numbers.
//!
//! This may use `report`. It must never look at the events themselves.

pub(crate) mod coverage;
pub(crate) mod few;
pub(crate) mod lane;
pub(crate) mod losses;
pub(crate) mod position;
