//! Names of pointers and addresses: Python finds them as Rust does, by the marks of registries.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Reader, Value};
use telemetry_schema::{Registry, parse_embedded};

use crate::dump::Compared;

/// A registry that names everything that can have a name.
const NAMES: &str = include_str!("../../../telemetry-decode/tests/names.toml");

/// The registry of the runtime's own events.
const RUNTIME: &str = include_str!("../../../telemetry-runtime/telemetry.toml");

fn without_marks(registry: &Registry) -> Registry {
    let mut registry = registry.clone();
    registry.events.iter_mut().flat_map(|event| &mut event.params).for_each(|param| param.names = None);
    registry
}

/// Returns events of both registries with few values, so that most have names, some several. The
/// clock is coarse, so that two threads also name a value at one reading.
fn stream(names: &Registry, runtime: &Registry, seed: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(200);
    writer.session(1, &Facts::default(), 0, 1_700_000_000_000_000_000).unwrap();
    let (names, runtime) = (writer.registry(1, names).unwrap(), writer.registry(1, runtime).unwrap());
    let mut random = seed | 1;
    let mut below = |most: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) % most
    };
    let texts = ["one", "two", "three", "", "v\u{e4}r"];
    for ticks in 0..300 {
        let text = Value::String(RawStr::from(texts[below(5) as usize]));
        let (thing, other, number) = (below(4), below(4), below(3));
        let (lane, code, values) = match below(9) {
            0 => (3, 2, vec![Value::Array((&[][..]).into()), Value::Pointer(thing), text]),
            1 => (3, 3, vec![Value::Pointer(thing), Value::Pointer(other)]),
            2 => (3, 4, vec![Value::Word(number), text]),
            3 => (3, 5, vec![Value::Word(number), Value::Pointer(thing)]),
            4 => (3, 6, vec![Value::Addr(thing), text]),
            5 => (0, 2, vec![Value::Label(number), text]),
            6 => (0, 3, vec![Value::Addr(thing), Value::Label(number)]),
            _ => (1, 1, vec![Value::Pointer(thing), Value::Addr(other)]),
        };
        let (thread, registry) = if lane == 0 { (0, runtime) } else { (lane + below(2) as u32, names) };
        writer.event(Lane { session: 1, thread, registry }, code, ticks / 3, &values).unwrap();
    }
    writer.end(1, 400).unwrap();
    writer.finish().unwrap()
}

#[test]
fn everything_is_called_alike() {
    let (both, runtime) = (telemetry_schema::parse(NAMES).unwrap(), parse_embedded(RUNTIME).unwrap());
    let one =
        telemetry_schema::parse(&NAMES.replace("sort = \"S\", names = \"base\"", "sort = \"S\"")).unwrap();
    for names in [&both, &one] {
        let mut compared = Compared::new(names);
        for seed in 0..6 {
            // If a stream lacks marks, the module has them, also those of the runtime's registry.
            for (names, runtime) in
                [(names.clone(), runtime.clone()), (without_marks(names), without_marks(&runtime))]
            {
                compared.check(&stream(&names, &runtime, seed), &format!("seed {seed}"));
            }
        }
    }
}

/// Every module has the marks of the runtime's own registry.
#[test]
fn a_module_knows_the_runtimes_marks() {
    let module = telemetry_codegen_python::module(&telemetry_schema::parse(NAMES).unwrap());
    let (_, text) = module.split_once("_RUNTIME_TOML = \"\"\"\\\n").expect("it is there");
    let known = parse_embedded(text.split_once("\"\"\"").expect("it ends").0).unwrap();
    let runtime = parse_embedded(RUNTIME).unwrap();
    assert_eq!((&known.name, known.version), (&runtime.name, runtime.version));
    let mut taken = without_marks(&runtime);
    taken.take_names(&known);
    assert_eq!(taken, runtime);
    // A stream with names from the runtime alone.
    let stream =
        stream(&without_marks(&telemetry_schema::parse(NAMES).unwrap()), &without_marks(&runtime), 1);
    let mut events = Reader::from_slice(&stream).events().unwrap();
    let mut named = 0;
    while let Some(event) = events.next().unwrap() {
        named += event.values().filter(|value| event.name_of_value(value).is_some()).count();
    }
    assert!(named > 10, "{named}");
}
