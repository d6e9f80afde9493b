//! The programs that are examined after something has happened to them.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::support::package::Workspace;
use crate::support::process::Process;

/// The programs, and their files.
const PROGRAMS: &[(&str, &str)] = &[
    ("postmortem", include_str!("../../programs/postmortem.rs")),
    ("standstill", include_str!("../../programs/standstill.rs")),
];

/// Their workspace.
pub(crate) fn workspace() -> &'static Workspace {
    static WRITTEN: OnceLock<Workspace> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let workspace = Workspace::new("postmortem", &["postmortem"]);
        workspace.package("postmortem", "2024", "telemetry-events.workspace = true\nlibc.workspace = true");
        workspace.write("postmortem/work.toml", include_str!("../../registries/work.toml"));
        for (name, text) in PROGRAMS {
            workspace.write(&format!("postmortem/src/bin/{name}.rs"), text);
        }
        workspace
    })
}

/// The path of a program.
pub(crate) fn program(name: &str) -> PathBuf {
    built();
    workspace().program(name)
}

/// The path of the program `standstill` with debug info.
pub(crate) fn standstill_with_debug_info() -> PathBuf {
    built().clone()
}

/// Builds all programs. Returns the path of the one with debug info.
fn built() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = workspace().build_with(&["profile.dev.debug=\"full\""], "standstill");
        workspace().build(&[]);
        path
    })
}

/// A program, ready to run.
pub(crate) fn process(name: &str, how: &str) -> Process {
    Process::new(program(name)).arg(how)
}
