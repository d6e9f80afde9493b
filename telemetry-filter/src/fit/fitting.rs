//! Fits a whole condition to an event type.

use crate::fit::fields::{self, Field};
pub(crate) use crate::fit::params::Of;
use crate::fit::{params, problem::Problem};
use crate::syntax::tree::{Comparison, Expr};
use crate::test::tree::Tree;

/// Returns the test for an event type. Comparisons that do not fit it never match, and neither do
/// their opposites. `lanes` has the comparisons with lanes, in the order of their bits.
pub(crate) fn tree(expr: &Expr, of: Of<'_>, lanes: &[&Comparison], wanted: bool) -> Tree {
    let each = |list: &[Expr]| list.iter().map(|one| tree(one, of, lanes, wanted)).collect::<Vec<_>>();
    match (expr, wanted) {
        (Expr::Or(list), true) | (Expr::And(list), false) => Tree::any(each(list)),
        (Expr::And(list), true) | (Expr::Or(list), false) => Tree::all(each(list)),
        (Expr::Not(one), wanted) => tree(one, of, lanes, !wanted),
        (Expr::Compare(one), wanted) => compare(one, of, lanes, wanted).unwrap_or(Tree::Never),
    }
}

/// Returns the test of one comparison.
///
/// # Errors
/// If it does not fit the event type.
pub(crate) fn compare(
    one: &Comparison,
    of: Of<'_>,
    lanes: &[&Comparison],
    wanted: bool,
) -> Result<Tree, Problem> {
    match Field::of(&one.subject) {
        Some(field) => {
            let bit = lanes.iter().position(|lane| std::ptr::eq(*lane, one)).map(|bit| bit as u32);
            fields::fit(field, one, (of.registry, of.event), bit, wanted)
        }
        None => params::fit(one, of, wanted),
    }
}
