//! The part of a query's conditions that the headers of blocks can answer: times, threads and
//! sessions.
//!
//! The engine tests all conditions again, so a filter may select too much, and never too little.

use std::ops::RangeInclusive;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use telemetry_decode::{Filter, Selector};

/// What the conditions want.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    from_ns: Option<i128>,
    /// No later time is wanted.
    until_ns: Option<i128>,
    threads: Option<Vec<u64>>,
    sessions: Option<Vec<u64>>,
}

impl Wanted {
    /// Takes a condition. Returns false if the headers of blocks cannot answer it. `starts` has the
    /// starts of all sessions, since 1970.
    pub(crate) fn take(&mut self, condition: &Expr, starts: &RangeInclusive<i128>) -> bool {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                // Both sides hold, so each one counts alone.
                let is_left = self.take(left, starts);
                self.take(right, starts) || is_left
            }
            Expr::Between(between) if !between.negated => {
                let low = self.compare(&between.expr, Operator::GtEq, &between.low, starts);
                self.compare(&between.expr, Operator::LtEq, &between.high, starts) || low
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let swapped = op.swap();
                self.compare(left, *op, right, starts)
                    || swapped.is_some_and(|op| self.compare(right, op, left, starts))
                    || self.choose(condition)
            }
            _ => self.choose(condition),
        }
    }

    /// Returns the filter for events that are selected otherwise, too.
    pub(crate) fn filter(self, filter: Filter) -> Filter {
        let ns = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let until = self.until_ns.map(|until| until + 1).filter(|until| *until <= i64::MAX.into());
        let numbers = |numbers: Option<Vec<u64>>| numbers.unwrap_or_default().into_iter().map(Selector::from);
        filter
            .threads(numbers(self.threads))
            .sessions(numbers(self.sessions))
            .from_ns(self.from_ns.map(ns))
            .until_ns(until.map(ns))
    }

    /// Takes the comparison of a time with a constant.
    fn compare(
        &mut self,
        column: &Expr,
        op: Operator,
        constant: &Expr,
        starts: &RangeInclusive<i128>,
    ) -> bool {
        let (Expr::Column(column), Expr::Literal(constant, _)) = (column, constant) else { return false };
        let (earliest, latest) = match (column.name.as_str(), constant) {
            ("time_ns", ScalarValue::Int64(Some(ns))) => (i128::from(*ns), i128::from(*ns)),
            ("time", ScalarValue::TimestampNanosecond(Some(ns), _)) => {
                (i128::from(*ns) - starts.end(), i128::from(*ns) - starts.start())
            }
            _ => return false,
        };
        let (from, until) = match op {
            Operator::Eq => (Some(earliest), Some(latest)),
            Operator::Gt | Operator::GtEq => (Some(earliest), None),
            Operator::Lt | Operator::LtEq => (None, Some(latest)),
            _ => return false,
        };
        self.from_ns = self.from_ns.max(from);
        self.until_ns = match (self.until_ns, until) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        true
    }

    /// Takes the choice of some threads or sessions. Of several choices, one is enough.
    fn choose(&mut self, condition: &Expr) -> bool {
        let Some((column, numbers)) = chosen(condition) else { return false };
        let place = match column {
            "thread" => &mut self.threads,
            "session" => &mut self.sessions,
            _ => return false,
        };
        place.get_or_insert(numbers);
        true
    }
}

