//! Rules about parameters.

use crate::check::context::{Check, Origin, Text};
use crate::check::fields::Fields;
use crate::check::names::{Once, Style};
use crate::check::naming;
use crate::check::naming::Marked;
use crate::check::since::Appended;
use crate::check::types::Types;
use crate::model::registry::{Count, Param, Role};
use crate::model::sensitive::Sensitive;
use crate::model::sort::Sort;
use crate::text::diagnostic::{one_of, quote};
use crate::text::keys;
use crate::text::limits::{
    DEFAULT_ELEMENTS, DEFAULT_RUN_LEN, MAX_ALIGN, MAX_ELEMENTS, MAX_PARAMS, MAX_RUN_LEN, MAX_USUAL,
};
use crate::text::words::{is_camel_case, nearest};

/// Returns the parameters of an event, in wire order, and whether the sizes of all are known.
pub(super) fn params(cx: &mut Check, event: &Fields, types: &mut Types) -> (Vec<Param>, bool) {
    let (tables, mut sound) = event.tables(cx, "params");
    if tables.len() > MAX_PARAMS {
        let message =
            format!("{} has {} parameters, expected at most {MAX_PARAMS}", event.what, tables.len());
        cx.diags.error(tables[MAX_PARAMS].span(), message).help("put some into arrays, or split the event");
    }
    let mut names = Once::default();
    let mut appended = Appended::default();
    let mut marked = Vec::with_capacity(tables.len());
    let params = tables.iter().take(MAX_PARAMS).map(|table| {
        let text = table.get_ref().get("name").and_then(|name| name.get_ref().as_str());
        let what = match text {
            Some(name) => format!("parameter {} of {}", quote(name), event.what),
            None => format!("a parameter of {}", event.what),
        };
        let fields = Fields::new(cx, what, table.span(), table.get_ref(), keys::PARAM);
        let name = fields.need_text(cx, "name");
        if let Some(name) = &name
            && cx.spelling("parameter", name, Style::Snake)
            && let Some(first) = names.again(name.get_ref(), name.span())
        {
            let message = format!("{} has two parameters `{}`", event.what, name.get_ref());
            cx.diags
                .error(name.span(), message)
                .label(first, "first used here")
                .help("give each its own name");
        }
        let (param, fine) = param(cx, &fields, types);
        sound &= fine;
        let since = appended.since(cx, &fields);
        marked.push(Marked { fields, sound: fine });
        Param { name: name.map_or(String::new(), |name| name.into_inner().to_string()), since, ..param }
    });
    let mut params: Vec<Param> = params.collect();
    naming::names(cx, event, &mut params, &marked);
    naming::numbers(cx, &mut params, &marked);
    (params, sound)
}

/// Returns everything about a parameter except its name, `names`, `numbers` and `since`, and
/// whether its size is known.
fn param(cx: &mut Check, fields: &Fields, types: &mut Types) -> (Param, bool) {
    let key = type_key(cx, fields);
    let text = fields.need_text(cx, key);
    // A type of registry files alone: in a stream it is its number's type with a role.
    let given = text.as_ref().and_then(|text| Role::from_text(text.get_ref()));
    let sort = match given {
        Some(role) => Some((role.sort(), Count::One)),
        None => text.and_then(|text| sort(cx, fields, &text, types)),
    };
    let role = given.or_else(|| marked_role(cx, fields, sort));
    let mut param = Param {
        name: String::new(),
        sort: Sort::U64,
        count: Count::One,
        doc: fields.doc(cx),
        unit: fields.text(cx, "unit").map_or(String::new(), |unit| {
            cx.unit(&unit);
            if let Some((sort, _)) = sort
                && !sort.is_number()
            {
                let message = format!("{} has a unit, but is not a number", fields.what);
                cx.diags.error(unit.span(), message).help("leave `unit` out");
            }
            unit.into_inner().to_string()
        }),
        is_counter: false,
        align: 1,
        usual: None,
        max_len: 0,
        names: None,
        numbers: String::new(),
        role,
        sensitive: sensitive(cx, fields),
        since: None,
    };
    if role.is_some() {
        for key in ["unit", "counter", "names", "numbers", "sensitive", "usual"] {
            if let Some(value) = fields.place(key) {
                let message = format!("{} has `{key}`, but is a stack", fields.what);
                cx.diags.error(value, message).help(format!("leave `{key}` out"));
            }
        }
    }
    let Some((sort, count)) = sort else { return (param, false) };
    let mut sound = !matches!(sort, Sort::Named(index) if types.unsound.contains(&types.list[index].name));
    (param.sort, param.count) = (sort, count);
    let (align, aligned) = align(cx, fields, sort, count);
    (param.align, sound) = (align, sound && aligned);
    param.usual = usual(cx, fields, types, sort, count);
    param.is_counter = is_counter(cx, fields, sort, count);
    let highest = match count {
        Count::UpTo(_) => MAX_ELEMENTS,
        Count::One if sort.is_run() => MAX_RUN_LEN,
        Count::One | Count::Fixed(_) => {
            if let Some(max) = fields.int(cx, "max", i128::MIN..=i128::MAX) {
                let message = format!("{} has a `max`, but a fixed size", fields.what);
                cx.diags
                    .error(max.span(), message)
                    .help("`max` is for `string`, `bytes` and arrays without a number, such as `[u32]`");
            }
            return (param, sound);
        }
    };
    let max = fields.int(cx, "max", 1..=highest.into());
    let sound = sound && (max.is_some() || !fields.has("max"));
    // It fits: it was checked to be at most `highest`.
    let max = max.map(|max| max.into_inner() as u32);
    match count {
        Count::UpTo(_) => param.count = Count::UpTo(max.unwrap_or(DEFAULT_ELEMENTS)),
        _ => param.max_len = max.unwrap_or(DEFAULT_RUN_LEN),
    }
    (param, sound)
}

