//! The base of the tests: processes of their own, and streams that are read back.

pub(crate) mod ledger;
pub(crate) mod package;
pub(crate) mod postmortem;
pub(crate) mod process;
pub(crate) mod stream;
pub(crate) mod system;
