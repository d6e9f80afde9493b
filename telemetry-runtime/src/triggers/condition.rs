//! A condition in a registry: which events it is about, and whether one meets it.

use crate::control::meant::meant;
use crate::memory::registry::Registry;
use crate::memory::walk::Value;
use crate::model::registry_def::{EventInfo, ParamInfo, RegistryDef, Sort};
use crate::triggers::parse::{Number, Test, Trigger, Wanted, When};

/// A condition on an event of a registry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// The index of the trigger.
    pub(crate) trigger: usize,
    /// The code of the event, and the bit of its kind.
    pub(crate) code: u16,
    pub(crate) bit: u8,
    /// The index of the parameter, and the number that it is compared with.
    pub(crate) test: Option<(usize, Number)>,
}

/// Why a condition does not fit a registry: what is unknown, and what may be meant.
pub(crate) type Misfit = (String, Option<String>);

/// Finds the event of a trigger's condition in a registry. Returns `None` if it is about another
/// one, or has no event.
pub(crate) fn bind(index: usize, trigger: &Trigger, registry: &Registry) -> Option<Result<Bound, Misfit>> {
    let When::Event { event: word, test } = &trigger.when else { return None };
    let def = registry.def();
    let name = telemetry_format::control::of_registry(def.name, word)?;
    let event = def.events.iter().find(|event| event.name.eq_ignore_ascii_case(name))?;
    let bit = def.kinds[usize::from(event.kind)].bit;
    let test = test.as_ref().map(|test| bind_test(def, event, test)).transpose();
    Some(test.map(|test| Bound { trigger: index, code: event.code, bit, test }))
}

fn bind_test(def: &RegistryDef, event: &EventInfo, test: &Test) -> Result<(usize, Number), Misfit> {
    let is_tested = |param: &ParamInfo| numeric(param.2);
    let at = event
        .params
        .iter()
        .position(|param| param.0 == test.param)
        .filter(|at| is_tested(&event.params[*at]));
    let Some(at) = at else {
        let names: Vec<&str> =
            event.params.iter().filter(|param| is_tested(param)).map(|param| param.0).collect();
        let what = format!("`{}` is no number of event `{}`", test.param, event.name);
        return Err((what, meant(&test.param, &names).map(str::to_owned)));
    };
    let number = match (&test.value, event.params[at].2) {
        (Wanted::Number(number), _) => Some(*number),
        (Wanted::Name(name), Sort::Named(_, ty)) => {
            let values = def.types[ty].values;
            let found = values.iter().find(|(_, value)| value.eq_ignore_ascii_case(name));
            let names: Vec<&str> = values.iter().map(|(_, name)| *name).collect();
            let Some((number, _)) = found else {
                let what =
                    format!("`{name}` is no value of parameter `{}` of event `{}`", test.param, event.name);
                return Err((what, meant(name, &names).map(str::to_owned)));
            };
            Some(Number::Whole(*number))
        }
        (Wanted::Name(name), Sort::Number(_)) => match &name[..] {
            "true" => Some(Number::Whole(1)),
            "false" => Some(Number::Whole(0)),
            _ => None,
        },
        (Wanted::Name(_), _) => None,
    };
    let what = || (format!("parameter `{}` of event `{}` has no named values", test.param, event.name), None);
    number.map(|number| (at, number)).ok_or_else(what)
}

/// Returns true for a single number: an array, a string and bytes are not compared.
fn numeric(sort: Sort) -> bool {
    match sort {
        Sort::Address(_) | Sort::Word(_) | Sort::Aligned(..) | Sort::Number(_) | Sort::Named(..) => true,
        Sort::String | Sort::Bytes | Sort::Fixed(..) | Sort::Counted(_) => false,
    }
}

