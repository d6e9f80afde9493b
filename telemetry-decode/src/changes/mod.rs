//! Counters whose events carry changes instead of values: the performance counters of Mono.
//!
//! It may use `values`, `sessions`, `registry` and `decode`. It must never read a stream, so that
//! every reader can use it.

pub(crate) mod defined;
