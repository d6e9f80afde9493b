//! The message of every mistake, in full.

use std::fmt::Write;

use crate::mistakes::mistakes;
use crate::{SMALL, invalid};

/// The messages about each of some texts, under their names.
fn messages<'a>(texts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut out = String::new();
    for (name, text) in texts {
        let _ = write!(out, "# {name}\n\n{}\n", invalid(&text).render("events.toml", &text));
    }
    out
}

#[test]
fn every_mistake_has_its_message() {
    insta::assert_snapshot!("mistakes", messages(mistakes().map(|mistake| (mistake.rule, mistake.text()))));
}

#[test]
fn one_mistake_is_one_error() {
    for mistake in mistakes() {
        let text = mistake.text();
        let invalid = invalid(&text);
        assert_eq!(
            invalid.diagnostics.len(),
            1,
            "{}: {}",
            mistake.rule,
            invalid.render("events.toml", &text)
        );
    }
}

#[test]
fn a_proposed_code_is_written_like_those_of_the_file() {
    for (codes, proposed) in [(["9", "9"], "10"), (["0x9", "0x9"], "0x000a"), (["9", "0x9"], "0x000a")] {
        let [first, second] = codes;
        let events = [("First", first), ("Second", second)].map(|(name, code)| {
            format!("[[event]]\nname = \"{name}\"\ncode = {code}\nkind = \"Pool\"\ndoc = \"d\"\n")
        });
        let text = format!(
            "[registry]\nname = \"small\"\nversion = \"1.0.0\"\ndoc = \"d\"\n\
             [kinds]\nPool = {{ bit = 0, doc = \"d\" }}\n{}",
            events.concat()
        );
        let shown = invalid(&text).render("events.toml", &text).to_string();
        assert!(shown.contains(&format!("= help: the next free code is {proposed}\n")), "{shown}");
    }
}

/// The valid file with one piece replaced.
fn with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "the valid file does not have {from:?}");
    SMALL.replacen(from, to, 1)
}

#[test]
fn broken_toml_is_explained() {
    let texts = [
        ("empty_file", String::new()),
        ("not_toml", "fn main() {\n    println!(\"hello\");\n}\n".to_string()),
        ("string_without_end", with("name = \"PoolInit\"", "name = \"PoolInit")),
        ("value_missing", with("code = 0x0001", "code =")),
        ("bad_number", with("code = 0x0001", "code = 0x00g1")),
        ("unquoted_name", with("name = \"PoolInit\"", "name = PoolInit")),
        ("unquoted_version", with("{ major = 1, median = 0, minor = 0 }", "1.0.0")),
        ("bad_escape", with("\"A pool was made\"", "\"C:\\pools\"")),
        ("unclosed_array", with("max = 64 },\n]", "max = 64 },\n")),
        (
            "unclosed_table",
            with("{ name = \"pool\", sort = \"P\", doc = \"the pool\" }", "{ name = \"pool\", sort = \"P\""),
        ),
        ("unclosed_header", with("[[event]]", "[[event]")),
        ("two_far_apart", with("code = 0x0001", "code = ").replace("key = \"trace\"", "key \"trace\"")),
        ("nested_too_deep", with("[kinds]", &format!("x = {}{}\n[kinds]", "[".repeat(500), "]".repeat(500)))),
        ("key_twice", with("kind = \"Pool\"", "kind = \"Pool\"\ncode = 2")),
        ("kind_twice", with("Trace = {", "Pool = { bit = 5, doc = \"again\" }\nTrace = {")),
        ("key_twice_inline", with("name = \"why\", sort", "name = \"why\", name = \"reason\", sort")),
        ("table_twice", with("[types.Access]", "[types.Why]\nrepr = \"u8\"\n[types.Access]")),
    ];
    insta::assert_snapshot!("syntax", messages(texts));
}

#[test]
fn what_stands_in_great_number_is_counted() {
    let kinds: String = (0..70).map(|n| format!("K{n} = {{ bit = {}, doc = \"many\" }}\n", n % 64)).collect();
    let params: String = (0..65).map(|n| format!("  {{ name = \"p{n}\", sort = \"u8\" }},\n")).collect();
    let event = "[[event]]\nname = \"Many\"\ncode = 99\nkind = \"Pool\"\ndoc = \"x\"\n";
    let texts = [
        ("too_many_kinds", with("Trace = {", &format!("{kinds}Trace = {{"))),
        ("too_many_params", format!("{SMALL}\n{event}params = [\n{params}]\n")),
    ];
    insta::assert_snapshot!("numbers", messages(texts));
}

#[test]
fn all_mistakes_are_found_at_once_in_the_order_of_the_file() {
    let text = with("name = \"gc\"", "name = \"GC\"")
        .replacen("bit = 2", "bit = 64", 1)
        .replacen("repr = \"u8\"", "repr = \"f32\"", 1)
        .replacen("code = 0x0011", "code = 0x0001", 1)
        .replacen("unit = \"bytes\"", "units = \"bytes\"", 1)
        .replacen("sort = \"[u32]\"", "sort = \"u33\"", 1)
        .replacen("key = \"trace\"", "key = \"tracer\"", 1);
    insta::assert_snapshot!("at_once", messages([("seven mistakes", text)]));
}

