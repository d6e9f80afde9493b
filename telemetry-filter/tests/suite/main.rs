//! Conditions, checked against registries and tested on the events of streams.

mod fits;
mod matches;
mod random;
mod written;
