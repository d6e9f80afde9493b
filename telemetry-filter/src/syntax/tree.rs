//! A condition as a tree.

use std::ops::Range;

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(Comparison),
}

impl Expr {
    /// Passes all comparisons to a function, in the order of the text.
    pub(crate) fn each_comparison<'e>(&'e self, visit: &mut impl FnMut(&'e Comparison)) {
        match self {
            Expr::Or(list) | Expr::And(list) => list.iter().for_each(|one| one.each_comparison(visit)),
            Expr::Not(one) => one.each_comparison(visit),
            Expr::Compare(comparison) => visit(comparison),
        }
    }
}

/// Something with a name, and what it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) subject: Name,
    pub(crate) op: Op,
    /// The place of the operator.
    pub(crate) at: Range<usize>,
    /// One operand; any number of them for [`Op::In`], and none for [`Op::IsTrue`].
    pub(crate) operands: Vec<Operand>,
}

impl Comparison {
    /// Returns the names that something is compared with, unless with a part of it or a pattern.
    pub(crate) fn named(&self) -> impl Iterator<Item = (Range<usize>, &str)> {
        let is_whole = !matches!(self.op, Op::Contains | Op::Matches);
        self.operands.iter().filter(move |_| is_whole).filter_map(|operand| match operand {
            Operand::Name(Name { text, span, .. }) | Operand::Text(text, span) => {
                Some((span.clone(), text.as_str()))
            }
            Operand::Number(_) => None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Has,
    Contains,
    Matches,
    /// A name alone.
    IsTrue,
}

impl Op {
    /// Returns the operator for exchanged operands.
    pub(super) fn exchanged(self) -> Option<Op> {
        Some(match self {
            Op::Equal | Op::Unequal => self,
            Op::Less => Op::Greater,
            Op::AtMost => Op::AtLeast,
            Op::Greater => Op::Less,
            Op::AtLeast => Op::AtMost,
            Op::In | Op::Has | Op::Contains | Op::Matches | Op::IsTrue => return None,
        })
    }
}

/// A name without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    /// It is in backquotes, so it names a parameter.
    pub(crate) is_param: bool,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Name(Name),
    Text(String, Range<usize>),
    Number(Number),
}

impl Operand {
    pub(crate) fn span(&self) -> Range<usize> {
        match self {
            Operand::Name(name) => name.span.clone(),
            Operand::Text(_, span) => span.clone(),
            Operand::Number(number) => number.span.clone(),
        }
    }
}

/// A number, exactly as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    /// The number is `digits / 10^scale`; with a unit of time it is in nanoseconds.
    pub(crate) digits: i128,
    pub(crate) scale: u32,
    pub(crate) is_time: bool,
    pub(crate) span: Range<usize>,
}
