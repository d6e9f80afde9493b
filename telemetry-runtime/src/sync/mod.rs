//! What threads share without long waits: short locks, lists, queues, gates and state words. Uses
//! only `sys`: its atomics, its thread number and its clock. `models/` runs this room under loom.
//! It never allocates, never calls the program, and knows neither blocks nor events.

pub(crate) mod bell;
pub(crate) mod gate;
pub(crate) mod list;
pub(crate) mod open;
pub(crate) mod pages;
pub(crate) mod publish;
pub(crate) mod slot;
pub(crate) mod sorter;
pub(crate) mod spin;
pub(crate) mod status;
pub(crate) mod turn;
