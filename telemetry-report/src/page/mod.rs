//! The page: one HTML file with script, style and document.
//!
//! It may use every other room. It never decodes an event. The folder `web/` has the sources of the
//! script and the style in `assets/`.

mod html;
pub(crate) mod writer;