/// Returns a value as a number, if it is one.
pub(crate) fn number(value: &Value<'_>) -> Option<Number> {
    Some(match *value {
        Value::Address(value) | Value::Word(value) => Number::Whole(value?.into()),
        Value::Unsigned(value) => Number::Whole(value.into()),
        Value::Signed(value) => Number::Whole(value.into()),
        Value::Bool(value) => Number::Whole(value.into()),
        Value::Named(value, _) => Number::Whole(value),
        Value::F32(value) => Number::Float(value.into()),
        Value::F64(value) => Number::Float(value),
        Value::String(_) | Value::Bytes(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{ACCESS, TRACE, registry};
    use crate::triggers::parse::trigger;

    /// Returns what a condition becomes in the registry of tests.
    fn bound(condition: &str) -> Option<Result<Bound, Misfit>> {
        bind(4, &trigger(&format!("{condition}: flush")).expect("a trigger"), registry())
    }

    #[test]
    fn a_condition_is_about_an_event_of_a_registry() {
        let check = |condition: &str, expected: Option<(u16, u8)>| {
            let found = bound(condition).map(|bound| bound.expect("a condition that fits"));
            assert_eq!(found.map(|bound| (bound.code, bound.bit)), expected, "{condition}");
            assert!(found.is_none_or(|bound| bound.trigger == 4 && bound.test.is_none()));
        };
        check("Hit", Some((1, ACCESS)));
        check("cache:step", Some((7, TRACE)));
        check("other:Hit", None);
        check("Access", None);
        check("every 1s", None);
        check("signal HUP", None);
    }

    #[test]
    fn a_test_compares_with_a_number() {
        let check = |condition: &str, expected: (usize, i128)| {
            let found = bound(condition).expect("an event").expect("a condition that fits");
            assert_eq!(found.test, Some((expected.0, Number::Whole(expected.1))), "{condition}");
        };
        check("Hit.size > 5", (0, 5));
        check("Hit.level == high", (1, 1));
        check("Hit.level == Low", (1, 0));
        check("Hit.level < 7", (1, 7));
        check("Hit.is_hot == true", (2, 1));
        check("Hit.is_hot == false", (2, 0));
        check("Hit.ratio >= 2", (3, 2));
    }

    #[test]
    fn what_does_not_fit_says_what_may_be_meant() {
        let check = |condition: &str, expected: &str, meant: Option<&str>| {
            let (what, found) = bound(condition).expect("an event").expect_err("a misfit");
            assert_eq!((&*what, found.as_deref()), (expected, meant), "{condition}");
        };
        check("Hit.sise > 5", "`sise` is no number of event `Hit`", Some("size"));
        check("Hit.name == x", "`name` is no number of event `Hit`", None);
        check("Hit.parts > 1", "`parts` is no number of event `Hit`", None);
        check("Miss.size > 1", "`size` is no number of event `Miss`", None);
        let value = "`Hihg` is no value of parameter `level` of event `Hit`";
        check("Hit.level == Hihg", value, Some("High"));
        check("Hit.is_hot == maybe", "parameter `is_hot` of event `Hit` has no named values", None);
        check("Hit.size == Low", "parameter `size` of event `Hit` has no named values", None);
    }

    #[test]
    fn values_are_numbers_if_they_can_be_compared() {
        let check = |value: Value<'_>, expected| assert_eq!(number(&value), expected);
        let whole = |number: i128| Some(Number::Whole(number));
        check(Value::Address(Some(u64::MAX)), whole(u64::MAX.into()));
        check(Value::Word(Some(7)), whole(7));
        check(Value::Address(None), None);
        check(Value::Word(None), None);
        check(Value::Unsigned(8), whole(8));
        check(Value::Signed(-8), whole(-8));
        check(Value::Bool(true), whole(1));
        check(Value::Named(-3, 0), whole(-3));
        check(Value::F32(1.5), Some(Number::Float(1.5)));
        check(Value::F64(-1.5), Some(Number::Float(-1.5)));
        check(Value::String(b"7"), None);
        check(Value::Bytes(b"7"), None);
    }
}
