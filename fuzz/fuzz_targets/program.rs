//! Searches arbitrary bytes for registries, as a program or an image of its memory: each that is
//! found can be written and is read again.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use telemetry_schema::parse_embedded;

#[path = "."]
#[expect(dead_code, reason = "this needs a part of it")]
mod registry {
    #[path = "../../telemetry-cli/src/registry/called.rs"]
    pub(crate) mod called;
    #[path = "../../telemetry-cli/src/registry/in_program.rs"]
    pub(crate) mod in_program;
}

fuzz_target!(|bytes: &[u8]| {
    let found = registry::in_program::search_in(|| Ok(Cursor::new(bytes))).unwrap();
    for ((name, version, fingerprint), registry) in &found.registries {
        let again = parse_embedded(&registry.to_toml()).unwrap();
        assert_eq!((&again.name, again.fingerprint()), (name, *fingerprint));
        assert_eq!([again.version.major, again.version.median, again.version.minor], *version);
        for event in &registry.events {
            let _ = found.is_called(*fingerprint, event.code);
        }
    }
    assert!(found.runtimes.iter().all(|line| line.starts_with("telemetry-runtime ")));
});
