//! Every parameter type through the real runtime to a file and back: the values stay the same.

pub(crate) mod arbitrary;
pub(crate) mod emit;
mod emit_c;
mod typed;

use std::cell::Cell;
use std::ptr::NonNull;

use proptest::test_runner::{Config, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use telemetry::Label;
use telemetry_schema::Registry;

use crate::sorts;
use crate::support::process::child;
use crate::support::stream::{Owned, Stream};
use crate::work;

/// The registry of every parameter type.
fn registry() -> Registry {
    telemetry_schema::parse(include_str!("../registries/sorts.toml"))
        .expect("the registry that was compiled in")
}

/// Runs `cases` random lists of events of some kinds: emits them, and reads them back.
fn check(kinds: &[&str], cases: u32, emit: fn(&str, &[Owned])) {
    let registry = registry();
    let (seen, cut) = (Cell::new(0), Cell::new(0));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&arbitrary::events(&registry, kinds), |events| {
        for (event, values) in &events {
            emit(&event.name, values);
        }
        telemetry::flush();
        let stream = Stream::read(telemetry::sinks::output());
        let typed = typed::read(&telemetry::sinks::output());
        prop_assert_eq!(stream.events.len(), typed.len());
        let first = seen.replace(stream.events.len());
        let new = &stream.events[first..];
        prop_assert_eq!(new.len(), events.len());
        for ((read, typed), (event, values)) in new.iter().zip(&typed[first..]).zip(&events) {
            prop_assert_eq!(&read.name, &event.name);
            prop_assert_eq!(typed.0, &event.name);
            let expected = event.params.iter().zip(values).map(|(param, value)| arbitrary::cut(param, value));
            let (expected, cuts): (Vec<Owned>, Vec<bool>) = expected.unzip();
            cut.set(cut.get() + cuts.iter().filter(|cut| **cut).count() as u64);
            prop_assert!(read.values == expected, "{}: {:?}\nexpected {expected:?}", read.name, read.values);
            prop_assert!(typed.1 == expected, "typed {}: {:?}\nexpected {expected:?}", typed.0, typed.1);
        }
        prop_assert_eq!(stream.completeness.lost().truncated, cut.get());
        prop_assert_eq!(stream.completeness.lost().events(), 0);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn values_of_every_sort() {
    child(
        "values::values_of_every_sort",
        |process| process,
        || {
            check(&["Plain", "Inherit"], 64, emit::emit);
            vec![]
        },
    );
}

#[test]
fn arrays_of_every_sort() {
    child(
        "values::arrays_of_every_sort",
        |process| process,
        || {
            check(&["Array"], 64, emit::emit);
            vec![]
        },
    );
}

#[test]
fn events_that_need_large_blocks() {
    child(
        "values::events_that_need_large_blocks",
        |process| process,
        || {
            check(&["Large", "Plain"], 32, emit::emit);
            vec![]
        },
    );
}

/// Emitters in C differ in their arguments alone.
#[test]
fn values_from_c() {
    child(
        "values::values_from_c",
        |process| process,
        || {
            check(&["Plain", "Array"], 64, emit_c::emit);
            vec![]
        },
    );
}

/// Types that can be passed as an address, and the recorded values.
#[test]
fn addresses_of_every_form() {
    let run = child(
        "values::addresses_of_every_form",
        |process| process,
        || {
            let (number, mut other, text, list) = (7_u32, 8_u8, "text", [1_u8, 2, 3]);
            let display: &dyn std::fmt::Display = &text;
            let expected = [
                &raw const number as u64,
                &raw mut other as u64,
                text.as_ptr() as u64,
                list.as_ptr() as u64,
                std::ptr::from_ref(display).cast::<()>() as u64,
            ];
            work::alloc!(&number, &mut other, 1_usize, 0);
            work::alloc!(text, &list[..], 2_u8, 0);
            work::alloc!(display, NonNull::from(&list), u16::MAX, 0);
            work::alloc!(Some(NonNull::from(&list)), None::<NonNull<u8>>, u32::MAX, 0);
            work::alloc!(usize::MAX, u64::MAX, u64::MAX, 0);
            telemetry::flush();
            let stream = Stream::read(telemetry::sinks::output());
            let read: Vec<&[Owned]> = stream.events.iter().map(|event| &event.values[..3]).collect();
            let [number, other, text, list, display] = expected.map(|at| Owned::Number(at.into()));
            let [one, two, zero] = [1, 2, 0].map(Owned::Number);
            let tops = [u16::MAX.into(), u32::MAX.into(), usize::MAX as u64, u64::MAX];
            let [top_16, top_32, top_size, top_64] = tops.map(|top| Owned::Number(top.into()));
            assert_eq!(
                read,
                [
                    &[number, other, one][..],
                    &[text, list.clone(), two],
                    &[display, list.clone(), top_16],
                    &[list, zero, top_32],
                    &[top_size, top_64.clone(), top_64],
                ]
            );
            vec![]
        },
    );
    assert_eq!(run.stream().events.len(), 5);
}

/// A user's own number, which becomes an argument by `into`.
struct Size(u32);

impl From<Size> for u32 {
    fn from(size: Size) -> u32 {
        size.0
    }
}

/// Arguments whose type the compiler finds by the parameter's, and references to what owns a text
/// or a list.
#[test]
fn arguments_of_every_form() {
    let run = child(
        "values::arguments_of_every_form",
        |process| process,
        || {
            work::alloc!(1_usize, 2_usize, 3_usize, 1 << 31);
            work::alloc!(1_usize, 2_usize, 3_usize, Size(4).into());
            work::alloc!(1_usize, 2_usize, 3_usize, "5".parse().expect("a number"));
            work::alloc!(1_usize, 2_usize, 3_usize, [2, 4].iter().sum());
            let (mut text, mut bytes) = (String::from("text"), vec![1_u8, 2]);
            let shared: std::sync::Arc<str> = "shared".into();
            let copied = std::borrow::Cow::Borrowed("copied");
            sorts::runs!(1_usize, &text, &shared, &bytes, &[3, 4], 1_usize);
            sorts::runs!(1_usize, &copied, &&"both", bytes.as_slice(), b"56", 1_usize);
            sorts::runs!(1_usize, copied.as_ref(), &mut text, &mut bytes, "78".as_bytes(), 1_usize);
            sorts::long_shorts!(&[1, 2], 1_usize);
            sorts::long_shorts!(&vec![3; 2], 1_usize);
            sorts::long_shorts!(&[5, 6, 7][1..], 1_usize);
            sorts::long_shorts!(&Box::<[u16]>::from([8]), 1_usize);
            sorts::long_shorts!(&[], 1_usize);
            vec![]
        },
    );
    let number = |number: i128| Owned::Number(number);
    let text = |text: &str| Owned::Text(text.into());
    let bytes = |bytes: &[u8]| Owned::Bytes(bytes.into());
    let events = run.stream().events;
    let values = |name| events.iter().filter(move |event| event.name == name).map(|event| &event.values);
    let numbers: Vec<Owned> = values("Alloc").map(|values| values[3].clone()).collect();
    assert_eq!(numbers, [1 << 31, 4, 5, 6].map(number));
    let runs: Vec<&[Owned]> = values("Runs").map(|values| &values[1..5]).collect();
    assert_eq!(
        runs,
        [
            &[text("text"), text("shared"), bytes(&[1, 2]), bytes(&[3, 4])][..],
            &[text("copied"), text("both"), bytes(&[1, 2]), bytes(b"56")],
            &[text("copied"), text("text"), bytes(&[1, 2]), bytes(b"78")],
        ]
    );
    let lists: Vec<&Owned> = values("LongShorts").map(|values| &values[0]).collect();
    let expected = [vec![1, 2], vec![3, 3], vec![6, 7], vec![8], vec![]];
    let expected = expected.map(|list| Owned::Array(list.into_iter().map(number).collect()));
    assert_eq!(lists, expected.each_ref());
}

/// Flags are shown by name, and unknown bits as a number.
#[test]
fn flags_in_debug_output() {
    use sorts::FlagsU8;
    assert_eq!(format!("{:?}", FlagsU8::One), "FlagsU8(One)");
    assert_eq!(format!("{:?}", FlagsU8::One | FlagsU8::from_repr(4)), "FlagsU8(One | 0x4)");
    assert_eq!(format!("{:?}", FlagsU8::default()), "FlagsU8(0x0)");
}

/// An event of an inheriting kind has the time of the latest other event, and comes after it.
#[test]
fn inherited_times() {
    let run = child(
        "values::inherited_times",
        |process| process,
        || {
            for round in 0..1000_u64 {
                sorts::late!(3 * round);
                sorts::nothing!();
                sorts::late!(3 * round + 1);
                sorts::late!(3 * round + 2);
            }
            vec![]
        },
    );
    let events = run.stream().events;
    let (mut next, mut time, mut fresh) = (0, 0, 0);
    for event in &events {
        match event.name.as_str() {
            "Late" => {
                assert_eq!(event.values, [Owned::Number(next)]);
                assert!(event.ticks >= time);
                // The first of a block has the time when the block was opened.
                fresh += u64::from(event.ticks > time);
                next += 1;
            }
            _ => assert!(event.ticks > time),
        }
        time = event.ticks;
    }
    assert_eq!((events.len(), next), (4000, 3000));
    assert!(fresh < 30, "{fresh} of 3000 have a time of their own");
}

/// A label has the number that it was made of.
#[test]
fn labels_compare_by_number() {
    assert!(Label(1) < Label(2) && Label(3) == Label(3));
}
