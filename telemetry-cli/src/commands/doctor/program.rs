//! Examines a program that does not run.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment::shown;
use super::finding::Finding;
use crate::registry::in_program;

/// The sort of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The runtime is linked in, built in this variety.
    WithRuntime(&'static str),
    /// A program of this machine without the runtime.
    WithoutRuntime,
    /// A script, a program that starts others, or a file that could not be read.
    Other,
}

/// Finds the file that a shell would run, else a file in this directory.
pub(super) fn find(name: &OsStr) -> Option<PathBuf> {
    let here = Path::new(".").join(name);
    let path = std::env::var_os("PATH").filter(|_| !name.as_encoded_bytes().contains(&b'/'));
    let dirs = path.iter().flat_map(std::env::split_paths);
    dirs.map(|dir| dir.join(name)).chain([here]).find(|path| is_executable(path))
}

/// Returns true for a file that may be run. A stream with that permission does not count.
pub(super) fn is_executable(path: &Path) -> bool {
    let is_stream = || begins_with(path, &telemetry_format::MAGIC);
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0) && !is_stream()
}

/// Returns true if a file begins with these bytes.
pub(super) fn begins_with(path: &Path, magic: &[u8]) -> bool {
    let mut start = vec![0; magic.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == magic
}

/// Returns true for a Linux program. Core dumps have the same beginning.
pub(super) fn is_program(path: &Path) -> bool {
    const CORE: u8 = 4;
    let mut start = [0; 17];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    // The low byte of its type, on a little-endian machine.
    read.is_ok() && start.starts_with(b"\x7fELF") && start[16] != CORE
}

/// Examines the content of a program.
fn kind(path: &Path) -> Kind {
    if !is_program(path) {
        return Kind::Other;
    }
    match in_program::variety(path) {
        Err(_) => Kind::Other,
        Ok(Some(variety)) => Kind::WithRuntime(variety),
        Ok(None) => Kind::WithoutRuntime,
    }
}

/// Explains that a program has no events.
pub(super) fn compiled_out(path: &Path) -> Option<Finding> {
    match kind(path) {
        Kind::WithoutRuntime => Some(without_runtime(path)),
        Kind::WithRuntime(name) => variety(name).filter(|finding| finding.is_problem),
        Kind::Other => None,
    }
}

fn without_runtime(path: &Path) -> Finding {
    Finding::problem(
        "compiled-out",
        format!("{} contains no telemetry", shown(path)),
        "it was built without, before its source had any, or with TELEMETRY_VARIETY=rash, which compiles every event out; \
         or it only starts another program, or loads it as a library",
        "build it with TELEMETRY_VARIETY=cool or hot; check the program itself, not a script that starts it",
    )
}

/// Explains that a build's variety leaves events out, if it does.
pub(super) fn variety(name: &str) -> Option<Finding> {
    let found = |what: &str| format!("the program was built with TELEMETRY_VARIETY={name}: {what}");
    let help = "build it again with TELEMETRY_VARIETY=cool; look into the [env] table of .cargo/config.toml";
    match name {
        "rash" => Some(Finding::problem(
            "compiled-out",
            found("no event is in it"),
            "the variety `rash` compiles every event out",
            help,
        )),
        "hot" => Some(
            Finding::problem(
                "compiled-out",
                found("only events with `always = true` are in it"),
                "the variety `hot` compiles out events on critical paths",
                help,
            )
            .noted(),
        ),
        _ => None,
    }
}
