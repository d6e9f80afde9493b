//! Parses arbitrary text as an `events.toml`: the canonical form is the same registry again, or the
//! mistakes can be shown.
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
