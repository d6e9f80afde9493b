//! `info` and `stats`.

use crate::run::Folder;
use crate::streams::{gc, gc_run, gc_without_registry, lossy, two_registries};

#[test]
fn info() {
    let folder = Folder::new().with("gc.tel", gc()).with("two.tel", two_registries());
    folder.check("info", &["info gc.tel", "info --json gc.tel", "info two.tel", "info - < two.tel"]);
}

#[test]
fn info_of_what_is_incomplete() {
    let folder = Folder::new().with("lossy.tel", lossy()).with("none.tel", gc_without_registry());
    folder.check(
        "info_of_what_is_incomplete",
        &["info lossy.tel", "info --strict lossy.tel", "info --json lossy.tel", "info none.tel"],
    );
}

#[test]
fn stats() {
    let folder = Folder::new().with("gc.tel", gc()).with("other.tel", gc_run(7).finish().unwrap());
    folder.check(
        "stats",
        &[
            "stats gc.tel",
            "stats --json --kind Trace gc.tel",
            "stats --kind Pool gc.tel other.tel",
            "stats --kind Pool - < gc.tel",
        ],
    );
}

#[test]
fn json_is_json() {
    let folder = Folder::new().with("gc.tel", gc());
    for args in ["info --json gc.tel", "stats --json gc.tel"] {
        let value: serde_json::Value = serde_json::from_slice(&folder.run(args).stdout).unwrap();
        assert_eq!(value["version"], 1);
        assert_eq!(value["completeness"]["complete"], true);
    }
}
