//! Changes between two versions, and their demands.

mod allows;
mod fixes;
mod locks;
mod messages;
mod rules;
mod table;

use telemetry_schema::version::{Judgement, Lock, Report, Side, judge};
use telemetry_schema::{RegistryFile, Version};

use telemetry_testing::version_cases as cases;

use self::cases::{GONE, RELEASED};

/// The lock of the released registry, which remembers an event that went before.
pub(crate) fn lock() -> Lock {
    let before = RELEASED.replace("minor = 5", "minor = 4") + GONE;
    let before = Lock::of(&crate::registry(&before), None);
    Lock::of(&crate::registry(RELEASED), Some(&before))
}

/// Returns the registry file of a valid text.
#[track_caller]
pub(crate) fn file(text: &str) -> RegistryFile {
    RegistryFile::parse(text).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", text)))
}

/// Returns the report about a registry and the lock.
pub(crate) fn judged(file: &RegistryFile) -> Judgement {
    judge(&lock(), &file.registry, &file.allows)
}

/// The same as people see it; empty if all is well.
pub(crate) fn rendered(file: &RegistryFile) -> String {
    let (lock, judgement) = (lock(), judged(file));
    let text = lock.to_text();
    let old = Side::lock("events.lock", &lock, &text);
    Report::new(&judgement, old, Side::registry("events.toml", &file.text)).render()
}

/// The registry with another version.
pub(crate) fn with_version(text: &str, version: Version) -> String {
    let start = text.find("version = {").expect("a version");
    let end = start + text[start..].find('}').expect("its end") + 1;
    let Version { major, median, minor } = version;
    let new = format!("version = {{ major = {major}, median = {median}, minor = {minor} }}");
    format!("{}{new}{}", &text[..start], &text[end..])
}
