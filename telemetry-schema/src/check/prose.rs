//! Rules about text that is for people: docs and units.

use super::fields::Fields;
use super::{Check, Text};
use crate::diagnostic::quote;
use crate::limits::MAX_UNIT_LEN;
use crate::snippet::is_unprintable;

impl Fields<'_> {
    /// The doc of a registry, kind, event, span or message, which each must have: it is all that a reader of
    /// a stream learns about them.
    pub(super) fn need_doc(&self, cx: &mut Check) -> String {
        match self.need_text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc, "say in a few words what it stands for"),
            None => String::new(),
        }
    }

    /// The doc of a type, value or parameter, whose names often say enough: it may be left out, but
    /// not be empty.
    pub(super) fn doc(&self, cx: &mut Check) -> String {
        match self.text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc, "say in a few words what it stands for, or leave it out"),
            None => String::new(),
        }
    }

    /// Without white space around it, and with one line end on every system.
    fn checked_doc(&self, cx: &mut Check, doc: &Text, if_empty: &str) -> String {
        let doc_text = doc.get_ref().trim().replace("\r\n", "\n");
        if doc_text.is_empty() {
            let message = format!("the doc of {} is empty", self.what);
            cx.diags.error(doc.span(), message).help(if_empty);
        }
        if let Some(char) =
            doc_text.chars().find(|&char| is_unprintable(char) && char != '\n' && char != '\t')
        {
            let message = format!("the doc of {} has a control character, U+{:04X}", self.what, char as u32);
            cx.diags
                .error(doc.span(), message)
                .help("docs are printed on terminals; only line ends and tabs are fine");
        }
        doc_text
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
