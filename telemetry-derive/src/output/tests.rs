//! The expansion, formatted for people.

use telemetry_schema::parse;

use crate::input::args::Args;
use crate::output::module::contents;
use crate::parts::names::ident;

/// Returns the contents of a module `events` for a registry, formatted.
fn expand(toml: &str, args: &str) -> String {
    let registry = parse(toml).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", toml)));
    let args = Args::parse(args.parse().unwrap()).unwrap();
    let tokens = contents(&registry, &["/package/events.toml".to_owned()], &ident("events"), &args);
    prettyplease::unparse(&syn::parse2(tokens).unwrap())
}

#[test]
fn events_of_every_sort() {
    insta::assert_snapshot!(expand(include_str!("../../tests/sorts.toml"), "\"events.toml\""));
}

#[test]
fn kinds_clocks_and_retired_events() {
    insta::assert_snapshot!(expand(
        include_str!("../../tests/kinds.toml"),
        "\"events.toml\", at = \"a::events\""
    ));
}

#[test]
fn typed_decoders() {
    insta::assert_snapshot!(expand(include_str!("../../tests/typed.toml"), "\"events.toml\", decode"));
}

#[test]
fn a_replay_of_marked_events() {
    insta::assert_snapshot!(expand(include_str!("../../tests/replay.toml"), "\"events.toml\", decode"));
}

#[test]
fn functions_for_c() {
    insta::assert_snapshot!(expand(include_str!("../../tests/c.toml"), "\"events.toml\", c"));
}

#[test]
fn stacks_that_no_caller_passes() {
    insta::assert_snapshot!(expand(include_str!("../../tests/stacks.toml"), "\"events.toml\", c"));
}

#[test]
fn messages_and_what_posts_them() {
    insta::assert_snapshot!(expand(include_str!("../../tests/messages.toml"), "\"events.toml\""));
}

#[test]
fn an_event_that_a_span_becomes() {
    insta::assert_snapshot!(expand(include_str!("../../tests/tracing.toml"), "\"events.toml\""));
}

#[test]
fn scopes_of_spans() {
    insta::assert_snapshot!(expand(include_str!("../../tests/scopes.toml"), "\"events.toml\""));
}

#[test]
fn limits_and_their_tests() {
    insta::assert_snapshot!(expand(LIMITS, "\"events.toml\", c"));
}

/// An event with each form of a limit.
const LIMITS: &str = r#"
[registry]
name = "limited"
version = "1.0.0"
doc = "Events with limits"
[kinds]
Traffic = { bit = 0, doc = "requests" }
[[event]]
name = "Closed"
code = 1
kind = "Traffic"
doc = "A connection ended"
[[event]]
name = "Polled"
code = 2
kind = "Traffic"
doc = "A socket was asked"
sample = { one_in = 100 }
[[event]]
name = "Refused"
code = 3
kind = "Traffic"
doc = "A connection was refused"
limit = { per_second = 1000, burst = 100 }
params = [{ name = "peer", sort = "u32" }]
[[event]]
name = "Request"
code = 4
kind = "Traffic"
doc = "A request came"
sample = { one_in = 10, by = "id" }
params = [{ name = "id", sort = "label" }]
[[message]]
name = "Refused"
begin = "Refused"
doc = "The program hears of each"
"#;

#[test]
fn counters_and_their_functions_for_c() {
    insta::assert_snapshot!(expand(include_str!("../../tests/counters.toml"), "\"events.toml\", c"));
}

#[test]
fn kinds_that_stay_on_the_host() {
    let check = |toml: &str, expected: Option<&str>| {
        let expanded: String = expand(toml, "\"events.toml\"").split_whitespace().collect();
        let found = expanded.split_once(".with_local(").and_then(|(_, rest)| rest.split_once(')'));
        assert_eq!(found.map(|(arguments, _)| arguments), expected);
    };
    let allow = |bits: &[u8]| {
        bits.iter().fold(SHOP.to_owned(), |toml, bit| {
            let at = format!("bit = {bit},");
            toml.replace(&at, &format!("{at} network = \"allow\","))
        })
    };
    // `Known` only tells strings for numbers of which some are sensitive.
    check(SHOP, Some("7,true"));
    // An event that tells strings of labels is sensitive if some stand for towns.
    let told = r#"
[[event]]
name = "Told"
code = 6
kind = "Stock"
doc = "A label got a string"
params = [{ name = "id", sort = "label" }, { name = "text", sort = "string", max = 64, names = "id" }]
"#;
    check(&[SHOP, told].concat(), Some("15,true"));
    check(&allow(&[0]), Some("6,false"));
    check(&allow(&[1, 2]), Some("1,true"));
    check(&allow(&[0, 1, 2]), None);
    check(LIMITS, None);
}

/// Kinds with sensitive parameters, and one without.
const SHOP: &str = r#"
[registry]
name = "shop"
version = "1.0.0"
doc = "A shop's view of its visitors"
[kinds]
Visit = { bit = 0, doc = "visits" }
Payment = { bit = 1, doc = "payments" }
Known = { bit = 2, doc = "what is known of users" }
Stock = { bit = 3, doc = "changes of the stock" }
[[event]]
name = "Visited"
code = 1
kind = "Visit"
doc = "A user came"
params = [{ name = "town", sort = "label", sensitive = "personal" }]
[[event]]
name = "Paid"
code = 2
kind = "Payment"
doc = "A user has paid"
params = [{ name = "account", sort = "u32", numbers = "account", sensitive = "secret" }]
[[event]]
name = "Registered"
code = 3
kind = "Known"
doc = "A user has an account"
params = [
  { name = "account", sort = "u32", numbers = "account" },
  { name = "name", sort = "string", max = 64, names = "account" },
]
[[event]]
name = "Sold"
code = 4
kind = "Stock"
doc = "Something was sold"
params = [{ name = "what", sort = "label" }]
"#;

/// Only `crate` itself means the runtime.
#[test]
fn the_runtime_is_told_by_its_path() {
    let check = |args: &str, expected| {
        assert_eq!(Args::parse(args.parse().unwrap()).unwrap().is_own(), expected, "{args}");
    };
    check("\"telemetry.toml\", crate = \"crate\"", true);
    check("\"telemetry.toml\", crate = \"crate::telemetry\"", false);
    check("\"telemetry.toml\", crate = \"::telemetry\"", false);
    check("\"telemetry.toml\"", false);
}

#[test]
fn arguments_that_are_wrong() {
    let check = |args: &str, expected| match Args::parse(args.parse().unwrap()) {
        Ok(_) => panic!("{args} was taken"),
        Err(error) => assert_eq!(error.to_string(), expected),
    };
    check("", "the path of a registry file is missing\nhelp: write #[telemetry_event(\"events.toml\")]");
    check(
        "\"events.toml\", encode",
        "unknown argument `encode`\nhelp: expected `c`, `decode`, `at` or `crate`",
    );
    let no_literal =
        "expected the path of a registry file, in quotes\nhelp: write #[telemetry_event(\"events.toml\")]";
    check("decode", no_literal);
    check("events.toml", no_literal);
    check("\"events.toml\" decode", "expected `,`");
    for at in ["at", "at = events", "at = \"outer events\"", "at \"events\""] {
        check(&format!("\"events.toml\", {at}"), "expected the path of a module: `= \"outer::events\"`");
    }
    check("\"events.toml\", crate = telemetry", "expected the path of a module: `= \"::telemetry\"`");
}
