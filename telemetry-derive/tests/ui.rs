//! The errors that users see: those of the compiler, as in `tests/ui`.
//!
//! After a change, `TRYBUILD=overwrite cargo test -p telemetry-derive --test ui` writes them again;
//! read them.

use std::path::Path;

/// Other versions word some of their errors in other ways.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn errors() {
    let compiler = std::process::Command::new("rustc").arg("--version").output().map(|output| output.stdout);
    let compiler = String::from_utf8_lossy(&compiler.unwrap_or_default()).into_owned();
    if !compiler.starts_with(COMPILER) {
        eprintln!("SKIPPED: the errors are those of {COMPILER}, this is {compiler}");
        return;
    }
    // The cases are compiled in a package that trybuild makes, and a registry's path is relative to
    // its package.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let package = target.join("tests/trybuild").join(env!("CARGO_PKG_NAME")).join("registries");
    std::fs::create_dir_all(&package).expect("a writable target directory");
    let registries = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui/registries");
    for file in std::fs::read_dir(registries).expect("the cases' registries").flatten() {
        std::fs::copy(file.path(), package.join(file.file_name())).expect("a writable target directory");
    }
    let scopes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scopes.toml");
    std::fs::copy(scopes, package.join("scopes.toml")).expect("a writable target directory");
    // Latin-1, which the repository does not have.
    std::fs::write(package.join("not_utf8.toml"), b"[registry]\nname = \"caf\xe9\"\n")
        .expect("a writable target directory");
    // A file that a case looks for in the wrong folder.
    let source = package.with_file_name("src");
    std::fs::create_dir_all(&source).expect("a writable target directory");
    std::fs::copy(package.join("good.toml"), source.join("beside_source.toml"))
        .expect("a writable target directory");
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
