//! `telemetry query`: starts the program `telemetry-query`. It is a package of its own, because its
//! engine takes minutes to build.

use std::ffi::OsString;
#[cfg(not(unix))]
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::quiet;

/// The name of the program.
const PROGRAM: &str = "telemetry-query";

const EXAMPLES: &str = "\
The program `telemetry-query` answers. It is a package of its own: `cargo install --locked --path
telemetry-query` in a clone of the repository. `telemetry-query --help` lists its options. See
docs/query.md.

Examples:
  telemetry query --tables gc.tel
  telemetry query 'SELECT count(*), sum(size) FROM PoolInit' gc.tel
  telemetry query 'SELECT * FROM loss' --json gc.tel";

/// Answer a query in SQL from streams and Parquet files, if `telemetry-query` is installed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The query, files and options of `telemetry-query`
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let beside = std::env::current_exe().ok().and_then(|own| own.parent().map(Path::to_path_buf));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(program) = beside.into_iter().chain(std::env::split_paths(&path)).find_map(in_directory)
        else {
            return Err(Failure::new(format!(
                "found no program `{PROGRAM}` beside `telemetry` or in $PATH, expected one: it is a package of its \
                 own; help: in a clone of the repository, run `cargo install --locked --path {PROGRAM}`"
            )));
        };
        let mut command = Command::new(&program);
        command.args(quiet::is_on().then_some("--quiet")).args(&self.arguments);
        become_program(&program, command, context)
    }
}

/// Returns the program in a directory. An empty name of a directory in `$PATH` is left out.
fn in_directory(directory: PathBuf) -> Option<PathBuf> {
    let program = directory.join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION);
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