/// Returns the only numbers that a column may have.
fn chosen(condition: &Expr) -> Option<(&str, Vec<u64>)> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (&**left, &**right) {
            (Expr::Column(column), constant) | (constant, Expr::Column(column)) => {
                Some((&column.name, vec![number(constant)?]))
            }
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let ((column, mut numbers), (other, more)) = (chosen(left)?, chosen(right)?);
            numbers.extend(more);
            (column == other).then_some((column, numbers))
        }
        Expr::InList(list) if !list.negated && !list.list.is_empty() => {
            let Expr::Column(column) = &*list.expr else { return None };
            Some((&column.name, list.list.iter().map(number).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn number(constant: &Expr) -> Option<u64> {
    match constant {
        Expr::Literal(ScalarValue::UInt32(number), _) => number.map(u64::from),
        Expr::Literal(ScalarValue::UInt64(number), _) => *number,
        Expr::Literal(ScalarValue::Int64(number), _) => u64::try_from((*number)?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn wanted(conditions: &[Expr]) -> (bool, Filter) {
        let mut wanted = Wanted::default();
        let taken = conditions.iter().filter(|one| wanted.take(one, &(1000..=5000))).count();
        (taken == conditions.len(), wanted.filter(Filter::default()))
    }

    fn times(from: impl Into<Option<i64>>, until: impl Into<Option<i64>>) -> Filter {
        Filter::default().from_ns(from).until_ns(until)
    }

    #[test]
    fn times_have_bounds() {
        let ns = || col("time_ns");
        let wall = |ns| lit(ScalarValue::TimestampNanosecond(Some(ns), Some("UTC".into())));
        let table = [
            (ns().gt_eq(lit(7_i64)), times(7, None)),
            (lit(7_i64).lt_eq(ns()), times(7, None)),
            (ns().lt(lit(7_i64)), times(None, 8)),
            (ns().eq(lit(7_i64)), times(7, 8)),
            (ns().between(lit(3_i64), lit(9_i64)), times(3, 10)),
            (ns().gt(lit(1_i64)).and(ns().lt_eq(lit(9_i64))), times(1, 10)),
            (ns().lt_eq(lit(i64::MAX)), times(None, None)),
            // The sessions start at 1000 to 5000.
            (col("time").gt_eq(wall(6000)), times(1000, None)),
            (col("time").lt_eq(wall(6000)), times(None, 5001)),
        ];
        for (condition, filter) in table {
            assert_eq!(wanted(std::slice::from_ref(&condition)), (true, filter), "{condition}");
        }
        let both = [ns().gt(lit(1_i64)), ns().gt(lit(5_i64)), ns().lt(lit(9_i64)), ns().lt(lit(8_i64))];
        assert_eq!(wanted(&both), (true, times(5, 9)));
    }

    #[test]
    fn threads_and_sessions_are_chosen() {
        let (thread, session) = (|| col("thread"), || col("session"));
        let of = |threads: &[u64]| Filter::default().threads(threads.iter().copied());
        let table = [
            (thread().eq(lit(3_u32)), of(&[3])),
            (lit(3_u32).eq(thread()), of(&[3])),
            (thread().eq(lit(3_u32)).or(thread().eq(lit(4_u32))), of(&[3, 4])),
            (thread().in_list(vec![lit(1_u32), lit(9_u32)], false), of(&[1, 9])),
            (session().eq(lit(u64::MAX)), Filter::default().sessions([u64::MAX])),
        ];
        for (condition, filter) in table {
            assert_eq!(wanted(std::slice::from_ref(&condition)), (true, filter), "{condition}");
        }
    }

    #[test]
    fn other_conditions_select_all() {
        let table = [
            col("size").gt(lit(7_u64)),
            col("time_ns").not_eq(lit(7_i64)),
            col("time_ns").gt(col("size")),
            col("time_ns").lt(lit(1_i64)).or(col("time_ns").gt(lit(9_i64))),
            col("time_ns").not_between(lit(1_i64), lit(2_i64)),
            col("thread").gt(lit(3_u32)),
            col("thread").in_list(vec![lit(1_u32)], true),
            col("thread").eq(lit(3_u32)).or(col("session").eq(lit(4_u64))),
            col("thread").eq(lit(3_u32)).or(col("size").gt(lit(4_u64))),
        ];
        for condition in table {
            assert_eq!(wanted(std::slice::from_ref(&condition)), (false, Filter::default()), "{condition}");
        }
    }
}
