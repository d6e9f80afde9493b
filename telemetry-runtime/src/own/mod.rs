//! What the runtime itself reports: its registry, labels, marks, call stacks, changed switches,
//! samples of counters and threads, the cost of an emission; and requests to the program. Uses
//! `count` and the rooms before it. It emits as a program does: with the macro. It never emits
//! while it has a lock that an emission may need.

pub(crate) mod labels;
pub(crate) mod marks;
pub(crate) mod overhead;
pub(crate) mod registry;
pub(crate) mod requests;
pub(crate) mod sample;
pub(crate) mod sampling;
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    path = "no_stacks.rs"
)]
pub(crate) mod stacks;
pub(crate) mod switches;
