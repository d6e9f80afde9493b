//! Rules about names: spelling, keywords, reserved names, duplicates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::check::context::{Check, Origin, Taken, Text};
use crate::text::diagnostic::quote;
use crate::text::limits::MAX_NAME_LEN;
use crate::text::words;
use crate::text::words::{camel_case, is_camel_case, is_snake_case, keyword_of, snake_case};

/// The spelling of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Camel,
    Snake,
}

impl Check<'_> {
    /// Returns the rules for every name. False if it breaks one, and should not be checked further.
    pub(super) fn spelling(&mut self, role: &str, name: &Text, style: Style) -> bool {
        let text = *name.get_ref();
        let (fine, style_name, proposal) = match style {
            Style::Camel => (is_camel_case(text), "CamelCase", camel_case(text)),
            Style::Snake => (is_snake_case(text), "snake_case", snake_case(&camel_case(text))),
        };
        if !fine {
            let message = format!("the {role} name {} is not {style_name}", quote(text));
            let diagnostic = self.diags.error(name.span(), message);
            let proposal_fine = match style {
                Style::Camel => is_camel_case(&proposal),
                Style::Snake => is_snake_case(&proposal),
            };
            diagnostic.help(match (proposal_fine, style) {
                (true, _) => format!("write {}", quote(&proposal)),
                (false, Style::Camel) => {
                    "letters and digits of ASCII, an upper-case letter first".to_string()
                }
                (false, Style::Snake) => {
                    "lower-case words of ASCII joined by `_`, a letter first".to_string()
                }
            });
            return false;
        }
        if text.len() > MAX_NAME_LEN {
            let message = format!(
                "the {role} name {} has {} characters, expected at most {MAX_NAME_LEN}",
                quote(text),
                text.len()
            );
            self.diags.error(name.span(), message);
            return false;
        }
        if self.origin == Origin::File
            && let Some(languages) = keyword_of(text)
        {
            let message = format!("the {role} name `{text}` is a keyword of {languages}");
            self.diags
                .error(name.span(), message)
                .help("generated code uses the name as it is: choose another");
            return false;
        }
        true
    }

    /// Returns a registry's name must differ from the runtime's own and from the words of control.
    pub(super) fn registry_name(&mut self, name: &Text) {
        let text = *name.get_ref();
        if self.origin == Origin::File && words::RESERVED_REGISTRIES.contains(&text) {
            let message = format!("the registry name `{text}` is reserved");
            self.diags.error(name.span(), message).help("name it after what it describes, for instance `gc`");
        }
    }

    /// Returns an event's name must give an emitter that a program can call.
    pub(super) fn emitter(&mut self, name: &Text) {
        let emitter = snake_case(name.get_ref());
        if self.origin == Origin::File && !words::can_be_macro(&emitter) {
            let message =
                format!("the emitter of event `{}`, `{emitter}!`, is a keyword of Rust", name.get_ref());
            self.diags.error(name.span(), message).help("choose another name for the event");
        }
    }

    /// Takes a name for a kind, type or event, and reports a name that is taken.
    pub(super) fn claim(&mut self, role: &'static str, name: &Text) {
        let text = *name.get_ref();
        if self.origin == Origin::File {
            if words::RESERVED.contains(&text) {
                let message = format!("the {role} name `{text}` is reserved");
                self.diags
                    .error(name.span(), message)
                    .help("generated modules define it themselves: choose another");
                return;
            }
            if role != "type" && text.eq_ignore_ascii_case(words::ALL_WORD) {
                let message = format!("the {role} name `{text}` is reserved");
                self.diags
                    .error(name.span(), message)
                    .help("`all` switches every kind and event: choose another");
                return;
            }
        }
        let taken = match self.names.taken.entry(self.identity(text)) {
            Entry::Vacant(vacant) => {
                vacant.insert(Taken { role, name: text.to_string(), span: name.span() });
                return;
            }
            Entry::Occupied(occupied) => occupied.into_mut(),
        };
        let (first_role, first_name, first_span) = (taken.role, taken.name.as_str(), taken.span.clone());
        let (message, help) = if (first_role, first_name) == (role, text) {
            (format!("{role} `{text}` is defined twice"), "give each its own name".to_string())
        } else if first_name == text {
            (
                format!("{role} `{text}` has the name of {} {first_role}", article(first_role)),
                "kinds, types and events share one namespace".to_string(),
            )
        } else {
            let emitter = snake_case(text);
            let help = if (first_role, role) == ("event", "event") && snake_case(first_name) == emitter {
                format!("both would have the emitter `{emitter}!`")
            } else {
                "names are matched without case where words switch them and in SQL".to_string()
            };
            (format!("{role} `{text}` and {first_role} `{first_name}` differ only in case"), help)
        };
        self.diags.error(name.span(), message).label(first_span, "first used here").help(help);
    }

    /// Returns the form in which names that count as one are equal.
    pub(super) fn identity(&self, name: &str) -> String {
        match self.origin {
            Origin::File => name.to_ascii_lowercase(),
            Origin::Embedded => name.to_string(),
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// The names in one table or list, to find duplicates.
#[derive(Default)]
pub(super) struct Once {
    seen: HashMap<String, Range<usize>>,
}

impl Once {
    /// Returns the place where the name was used before, if it was.
    pub(super) fn again(&mut self, name: &str, span: Range<usize>) -> Option<Range<usize>> {
        match self.seen.entry(name.to_string()) {
            Entry::Occupied(first) => Some(first.get().clone()),
            Entry::Vacant(vacant) => {
                vacant.insert(span);
                None
            }
        }
    }
}
