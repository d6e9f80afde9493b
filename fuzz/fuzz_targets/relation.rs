//! Arbitrary text as an `events.toml`: a registry that is the same again in its canonical form, or a list of
//! mistakes that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for parse in [telemetry_schema::parse, telemetry_schema::parse_embedded] {
        match parse(text) {
            Ok(registry) => {
                let again = parse(&registry.to_toml());
                assert_eq!(again.as_ref().ok(), Some(&registry), "{:?}", again.as_ref().err());
                let _ = (registry.fingerprint(), registry.slots());
            }
            Err(invalid) => {
                let _ = invalid.render("events.toml", text);
            }
        }
    }
});
