//! Usual lengths of parameters are only a hint: values of every length come back.

use crate::hinted;
use crate::support::process::{Numbers, Process, child};
use crate::support::stream::Owned;

/// Distances of every length and sign, each several times.
fn distances() -> impl Iterator<Item = i64> {
    let one = |shift: u32| [0, 1].map(move |less| (1_i64 << shift) - less);
    (0..3).flat_map(move |_| (0..62).flat_map(one)).flat_map(|by| [by, -by])
}

#[test]
fn values_of_every_length_come_back() {
    let mut expected: Vec<(&str, Vec<Owned>)> = Vec::new();
    let mut emitted = Vec::new();
    let (mut pointer, mut address, mut size) = (1_u64 << 40, 1_u64 << 41, 1_u64 << 42);
    for (index, by) in distances().enumerate() {
        // As usual but for one parameter, or for none.
        let [p, a, s] = [64, 0x9e37, 1];
        let [p, a, s] = match index % 4 {
            0 => [by, a, s],
            1 => [p, by, s],
            2 => [p, a, by],
            _ => [p, a, s],
        };
        pointer = pointer.wrapping_add_signed(p);
        address = address.wrapping_add_signed(a);
        size = size.wrapping_add_signed(s);
        let level = if index % 3 == 0 { by as u32 } else { 3 };
        let name = &"a name of 20 letters"[..index % 21];
        emitted.push((pointer, address, size, level, by, name));
        let numbers = [pointer, address, size, level.into()].map(|value| Owned::Number(value.into()));
        expected.push(("Alloc", numbers.to_vec()));
        expected.push(("Fix", numbers.to_vec()));
        let far = [Owned::Number((index as u16).into()), Owned::Number(by.into()), Owned::Text(name.into())];
        expected.push(("Far", far.to_vec()));
    }
    let setup = |process: Process| process.env("TELEMETRY_CONTROL", "all");
    let outcome = child("usual::values_of_every_length_come_back", setup, || {
        for (index, &(pointer, address, size, level, by, name)) in emitted.iter().enumerate() {
            hinted::alloc!(pointer, address, size, level);
            hinted::fix!(pointer, address, size, level);
            hinted::far!(index as u16, by, name);
        }
        Numbers::new()
    });
    let stream = outcome.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    for name in ["Alloc", "Fix", "Far"] {
        let of = |(of, _): &&(&str, Vec<Owned>)| *of == name;
        let expected: Vec<_> = expected.iter().filter(of).map(|(_, values)| values).collect();
        let found: Vec<_> =
            stream.events.iter().filter(|event| event.name == name).map(|event| &event.values).collect();
        assert_eq!(found, expected, "{name}");
    }
}