/// Returns the role of a parameter that has the key `role`, as in the canonical form.
fn marked_role(cx: &mut Check, fields: &Fields, sort: Option<(Sort, Count)>) -> Option<Role> {
    // In a stream, a role that a later version knows does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let text = fields.text(cx, "role");
    let role = text.and_then(|text| {
        let Some(role) = Role::from_text(text.get_ref()) else {
            let message = format!("unknown role {} of {}", quote(text.get_ref()), fields.what);
            let help = format!("expected {}", one_of(Role::ALL.iter().map(|role| role.name())));
            cx.diags.error(text.span(), message).help(help);
            return None;
        };
        let (sort, count) = sort?;
        if (sort, count) != (role.sort(), Count::One) {
            let (name, of) = (role.name(), role.sort().name().unwrap_or_default());
            let message = format!("{} has the role `{name}`, but is not a single `{of}`", fields.what);
            cx.diags
                .error(text.span(), message)
                .help(format!("write `sort = \"{name}\"`, and leave `role` out"));
            return None;
        }
        Some(role)
    });
    if let Some(noted) = noted {
        cx.diags = noted;
    }
    role
}

/// Returns why the values of a parameter are not for everyone, if it has the key `sensitive`.
fn sensitive(cx: &mut Check, fields: &Fields) -> Option<Sensitive> {
    // A word that a later version knows hides the value too.
    if cx.origin == Origin::Embedded {
        let noted = std::mem::take(&mut cx.diags);
        let text = fields.text(cx, "sensitive").map(|text| Sensitive::from_text(text.get_ref()));
        cx.diags = noted;
        return match text {
            Some(known) => known.or(Some(Sensitive::Secret)),
            None => fields.has("sensitive").then_some(Sensitive::Secret),
        };
    }
    let text = fields.text(cx, "sensitive")?;
    let sensitive = Sensitive::from_text(text.get_ref());
    if sensitive.is_none() {
        let message = format!("unknown mark {} of {}", quote(text.get_ref()), fields.what);
        let help = format!("expected {}", one_of(Sensitive::ALL.iter().map(|word| word.name())));
        cx.diags.error(text.span(), message).help(help);
    }
    sensitive
}

/// Returns the key of the parameter type: `sort`, or its other name `type`.
fn type_key(cx: &mut Check, fields: &Fields) -> &'static str {
    if !fields.has("type") {
        return "sort";
    }
    if fields.has("sort")
        && let Some(text) = fields.text(cx, "type")
    {
        let message = format!("{} has both `sort` and `type`", fields.what);
        cx.diags.error(text.span(), message).help("they mean the same: leave one out");
        return "sort";
    }
    "type"
}

/// Returns the number that a parameter's values are multiples of, and whether it is valid.
fn align(cx: &mut Check, fields: &Fields, sort: Sort, count: Count) -> (u32, bool) {
    let Some(align) = fields.int(cx, "align", 1..=MAX_ALIGN.into()) else {
        return (1, !fields.has("align"));
    };
    if !(sort.is_delta() && count == Count::One) {
        let message = format!("{} has an `align`, but is not a single pointer, address or word", fields.what);
        cx.diags.error(align.span(), message).help("leave `align` out");
        return (1, false);
    }
    // It fits: it was checked.
    let number = *align.get_ref() as u32;
    if !number.is_power_of_two() {
        let message = format!("the `align` of {} is {number}, expected a power of two", fields.what);
        let power = 1 << number.trailing_zeros();
        let help = match power {
            1 => "leave it out, if nothing is known".to_string(),
            power => format!("multiples of {number} are multiples of {power}"),
        };
        cx.diags.error(align.span(), message).help(help);
        return (1, false);
    }
    (number, true)
}

/// Returns the number of bytes that a value usually takes in a stream.
fn usual(cx: &mut Check, fields: &Fields, types: &Types, sort: Sort, count: Count) -> Option<u8> {
    // In a stream, a number that a later version knows does not affect the rest of its registry.
    let noted = (cx.origin == Origin::Embedded).then(|| std::mem::take(&mut cx.diags));
    let usual = known_usual(cx, fields, types, sort, count);
    if let Some(noted) = noted {
        cx.diags = noted;
    }
    usual
}

