//! Conditions on spans: pairs of a begin and an end event.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use telemetry_decode::Event;
use telemetry_decode::names::Namings;
use telemetry_schema::Registry;

use super::whole::Condition;
use crate::fit::fields::{Field, NameTest, SpanField};
use crate::fit::fitting::{self, Of};
use crate::fit::problem::{Problem, instead};
use crate::fit::values;
use crate::syntax::error::Error;
use crate::syntax::tree::{Comparison, Expr};
use crate::test::tree::Tree;

/// The limit of comparisons in a condition on spans. Each has two bits in [`Marks`].
const MAX_COMPARISONS: usize = 32;

/// What the comparisons of a condition say about an event: for each, whether it is known, and
/// whether it is true.
pub type Marks = u64;

/// What a condition on a span needs.
#[derive(Debug, Clone, Copy)]
pub struct SpanParts<'a> {
    /// The name of the span.
    pub name: &'a str,
    /// The marks of the begin and of the end; 0 for one that is missing.
    pub marks: [Marks; 2],
    /// Nanoseconds from the begin to the end, and those in which no inner span was open. `None`
    /// for a span without one of its ends.
    pub times: Option<(i64, i64)>,
}

/// A comparison of a span's own fields.
#[derive(Debug)]
enum SpanTest {
    Name(NameTest),
    Time(SpanField, RangeInclusive<i64>, bool),
    /// A comparison of the begin or of the end, by its number.
    Event(u32),
}

/// A condition on spans. A parameter is that of the begin, or of the end if the begin has none. The
/// fields are those of the begin, and `span`, `duration` and `self`.
#[derive(Debug)]
pub struct SpanCondition {
    condition: Condition,
    /// In the order of the comparisons.
    tests: Vec<SpanTest>,
}

impl SpanCondition {
    /// Makes a condition on spans.
    ///
    /// # Errors
    /// If a name is unknown to some registries, or a comparison fits neither spans nor events.
    pub fn new<'r>(
        condition: &Condition,
        registries: impl Iterator<Item = &'r Registry> + Clone,
    ) -> Result<SpanCondition, Error> {
        let (mut tests, mut wrong) = (Vec::new(), None);
        condition.expr().each_comparison(&mut |one| {
            let test = test_of(one, tests.len(), condition, registries.clone());
            match test {
                Ok(test) => tests.push(test),
                Err(error) => wrong = wrong.take().or(Some(error)),
            }
        });
        if tests.len() > MAX_COMPARISONS {
            let message = format!("more than {MAX_COMPARISONS} comparisons with spans");
            return Err(Error::new(condition.text(), 0..condition.text().len(), message));
        }
        wrong.map_or(Ok(SpanCondition { condition: condition.clone(), tests }), Err)
    }

    /// Returns what says the marks of events.
    #[must_use]
    pub fn marker(&self) -> Marker {
        Marker { condition: self.condition.clone(), trees: HashMap::new() }
    }

    /// Returns true if a span matches.
    #[must_use]
    pub fn matches(&self, span: &SpanParts<'_>) -> bool {
        self.value(self.condition.expr(), span, &mut 0) == Some(true)
    }

    /// Returns whether an expression is true; `None` if that is unknown.
    fn value(&self, expr: &Expr, span: &SpanParts<'_>, number: &mut usize) -> Option<bool> {
        // All parts are visited, since comparisons are numbered.
        let mut each =
            |list: &[Expr]| -> Vec<_> { list.iter().map(|one| self.value(one, span, number)).collect() };
        match expr {
            Expr::Or(list) => joined(&each(list), true),
            Expr::And(list) => joined(&each(list), false),
            Expr::Not(one) => self.value(one, span, number).map(|value| !value),
            Expr::Compare(_) => {
                *number += 1;
                self.tests[*number - 1].value(span)
            }
        }
    }
}

/// Joins values: the result is `wins` if one of them is, and unknown if one of them is.
fn joined(values: &[Option<bool>], wins: bool) -> Option<bool> {
    match values {
        values if values.contains(&Some(wins)) => Some(wins),
        values if values.contains(&None) => None,
        _ => Some(!wins),
    }
}

