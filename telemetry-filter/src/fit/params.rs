//! Comparisons of parameters.
#![warn(clippy::wildcard_enum_match_arm)]

use telemetry_decode::names::Namings;
use telemetry_schema::{Count, Param, Registry, Sort, Type, TypeForm};

use crate::fit::problem::Problem;
use crate::fit::values;
use crate::syntax::tree::{Comparison, Name, Op, Operand};
use crate::test::leaf::{Flip, Leaf, Side, What, Width};
use crate::test::tree::Tree;

/// An event type, and the marks of its registry.
#[derive(Clone, Copy)]
pub(crate) struct Of<'r> {
    pub(crate) registry: &'r Registry,
    pub(crate) namings: &'r Namings,
    pub(crate) event: usize,
}

/// What the values of a parameter are.
enum Meaning<'r> {
    Whole(Flip),
    Bool,
    Named(Flip, &'r Type),
    Float(Width),
    Text,
    Label,
}

impl<'r> Of<'r> {
    fn params(self) -> &'r [Param] {
        &self.registry.events[self.event].params
    }

    fn find(self, name: &str) -> Option<usize> {
        self.params().iter().position(|param| param.name == name)
    }

    fn meaning(self, param: &Param) -> Meaning<'r> {
        match param.sort {
            Sort::Pointer | Sort::Addr | Sort::Word => Meaning::Whole(Flip::new(false)),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Meaning::Whole(Flip::new(false)),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Meaning::Whole(Flip::new(true)),
            Sort::F32 => Meaning::Float(Width::F32),
            Sort::F64 => Meaning::Float(Width::F64),
            Sort::Bool => Meaning::Bool,
            Sort::String | Sort::Bytes => Meaning::Text,
            Sort::Label => Meaning::Label,
            Sort::Named(_) => match self.registry.ty(param.sort) {
                Some(ty) => {
                    let is_signed = ty.repr.int_range().is_some_and(|range| *range.start() < 0);
                    Meaning::Named(Flip::new(is_signed), ty)
                }
                None => Meaning::Whole(Flip::new(false)),
            },
        }
    }
}

/// Fits a comparison of a parameter to an event type.
pub(super) fn fit(comparison: &Comparison, of: Of<'_>, wanted: bool) -> Result<Tree, Problem> {
    let index = of.find(&comparison.subject.text).ok_or(Problem::Missing)?;
    let param = &of.params()[index];
    expect_shown(&comparison.subject, of)?;
    for operand in &comparison.operands {
        if let Operand::Name(name) = operand {
            expect_shown(name, of)?;
        }
    }
    if param.count != Count::One {
        return element(comparison, of, index, wanted);
    }
    let has_strings = of.namings.numbers_of_event(of.event).get(index).is_some_and(Option::is_some);
    match of.meaning(param) {
        Meaning::Text => {
            let test = values::text_test(comparison)?;
            Ok(Tree::Leaf(Leaf { what: What::Text(index, test), wanted: wanted == is_positive(comparison) }))
        }
        Meaning::Label => number_or_name(comparison, of, index, wanted),
        Meaning::Whole(_) if has_strings => number_or_name(comparison, of, index, wanted),
        Meaning::Whole(flip) => whole(comparison, of, (index, flip, None), wanted),
        Meaning::Named(flip, ty) => whole(comparison, of, (index, flip, Some(ty)), wanted),
        Meaning::Bool => bool(comparison, index, wanted),
        Meaning::Float(width) => float(comparison, of, (index, width), wanted),
    }
}

/// Refuses a parameter whose values are hidden: which events match would tell them.
fn expect_shown(name: &Name, of: Of<'_>) -> Result<(), Problem> {
    let param = of.find(&name.text).map(|index| &of.params()[index]);
    let Some(sensitive) = param.and_then(|param| of.registry.hidden_as(param)) else { return Ok(()) };
    let message = format!("`{}` is {}, so its values are hidden", name.text, sensitive.name());
    let help = Some("`--show-sensitive` shows them".to_string());
    Err(Problem::Misuse { at: name.span.clone(), message, help, is_hidden: true })
}

/// Returns false for an operator that is true where another one is not.
fn is_positive(comparison: &Comparison) -> bool {
    comparison.op != Op::Unequal
}