fn known_usual(cx: &mut Check, fields: &Fields, types: &Types, sort: Sort, count: Count) -> Option<u8> {
    let usual = fields.int(cx, "usual", 1..=MAX_USUAL.into())?;
    let repr = match sort {
        Sort::Named(index) => types.list[index].repr,
        sort => sort,
    };
    let most = match (repr, count) {
        (Sort::U16 | Sort::I16, Count::One) => 3,
        (Sort::Pointer | Sort::Addr | Sort::Word | Sort::Label, Count::One) => MAX_USUAL,
        (Sort::U32 | Sort::I32 | Sort::U64 | Sort::I64, Count::One) => MAX_USUAL,
        _ => {
            let message = format!("{} has a `usual`, but is not a number of one to nine bytes", fields.what);
            let help = "leave it out: it is for single addresses, words, labels, and enums and integers of several bytes";
            cx.diags.error(usual.span(), message).help(help);
            return None;
        }
    };
    // It fits: it was checked.
    let number = *usual.get_ref() as u8;
    if number > most {
        let name = repr.name().unwrap_or_default();
        let message = format!(
            "the `usual` of {} is {number}, but its `{name}` takes at most {most} bytes",
            fields.what
        );
        cx.diags.error(usual.span(), message).help("say how many bytes the values usually take");
        return None;
    }
    Some(number)
}

/// Returns true for a single number with the mark `counter`.
fn is_counter(cx: &mut Check, fields: &Fields, sort: Sort, count: Count) -> bool {
    let Some(place) = fields.true_at(cx, "counter") else { return false };
    if !(sort.is_number() && count == Count::One) {
        let message = format!("{} is a counter, but not a single number", fields.what);
        cx.diags.error(place, message).help("leave `counter` out, or use `word`, an integer or a float");
    }
    true
}

/// Reads `word`, `W`, `TraceWhy`, `[u32]` or `[u32; 4]`.
fn sort(cx: &mut Check, fields: &Fields, text: &Text, types: &mut Types) -> Option<(Sort, Count)> {
    let whole = *text.get_ref();
    let Some(inner) = whole.strip_prefix('[') else {
        return element(cx, fields, text, whole, types).map(|sort| (sort, Count::One));
    };
    let mut refuse = |message: String, help: &str| {
        cx.diags.error(text.span(), message).help(help);
    };
    let Some(inner) = inner.strip_suffix(']') else {
        refuse(
            format!("the type {} of {} has no closing `]`", quote(whole), fields.what),
            "for instance `[u32]` or `[u32; 4]`",
        );
        return None;
    };
    if inner.contains(['[', ']']) {
        refuse(
            format!("the type {} of {} is an array of arrays", quote(whole), fields.what),
            "use one array, or several parameters",
        );
        return None;
    }
    let (name, count) = match inner.split_once(';') {
        None => (inner, Count::UpTo(DEFAULT_ELEMENTS)),
        Some((name, number)) => match elements(number.trim()) {
            Some(number) => (name, Count::Fixed(number)),
            None => {
                let message = format!(
                    "the type {} of {} has {} elements, expected 1 to {MAX_ELEMENTS}",
                    quote(whole),
                    fields.what,
                    quote(number.trim())
                );
                refuse(message, "for instance `[u32; 4]`, or `[u32]` with `max = 4` for at most 4 elements");
                return None;
            }
        },
    };
    let sort = element(cx, fields, text, name.trim(), types)?;
    if sort.is_run() {
        let strings = if sort == Sort::String { "strings" } else { "byte strings" };
        let message = format!("the type {} of {} is an array of {strings}", quote(whole), fields.what);
        cx.diags.error(text.span(), message).help("use several parameters, or an array of `label`");
        return None;
    }
    Some((sort, count))
}

/// Returns the number of elements of a fixed array.
fn elements(number: &str) -> Option<u32> {
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|number| digits && (1..=MAX_ELEMENTS).contains(number))
}

/// Returns the parameter type with a name.
fn element(cx: &mut Check, fields: &Fields, text: &Text, name: &str, types: &mut Types) -> Option<Sort> {
    let sort = Sort::from_text(name).or_else(|| types.index.get(name).copied().map(Sort::Named));
    if Role::from_text(name).is_some() {
        let message = format!("the type {} of {} is an array of stacks", quote(text.get_ref()), fields.what);
        cx.diags.error(text.span(), message).help("an event has one stack");
        return None;
    }
    let like_type = is_camel_case(name) && name.len() > 1;
    if sort.is_some() || cx.diags.is_full() || like_type && !types.readable {
        return sort;
    }
    let roles = Role::ALL.iter().map(|role| role.name());
    let sorts = || Sort::ALL.iter().filter_map(|sort| sort.name()).chain(roles.clone());
    let meant = nearest(name, types.list.iter().map(|ty| ty.name.as_str()).chain(sorts()));
    // An undefined type is one mistake, even if several parameters have it.
    if like_type && meant.is_none() && !types.noted.insert(name.to_string()) {
        return None;
    }
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if like_type => format!("define it as `[types.{name}]`, or use a built-in type"),
        None => format!("expected {}, or a type of `[types]`", one_of(sorts())),
    };
    let message = format!("unknown type {} of {}", quote(name), fields.what);
    cx.diags.error(text.span(), message).help(help);
    None
}
