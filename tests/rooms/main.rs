//! The rooms of each crate: folders of `src/`, in an order in which each uses only rooms before it.
//!
//! This reads the sources. It fails for a file outside of any room, an arrow that the table does
//! not allow, and a circle of files inside a room. Smaller crates have no rooms: there it fails for
//! a circle of files. It names file and line. There are no exceptions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod sorts;
mod source;
mod table;

use source::{Reference, references};
use table::{CRATES, SMALL};

/// A room, and the rooms that it may use, each of which comes before it. `ALL` is all of those.
pub(crate) type Room = (&'static str, &'static [&'static str]);

/// Instead of a list: every room before this one.
pub(crate) const ALL: &[&str] = &["*"];

/// A file of a crate.
struct File {
    path: PathBuf,
    /// Its module's path: the room first; nothing for the roof.
    module: Vec<String>,
    references: Vec<Reference>,
}

#[test]
fn arrows_between_rooms_fall() {
    let mut wrong = Vec::new();
    for (name, rooms) in CRATES {
        wrong.extend(check_crate(name, rooms));
    }
    for name in SMALL {
        wrong.extend(circles(name, &files(&root(name)), |_, _| true));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every crate is in one of the two tables, also those outside of the workspace.
#[test]
fn every_crate_is_checked() {
    let known: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).chain(SMALL.iter().copied()).collect();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut unknown = Vec::new();
    for parent in ["", "fleet"] {
        for entry in std::fs::read_dir(repository.join(parent)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name =
                path.strip_prefix(repository).expect("a path below the root").to_string_lossy().into_owned();
            if path.join("Cargo.toml").exists() && path.join("src").exists() && !known.contains(&*name) {
                unknown.push(name);
            }
        }
    }
    assert!(unknown.is_empty(), "not in tests/rooms/table.rs: {unknown:?}");
}

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src")
}

fn check_crate(name: &str, rooms: &[Room]) -> Vec<String> {
    let root = root(name);
    let files = files(&root);
    let mut wrong = check_table(name, rooms);
    for file in files.iter().filter(|file| !is_roof(file)) {
        let shown = shown(name, file);
        let Some(room) =
            rooms.iter().position(|(room, _)| file.module.first().is_some_and(|first| first == room))
        else {
            wrong.push(format!("{shown}:1: lies in no room of the table"));
            continue;
        };
        for Reference { line, path } in &file.references {
            let from = rooms[room].0;
            let Some(to) = path.first() else {
                wrong.push(format!("{shown}:{line}: {from} may not import the roof"));
                continue;
            };
            let before = rooms[..room].iter().any(|(before, _)| before == to);
            let listed = rooms[room].1 == ALL || rooms[room].1.contains(&to.as_str());
            if from != to && !(before && listed) {
                wrong.push(format!("{shown}:{line}: {from} may not import {to}"));
            }
        }
    }
    wrong.extend(circles(name, &files, |from, to| from.first() == to.first()));
    wrong.extend(headings(name, &root, rooms));
    wrong
}

/// A table whose rooms use later ones allows what it forbids.
fn check_table(name: &str, rooms: &[Room]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, (room, uses)) in rooms.iter().enumerate() {
        for used in uses.iter().filter(|used| **used != "*") {
            if !rooms[..index].iter().any(|(before, _)| before == used) {
                wrong.push(format!("{name}: {room} is to use {used}, which does not come before it"));
            }
        }
    }
    wrong
}

/// What a room's `mod.rs` says of it, in at most six lines: what it is for, what it may use, and
/// what it must never do.
fn headings(name: &str, root: &Path, rooms: &[Room]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (room, _) in rooms {
        let path = root.join(room).join("mod.rs");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
        if !(1..=6).contains(&lines) {
            wrong.push(format!(
                "{name}/src/{room}/mod.rs:1: {lines} lines say what the room is for, expected 1 to 6"
            ));
        }
        let heading = text.lines().take(lines).collect::<Vec<_>>().join(" ").to_lowercase();
        let says =
            |words: &[&str]| heading.split(|c: char| !c.is_alphabetic()).any(|word| words.contains(&word));
        if !says(&["use", "uses"]) || !says(&["never"]) {
            wrong.push(format!(
                "{name}/src/{room}/mod.rs:1: expected what the room may use, and what it must never do"
            ));
        }
    }
    wrong
}

/// Circles of files, by the arrows that count.
fn circles(name: &str, files: &[File], counts: impl Fn(&[String], &[String]) -> bool) -> Vec<String> {
    let by_module: BTreeMap<&[String], &File> =
        files.iter().map(|file| (file.module.as_slice(), file)).collect();
    let mut arrows = BTreeMap::<&[String], BTreeSet<&[String]>>::new();
    for file in files.iter().filter(|file| !is_roof(file)) {
        let to = arrows.entry(&file.module).or_default();
        for Reference { path, .. } in &file.references {
            if !counts(&file.module, path) {
                continue;
            }
            // The longest path that is a file: the rest are items in it.
            let target = (1..=path.len()).rev().find_map(|len| by_module.get_key_value(&path[..len]));
            to.extend(target.map(|(module, _)| *module).filter(|module| *module != file.module.as_slice()));
        }
    }
    let mut wrong = Vec::new();
    let mut done = BTreeSet::new();
    for start in arrows.keys() {
        let mut way = Vec::new();
        if let Some(circle) = circle(start, &arrows, &mut way, &mut done) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            wrong.push(format!("{name}: a circle: {}", names.join(" -> ")));
        }
    }
    wrong
}

/// A circle that can be reached from here.
fn circle<'f>(
    at: &'f [String],
    arrows: &BTreeMap<&'f [String], BTreeSet<&'f [String]>>,
    way: &mut Vec<&'f [String]>,
    done: &mut BTreeSet<&'f [String]>,
) -> Option<Vec<&'f [String]>> {
    if let Some(start) = way.iter().position(|module| *module == at) {
        return Some(way[start..].iter().copied().chain([at]).collect());
    }
    if done.contains(at) {
        return None;
    }
    way.push(at);
    let found = arrows.get(at).into_iter().flatten().find_map(|next| circle(next, arrows, way, done));
    way.pop();
    done.insert(at);
    found
}

/// All files of a crate, but those that are compiled for its tests alone.
fn files(root: &Path) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            if stem == "tests" || stem == "snapshots" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(file(root, path));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no sources in {}", root.display());
    found
}

fn file(root: &Path, path: PathBuf) -> File {
    let inside = path.strip_prefix(root).expect("a path below the root").with_extension("");
    let mut module: Vec<String> =
        inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    let text = std::fs::read_to_string(&path).expect("a source file");
    let references = references(&text, &module);
    File { path: inside.with_extension("rs"), module, references }
}

/// `lib.rs` and `main.rs`, which put the rooms together.
fn is_roof(file: &File) -> bool {
    file.module.is_empty()
}

fn shown(name: &str, file: &File) -> String {
    format!("{name}/src/{}", file.path.display())
}