/// The operators of a type, for help.
fn wrong_operator(comparison: &Comparison, what: &str, operators: &str) -> Problem {
    let message = format!("`{}` is {what}", comparison.subject.text);
    Problem::misuse(comparison.at.clone(), message).with_help(format!("the operators are {operators}"))
}

/// A label, or a number that stands for a string.
fn number_or_name(comparison: &Comparison, of: Of<'_>, index: usize, wanted: bool) -> Result<Tree, Problem> {
    if comparison.operands.iter().all(|operand| matches!(operand, Operand::Number(_))) {
        return whole(comparison, of, (index, Flip::new(false), None), wanted);
    }
    let test = values::text_test(comparison)?;
    Ok(Tree::Leaf(Leaf { what: What::Name(index, test), wanted: wanted == is_positive(comparison) }))
}

/// A whole number, an enum or flags.
fn whole(
    comparison: &Comparison,
    of: Of<'_>,
    (index, flip, ty): (usize, Flip, Option<&Type>),
    wanted: bool,
) -> Result<Tree, Problem> {
    let Comparison { op, operands, .. } = comparison;
    let unit = &of.params()[index].unit;
    let is_flags = ty.is_some_and(|ty| ty.form == TypeForm::Flags);
    match op {
        Op::Has if is_flags => {
            let mask = operands.iter().try_fold(0, |mask, operand| match (operand, ty) {
                (Operand::Name(name), Some(ty)) => Ok(mask | values::named(ty, name)? as u64),
                (Operand::Number(number), _) => Ok(mask | values::bound(number, "")?.floor as u64),
                (operand, _) => Err(Problem::misuse(operand.span(), "expected the name of a flag")),
            })?;
            return Ok(Tree::Leaf(Leaf { what: What::Flags(index, mask), wanted }));
        }
        Op::In => {
            let mut list = Vec::new();
            for operand in operands {
                let bound = constant(operand, ty, unit)?;
                list.extend(bound.is_whole.then_some(bound.floor));
            }
            return Ok(values::one_of(index, flip, list, wanted));
        }
        Op::Equal | Op::Unequal | Op::Less | Op::AtMost | Op::Greater | Op::AtLeast => {}
        Op::Has | Op::Contains | Op::Matches | Op::IsTrue => {}
    }
    let (Some(order), [operand]) = (values::order(*op), &operands[..]) else {
        let (what, operators) = match ty {
            Some(_) if is_flags => ("a set of flags", "has, ==, !=, in, <, <=, > and >="),
            Some(_) => ("an enum", "==, !=, in, <, <=, > and >="),
            None => ("a number", "==, !=, in, <, <=, > and >="),
        };
        return Err(wrong_operator(comparison, what, operators));
    };
    if let Some(other) = other_side(operand, of, ty)? {
        return Ok(Tree::Leaf(Leaf { what: What::Two(Side::Whole(index, flip), order, other), wanted }));
    }
    Ok(values::whole(index, flip, order, constant(operand, ty, unit)?, wanted))
}

/// Returns the number of an operand: a number, or the name of an enum's value.
fn constant(operand: &Operand, ty: Option<&Type>, unit: &str) -> Result<values::Bound, Problem> {
    match (operand, ty) {
        (Operand::Number(number), _) => values::bound(number, unit),
        (Operand::Name(name), Some(ty)) => {
            Ok(values::Bound { floor: values::named(ty, name)?, is_whole: true })
        }
        (Operand::Text(..), Some(ty)) => {
            let problem = Problem::misuse(operand.span(), format!("expected a value of `{}`", ty.name));
            Err(problem.with_help("the names of values have no quotes"))
        }
        (Operand::Name(_) | Operand::Text(..), None) => {
            Err(Problem::misuse(operand.span(), "expected a number"))
        }
    }
}

/// Returns the other parameter that a number is compared with, if the operand names one.
fn other_side(operand: &Operand, of: Of<'_>, ty: Option<&Type>) -> Result<Option<Side>, Problem> {
    let Operand::Name(name) = operand else { return Ok(None) };
    if !name.is_param && ty.is_some_and(|ty| ty.values.iter().any(|value| value.name == name.text)) {
        return Ok(None);
    }
    let Some(index) = of.find(&name.text) else {
        let is_value = ty.is_some() && !name.is_param;
        return if is_value { Ok(None) } else { Err(unknown_param(operand, of)) };
    };
    let param = &of.params()[index];
    match of.meaning(param) {
        Meaning::Whole(flip) | Meaning::Named(flip, _) if param.count == Count::One => {
            Ok(Some(Side::Whole(index, flip)))
        }
        Meaning::Float(width) if param.count == Count::One => Ok(Some(Side::Float(index, width))),
        Meaning::Whole(_) | Meaning::Named(..) | Meaning::Float(_) => Err(not_a_number(name)),
        Meaning::Bool | Meaning::Text | Meaning::Label => Err(not_a_number(name)),
    }
}

