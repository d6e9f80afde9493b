//! The changes found so far, and the name changes that a comparison notes.

use std::collections::HashMap;

use crate::version::change::{Change, Thing};
use crate::version::lock::Docs;
use crate::version::rule::Rule;

/// New names by old ones.
pub(super) type Names<'a> = HashMap<&'a str, &'a str>;

/// The kinds and types that have another name.
pub(super) struct Renamed<'a> {
    pub(super) kinds: Names<'a>,
    pub(super) types: Names<'a>,
}

/// The items of a change, by their names on both sides.
pub(super) type Things = (Option<Thing>, Option<Thing>);

/// The changes found so far.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) list: Vec<Change>,
}

impl Changes {
    pub(super) fn add(
        &mut self,
        rule: Rule,
        (old, new): Things,
        key: &'static str,
        (was, is): (String, String),
    ) {
        self.list.push(Change { rule, old, new, key, was, is });
    }

    /// Notes a change of a whole item: new, gone, moved.
    pub(super) fn whole(&mut self, rule: Rule, things: Things) {
        self.add(rule, things, "", (String::new(), String::new()));
    }

    /// Notes a change of a field, if its two values differ.
    pub(super) fn field(&mut self, rule: Rule, things: &Things, key: &'static str, was: &str, is: &str) {
        if was != is {
            self.add(rule, things.clone(), key, (was.to_string(), is.to_string()));
        }
    }

    pub(super) fn docs(&mut self, things: Things, old: Docs, new: Docs) {
        if old != new {
            self.add(Rule::DocsChanged, things, "doc", (String::new(), String::new()));
        }
    }
}
