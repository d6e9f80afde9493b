//! Which kinds stay in a program, and what tools hide, because a parameter is sensitive.

use telemetry_schema::{Registry, Sensitive};

use crate::registry;

/// Makes a registry with an event for each kind and parameters. Sinks over a network get `Open`.
fn with(events: &[(&str, &str)]) -> Registry {
    let mut text = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "What an app does"

[kinds]
Work = { bit = 0, doc = "work" }
Open = { bit = 1, doc = "what all may know", network = "allow" }
Names = { bit = 2, doc = "names" }
"#
    .to_owned();
    for (number, (kind, params)) in events.iter().enumerate() {
        text += &format!(
            "[[event]]\nname = \"E{number}\"\ncode = {number}\nkind = \"{kind}\"\ndoc = \"an event\"\nparams = [{params}]\n"
        );
    }
    registry(&text)
}

const WORK: u64 = 1;
const OPEN: u64 = 2;
const NAMES: u64 = 4;

/// Checks the kinds with sensitive parameters, those that a network does not get, and whether it
/// gets no strings of labels.
#[track_caller]
fn check(events: &[(&str, &str)], sensitive: u64, withheld: u64, withholds_labels: bool) {
    let registry = with(events);
    let found = (registry.sensitive_kinds(), registry.withheld_kinds(), registry.withholds_labels());
    assert_eq!(found, (sensitive, withheld, withholds_labels));
    assert_eq!(registry.is_sensitive(), sensitive != 0);
}

const USER: &str = r#"{ name = "user", sort = "u32", sensitive = "personal" }"#;
const NAME_OF_USER: &str =
    r#"{ name = "user", sort = "u32" }, { name = "text", sort = "string", names = "user" }"#;
const TOWN: &str = r#"{ name = "town", sort = "label", sensitive = "secret" }"#;
const INTERN: &str =
    r#"{ name = "label", sort = "label" }, { name = "text", sort = "string", names = "label" }"#;
const PLAIN: &str = r#"{ name = "size", sort = "word" }"#;

#[test]
fn kinds_with_sensitive_parameters_are_withheld() {
    check(&[("Work", PLAIN), ("Open", PLAIN), ("Names", INTERN)], 0, 0, false);
    check(&[("Work", USER), ("Open", PLAIN), ("Names", INTERN)], WORK, WORK, false);
    check(&[("Work", USER), ("Open", USER), ("Names", INTERN)], WORK | OPEN, WORK, false);
    check(&[("Open", USER), ("Names", INTERN)], OPEN, 0, false);
}

#[test]
fn strings_of_sensitive_numbers_are_withheld() {
    check(&[("Work", USER), ("Names", NAME_OF_USER)], WORK, WORK | NAMES, false);
    check(&[("Open", USER), ("Names", NAME_OF_USER)], OPEN, NAMES, false);
    // Another number, with a string of its own.
    let other = NAME_OF_USER.replace("user", "page");
    check(&[("Work", USER), ("Names", &other)], WORK, WORK, false);
    // The string of a pointer is not that of the pointer's value.
    let pointer = r#"{ name = "at", sort = "pointer", sensitive = "secret" }"#;
    let named = r#"{ name = "at", sort = "pointer" }, { name = "text", sort = "string", names = "at" }"#;
    check(&[("Work", pointer), ("Names", named)], WORK, WORK, false);
}

#[test]
fn strings_of_labels_are_withheld_if_one_may_not_leave() {
    check(&[("Work", TOWN), ("Names", INTERN)], WORK, WORK | NAMES, true);
    check(&[("Open", TOWN), ("Names", INTERN)], OPEN, 0, false);
    check(&[("Open", TOWN), ("Work", USER), ("Names", INTERN)], WORK | OPEN, WORK, false);
}

fn marks_of(registry: &Registry) -> Vec<Option<Sensitive>> {
    let params = registry.events.iter().flat_map(|event| &event.params);
    params.map(|param| param.sensitive).collect()
}

#[test]
fn the_strictest_mark_holds_for_all_strings() {
    let marks = |events: &[(&str, &str)]| {
        let mut registry = with(events);
        let labels = registry.sensitive_labels();
        registry.mark_numbered();
        (marks_of(&registry), labels)
    };
    let (personal, secret) = (Some(Sensitive::Personal), Some(Sensitive::Secret));
    assert_eq!(marks(&[("Work", PLAIN), ("Names", INTERN)]), (vec![None; 3], None));
    assert_eq!(marks(&[("Work", TOWN), ("Names", INTERN)]), (vec![secret, None, None], secret));
    let strict = USER.replace("personal", "secret");
    for users in [[USER, &strict], [&strict, USER]] {
        let (found, labels) = marks(&[("Work", users[0]), ("Names", NAME_OF_USER), ("Work", users[1])]);
        assert_eq!((&found[1..3], labels), (&[None, secret][..], None));
    }
    // A stream of a later version may tell a string by a number that has a string itself.
    let by_number = r#"{ name = "user", sort = "u32" }, { name = "code", sort = "u16" }"#;
    let by_label = r#"{ name = "code", sort = "u16" }, { name = "town", sort = "label" }"#;
    let mut chain = with(&[("Names", by_label), ("Names", by_number), ("Work", USER)]);
    for event in &mut chain.events[..2] {
        event.params[1].names = Some(0);
    }
    assert_eq!(chain.sensitive_labels(), personal);
    chain.mark_numbered();
    assert_eq!(marks_of(&chain), [None, personal, None, personal, personal]);
    // Those that tell the strings of labels, for a stream in which a label is sensitive.
    let mut interned = with(&[("Work", USER), ("Names", INTERN), ("Names", NAME_OF_USER)]);
    interned.mark_interned();
    assert_eq!(marks_of(&interned), [personal, secret, secret, None, None]);
}

