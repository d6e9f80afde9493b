//! Reads arbitrary text as an `events.lock` with a corrected checksum: the same lock again, or a
//! mistake that can be shown. If a registry follows a NUL, compares them: the changes can be shown
//! and corrected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_schema::RegistryFile;
use telemetry_schema::version::{Lock, Report, Side, fixed, judge};

fuzz_target!(|text: &str| {
    let (lines, registry) = text.split_once('\0').unwrap_or((text, ""));
    let lines = format!(
        "telemetry-lock 1\n# Written by `telemetry release`. Not to be edited: restore or release it.\n{lines}\n"
    );
    let hash = lines.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    for text in [text.to_string(), format!("{lines}checksum {hash:016x}\n")] {
        let lock = match Lock::parse(&text) {
            Ok(lock) => lock,
            Err(wrong) => {
                let _ = wrong.render("events.lock", &text);
                continue;
            }
        };
        assert_eq!(lock.to_text(), text.replace("\r\n", "\n"));
        let Ok(registry) = RegistryFile::parse(registry) else { continue };
        let judgement = judge(&lock, &registry.registry, &registry.allows);
        let old = Side::lock("events.lock", &lock, &text);
        let report = Report::new(&judgement, old, Side::registry("events.toml", &registry.text)).render();
        assert_eq!(report.is_empty(), judgement.is_met(), "{report}");
        if let Some(text) = fixed(&registry, &judgement) {
            // If one appended parameter has no `since`, those after it may break a rule.
            if let Ok(again) = RegistryFile::parse(text) {
                assert!(judge(&lock, &again.registry, &again.allows).is_met());
            }
        }
    }
});
