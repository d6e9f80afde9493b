//! Each published package is complete: its manifest, its license, and no path outside of the
//! package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of all published packages.
const PACKAGES: [&str; 15] = [
    ".",
    "codegen-c",
    "codegen-python",
    "telemetry-cli",
    "telemetry-columns",
    "telemetry-decode",
    "telemetry-derive",
    "telemetry-foreign",
    "telemetry-format",
    "telemetry-filter",
    "telemetry-report",
    "telemetry-runtime",
    "telemetry-schema",
    "telemetry-std",
    "telemetry-tracing",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder, except the results of builds.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let kind = entry.file_type().expect("its type");
        let hidden = entry.file_name().to_string_lossy().starts_with(".git");
        let made = ["target", "node_modules"].iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !made && !hidden {
            all.extend(files(&entry.path()));
        } else if !kind.is_dir() {
            all.push(entry.path());
        }
    }
    all
}

/// The packages in `fleet` have hundreds of dependencies. The command starts their programs, and
/// has none of them.
#[test]
fn the_workspace_has_no_crate_of_the_fleet() {
    let lock = read("Cargo.lock");
    for name in ["telemetry-fleet", "telemetry-lake", "object_store", "reqwest", "rustls", "ring"] {
        assert!(!lock.contains(&format!("name = \"{name}\"\n")), "Cargo.lock has {name}");
    }
}

#[test]
fn every_member_is_listed() {
    let manifest = read("Cargo.toml");
    let members =
        manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).expect("members").0;
    let members = members.split('"').skip(1).step_by(2);
    let unknown: Vec<_> = members
        .filter(|member| !PACKAGES.contains(member))
        .filter(|member| !read(format!("{member}/Cargo.toml")).contains("publish = false"))
        .collect();
    assert!(unknown.is_empty(), "published, but not in this test's list: {unknown:?}");
}

#[test]
fn manifests_are_complete() {
    let keys = ["description", "readme", "keywords", "categories", "include"];
    for package in PACKAGES {
        let manifest = read(format!("{package}/Cargo.toml"));
        let section = manifest.split_once("[package]\n").expect("a package").1;
        let section = section.split_once("\n[").map_or(section, |(section, _)| section);
        for key in keys {
            let has = section.lines().any(|line| line.starts_with(&format!("{key} = ")));
            assert!(has, "{package}/Cargo.toml: no `{key}`");
        }
        assert!(section.contains("license.workspace = true"), "{package}/Cargo.toml: no license");
    }
}

#[test]
fn licenses_are_the_same_everywhere() {
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        for package in PACKAGES {
            assert!(read(license) == read(format!("{package}/{license}")), "{package}/{license} differs");
        }
    }
}

/// The macro needs the file in the runtime's package, and readers must not depend on the runtime.
#[test]
fn copies_of_the_runtimes_registry_are_the_same() {
    let same = read("telemetry-runtime/telemetry.toml") == read("telemetry-format/telemetry.toml");
    assert!(same, "copy telemetry-runtime/telemetry.toml to telemetry-format/telemetry.toml");
}

#[test]
fn there_is_no_symlink() {
    let links: Vec<_> = files(root()).into_iter().filter(|path| path.is_symlink()).collect();
    assert!(links.is_empty(), "symlinks break where they are checked out as files: {links:?}");
}

/// In `src` of each package, except doctests and tests: no text or module from outside of the
/// package.
#[test]
fn sources_stay_in_their_package() {
    let mut wrong = Vec::new();
    for package in PACKAGES {
        let package = root().join(package);
        for path in
            files(&package.join("src")).iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
        {
            let depth = path.strip_prefix(&package).expect("below it").components().count() - 1;
            for (number, line) in fs::read_to_string(path).expect("a text").lines().enumerate() {
                let is_path = ["include_str!(\"", "include_bytes!(\"", "#[path = \""]
                    .iter()
                    .any(|one| line.contains(one));
                // Each folder allows one step up inside the package.
                if is_path && line.matches("../").count() > depth {
                    wrong.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "paths that leave a package:\n{}", wrong.join("\n"));
}

/// The crates of the command as it is installed. What needs many more, such as Parquet or TLS, is a
/// feature or another program. A new one needs a reason in `docs/design/dependencies.md`, then
/// `UPDATE_CRATES=1`.
#[test]
fn the_command_has_these_crates() {
    let mut cargo = std::process::Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root()).args(["tree", "--locked", "-p", "telemetry-cli", "--edges", "normal"]);
    cargo.args(["--prefix", "none", "--format", "{p}", "--target", "x86_64-unknown-linux-gnu"]);
    let tree = cargo.output().expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("names are text");
    let names: BTreeSet<_> =
        tree.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    let found: String = names.iter().map(|name| format!("{name}\n")).collect();
    let path = root().join("tests/command-crates.txt");
    if std::env::var_os("UPDATE_CRATES").is_some() {
        fs::write(&path, &found).expect("it can be written");
    }
    assert_eq!(found, read("tests/command-crates.txt"));
}