/// Streams of one registry may come with different marks. The strictest of each parameter stays.
#[test]
fn the_stricter_of_two_marks_is_taken() {
    let none = PLAIN.replace("word", "u32");
    let marked = |of| format!(r#"{{ name = "size", sort = "u32", sensitive = "{of}" }}"#);
    let marks = [none, marked("personal"), marked("secret")];
    for (mine, has) in marks.iter().enumerate() {
        for (other, comes) in marks.iter().enumerate() {
            let mut registry = with(&[("Work", has)]);
            assert_eq!(registry.take_sensitive(&with(&[("Work", comes)])), other > mine);
            assert_eq!(marks_of(&registry), marks_of(&with(&[("Work", &marks[mine.max(other)])])));
        }
    }
    // One parameter is enough, whichever it is.
    for (mine, comes) in [([0, 1], [2, 1]), ([1, 0], [1, 2])] {
        let with = |[first, second]: [usize; 2]| with(&[("Work", &marks[first]), ("Open", &marks[second])]);
        assert!(with(mine).take_sensitive(&with(comes)));
    }
}

#[test]
fn tools_see_no_values_and_no_marks_of_them() {
    let registry = with(&[
        ("Work", TOWN),
        ("Work", USER),
        ("Names", NAME_OF_USER),
        (
            "Names",
            r#"{ name = "at", sort = "pointer", sensitive = "secret" }, { name = "text", sort = "string", names = "at" }"#,
        ),
    ]);
    assert!(
        registry.events.iter().flat_map(|event| &event.params).all(|of| registry.hidden_as(of).is_none())
    );
    let hidden = registry.hidden();
    let shown = hidden.events.iter().flat_map(|event| {
        event.params.iter().map(|param| {
            let (sort, why) = (hidden.sort_text(param), hidden.hidden_as(param).map(Sensitive::shown));
            let names = param.names.map(|at| event.params[at].name.as_str());
            format!("{}.{}: {sort}, {why:?}, names {names:?}\n", event.name, param.name)
        })
    });
    insta::assert_snapshot!(shown.collect::<String>());
    // It is hidden already.
    assert_eq!(hidden.hidden(), hidden);
}

/// A tool cannot use a mark whose value it does not see.
#[test]
fn marks_go_with_what_they_refer_to() {
    const MARKS: [&str; 4] = [
        r#"replay = { action = "alloc", pointer = "at", size = "size" }"#,
        r#"range = { begin = "run", base = "at", size = "size" }"#,
        r#"census = { row = "heap", class = "at", value = "size" }"#,
        r#"time = "size""#,
    ];
    let has_mark = |mark: &str, params: &str| {
        let plain = with(&[("Work", params), ("Work", "")]).to_toml();
        let marked = plain.replacen("params = [", &format!("{mark}\nparams = ["), 1);
        let begun = marked.replacen("name = \"E1\"", "name = \"E1\"\ncensus = { begin = \"heap\" }", 1);
        let hidden = registry(&begun).hidden();
        let event = &hidden.events[0];
        event.replay.is_some() || event.range.is_some() || event.census.is_some() || event.time.is_some()
    };
    let at = r#"{ name = "at", sort = "pointer" }, { name = "size", sort = "u64" }"#;
    for mark in MARKS {
        assert!(has_mark(mark, at), "{mark}");
        let hidden = at.replace("u64\"", "u64\", sensitive = \"secret\"");
        assert!(!has_mark(mark, &hidden), "{mark}");
    }
}

#[test]
fn a_hidden_parameter_is_one_value_with_its_docs() {
    let list =
        r#"{ name = "users", sort = "[u32; 4]", doc = "who", since = "1.0.0", sensitive = "personal" }"#;
    let registry = with(&[("Work", list)]);
    let ([shown], [param]) = (&registry.hidden().events[0].params[..], &registry.events[0].params[..]) else {
        panic!("one parameter");
    };
    assert_eq!((&shown.doc, shown.since), (&param.doc, param.since));
    assert!(shown.since.is_some() && shown.count == telemetry_schema::Count::One);
}
