//! `check --witness`.

use telemetry_decode::Reader;

use super::CACHE;
use crate::registries::released;
use crate::run::{Folder, snapshot};

/// The replacements in the README's registry, by the rule that they break.
const CHANGES: [(&str, &str, &str); 18] = [
    ("param-retyped", "sort = \"u64\"", "sort = \"i64\""),
    ("param-retyped", "sort = \"W\"", "sort = \"[u16; 2]\""),
    (
        "param-inserted",
        "params = [{ name = \"hash\"",
        "params = [{ name = \"depth\", sort = \"u8\" }, { name = \"hash\"",
    ),
    ("param-removed", "  { name = \"entry\", sort = \"P\", doc = \"the entry\" },\n", ""),
    ("param-removed", "  { name = \"why\", sort = \"Why\", doc = \"what it had to go for\" },\n", ""),
    (
        "param-moved",
        "  { name = \"entry\", sort = \"P\", doc = \"the entry\" },\n  { name = \"size\", sort = \"W\", unit = \"bytes\", doc = \"what it frees\" },\n",
        "  { name = \"size\", sort = \"W\", unit = \"bytes\", doc = \"what it frees\" },\n  { name = \"entry\", sort = \"P\", doc = \"the entry\" },\n",
    ),
    ("param-renamed", "name = \"size\"", "name = \"extent\""),
    ("unit-changed", "unit = \"bytes\"", "unit = \"pages\""),
    ("event-renamed", "name = \"Miss\"", "name = \"Missed\""),
    ("event-recoded", "code = 2", "code = 7"),
    ("event-kind-changed", "kind = \"Evict\"", "kind = \"Lookup\""),
    ("kind-bit-changed", "Evict = { bit = 1", "Evict = { bit = 5"),
    ("kind-clock-changed", "doc = \"per eviction\"", "doc = \"per eviction\", clock = \"inherit\""),
    ("type-repr-changed", "repr = \"u8\"", "repr = \"i16\""),
    ("type-form-changed", "repr = \"u8\"", "repr = \"u8\"\nflags = true"),
    ("value-renamed", "Expired = 2", "TooOld = 2"),
    ("value-removed", ", Expired = 2", ""),
    ("value-renumbered", "Expired = 2", "Expired = 3"),
];

/// Each has a stream of the new registry that can be read, unless no byte is misread.
#[test]
fn median_changes_are_shown() {
    let mut transcript = String::new();
    for (rule, old, new) in CHANGES {
        assert_eq!(CACHE.matches(old).count(), 1, "{old}");
        let changed = CACHE.replace("median = 0", "median = 1").replace(old, new);
        let folder = Folder::new().with("events.toml", &changed).with("events.lock", released(CACHE));
        let text = folder.transcript("check --witness break.tel");
        assert!(text.contains("\nwitness: "), "{rule}: {text}");
        transcript += &format!("{rule}\n{text}");
        let stream = folder.path("break.tel");
        assert_eq!(stream.exists(), !text.contains("no byte is misread"), "{rule}: {text}");
        if stream.exists() {
            let mut events = Reader::open(&stream).unwrap().events().unwrap();
            while events.next().unwrap().is_some() {}
            assert!(events.completeness().is_complete() && events.completeness().events >= 2, "{rule}");
            assert_eq!(events.registries()[0].registry.version.to_string(), "1.1.0");
        }
    }
    snapshot("witness", &transcript);
}

/// The values of witnesses are made up, so none is hidden from the comparison.
#[test]
fn sensitive_parameters_are_compared() {
    let old = CACHE.replace("sort = \"u64\"", "sort = \"u64\", sensitive = \"secret\"");
    let new = old.replace("median = 0", "median = 1").replace("sort = \"u64\"", "sort = \"i64\"");
    let folder = Folder::new().with("events.toml", &new).with("events.lock", released(&old));
    let text = folder.transcript("check --witness break.tel");
    assert!(text.contains("\nwitness: ") && !text.contains("no byte is misread"), "{text}");
    assert!(folder.path("break.tel").exists());
}

#[test]
fn witnesses_can_have_files_of_their_own() {
    let changed = CHANGES[..1]
        .iter()
        .chain(&CHANGES[7..8])
        .fold(CACHE.replace("median = 0", "median = 1"), |text, (_, old, new)| text.replace(old, new));
    let folder = Folder::new().with("events.toml", changed).with("events.lock", released(CACHE));
    std::fs::create_dir(folder.path("breaks")).unwrap();
    folder.check(
        "witness_files",
        &["check --witness breaks", "check --json --witness all.tel", "check --witness no/dir.tel"],
    );
    let mut names: Vec<_> = std::fs::read_dir(folder.path("breaks"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["01-param-retyped-Miss.hash.tel", "02-unit-changed-Evicted.size.tel"]);
}

/// A parameter that is packed by its alignment did not change: no byte of it is misread.
#[test]
fn alignments_are_no_misreading() {
    let (_, old, new) = CHANGES[7];
    let aligned = CACHE.replace("sort = \"P\", doc", "sort = \"P\", align = 16, doc");
    let witnesses = [CACHE, &aligned].map(|registry| {
        let changed = registry.replace("median = 0", "median = 1").replace(old, new);
        let folder = Folder::new().with("events.toml", changed).with("events.lock", released(registry));
        let run = folder.run("check --witness break.tel");
        let text = String::from_utf8(run.stdout).unwrap();
        assert!(folder.path("break.tel").exists() && text.contains("entry:0x7f064010"), "{text}");
        text.lines().take_while(|line| !line.starts_with("events.toml")).collect::<Vec<_>>().join("\n")
    });
    assert_eq!(witnesses[0], witnesses[1]);
}

/// Changes that demand no median, or nothing at all, have none.
#[test]
fn other_changes_have_no_witness() {
    let changed = CACHE.replace("minor = 0", "minor = 1").replace("Expired = 2", "Expired = 2, Lost = 3");
    let folder = Folder::new().with("events.toml", changed).with("events.lock", released(CACHE));
    let run = folder.run("check --witness break.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!folder.path("break.tel").exists());
    assert!(!String::from_utf8(run.stdout).unwrap().contains("witness"));
}
