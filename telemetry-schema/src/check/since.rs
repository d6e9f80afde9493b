//! Rules about parameters that were appended to their event.

use crate::check::context::{Check, Origin, Text};
use crate::check::fields::Fields;
use crate::check::versions::not_a_version;
use crate::model::registry::Version;

/// The appended parameters of an event so far, from the first to the last.
#[derive(Default)]
pub(super) struct Appended<'a> {
    /// `since` of the last one, as a version and as text.
    last: Option<(Text<'a>, Version)>,
    /// True after the first report: further mistakes may follow from it.
    noted: bool,
}

impl<'a> Appended<'a> {
    /// Checks `since` of the next parameter.
    pub(super) fn since(&mut self, cx: &mut Check, param: &Fields<'a>) -> Option<Version> {
        if cx.origin == Origin::Embedded {
            // It does not influence how bytes are read, so an invalid one does no harm in a stream.
            return Version::from_text(param.any_text("since")?);
        }
        let text = param.text(cx, "since");
        let version = text.as_ref().and_then(|text| self.version(cx, param, text));
        self.noted |= version.is_none() && param.has("since");
        match (text, version) {
            (Some(text), Some(version)) => self.last = Some((text, version)),
            _ => self.need(cx, param),
        }
        version
    }

    /// Reports a parameter without `since` after one that has it.
    fn need(&mut self, cx: &mut Check, param: &Fields) {
        let Some((last, version)) = self.last.as_ref().filter(|_| !self.noted) else { return };
        let message = format!("{} has no `since`, but stands behind an appended parameter", param.what);
        cx.diags.error(param.span.clone(), message).label(last.span(), "appended here").help(format!(
            "if it was appended too, add `since = \"{version}\"`, else put it before that one"
        ));
        self.noted = true;
    }

    /// Reads a version, which must be one of this registry's and not lower than the last.
    fn version(&self, cx: &mut Check, param: &Fields, text: &Text) -> Option<Version> {
        let what = format!("`since` of {}", param.what);
        let found = Version::from_text(text.get_ref());
        let (message, help) = match (found, cx.version) {
            (None, _) => {
                not_a_version(cx, "since", &what, text);
                return None;
            }
            (Some(version), Some(current)) if version.major < current.major => (
                format!("{what} is {version}, of an older major than the registry's version {current}"),
                format!("leave it out: every stream of major {} has the parameter", current.major),
            ),
            (Some(version), Some(current)) if version > current => (
                format!("{what} is {version}, above the registry's version {current}"),
                "name the version that the parameter comes with, and raise the registry's to it".to_string(),
            ),
            (Some(version), _) => match &self.last {
                Some((_, last)) if version < *last => (
                    format!("{what} is {version}, below {last} of a parameter before it"),
                    "parameters stand in the order in which they were appended".to_string(),
                ),
                _ => return found,
            },
        };
        let diagnostic = cx.diags.error(text.span(), message).help(help);
        if let (Some((last, before)), Some(version)) = (&self.last, found)
            && version < *before
        {
            diagnostic.label(last.span(), "appended here");
        }
        None
    }
}
