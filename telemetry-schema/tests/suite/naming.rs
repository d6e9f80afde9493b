//! Which parameters name which, and what older registries take over of that.

use telemetry_schema::{NameBy, Named, Registry, parse};

/// A registry in which everything is named that can be, by everything that can name it.
const NAMES: &str = r#"
[registry]
name = "names"
version = { major = 2, median = 1, minor = 3 }
doc = "What is called how"

[kinds]
Names = { bit = 3, doc = "names" }

[[event]]
name = "Intern"
code = 1
kind = "Names"
doc = "A number has a string"
params = [{ name = "number", sort = "W" }, { name = "text", sort = "S", names = "number" }]

[[event]]
name = "Pool"
code = 2
kind = "Names"
doc = "A pool has the name of a number, and an address one of its own"
params = [
  { name = "number", sort = "u32", names = "pool" },
  { name = "pool", sort = "P" },
  { name = "size", sort = "W" },
  { name = "base", sort = "A" },
  { name = "text", sort = "S", names = "base" },
]

[[event]]
name = "Alias"
code = 3
kind = "Names"
doc = "One thing is called as another"
params = [{ name = "thing", sort = "P" }, { name = "like", sort = "A", names = "thing" }]

[[event]]
name = "Label"
code = 4
kind = "Names"
doc = "A label has a string, and an address the label"
params = [
  { name = "text", sort = "S", names = "label" },
  { name = "label", sort = "label", names = "at" },
  { name = "at", sort = "A" },
]
"#;

fn read(text: &str) -> Registry {
    parse(text).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", text)))
}

/// The registry as it was before it had marks.
fn without_marks(text: &str) -> Registry {
    let mut registry = read(text);
    registry.events.iter_mut().for_each(|event| event.time = None);
    for param in registry.events.iter_mut().flat_map(|event| &mut event.params) {
        (param.names, param.numbers) = (None, String::new());
    }
    registry
}

#[test]
fn parameters_name_each_other() {
    let registry = read(NAMES);
    let found = registry.events.iter().flat_map(|event| {
        let namings = event.namings().map(|naming| {
            let [of, by] = [naming.of, naming.by].map(|at| event.params[at].name.as_str());
            (event.name.as_str(), by, naming.name, of, naming.named)
        });
        namings.collect::<Vec<_>>()
    });
    let expected = [
        ("Intern", "text", NameBy::Text, "number", Named::Number),
        ("Pool", "number", NameBy::Number, "pool", Named::Pointer),
        ("Pool", "text", NameBy::Text, "base", Named::Addr),
        ("Alias", "like", NameBy::Addr, "thing", Named::Pointer),
        ("Label", "text", NameBy::Text, "label", Named::Label),
        ("Label", "label", NameBy::Label, "at", Named::Addr),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// The other marks of values come with them.
#[test]
fn an_older_registry_takes_numbers_and_times() {
    let text = NAMES
        .replace("name = \"size\", sort = \"W\"", "name = \"size\", sort = \"[u32]\", numbers = \"number\"")
        .replace("code = 3", "code = 3\ntime = \"moment\"")
        .replace("names = \"thing\" }]", "names = \"thing\" }, { name = \"moment\", sort = \"u64\" }]");
    let later = read(&text);
    let mut registry = without_marks(&text);
    assert_ne!(registry, later);
    registry.take_names(&later);
    assert_eq!(registry, later);
    assert_eq!(read(&later.to_toml()), later);
}

#[test]
fn pointers_and_addresses_are_apart_where_both_are_named() {
    let check = |text: &str, apart| assert_eq!(read(text).names_apart(), apart, "{text}");
    check(NAMES, true);
    check(&NAMES.replace("sort = \"A\"", "sort = \"P\""), false);
    check(&NAMES.replace("sort = \"P\"", "sort = \"A\""), false);
}

#[test]
fn an_older_registry_takes_the_marks_of_a_later_one() {
    let later = read(NAMES);
    // The content of a stream, and how many of the six marks it takes.
    let check = |from: &str, to: &str, marks: usize| {
        let mut registry = without_marks(&NAMES.replacen(from, to, 1));
        let (form, fingerprint) = (registry.wire_form(), registry.fingerprint());
        registry.take_names(&later);
        let taken: usize = registry.events.iter().map(|event| event.namings().count()).sum();
        assert_eq!(taken, marks, "{from} -> {to}");
        assert_eq!((registry.wire_form(), registry.fingerprint()), (form, fingerprint));
    };
    check("", "", 6);
    check("minor = 3", "minor = 0", 6);
    check("median = 1", "median = 0", 6);
    check("minor = 3", "minor = 4", 0);
    check("major = 2", "major = 1", 0);
    check("name = \"names\"", "name = \"labels\"", 0);
    check("name = \"Alias\"", "name = \"Like\"", 5);
    check("code = 3", "code = 7", 5);
    check("name = \"like\"", "name = \"other\"", 5);
    check("name = \"base\", sort = \"A\"", "name = \"base\", sort = \"P\"", 5);
    // One that has some says all that it has to say.
    let mut some = without_marks(NAMES);
    some.events[0].params[1].names = Some(0);
    let before = some.clone();
    some.take_names(&later);
    assert_eq!(some, before);
}
