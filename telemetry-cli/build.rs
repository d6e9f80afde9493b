//! Finds the commit that a release build is made from, for `telemetry --version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TELEMETRY_COMMIT");
    // A development build would be built again after each commit.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let commit = std::env::var("TELEMETRY_COMMIT").ok().or_else(of_package).or_else(of_checkout);
    if let Some(commit) = commit.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        println!("cargo::rustc-env=TELEMETRY_COMMIT={}", commit.get(..10).unwrap_or(&commit));
    }
}

/// Reads the commit from what cargo writes into a package.
fn of_package() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    Some(rest.split('"').next()?.to_owned())
}

/// Asks git for the commit, if this is the project's own checkout.
fn of_checkout() -> Option<String> {
    if !Path::new("../.git").exists() {
        return None;
    }
    println!("cargo::rerun-if-changed=../.git/logs/HEAD");
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