#[test]
fn hostile_numbers_of_mistakes_are_cut() {
    let text = format!("{SMALL}\n{}", "[[event]]\n".repeat(1000));
    let invalid = invalid(&text);
    assert_eq!(invalid.diagnostics.len(), telemetry_schema::limits::MAX_DIAGNOSTICS);
    assert_eq!(invalid.diagnostics.len() + invalid.omitted, 4 * 1000);
    assert!(invalid.render("events.toml", &text).ends_with("\nerror: 3800 more in events.toml\n"));
}

#[test]
fn emitters_survive_every_mistake() {
    for mistake in mistakes() {
        let text = mistake.text();
        let emitters = invalid(&text).emitters;
        // The one event that a mistake is about may lose its name; a wrong `event` loses them all.
        let kept =
            ["PoolInit", "TraceStart", "TraceEnd"].iter().filter(|name| emitters.iter().any(|e| e == *name));
        let expected = if mistake.rule == "wrong_type_event" { 0 } else { 2 };
        assert!(kept.count() >= expected, "{}: {emitters:?}", mistake.rule);
    }
    // After a syntax error, too; not those of retired events, nor two with one emitter.
    let text =
        with("code = 0x0001", "code =").replace("name = \"TraceEnd\"\ncode", "name = \"TRACEStart\"\ncode");
    let broken = invalid(&text);
    // The scope of the span is the last.
    assert_eq!(broken.emitters, ["PoolInit", "TraceStart", "TraceScope"]);
    // An array swallows the rest of the file, or the first line is not TOML.
    for text in [with("max = 64 },\n]", "max = 64 },\n"), format!("<<<<<<<\n{SMALL}")] {
        assert_eq!(invalid(&text).emitters, ["PoolInit", "TraceStart", "TraceEnd"]);
    }
}

#[test]
fn an_embedded_registry_may_be_of_another_time() {
    for (from, to) in [
        ("name = \"gc\"", "name = \"telemetry\""),
        ("name = \"why\"", "name = \"gen\""),
        ("name = \"PoolInit\"", "name = \"Loop\""),
        ("name = \"PoolInit\"", "name = \"Event\""),
        ("name = \"TraceFlip\"", "name = \"POOLInit\""),
        ("Full =", "REQUEST ="),
        ("code = 0x0001", "code = 0x0001\nweight = \"heavy\""),
        ("code = 0x0001", "code = 0x0001\nreplay = \"alloc\""),
        ("code = 0x0001", "code = 0x0001\nreplay = { action = \"map\", pointer = \"pool\" }"),
        ("max = 64", "max = 64, names = 1"),
        ("max = 64", "max = 64, names = \"segment\""),
        ("max = 64", "max = 64, names = \"access\""),
        ("max = 64", "max = 64, numbers = \"label\""),
        ("sort = \"Access\"", "sort = \"u16\", numbers = \"label\""),
        ("code = 0x0001", "code = 0x0001\ntime = \"moment\""),
        ("code = 0x0011", "code = 0x0011\ntime = \"trace\""),
        ("[[span]]", "[[hint]]\nname = \"Gc\"\n[[span]]"),
        ("[[span]]", "[[message]]\nname = \"Gc\"\nbegin = \"TraceEnd\"\nlevel = 1\ndoc = \"More\"\n[[span]]"),
        (
            "[[span]]",
            "[[message]]\nname = \"Gc\"\nbegin = \"TraceFlip\"\ndoc = \"Of a retired one\"\n[[span]]",
        ),
        ("[[span]]", "[[message]]\nname = \"Gc\"\nbegin = [\"TraceStart\", \"TraceEnd\"]\n[[span]]"),
        ("end = \"TraceEnd\"", "end = \"TraceFlip\""),
        ("unit = \"bytes\"", "unit = \"bytes\", since = \"9.0.0\""),
        ("unit = \"bytes\"", "unit = \"bytes\", since = \"the beginning\""),
        ("unit = \"bytes\"", "unit = \"bytes\", since = 1.2"),
    ] {
        let text = with(from, to);
        invalid(&text);
        let registry = telemetry_schema::parse_embedded(&text)
            .unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", &text)));
        assert_eq!(telemetry_schema::parse_embedded(&registry.to_toml()), Ok(registry), "{to}");
    }
    // The rules that its structure needs are still checked.
    for (from, to) in [
        ("0x0011", "1"),
        ("bit = 2", "bit = 1"),
        ("sort = \"W\"", "sort = \"X\""),
        ("PoolInit", "Pool Init"),
        ("name = \"TraceFlip\"", "name = \"PoolInit\""),
    ] {
        assert!(telemetry_schema::parse_embedded(&with(from, to)).is_err(), "{to}");
    }
}
