//! The parts of generated code: registries as data, parameters and their bytes, messages of any
//! registry. Uses `sys` for its atomics. It never asks the running process: it knows neither clock
//! nor pool, nor which registries are in use.

pub(crate) mod arguments;
pub(crate) mod channel;
pub(crate) mod counter_def;
pub(crate) mod fields;
pub(crate) mod flags;
pub(crate) mod given;
pub(crate) mod limit_def;
pub(crate) mod mapped;
pub(crate) mod message_values;
pub(crate) mod posted;
pub(crate) mod raw;
pub(crate) mod registry_def;
pub(crate) mod usual;
pub(crate) mod values;
pub(crate) mod variety;
