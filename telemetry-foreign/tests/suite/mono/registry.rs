//! The registry, and what logs need of it.

use telemetry_foreign::mono;

#[test]
fn version_1_needs_less_of_the_registry() {
    let (all, one) = (mono::registry(), mono::registry_of_one());
    assert_eq!((all.name.as_str(), all.version.to_string()), ("mono", "1.0.6".to_string()));
    assert_eq!((one.name.as_str(), one.version.to_string()), ("mono", "1.0.6".to_string()));
    for one in &one.events {
        let all = all.event(one.code).expect("the whole registry has it");
        assert_eq!((&one.name, one.code, one.params.len()), (&all.name, all.code, all.params.len()));
    }
    let text = one.to_toml();
    let again =
        telemetry_schema::parse(&text).unwrap_or_else(|invalid| panic!("{}", invalid.render("1", &text)));
    assert_eq!(again.fingerprint(), one.fingerprint());
    assert_eq!(again, one);
}
