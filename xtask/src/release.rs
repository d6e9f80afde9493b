//! Checks before a release.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{archive, run};

/// A published package: its folder, its name and the other packages that it depends on.
struct Package {
    folder: String,
    name: String,
    needs: Vec<String>,
}

/// Checks versions, the changelog and the packages, builds the archive that a release carries, and
/// prints the packages in the order of publication.
pub(crate) fn dry_run(root: &Path) -> Result<(), String> {
    let manifest = read(root, "Cargo.toml")?;
    let version = section(&manifest, "[workspace.package]").and_then(|text| value(text, "version"));
    let version = version.ok_or("Cargo.toml: no version in [workspace.package]")?;
    check_versions(&manifest, version)?;
    check_changelog(&read(root, "CHANGELOG.md")?, version)?;
    let order = order(packages(root, &manifest)?)?;
    run(&mut Command::new(root.join(".ci/packages")))?;
    archive::make(root, version)?;
    eprintln!("version {version}; publish in this order:");
    for package in order {
        eprintln!("  cargo publish -p {}    # {}", package.name, package.folder);
    }
    Ok(())
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Returns the lines between a table's header and the next one.
fn section<'a>(text: &'a str, header: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("{header}\n"))?;
    Some(rest.split_once("\n[").map_or(rest, |(section, _)| section))
}

/// Returns the string of a key.
fn value<'a>(section: &'a str, key: &str) -> Option<&'a str> {
    section.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix("= \"")?.strip_suffix('"'))
}

/// Packages depend on each other in exactly this version.
fn check_versions(manifest: &str, version: &str) -> Result<(), String> {
    let needed =
        section(manifest, "[workspace.dependencies]").ok_or("Cargo.toml: no [workspace.dependencies]")?;
    let own = needed.lines().filter(|line| line.contains("path = "));
    match own.into_iter().find(|line| !line.contains(&format!("version = \"={version}\""))) {
        Some(line) => Err(format!("Cargo.toml: expected version \"={version}\" in `{line}`")),
        None => Ok(()),
    }
}

fn check_changelog(changelog: &str, version: &str) -> Result<(), String> {
    let heading = format!("## {version}");
    let named = |line: &str| line == heading || line.starts_with(&format!("{heading} "));
    if changelog.lines().any(named) {
        return Ok(());
    }
    let unreleased = section_of(changelog, "## Unreleased").unwrap_or_default();
    if unreleased.lines().any(|line| line.starts_with("- ")) {
        eprintln!("note: CHANGELOG.md: `## Unreleased` becomes `{heading}` with the date of the release");
        return Ok(());
    }
    Err(format!("CHANGELOG.md: neither `{heading}` nor entries in `## Unreleased`"))
}

fn section_of<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(heading)?;
    Some(rest.split_once("\n## ").map_or(rest, |(section, _)| section))
}

fn packages(root: &Path, manifest: &str) -> Result<Vec<Package>, String> {
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let members = members.ok_or("Cargo.toml: no members")?.0;
    let mut packages = Vec::new();
    for folder in members.split('"').skip(1).step_by(2).chain(["."]) {
        let path = format!("{folder}/Cargo.toml");
        let text = read(root, &path)?;
        let package = section(&text, "[package]").ok_or(format!("{path}: no [package]"))?;
        if package.lines().any(|line| line == "publish = false") {
            continue;
        }
        let name = value(package, "name").ok_or(format!("{path}: no name"))?.to_owned();
        if value(package, "repository").is_none() {
            eprintln!(
                "note: {path}: no `repository`; add the project's address before the first publication"
            );
        }
        let needed = section(&text, "[dependencies]").unwrap_or_default().lines();
        let needs = needed.filter_map(|line| line.split(['.', ' ']).next());
        let needs = needs.filter(|name| name.starts_with("telemetry-")).map(str::to_owned).collect();
        packages.push(Package { folder: folder.to_owned(), name, needs });
    }
    Ok(packages)
}

/// Returns each package after its dependencies.
fn order(mut left: Vec<Package>) -> Result<Vec<Package>, String> {
    let mut done: Vec<Package> = Vec::new();
    while !left.is_empty() {
        let is_done = |name: &String| done.iter().any(|package| package.name == *name);
        let Some(next) = left.iter().position(|package| package.needs.iter().all(is_done)) else {
            let names: Vec<_> = left.iter().map(|package| package.name.as_str()).collect();
            return Err(format!("these packages need each other or one that is not published: {names:?}"));
        };
        done.push(left.remove(next));
    }
    Ok(done)
}
