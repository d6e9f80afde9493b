//! Rules about text for people: docs and units.

use crate::check::context::{Check, Text};
use crate::check::fields::Fields;
use crate::text::diagnostic::quote;
use crate::text::limits::MAX_UNIT_LEN;
use crate::text::snippet::is_unprintable;

impl Fields<'_> {
    /// Returns the doc of a registry, kind, event, span or message. It is required: a reader of a
    /// stream learns nothing else about the item.
    pub(super) fn need_doc(&self, cx: &mut Check) -> String {
        match self.need_text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc, "say in a few words what it stands for"),
            None => String::new(),
        }
    }

    /// Returns the doc of a type, value or parameter. It may be missing, because names often say
    /// enough, but not empty.
    pub(super) fn doc(&self, cx: &mut Check) -> String {
        match self.text(cx, "doc") {
            Some(doc) => self.checked_doc(cx, &doc, "say in a few words what it stands for, or leave it out"),
            None => String::new(),
        }
    }

    /// Removes surrounding white space, and makes line endings the same on every system.
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
    /// Returns a unit is a short printable word, or several, as shown after a number.
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
