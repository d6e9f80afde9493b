//! Starts a program of a package of its own, as if it were this command.

use std::ffi::OsString;
#[cfg(not(unix))]
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::term::ended::{Context, Ended, Failure};

/// Runs the program beside this one or in `$PATH`. `folder` has its package in the repository.
pub(crate) fn run(name: &str, folder: &str, arguments: &[OsString], context: &mut Context) -> Ended {
    let program = find(name, folder)?;
    let mut command = Command::new(&program);
    command.args(arguments);
    become_program(&program, command, context)
}

/// Finds the program beside this one or in `$PATH`.
pub(crate) fn find(name: &str, folder: &str) -> Result<PathBuf, Failure> {
    let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_path_buf));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = |directory| in_directory(directory, name);
    beside.into_iter().chain(std::env::split_paths(&path)).find_map(program).ok_or_else(|| {
        Failure::new(format!(
            "found no program `{name}` beside `telemetry` or in $PATH, expected one: it is a package of its own; \
             help: in a clone of the repository, run `cargo install --locked --path {folder}`"
        ))
    })
}

/// Returns the program in a directory. An empty name of a directory in `$PATH` is left out.
fn in_directory(directory: PathBuf, name: &str) -> Option<PathBuf> {
    let program = directory.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    (!directory.as_os_str().is_empty() && program.is_file()).then_some(program)
}

/// Replaces this process by the program.
#[cfg(unix)]
fn become_program(program: &Path, mut command: Command, _: &mut Context) -> Ended {
    use std::os::unix::process::CommandExt;
    // It returns only if it fails.
    let error = command.exec();
    Err(Failure::new(format!("cannot run `{}`: {error}", program.display())))
}

/// Runs the program, and ends as it does.
#[cfg(not(unix))]
fn become_program(program: &Path, mut command: Command, context: &mut Context) -> Ended {
    let failed = |why: &dyn Display| Failure::new(format!("cannot run `{}`: {why}", program.display()));
    let ended = command.status().map_err(|error| failed(&error))?;
    // The program has reported its problems.
    context.problem_if(ended.code() == Some(1));
    if matches!(ended.code(), Some(0 | 1)) { Ok(()) } else { Err(failed(&ended)) }
}
