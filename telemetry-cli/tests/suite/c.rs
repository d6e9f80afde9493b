//! `c`: which files it writes, and which it refuses to write. `.ci/c` compiles them.

use std::fs;

use crate::registries::released;
use crate::run::Folder;
use crate::streams::GC;

/// The root of this repository, which has the package telemetry-events.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn files_are_written_and_replaced() {
    let folder = Folder::new()
        .with("events.toml", GC)
        .with("events.lock", released(GC))
        .with("changed.toml", GC.replacen("sort = \"W\"", "sort = \"u64\"", 1))
        .with("changed.lock", released(GC))
        .with("mine.h", "int mine;\n");
    fs::create_dir_all(folder.path("other/src")).unwrap();
    fs::write(folder.path("other/Cargo.toml"), "[package]\nname = \"other\"\n").unwrap();
    folder.check(
        "c",
        &[
            "c -o one.h",
            "c -o one.h",
            "c -o mine.h",
            "c -o made",
            "c -o other",
            "c changed.toml -o one.h",
            "c changed.toml -o unmade",
            "c -o made --runtime other",
        ],
    );
    assert_eq!(folder.run("c events.toml events.toml -o unmade").code, Some(2));
    assert_eq!(folder.run("c -o deep/er/made").code, Some(0));
    let library = fs::read_to_string(folder.path("deep/er/made/src/lib.rs")).unwrap();
    assert!(library.contains("telemetry_event(\"../../../events.toml\", c)"), "{library}");
    assert!(!folder.path("unmade").exists() && !folder.path("other/include").exists());
    assert_eq!(fs::read_to_string(folder.path("mine.h")).unwrap(), "int mine;\n");
    assert_eq!(fs::read(folder.path("one.h")).unwrap(), fs::read(folder.path("made/include/gc.h")).unwrap());

    // The same files again are not touched: cargo would compile them.
    let changed = |name: &str| fs::metadata(folder.path(name)).unwrap().modified().unwrap();
    let before = ["made/src/lib.rs", "made/include/gc.h"].map(changed);
    assert_eq!(folder.run("c -o made").code, Some(0));
    assert_eq!(["made/src/lib.rs", "made/include/gc.h"].map(changed), before);

    let root = fs::canonicalize(ROOT).unwrap();
    assert_eq!(folder.run(&format!("c -o made --runtime {}", root.display())).code, Some(0));
    let manifest = fs::read_to_string(folder.path("made/Cargo.toml")).unwrap();
    let path = manifest.lines().find_map(|line| line.strip_prefix("telemetry-events = { path = \"")).unwrap();
    let path = folder.path("made").join(path.trim_end_matches("\" }"));
    assert_eq!(fs::canonicalize(path).unwrap(), root);
}
