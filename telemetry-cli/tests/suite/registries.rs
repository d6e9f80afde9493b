//! `check` of registries, without a release. `versions` has the tests with one.

use telemetry_schema::version::Lock;

use crate::run::Folder;
use crate::streams::GC;

/// Returns the lock of a registry that was never released before.
pub(crate) fn released(registry: &str) -> String {
    Lock::of(&telemetry_schema::parse(registry).unwrap(), None).to_text()
}

#[test]
fn check() {
    let folder = Folder::new()
        .with("events.toml", GC)
        .with("events.lock", released(GC))
        .with(
            "broken.toml",
            GC.replace("sort = \"P\"", "sort = \"Q\"").replace("code = 0x0021", "code = 0x0020"),
        )
        .with("syntax.toml", "[registry\nname = 1")
        .with("latin.toml", b"# gr\xf6\xdfe");
    folder.check(
        "check",
        &[
            "check",
            "check broken.toml",
            "check syntax.toml events.toml latin.toml",
            "check missing.toml events.toml",
            "check .",
            "check - < events.toml",
            "check - < syntax.toml",
            "check -o /dev/full",
        ],
    );
}
