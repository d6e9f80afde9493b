//! Rules about every table: its allowed keys, its required keys, and the types of their values.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check::context::{Check, Origin, Text, described};
use crate::text::diagnostic::{one_of, quote};
use crate::text::words::nearest;

/// A table whose keys are read one by one. A value of the wrong type is reported and counts as
/// absent.
pub(super) struct Fields<'a> {
    /// The name of the table in messages: `event `PoolInit``.
    pub(super) what: String,
    /// The place at which a missing key is reported.
    pub(super) span: Range<usize>,
    table: &'a DeTable<'a>,
}

impl<'a> Fields<'a> {
    /// Reports the keys that do not belong to it.
    pub(super) fn new(
        cx: &mut Check,
        what: impl Into<String>,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        known: &[&'static str],
    ) -> Self {
        let what = what.into();
        if cx.origin == Origin::File {
            for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
                let found = key.get_ref();
                let message = format!("unknown key {} in {what}", quote(found));
                let help = match nearest(found, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("expected {}", one_of(known.iter().copied())),
                };
                cx.diags.error(key.span(), message).help(help);
            }
        }
        Fields { what, span, table }
    }

    /// Returns true if the key is there, whatever its value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns the place of a key's value, if the key is there.
    pub(super) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.table.get(key).map(Spanned::span)
    }

    pub(super) fn text(&self, cx: &mut Check, key: &str) -> Option<Text<'a>> {
        self.get(cx, key, "a string", DeValue::as_str)
    }

    pub(super) fn need_text(&self, cx: &mut Check, key: &str) -> Option<Text<'a>> {
        self.need(cx, key);
        self.text(cx, key)
    }

    /// Returns the value of a required key, whatever its type.
    pub(super) fn need_value(&self, cx: &mut Check, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.need(cx, key);
        self.table.get(key)
    }

    /// Returns the text of a key, if it has one, without a report.
    pub(super) fn any_text(&self, key: &str) -> Option<&'a str> {
        self.table.get(key)?.get_ref().as_str()
    }

    pub(super) fn flag(&self, cx: &mut Check, key: &str, default: bool) -> bool {
        self.get(cx, key, "`true` or `false`", DeValue::as_bool).map_or(default, Spanned::into_inner)
    }

    /// Returns the place of a flag that is `true`.
    pub(super) fn true_at(&self, cx: &mut Check, key: &str) -> Option<Range<usize>> {
        let flag = self.get(cx, key, "`true` or `false`", DeValue::as_bool)?;
        flag.get_ref().then(|| flag.span())
    }

    pub(super) fn int(
        &self,
        cx: &mut Check,
        key: &str,
        range: RangeInclusive<i128>,
    ) -> Option<Spanned<i128>> {
        let int = self.get(cx, key, "an integer", integer)?;
        cx.in_range(&format!("`{key}` of {}", self.what), &int, range).then_some(int)
    }

    pub(super) fn need_int(
        &self,
        cx: &mut Check,
        key: &str,
        range: RangeInclusive<i128>,
    ) -> Option<Spanned<i128>> {
        self.need(cx, key);
        self.int(cx, key, range)
    }

    pub(super) fn table(&self, cx: &mut Check, key: &str) -> Option<Spanned<&'a DeTable<'a>>> {
        self.get(cx, key, "a table", DeValue::as_table)
    }

    pub(super) fn need_table(&self, cx: &mut Check, key: &str) -> Option<Spanned<&'a DeTable<'a>>> {
        self.need(cx, key);
        self.table(cx, key)
    }

    /// Returns an array of tables: those of its elements that are tables, and whether all are.
    pub(super) fn tables(&self, cx: &mut Check, key: &str) -> (Vec<Spanned<&'a DeTable<'a>>>, bool) {
        let Some(array) = self.get(cx, key, "an array of tables", DeValue::as_array) else {
            return (Vec::new(), !self.has(key));
        };
        let mut tables = Vec::with_capacity(array.get_ref().len());
        for element in array.get_ref().iter() {
            match element.get_ref().as_table() {
                Some(table) => tables.push(Spanned::new(element.span(), table)),
                None => {
                    let found = described(element.get_ref());
                    let message = format!("expected a table in `{key}` of {}, found {found}", self.what);
                    cx.diags.error(element.span(), message);
                }
            }
        }
        let all = tables.len() == array.get_ref().len();
        (tables, all)
    }

    /// Returns the tables of an array, if the key has one, without a report.
    pub(super) fn any_tables(&self, key: &str) -> impl Iterator<Item = &'a DeTable<'a>> + use<'a> {
        let array = self.table.get(key).and_then(|value| value.get_ref().as_array());
        array.into_iter().flat_map(|array| array.iter()).filter_map(|element| element.get_ref().as_table())
    }

    /// Reports a missing key.
    fn need(&self, cx: &mut Check, key: &str) {
        if !self.has(key) {
            let diagnostic = cx.diags.error(self.span.clone(), format!("{} has no `{key}`", self.what));
            if let Some(example) = example(key) {
                diagnostic.help(format!("for instance {example}"));
            }
        }
    }

    /// Returns the value of a key if it has the expected type. Reports any other type.
    fn get<T>(
        &self,
        cx: &mut Check,
        key: &str,
        expected: &str,
        read: impl Fn(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let value = self.table.get(key)?;
        let read = read(value.get_ref());
        if read.is_none() {
            let found = described(value.get_ref());
            let message = format!("expected {expected} for `{key}` of {}, found {found}", self.what);
            let diagnostic = cx.diags.error(value.span(), message);
            let of_this_type = |example: &&str| match expected {
                // In an allow, keys of the file's tables are names.
                "a string" => !example.starts_with("`["),
                // In a parameter, `align` does not name one.
                "an integer" => !example.starts_with("the name"),
                _ => true,
            };
            if let Some(example) = example(key).filter(of_this_type) {
                diagnostic.help(format!("for instance {example}"));
            }
        }
        read.map(|read| Spanned::new(value.span(), read))
    }
}

