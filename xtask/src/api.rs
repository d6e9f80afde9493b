//! The public interface of the libraries, as text that is reviewed with each change.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use public_api::Builder;

/// Libraries that are published, each with the name of its crate.
const LIBRARIES: [(&str, &str); 13] = [
    ("telemetry-events", "telemetry"),
    ("telemetry-format", "telemetry_format"),
    ("telemetry-runtime", "telemetry_runtime"),
    ("telemetry-schema", "telemetry_schema"),
    ("telemetry-decode", "telemetry_decode"),
    ("telemetry-foreign", "telemetry_foreign"),
    ("telemetry-columns", "telemetry_columns"),
    ("telemetry-filter", "telemetry_filter"),
    ("telemetry-report", "telemetry_report"),
    ("telemetry-std", "telemetry_std"),
    ("telemetry-tracing", "telemetry_tracing"),
    ("telemetry-codegen-c", "telemetry_codegen_c"),
    ("telemetry-codegen-python", "telemetry_codegen_python"),
];

/// The folder of the texts.
const FOLDER: &str = "xtask/api";
/// Rustdoc writes the interface as JSON only with a nightly toolchain.
const TOOLCHAIN: &str = "+nightly";

/// What is done with the texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Compares them with the interface as it is.
    Check,
    /// Rewrites them.
    Write,
}

/// Checks or rewrites the texts of all libraries. Says so and succeeds without a toolchain that can
/// read the interface.
pub(crate) fn run(root: &Path, mode: Mode) -> Result<(), String> {
    if !has_toolchain() {
        eprintln!("SKIPPED: no nightly toolchain, which the public interface is read with");
        return Ok(());
    }
    let target = root.join("target/api");
    document(&target)?;
    let mut changed = Vec::new();
    for (package, library) in LIBRARIES {
        let path = format!("{FOLDER}/{package}.txt");
        let text = match interface(&target, library)? {
            Some(text) => text,
            None => {
                eprintln!("SKIPPED: this nightly toolchain writes another version of rustdoc's JSON");
                return Ok(());
            }
        };
        let old = fs::read_to_string(root.join(&path)).unwrap_or_default();
        if old != text {
            match mode {
                Mode::Check => report(&path, &old, &text),
                Mode::Write => {
                    fs::write(root.join(&path), text).map_err(|error| format!("{path}: {error}"))?;
                }
            }
            changed.push(path);
        }
    }
    match mode {
        Mode::Check if !changed.is_empty() => Err(format!(
            "the public interface differs from {}; help: `cargo xtask bless api`, and review the difference",
            changed.join(", ")
        )),
        _ => Ok(()),
    }
}

fn has_toolchain() -> bool {
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args([TOOLCHAIN, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    rustdoc.status().is_ok_and(|status| status.success())
}

/// Writes the interfaces of all libraries as JSON to `target`.
fn document(target: &Path) -> Result<(), String> {
    // rustup's `cargo` chooses the toolchain, not the one that runs this.
    let mut command = Command::new("cargo");
    command.env_remove("RUSTUP_TOOLCHAIN");
    command.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
    // All at once: by itself, each would have its dependencies with other features.
    command.args([TOOLCHAIN, "doc", "--quiet", "--locked", "--lib", "--no-deps", "--all-features"]);
    command.args(LIBRARIES.iter().flat_map(|(package, _)| ["-p", *package]));
    crate::run(command.arg("--target-dir").arg(target))
}

/// Returns the public interface of a library, an item a line. Returns `None` if the JSON has
/// another version than the one that is understood here.
fn interface(target: &Path, library: &str) -> Result<Option<String>, String> {
    let json = target.join(format!("doc/{library}.json"));
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build();
    match api {
        Ok(api) => Ok(Some(api.to_string())),
        Err(public_api::Error::SerdeJsonError(_)) => Ok(None),
        Err(error) => Err(format!("{}: {error}", json.display())),
    }
}

/// Prints the lines that only one of two texts has.
fn report(path: &str, old: &str, new: &str) {
    eprintln!("{path}:");
    let only = |sign: char, these: &str, others: &str| {
        let others: std::collections::HashSet<&str> = others.lines().collect();
        these.lines().filter(|line| !others.contains(line)).for_each(|line| eprintln!("  {sign} {line}"));
    };
    only('-', old, new);
    only('+', new, old);
}
