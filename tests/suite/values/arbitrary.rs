//! Random events of a registry, with the limits of their types first, and the values expected from
//! a reader.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use telemetry_schema::{Count, Event, Param, Registry, Sort, TypeForm};

use crate::support::stream::Owned;

/// Lists of events of some kinds.
pub(crate) fn events(registry: &Registry, kinds: &[&str]) -> impl Strategy<Value = Vec<(Event, Vec<Owned>)>> {
    let of_kinds =
        registry.events.iter().filter(|event| kinds.contains(&registry.kind_of(event).name.as_str()));
    let events = of_kinds.map(|event| {
        let values: Vec<_> = event.params.iter().map(|param| value(registry, param)).collect();
        let event = event.clone();
        values.prop_map(move |values| (event.clone(), values)).boxed()
    });
    vec(Union::new(events), 1..10)
}

/// The expected value of an emitted one, and whether it was cut.
pub(super) fn cut(param: &Param, value: &Owned) -> (Owned, bool) {
    let max = param.max_len as usize;
    match (value, param.count) {
        (Owned::Text(text), _) if text.len() > max => {
            let whole = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= max);
            (Owned::Text(text[..whole.last().unwrap_or(0)].to_owned()), true)
        }
        (Owned::Bytes(bytes), _) if bytes.len() > max => (Owned::Bytes(bytes[..max].to_vec()), true),
        (Owned::Array(values), Count::UpTo(max)) if values.len() > max as usize => {
            (Owned::Array(values[..max as usize].to_vec()), true)
        }
        _ => (value.clone(), false),
    }
}

fn value(registry: &Registry, param: &Param) -> BoxedStrategy<Owned> {
    let max = param.max_len as usize;
    let one = match param.sort {
        Sort::String => text(max),
        Sort::Bytes => near(max).prop_flat_map(|len| vec(any::<u8>(), len)).prop_map(Owned::Bytes).boxed(),
        sort => number(registry, sort),
    };
    match param.count {
        Count::One => one,
        Count::Fixed(count) => array(one, Just(count as usize).boxed()),
        Count::UpTo(max) => array(one, near(max as usize)),
    }
}

/// Lengths around a maximum.
fn near(max: usize) -> BoxedStrategy<usize> {
    prop_oneof![Just(0), Just(1), 0..=max.min(50), Just(max - 1), Just(max), Just(max + 1), Just(max + 100)]
        .boxed()
}

/// Arrays of some length. Long ones repeat their elements.
fn array(element: BoxedStrategy<Owned>, len: BoxedStrategy<usize>) -> BoxedStrategy<Owned> {
    let some = vec(element, 1..8);
    (some, len).prop_map(|(some, len)| Owned::Array(some.iter().cycle().take(len).cloned().collect())).boxed()
}

/// Text near a maximum of bytes, whose limit may lie anywhere in a character.
fn text(max: usize) -> BoxedStrategy<Owned> {
    let long = (near(max), 0..4_usize, any::<char>()).prop_map(|(len, before, c)| {
        let mut text = "x".repeat(before.min(len));
        text.extend(std::iter::repeat_n(c, (len - before.min(len)) / c.len_utf8()));
        text
    });
    prop_oneof![long, ".{0,40}"].prop_map(Owned::Text).boxed()
}

fn number(registry: &Registry, sort: Sort) -> BoxedStrategy<Owned> {
    match (registry.ty(sort), registry.repr(sort)) {
        (Some(ty), _) if ty.form == TypeForm::Enum => {
            let numbers: Vec<i128> = ty.values.iter().map(|value| value.number).collect();
            select(numbers).prop_map(Owned::Number).boxed()
        }
        (_, Sort::F32) => any::<u32>().prop_map(Owned::F32).boxed(),
        (_, Sort::F64) => any::<u64>().prop_map(Owned::F64).boxed(),
        (_, Sort::Bool) => whole(0, 1),
        (_, repr) => {
            let range = repr.int_range().unwrap_or(0..=u64::MAX.into());
            whole(*range.start(), *range.end())
        }
    }
}

/// Integers of a range, with any encoded length.
fn whole(min: i128, max: i128) -> BoxedStrategy<Owned> {
    let any = (any::<i64>(), any::<u64>(), 0..64_u32)
        .prop_map(
            move |(signed, unsigned, shift)| {
                if min < 0 { (signed >> shift).into() } else { (unsigned >> shift).into() }
            },
        )
        .prop_map(move |number: i128| number.clamp(min, max));
    prop_oneof![Just(min), Just(max), Just(0), Just(1), Just(max - 1), any].prop_map(Owned::Number).boxed()
}