impl Check<'_> {
    /// Reports a number outside of `range`.
    pub(super) fn in_range(&mut self, what: &str, int: &Spanned<i128>, range: RangeInclusive<i128>) -> bool {
        let fits = range.contains(int.get_ref());
        if !fits {
            let found = self.quote(&int.span());
            let (low, high) = range.into_inner();
            let message = format!("{what} is out of range: found {found}, expected {low} to {high}");
            self.diags.error(int.span(), message);
        }
        fits
    }
}

/// Returns the value of an integer. One beyond 128 bits becomes the largest or smallest there is,
/// which no rule allows.
pub(super) fn integer(value: &DeValue) -> Option<i128> {
    let int = value.as_integer()?;
    let beyond = if int.as_str().starts_with('-') { i128::MIN } else { i128::MAX };
    Some(i128::from_str_radix(int.as_str(), int.radix()).unwrap_or(beyond))
}

/// Returns the keys and values of a table in the order of the file; the parser sorts them by name.
pub(super) fn in_file_order<'a>(table: &'a DeTable<'a>) -> Vec<(Text<'a>, &'a Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (Spanned::new(key.span(), key.get_ref().as_ref()), value)).collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// Returns an example of a key that looks alike in every table that needs it.
fn example(key: &str) -> Option<&'static str> {
    match key {
        "registry" => Some("`[registry]` with `name`, `version` and `doc`"),
        "kinds" => Some("`[kinds]` with a line `Pool = { bit = 1, doc = \"per pool\" }`"),
        "presets" => Some("`[presets]` with a line `gc = \"Trace Pool -TraceTick\"`"),
        "types" => Some("`[types.Reason]` with `repr = \"u8\"` and `values = { Full = 1 }`"),
        "event" => Some("`[[event]]` before the lines of each event"),
        "span" => Some("`[[span]]` before the lines of each span"),
        "allow" => Some("`[[allow]]` before the lines of each allow"),
        "change" => {
            Some("`change = \"param-retyped\"`, a rule's name as the message about the change has it")
        }
        "reason" => Some("`reason = \"no stream has it yet\"`"),
        "version" => Some("`version = \"1.0.0\"`"),
        "bit" => Some("`bit = 1`; each kind has its own, from 0 to 63"),
        "doc" => Some("`doc = \"a pool was made\"`"),
        "clock" => Some("`clock = \"inherit\"`"),
        "values" => Some("`values = { Full = 1, Empty = { value = 2, doc = \"nothing left\" } }`"),
        "repr" => Some("`repr = \"u8\"`"),
        "code" => Some("`code = 0x0011`"),
        "kind" => Some("`kind = \"Pool\"`, a kind of `[kinds]`"),
        "params" => Some("`params = [{ name = \"size\", sort = \"word\" }]`"),
        "since" => Some("`since = \"1.2.0\"`, the version of the registry that the parameter came with"),
        "names" => Some("`names = \"address\"`, the parameter whose value is called so"),
        "sort" => Some("`sort = \"word\"`, `\"[u32]\"` or `\"[u32; 4]\"`; `type` is another name of the key"),
        "replay" => Some("`replay = { action = \"alloc\", pointer = \"block\", size = \"size\" }`"),
        "range" => Some("`range = { begin = \"segment\", base = \"base\", size = \"size\" }`"),
        "census" => Some("`census = { row = \"heap\", class = \"type_name\", value = \"bytes\" }`"),
        "tracing" => Some("`tracing = { target = \"gc\", name = \"collect\" }`"),
        "target" => Some("`target = \"gc\"`, usually a module"),
        "at" => Some("`at = \"close\"`"),
        "action" => Some("`action = \"alloc\"`"),
        "pointer" | "old" | "size" | "align" => Some("the name of a parameter, `\"size\"`"),
        "named_by" => Some("the name of a parameter of the begin, `\"why\"`"),
        "counter" => Some("`counter = true`, if the number is a reading of something that changes over time"),
        "sample" => Some("`sample = { one_in = 100 }`"),
        "per_second" => Some("`per_second = 1000`"),
        "one_in" => Some("`one_in = 100`"),
        "usual" => Some("`usual = 2`, if most values take two bytes in the stream"),
        "pause" => Some("`pause = true`, if the program stands still in the span"),
        "within" => Some("`within = \"10 ms\"`"),
        "open" => Some("the name of a span, `\"Trace\"`"),
        "after" | "comes" | "never" => Some("the name of an event, `\"PoolInit\"`"),
        "begin" | "end" => Some("the name of an event, `\"PoolInit\"`"),
        _ => None,
    }
}
