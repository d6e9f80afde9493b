//! `[[allow]]`: each excuses one change, or is itself a mistake.

use std::fmt::Write;

use telemetry_schema::version::{Demand, Judged, Rule, Target};
use telemetry_schema::{Registry, Version, parse, parse_embedded};

use super::cases::{CASES, RELEASED};
use super::{file, judged, rendered, with_version};

/// The entry that excuses a change.
fn allow(rule: Rule, target: &Target) -> String {
    let keys = target.keys().map(|(key, name)| format!("{key} = \"{name}\"\n"));
    format!(
        "\n[[allow]]\nchange = \"{}\"\n{}reason = \"no stream has it\"\n",
        rule.name(),
        keys.collect::<String>()
    )
}

#[test]
fn each_change_can_be_excused_but_for_some() {
    for case in CASES {
        let judgement = judged(&file(&case.text()));
        let mut text = case.text();
        let mut all = true;
        let asks = |judged: &&Judged| judged.change.rule.demand() != Demand::Nothing;
        for judged in judgement.changes.iter().filter(asks) {
            let (rule, target) = (judged.change.rule, Target::of(judged.change.thing()));
            if rule.can_be_allowed() {
                text += &allow(rule, &target);
            } else {
                all = false;
                let refused = case.text() + &allow(rule, &target);
                let invalid = parse(&refused).expect_err("it cannot be allowed");
                let message = format!("the change `{}` cannot be allowed", rule.name());
                assert_eq!(invalid.diagnostics[0].message, message, "{}", case.name);
            }
        }
        let judgement = judged(&file(&text));
        assert_eq!(judgement.is_met(), all, "{}: {}", case.name, rendered(&file(&text)));
        assert_eq!(judgement.idle, [], "{}", case.name);
        if all {
            assert_eq!(judgement.needed.to_string(), "1.2.5", "{}", case.name);
        }
    }
}

#[test]
fn an_allow_is_no_part_of_the_registry() {
    let entry = allow(
        Rule::ParamRetyped,
        &Target { event: Some("Miss".into()), param: Some("hash".into()), ..Target::default() },
    );
    let text = RELEASED.to_string() + &entry;
    let (with, without): (Registry, Registry) = (crate::registry(&text), crate::registry(RELEASED));
    assert_eq!(with, without);
    assert_eq!(with.to_toml(), without.to_toml());
    assert_eq!(file(&text).allows.len(), 1);
    // A stream has none; if one does, it says nothing.
    let broken = RELEASED.to_string() + "\n[[allow]]\nchange = \"what a newer one may call so\"\n";
    assert_eq!(parse_embedded(&broken), Ok(without));
}

#[test]
fn what_excuses_nothing_is_explained() {
    let retyped = RELEASED.replace("sort = \"u64\", doc", "sort = \"W\", doc");
    let at = |event: &str, param: &str| Target {
        event: Some(event.into()),
        param: Some(param.into()),
        ..Target::default()
    };
    let hash = allow(Rule::ParamRetyped, &at("Miss", "hash"));
    let texts = [
        ("no change", RELEASED.to_string() + &hash),
        ("another thing", retyped.clone() + &allow(Rule::ParamRetyped, &at("Miss", "key"))),
        (
            "the whole event",
            retyped.clone()
                + &allow(Rule::ParamRetyped, &Target { event: Some("Miss".into()), ..Target::default() }),
        ),
        ("another rule", retyped.clone() + &allow(Rule::ParamMoved, &at("Miss", "hash"))),
        ("twice", retyped.clone() + &hash + &hash),
        (
            "a change that needs none",
            with_version(&retyped, Version { major: 1, median: 3, minor: 0 })
                + &hash
                + &allow(Rule::EventAdded, &Target::default()),
        ),
    ];
    let mut out = String::new();
    for (name, text) in texts {
        let _ = write!(out, "# {name}\n\n{}\n", rendered(&file(&text)));
    }
    insta::assert_snapshot!("idle_allows", out);
}
