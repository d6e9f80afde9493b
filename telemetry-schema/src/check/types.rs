//! Rules about types: enums and flags.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check::context::{Check, described};
use crate::check::fields::{Fields, in_file_order, integer};
use crate::check::names::{Once, Style};
use crate::model::registry::{Type, TypeForm, TypeValue};
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;

/// The types ordered by name.
pub(super) struct Types {
    pub(super) list: Vec<Type>,
    /// Names of types with an invalid repr, whose size is unknown.
    pub(super) unsound: HashSet<String>,
    pub(super) index: HashMap<String, usize>,
    /// False if the table or a name in it is invalid: then unknown types are not reported.
    pub(super) readable: bool,
    /// Unknown types that were reported and resemble no other.
    pub(super) noted: HashSet<String>,
}

/// Checks `[types]`.
pub(super) fn types(cx: &mut Check, file: &Fields) -> Types {
    let table = file.table(cx, "types");
    let mut types = Types {
        list: Vec::new(),
        unsound: HashSet::new(),
        index: HashMap::new(),
        readable: table.is_some() || !file.has("types"),
        noted: HashSet::new(),
    };
    for (name, value) in table.iter().flat_map(|table| in_file_order(table.get_ref())) {
        let spelled = cx.spelling("type", &name, Style::Camel);
        types.readable &= spelled;
        if spelled {
            cx.claim("type", &name);
            if let Some(sort) = Sort::from_text(name.get_ref()) {
                let long = sort.name().unwrap_or_default();
                let message =
                    format!("the type name `{}` is the letter of the built-in type `{long}`", name.get_ref());
                cx.diags.error(name.span(), message).help("choose a longer name");
            }
        }
        let (ty, sound) = one_type(cx, &name, value);
        if !sound {
            types.unsound.insert(ty.name.clone());
        }
        types.list.push(ty);
    }
    types.list.sort_by(|a, b| a.name.cmp(&b.name));
    types.index = types.list.iter().enumerate().map(|(index, ty)| (ty.name.clone(), index)).collect();
    types
}

fn one_type(cx: &mut Check, name: &Spanned<&str>, value: &Spanned<DeValue>) -> (Type, bool) {
    let mut ty = Type {
        name: name.get_ref().to_string(),
        doc: String::new(),
        repr: Sort::U64,
        form: TypeForm::Enum,
        values: Vec::new(),
    };
    let what = format!("type {}", quote(name.get_ref()));
    let Some(table) = value.get_ref().as_table() else {
        let message = format!("expected a table for {what}, found {}", described(value.get_ref()));
        cx.diags.error(value.span(), message).help("for instance `{ repr = \"u8\", values = { Full = 1 } }`");
        return (ty, false);
    };
    let fields = Fields::new(cx, what, name.span(), table, keys::TYPE);
    ty.doc = fields.doc(cx);
    if fields.flag(cx, "flags", false) {
        ty.form = TypeForm::Flags;
    }
    let repr = repr(cx, &fields, ty.form);
    ty.repr = repr.unwrap_or(Sort::U64);
    if let Some(values) = fields.need_table(cx, "values") {
        if values.get_ref().is_empty() {
            let message = format!("{} has no values", fields.what);
            cx.diags.error(values.span(), message).help("for instance `values = { Full = 1, Empty = 2 }`");
        }
        // An invalid repr is one mistake, not one for every value.
        let range = repr.and_then(Sort::int_range).unwrap_or(i64::MIN.into()..=u64::MAX.into());
        ty.values = self::values(cx, values.get_ref(), &fields.what, ty.form, range);
    }
    (ty, repr.is_some())
}

/// Returns the integer that carries the type.
fn repr(cx: &mut Check, fields: &Fields, form: TypeForm) -> Option<Sort> {
    let text = fields.need_text(cx, "repr")?;
    let carries =
        |sort: &Sort| sort.int_range().is_some_and(|range| form == TypeForm::Enum || *range.start() == 0);
    let found = Sort::from_text(text.get_ref()).filter(|sort| sort.int_range().is_some());
    if found.is_some_and(|sort| carries(&sort)) {
        return found;
    }
    let message = match found {
        Some(_) => {
            format!("the repr {} of {} is signed, but flags are bits", quote(text.get_ref()), fields.what)
        }
        None => format!("the repr {} of {} is not an integer", quote(text.get_ref()), fields.what),
    };
    let names = Sort::ALL.iter().filter(|sort| carries(sort)).filter_map(|sort| sort.name());
    cx.diags.error(text.span(), message).help(format!("expected {}", one_of(names)));
    None
}

/// Returns the values ordered by number.
fn values(
    cx: &mut Check,
    table: &DeTable,
    what: &str,
    form: TypeForm,
    range: RangeInclusive<i128>,
) -> Vec<TypeValue> {
    let mut list = Vec::new();
    let mut names = Once::default();
    let mut numbers: HashMap<i128, std::ops::Range<usize>> = HashMap::new();
    for (name, value) in in_file_order(table) {
        if cx.spelling("value", &name, Style::Camel)
            && let Some(first) = names.again(&cx.identity(name.get_ref()), name.span())
        {
            let message = format!("value `{}` of {what} differs only in case from another", name.get_ref());
            cx.diags
                .error(name.span(), message)
                .label(first, "first used here")
                .help("give each its own name");
        }
        let value_what = format!("value {} of {what}", quote(name.get_ref()));
        let (number, doc) = match value.get_ref() {
            DeValue::Table(table) => {
                let fields = Fields::new(cx, value_what.clone(), name.span(), table, keys::VALUE);
                (fields.need_int(cx, "value", range.clone()), fields.doc(cx))
            }
            other => {
                let number = integer(other).map(|number| Spanned::new(value.span(), number));
                if number.is_none() {
                    let message = format!("expected an integer for {value_what}, found {}", described(other));
                    let help = format!(
                        "for instance `{0} = 1` or `{0} = {{ value = 1, doc = \"…\" }}`",
                        name.get_ref()
                    );
                    cx.diags.error(value.span(), message).help(help);
                }
                (number.filter(|number| cx.in_range(&value_what, number, range.clone())), String::new())
            }
        };
        let Some(number) = number else { continue };
        if form == TypeForm::Flags && *number.get_ref() == 0 {
            let message = format!("{value_what} is 0, but a flag has at least one bit");
            cx.diags.error(number.span(), message).help("no flag at all needs no name");
        }
        if let Some(first) = numbers.get(number.get_ref()) {
            let message = format!("{value_what} is {}, as another value is", number.get_ref());
            cx.diags
                .error(number.span(), message)
                .label(first.clone(), "first used here")
                .help("give each its own number");
        } else {
            numbers.insert(*number.get_ref(), number.span());
        }
        list.push(TypeValue { name: name.get_ref().to_string(), number: *number.get_ref(), doc });
    }
    list.sort_by_key(|value| value.number);
    list
}
