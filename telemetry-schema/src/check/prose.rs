//! Rules about text that is for people: docs and units.

use super::fields::Fields;
use super::{Check, Text, quote};
use crate::limits::MAX_UNIT_LEN;
use crate::snippet::is_unprintable;

impl Fields<'_> {
    /// The doc of a registry, kind, event or span, which each must have: it is all that a reader of
    /// a stream learns about them.
    pub(super) fn need_doc(&self, cx: &mut Check) -> String {
        match self.need_text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc),
            None => String::new(),
        }
    }

    /// The doc of a type, value or parameter, whose names often say enough: it may be left out, but
    /// not be empty.
    pub(super) fn doc(&self, cx: &mut Check) -> String {
        match self.text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc),
            None => String::new(),
        }
    }

    fn checked_doc(&self, cx: &mut Check, doc: &Text) -> String {
        let trimmed = doc.get_ref().trim();
        if trimmed.is_empty() {
            let message = format!("the doc of {} is empty", self.what);
            cx.diags.error(doc.span(), message).help("say in a few words what it stands for");
        }
        if let Some(char) = trimmed.chars().find(|&char| is_unprintable(char) && char != '\n' && char != '\t')
        {
            let message = format!("the doc of {} has a control character, U+{:04X}", self.what, char as u32);
            cx.diags
                .error(doc.span(), message)
                .help("docs are printed on terminals; only line ends and tabs are fine");
        }
        trimmed.to_string()
    }
}

impl Check<'_> {
    /// A unit is a short printable word, or words, as it stands behind a number.
    pub(super) fn unit(&mut self, unit: &Text) {
        let text = *unit.get_ref();
        let bad = text.trim() != text
            || text.is_empty()
            || text.chars().count() > MAX_UNIT_LEN
            || text.chars().any(is_unprintable);
        if bad {
            let message =
                format!("unit {} is not a word of 1 to {MAX_UNIT_LEN} printable characters", quote(text));
            self.diags.error(unit.span(), message).help("for instance `bytes`, `ns` or `objects`");
        }
    }
}