fn not_a_number(name: &Name) -> Problem {
    Problem::misuse(name.span.clone(), format!("`{}` is not a number", name.text))
}

fn unknown_param(operand: &Operand, of: Of<'_>) -> Problem {
    let event = &of.registry.events[of.event];
    let Operand::Name(name) = operand else { return Problem::Missing };
    let problem = Problem::misuse(
        operand.span(),
        format!("`{}` is neither a number nor a parameter of `{}`", name.text, event.name),
    );
    let names = event.params.iter().map(|param| param.name.as_str());
    match telemetry_schema::nearest(&name.text, names) {
        Some(nearest) => problem.with_help(format!("did you mean `{nearest}`?")),
        None => problem.with_help("strings have quotes"),
    }
}

fn bool(comparison: &Comparison, index: usize, wanted: bool) -> Result<Tree, Problem> {
    let Comparison { op, operands, .. } = comparison;
    let value = match (op, &operands[..]) {
        (Op::IsTrue, _) => true,
        (Op::Equal | Op::Unequal, [Operand::Name(name)]) if name.text == "true" || name.text == "false" => {
            name.text == "true"
        }
        (Op::Equal | Op::Unequal, [operand]) => {
            return Err(Problem::misuse(operand.span(), "expected `true` or `false`"));
        }
        _ => return Err(wrong_operator(comparison, "a bool", "== and !=")),
    };
    let wanted = wanted == (value == is_positive(comparison));
    let bound = values::Bound { floor: 0, is_whole: true };
    Ok(values::whole(index, Flip::new(false), crate::test::leaf::Order::Greater, bound, wanted))
}

fn float(
    comparison: &Comparison,
    of: Of<'_>,
    (index, width): (usize, Width),
    wanted: bool,
) -> Result<Tree, Problem> {
    let Comparison { op, operands, .. } = comparison;
    let (Some(order), [operand]) = (values::order(*op), &operands[..]) else {
        return Err(wrong_operator(comparison, "a float", "==, !=, <, <=, > and >="));
    };
    if let Some(other) = other_side(operand, of, None)? {
        return Ok(Tree::Leaf(Leaf { what: What::Two(Side::Float(index, width), order, other), wanted }));
    }
    let Operand::Number(number) = operand else {
        return Err(Problem::misuse(operand.span(), "expected a number"));
    };
    let value = values::float(number, &of.params()[index].unit)?;
    Ok(Tree::Leaf(Leaf { what: What::Float(index, width, order, value), wanted }))
}

/// An element of an array.
fn element(comparison: &Comparison, of: Of<'_>, index: usize, wanted: bool) -> Result<Tree, Problem> {
    let param = &of.params()[index];
    let (Op::Contains, [operand]) = (comparison.op, &comparison.operands[..]) else {
        return Err(wrong_operator(comparison, "an array", "contains"));
    };
    let what = match (of.meaning(param), operand) {
        (Meaning::Float(_), Operand::Number(number)) => {
            What::FloatElement(index, values::float(number, &param.unit)?)
        }
        (Meaning::Bool, Operand::Name(name)) if name.text == "true" || name.text == "false" => {
            What::Element(index, [i128::from(name.text == "true")].into())
        }
        (Meaning::Named(_, ty), operand) => element_of(index, constant(operand, Some(ty), &param.unit)?),
        (Meaning::Whole(_) | Meaning::Label, operand) => {
            element_of(index, constant(operand, None, &param.unit)?)
        }
        (Meaning::Float(_) | Meaning::Bool | Meaning::Text, operand) => {
            return Err(Problem::misuse(operand.span(), "expected an element of the array"));
        }
    };
    Ok(Tree::Leaf(Leaf { what, wanted }))
}

fn element_of(index: usize, bound: values::Bound) -> What {
    let list = if bound.is_whole { vec![bound.floor] } else { Vec::new() };
    What::Element(index, list.into())
}
