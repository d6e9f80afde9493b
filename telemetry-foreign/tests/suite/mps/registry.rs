//! The registry, the MPS's names, and the layout, against the facts.

use telemetry_foreign::mps;
use telemetry_schema::RegistryFile;

use crate::reference;

#[test]
fn is_a_registry() {
    let text = include_str!("../../../registries/mps.toml");
    let registry =
        RegistryFile::parse(text).unwrap_or_else(|wrong| panic!("{}", wrong.render("mps.toml", text)));
    assert_eq!(registry.registry.fingerprint(), mps::registry().fingerprint());
    let registry = mps::registry();
    assert_eq!((registry.events.len(), registry.kinds.len()), (92, 7));
    assert_eq!(registry.events.iter().map(|event| event.params.len()).sum::<usize>(), 317);
    let docs = registry
        .events
        .iter()
        .flat_map(|event| std::iter::once(&event.doc).chain(event.params.iter().map(|param| &param.doc)));
    assert!(docs.into_iter().all(|doc| !doc.is_empty()));
}

#[test]
fn names_are_the_mpss() {
    let cases = [
        ("arena", "arena"),
        ("base_tract", "baseTract"),
        ("p_return", "pReturn"),
        ("top_condemned_gen_index", "topCondemnedGenIndex"),
        ("vmem0", "vmem0"),
        ("ref_io", "refIO"),
        ("reference", "ref"),
        ("generation", "gen"),
    ];
    for (ours, theirs) in cases {
        assert_eq!(mps::name(ours), theirs);
        let mut out = b"before ".to_vec();
        mps::append_name(&mut out, ours);
        assert_eq!(out, format!("before {theirs}").into_bytes());
    }
    // The rule can be reversed: no two parameters of an event have one name.
    for event in mps::with_names(&mps::registry()).events {
        let mut names: Vec<_> = event.params.iter().map(|param| param.name.clone()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), event.params.len(), "{}", event.name);
    }
}

/// Codes, kinds, sorts, names, offsets and sizes, as the MPS's own headers have them.
#[test]
fn facts() {
    let Some(folder) = reference::folder("mps") else { return };
    let text = std::fs::read_to_string(folder.join("facts.toml")).expect("the facts can be read");
    let facts: toml::Table = text.parse().expect("the facts are TOML");
    let registry = mps::with_names(&mps::registry());
    let list = |table: &toml::Table, key: &str| {
        let list = table.get(key).and_then(|list| list.as_array()).cloned().unwrap_or_default();
        list.into_iter()
            .map(|entry| entry.as_table().expect("entries are tables").clone())
            .collect::<Vec<_>>()
    };
    let text_of = |table: &toml::Table, key: &str| table[key].as_str().expect("it is text").to_string();
    let kinds = list(&facts, "kind")
        .iter()
        .map(|kind| (text_of(kind, "name"), kind["bit"].as_integer()))
        .collect::<Vec<_>>();
    let own =
        registry.kinds.iter().map(|kind| (kind.name.clone(), Some(kind.bit.into()))).collect::<Vec<_>>();
    assert_eq!(own, kinds);
    let mut params = 0;
    for fact in list(&facts, "event") {
        let code = fact["code"].as_integer().expect("it is a number") as u16;
        let event = registry.event(code).expect("the registry has the code");
        assert_eq!(event.name, text_of(&fact, "name"));
        assert_eq!(registry.kind_of(event).name, text_of(&fact, "kind"));
        assert_eq!(Some(event.used), fact["used"].as_bool());
        let own: Vec<_> = event
            .params
            .iter()
            .map(|param| (param.sort.letter().map(String::from), param.name.clone()))
            .collect();
        let theirs: Vec<_> = list(&fact, "params")
            .iter()
            .map(|param| (Some(text_of(param, "sort")), text_of(param, "name")))
            .collect();
        assert_eq!(own, theirs, "{}", event.name);
        params += own.len();
        let number =
            |key: &str| fact.get(key).and_then(toml::Value::as_integer).map(|number| number as usize);
        let offsets: Vec<_> = list(&fact, "params")
            .iter()
            .map(|param| param["offset"].as_integer().unwrap_or(0) as usize)
            .collect();
        let least = number("size").or(number("size_min")).expect("it has a size");
        let most = number("size").or(number("size_max")).expect("it has a size");
        let layout = mps::layout_of(code).expect("it has a layout");
        assert_eq!(layout, (offsets, least..=most), "{}", event.name);
    }
    assert_eq!(params, 317);
}
