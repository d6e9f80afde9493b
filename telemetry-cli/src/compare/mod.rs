//! Two runs beside one another: their figures, and which differences are more than noise.
//!
//! It may use `text`, `term`, `input`, `symbols`, `stats` and `spans`. It never chooses an exit
//! code.

pub(crate) mod difference;
pub(crate) mod forms;
pub(crate) mod limits;
pub(crate) mod measure;
pub(crate) mod page;
mod text;
