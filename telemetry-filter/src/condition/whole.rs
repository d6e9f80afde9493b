//! A condition on the values of events.

use std::sync::Arc;

use telemetry_decode::condition::{Condition as Conditions, Misfit, Test};
use telemetry_decode::names::Namings;
use telemetry_schema::{Registry, nearest};

use super::events::Events;
use crate::fit::fields::{self, Field, NameTest, SpanField};
use crate::fit::fitting::{self, Of};
use crate::fit::problem::{Problem, instead};
use crate::syntax::error::Error;
use crate::syntax::parse;
use crate::syntax::tree::{Comparison, Expr};

/// The limit of comparisons with threads and sessions.
const MAX_LANES: usize = 64;

/// A condition on the values of events.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    expr: Expr,
}

impl Condition {
    /// Reads a condition, such as `size > 4096 and why == Full`.
    ///
    /// # Errors
    /// If the text is not a condition.
    pub fn parse(text: &str) -> Result<Condition, Error> {
        let expr = parse(text)?;
        let mut lanes = 0;
        let mut beyond = None;
        expr.each_comparison(&mut |one| {
            if Field::of(&one.subject).is_some_and(Field::is_of_lane) {
                lanes += 1;
                if lanes > MAX_LANES {
                    beyond.get_or_insert(one.at.clone());
                }
            }
        });
        if let Some(at) = beyond {
            let message = format!("more than {MAX_LANES} comparisons with threads and sessions");
            return Err(Error::new(text, at, message));
        }
        Ok(Condition { text: text.to_string(), expr })
    }

    pub(super) fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns true if the condition has a field that only spans have.
    #[must_use]
    pub fn has_span_fields(&self) -> bool {
        let mut found = false;
        self.expr.each_comparison(&mut |one| found |= SpanField::of(&one.subject).is_some());
        found
    }

    /// Returns the text of the condition.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that each name is known to one of some registries, and that each comparison fits an
    /// event type.
    ///
    /// # Errors
    /// If not. A condition is also correct if it fits no event type as a whole.
    pub fn fits<'r>(&self, registries: impl Iterator<Item = &'r Registry> + Clone) -> Result<(), Error> {
        self.misfit(registries).map_or(Ok(()), |(error, _)| Err(error))
    }

    /// Returns the first error on hidden values, or else the first of all. With it comes the most
    /// similar name.
    fn misfit<'r>(
        &self,
        registries: impl Iterator<Item = &'r Registry> + Clone,
    ) -> Option<(Error, Option<String>)> {
        let namings: Vec<(&Registry, Namings)> =
            registries.clone().map(|registry| (registry, Namings::new(registry))).collect();
        let lanes = self.lanes();
        let is_hidden = |found: &Option<(Error, Option<String>)>| {
            found.as_ref().is_some_and(|(error, _)| error.is_hidden)
        };
        let mut found = None;
        self.expr.each_comparison(&mut |one| {
            if !is_hidden(&found) {
                let next = self.misfit_of(one, registries.clone(), &namings, &lanes, &[]);
                if found.is_none() || is_hidden(&next) {
                    found = next;
                }
            }
        });
        found
    }

    /// Returns the error of one comparison of a condition on spans.
    pub(super) fn misfit_of_span<'r>(
        &self,
        one: &Comparison,
        registries: impl Iterator<Item = &'r Registry> + Clone,
    ) -> Option<Error> {
        let namings: Vec<_> = registries.clone().map(|registry| (registry, Namings::new(registry))).collect();
        self.misfit_of(one, registries, &namings, &self.lanes(), &SpanField::ALL).map(|(error, _)| error)
    }

    fn misfit_of<'r>(
        &self,
        one: &Comparison,
        registries: impl Iterator<Item = &'r Registry> + Clone,
        namings: &[(&Registry, Namings)],
        lanes: &[&Comparison],
        span_fields: &[(&str, SpanField)],
    ) -> Option<(Error, Option<String>)> {
        if let Some(field) = Field::of(&one.subject)
            && let Some((at, name, candidates)) = fields::unknown(field, one, registries.clone())
        {
            let nearest = nearest(bare(&name), candidates.iter().copied()).map(str::to_string);
            let message = format!("no {} `{name}`", one.subject.text);
            let help = instead(bare(&name), candidates.into_iter());
            return Some((self.error(at, message, help), nearest));
        }
        let mut misuse = None::<Problem>;
        for (registry, namings) in namings {
            for event in 0..registry.events.len() {
                match fitting::compare(one, Of { registry, namings, event }, lanes, true) {
                    Ok(_) => return None,
                    Err(Problem::Missing) => {}
                    Err(problem @ Problem::Misuse { .. }) => {
                        let earlier = misuse.filter(|earlier| earlier.is_hidden() || !problem.is_hidden());
                        misuse = earlier.or(Some(problem));
                    }
                }
            }
        }
        if let Some(Problem::Misuse { at, message, help, is_hidden }) = misuse {
            return Some((Error { is_hidden, ..self.error(at, message, help) }, None));
        }
        if namings.is_empty() {
            return None;
        }
        if SpanField::of(&one.subject).is_some() {
            let message =
                format!("`{}` is a field of spans, but this condition is one on events", one.subject.text);
            let help = "`telemetry spans`, `validate` and `flame` select spans".to_string();
            return Some((self.error(one.subject.span.clone(), message, Some(help)), None));
        }
        let params = registries.flat_map(|registry| registry.events.iter()).flat_map(|event| &event.params);
        let fields = Field::ALL.iter().map(|(name, _)| *name);
        let fields = fields.chain(span_fields.iter().map(|(name, _)| *name));
        let names = fields.chain(params.map(|param| param.name.as_str()));
        let nearest = nearest(&one.subject.text, names.clone()).map(str::to_string);
        let message = format!("no parameter `{}`", one.subject.text);
        let help = instead(&one.subject.text, names);
        Some((self.error(one.subject.span.clone(), message, help), nearest))
    }

    fn error(&self, at: std::ops::Range<usize>, message: String, help: Option<String>) -> Error {
        Error::new(&self.text, at, message).help(help)
    }

    /// Returns the comparisons with lanes.
    pub(super) fn lanes(&self) -> Vec<&Comparison> {
        let mut lanes = Vec::new();
        self.expr.each_comparison(&mut |one| {
            lanes.extend(Some(one).filter(|one| Field::of(&one.subject).is_some_and(Field::is_of_lane)));
        });
        lanes
    }
}

/// Returns a name without its registry.
fn bare(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, bare)| bare)
}

impl Conditions for Condition {
    fn test(&self, registry: &Registry, namings: &Namings) -> Arc<dyn Test> {
        let lanes = self.lanes();
        let trees = (0..registry.events.len())
            .map(|event| fitting::tree(&self.expr, Of { registry, namings, event }, &lanes, true))
            .collect();
        let tests = lanes.iter().filter_map(|one| {
            let is_thread = Field::of(&one.subject) == Some(Field::Thread);
            NameTest::new(one).ok().map(|test| (is_thread, test))
        });
        Arc::new(Events { trees, lanes: tests.collect() })
    }

    fn check(&self, registries: &[&Registry]) -> Result<(), Misfit> {
        match self.misfit(registries.iter().copied()) {
            None => Ok(()),
            Some((error, nearest)) => {
                let name = error.message.strip_prefix("no ").map(str::to_string);
                let what = name.unwrap_or_else(|| format!("event for the condition ({})", error.message));
                Err(Misfit { what, nearest, text: error.to_string(), is_hidden: error.is_hidden })
            }
        }
    }
}
