//! `check`.

use crate::run::Folder;
use crate::streams::GC;

#[test]
fn check() {
    let folder = Folder::new()
        .with("events.toml", GC)
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
