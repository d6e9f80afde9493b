//! Rules of registries: what breaks them, as text and JSON.
//!
//! It may use `text`, `term`, `input` and `spans`. It never opens an input, and knows no rule: the
//! checker of decode does.

pub(crate) mod checked;
pub(crate) mod shown;
