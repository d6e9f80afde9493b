//! Pages of the command in Chromium: they show the numbers of `stats` and `spans`.
//!
//! The test is skipped without Node, Chromium, or the packages of `telemetry-report/web`, which
//! `npm ci` installs there.

use std::path::Path;
use std::process::Command;

use crate::run::Folder;
use crate::streams::{gc, labeled, lossy, two_registries};

#[test]
fn pages_show_the_numbers_of_stats_and_spans() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry-report/web");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_string());
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let missing = [
        (!runs("node"), "no node"),
        (!runs(&chromium), "no chromium"),
        (
            !web.join("node_modules/playwright-core").exists(),
            "no packages: run `npm ci` in telemetry-report/web",
        ),
    ];
    if let Some((_, why)) = missing.iter().find(|(is_missing, _)| *is_missing) {
        eprintln!("SKIPPED: {why}");
        return;
    }
    let folder = Folder::new();
    for (name, stream) in [
        ("gc", gc()),
        ("spans", crate::spans::stream()),
        ("lossy", lossy()),
        ("labeled", labeled()),
        ("two", two_registries()),
        ("versions", crate::spans::two_versions()),
        ("replay", crate::replay::sound()),
        ("eventlog", crate::ghc::profile()),
        ("census", crate::census::sound()),
        ("counters", super::counters::stream()),
    ] {
        std::fs::write(folder.path(&format!("{name}.tel")), stream).unwrap();
        folder.run(&format!("report {name}.tel -o {name}.html"));
        folder.run(&format!("stats --json {name}.tel -o {name}.stats.json"));
        folder.run(&format!("spans --json {name}.tel -o {name}.spans.json"));
    }
    folder.run("report --against gc.tel spans.tel -o against.html");
    for figures in ["stats", "spans"] {
        let of = |name: &str| folder.path(&format!("{name}.{figures}.json"));
        std::fs::copy(of("spans"), of("against")).unwrap();
    }
    let output = Command::new("node")
        .args(["--test", "test/browser/pages.mjs"])
        .current_dir(&web)
        .env("PAGES", folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