impl SpanTest {
    fn value(&self, span: &SpanParts<'_>) -> Option<bool> {
        match self {
            SpanTest::Name(test) => Some(test.passes(u64::MAX, span.name)),
            SpanTest::Time(field, range, is_inside) => {
                let (duration, own) = span.times?;
                let time = if *field == SpanField::Duration { duration } else { own };
                Some(range.contains(&time) == *is_inside)
            }
            SpanTest::Event(number) => {
                let of = |marks: &&Marks| **marks >> (2 * number) & 1 != 0;
                let marks = span.marks.iter().find(of)?;
                Some(marks >> (2 * number + 1) & 1 != 0)
            }
        }
    }
}

fn test_of<'r>(
    one: &Comparison,
    number: usize,
    condition: &Condition,
    registries: impl Iterator<Item = &'r Registry> + Clone,
) -> Result<SpanTest, Error> {
    let wrong = |problem| match problem {
        Problem::Missing => Error::new(condition.text(), one.subject.span.clone(), "no such parameter"),
        Problem::Misuse { at, message, help, .. } => Error::new(condition.text(), at, message).help(help),
    };
    match SpanField::of(&one.subject) {
        Some(SpanField::Name) => {
            let names: Vec<&str> = registries.flat_map(|registry| registry.span_names()).collect();
            let unknown =
                one.named().find(|(_, name)| !names.iter().any(|known| known.eq_ignore_ascii_case(name)));
            if let Some((at, name)) = unknown {
                let help = instead(name, names.iter().copied());
                return Err(Error::new(condition.text(), at, format!("no span `{name}`")).help(help));
            }
            NameTest::new(one).map(SpanTest::Name).map_err(wrong)
        }
        Some(field) => {
            let (range, is_inside) = values::time_range(one).map_err(wrong)?;
            Ok(SpanTest::Time(field, range, is_inside))
        }
        None => match condition.misfit_of_span(one, registries) {
            Some(error) => Err(error),
            None => Ok(SpanTest::Event(number as u32)),
        },
    }
}

/// Says the marks of events.
#[derive(Debug)]
pub struct Marker {
    condition: Condition,
    /// By fingerprint of the registry and index of the event: for each comparison the tests that
    /// it is true, and that it is false.
    trees: HashMap<(u64, usize), Vec<[Tree; 2]>>,
}

impl Marker {
    /// Returns what the comparisons say about an event.
    pub fn marks(&mut self, event: &Event<'_>) -> Marks {
        let condition = &self.condition;
        let lanes = condition.lanes();
        let known = event.known_registry();
        let trees = self.trees.entry((known.fingerprint, event.index())).or_insert_with(|| {
            let namings = Namings::new(&known.registry);
            let of = Of { registry: &known.registry, namings: &namings, event: event.index() };
            let mut trees = Vec::new();
            condition.expr().each_comparison(&mut |one| {
                let fits = |wanted| fitting::compare(one, of, &lanes, wanted).unwrap_or(Tree::Never);
                trees.push([fits(true), fits(false)]);
            });
            trees
        });
        let thread = (event.thread(), event.thread_name().unwrap_or_default());
        let session = (event.session().id, event.session().facts.text("program").unwrap_or_default());
        let bits = lanes.iter().enumerate().map(|(bit, one)| {
            let passes = NameTest::new(one).is_ok_and(|test| match Field::of(&one.subject) {
                Some(Field::Thread) => test.passes(thread.0.into(), thread.1),
                _ => test.passes(session.0, session.1),
            });
            u64::from(passes) << bit
        });
        let lane = bits.fold(0, |bits, bit| bits | bit);
        let candidate = event.candidate();
        trees.iter().take(MAX_COMPARISONS).enumerate().fold(0, |marks, (number, [is_true, is_false])| {
            let is_true = is_true.matches(&candidate, lane);
            let is_known = is_true || is_false.matches(&candidate, lane);
            marks | u64::from(is_known) << (2 * number) | u64::from(is_true) << (2 * number + 1)
        })
    }
}
