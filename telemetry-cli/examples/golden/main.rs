//! Adds the missing streams to the archive: `cargo run -p telemetry-cli --example golden`.
//!
//! It takes each registry in `tests/golden/registries` that has no stream of the present format. A
//! process of its own emits the registry's events, on two threads and with labels, as any program
//! does. Two sessions of the reference writer follow, with losses, parts of blocks and no end.
//! Existing streams are never written again: a stream of the archive was written when its versions
//! were new.
#![allow(missing_docs, clippy::print_stdout)]

mod program;
mod writer;

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use telemetry_format::FORMAT_VERSION;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(version) = std::env::var_os(CHILD) {
        return program::run(&version.to_string_lossy());
    }
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let streams = archive.join(format!("streams/{FORMAT_VERSION}"));
    fs::create_dir_all(&streams)?;
    for file in files(&archive.join("registries"))? {
        let name = file.file_stem().ok_or("a file without a name")?.to_string_lossy().into_owned();
        let path = streams.join(format!("{name}.tel"));
        if path.exists() {
            continue;
        }
        let registry = telemetry_schema::load(&file)?.registry;
        let mut stream = emitted(&registry.version.to_string())?;
        stream.extend(writer::sessions(&registry)?);
        File::create_new(&path)?.write_all(&stream)?;
        eprintln!("{}: {} bytes", path.display(), stream.len());
    }
    list(&archive)
}

/// Names the version whose program a child process is.
const CHILD: &str = "GOLDEN_VERSION";

/// Returns what the program of a version writes.
fn emitted(version: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("stream.tel");
    let status = Command::new(std::env::current_exe()?)
        .env(CHILD, version)
        .env("TELEMETRY_FILENAME", &file)
        .env("TELEMETRY_RECORD", "all")
        .env("TELEMETRY_CONTROL", "all -Ref")
        .status()?;
    if !status.success() {
        return Err(format!("the program of version {version} failed: {status}").into());
    }
    Ok(fs::read(file)?)
}

/// Adds the lines of new files to the list of all.
fn list(archive: &Path) -> Result<(), Box<dyn Error>> {
    let path = archive.join("SHA256SUMS");
    let mut sums = fs::read_to_string(&path).unwrap_or_default();
    let mut all = files(&archive.join("registries"))?;
    all.extend(files(&archive.join(format!("streams/{FORMAT_VERSION}")))?);
    for file in all {
        let name = file.strip_prefix(archive)?.to_string_lossy().into_owned();
        if !sums.lines().any(|line| line.ends_with(&format!("  {name}"))) {
            let digest = Sha256::digest(fs::read(&file)?);
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            sums += &format!("{digest}  {name}\n");
        }
    }
    fs::write(path, sums)?;
    Ok(())
}

/// Returns the files of a directory by name.
fn files(dir: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    Ok(files)
}
