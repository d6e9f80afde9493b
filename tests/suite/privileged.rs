//! Programs with more rights than the user who starts them: the user's environment has no effect.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::ends::program;
use crate::support::process::{Outcome, Process};
use crate::support::stream::Stream;
use crate::support::system::{self, OTHER_USER};

/// Runs the program, which is set-user-ID root, as another user. Returns `None` if that is not
/// possible here.
fn run(argument: Option<&str>) -> Option<Outcome> {
    if !system::is_root() {
        eprintln!("SKIPPED: only root can make a program that runs as root");
        return None;
    }
    let mut process = Process::new("./privileged").of_user(OTHER_USER);
    let copy = process.dir().join("privileged");
    telemetry_testing::program::copy(program("privileged"), &copy);
    fs::set_permissions(&copy, PermissionsExt::from_mode(0o4755)).expect("our own file");
    for (name, value) in [
        ("TELEMETRY_RECORD", "all"),
        ("TELEMETRY_RING", "app.ring"),
        ("TELEMETRY_SOCKET", "./sockets"),
        ("TELEMETRY_POLICY", "nonsense"),
        ("TELEMETRY_BUFFER", "nonsense"),
        ("TELEMETRY_CLOCK", "nonsense"),
        ("TELEMETRY_LATENCY", "nonsense"),
        ("TELEMETRY_TRACEBACK", "nonsense"),
        ("TELEMETRY_FACTS", "arguments"),
    ] {
        process = process.env(name, value);
    }
    let run = argument.into_iter().fold(process, Process::arg).run().succeeded();
    if run.stdout.starts_with("user 0\n") {
        return Some(run);
    }
    eprintln!("SKIPPED: programs here do not run as their owner");
    None
}

/// The names of the files that a run has left in its directory, except the program itself.
fn left(run: &Outcome) -> Vec<String> {
    let entries = fs::read_dir(run.dir()).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| !["privileged", "stdout", "stderr"].contains(&&**name)).collect();
    names.sort();
    names
}

/// No variable has an effect, and none is reported.
#[test]
fn variables_are_ignored() {
    let Some(run) = run(None) else { return };
    assert_eq!((&*run.stdout, &*run.stderr), ("user 0\ncontrol \"\"\n", ""));
    assert_eq!(left(&run), [""; 0]);
}

/// The program's own configuration applies, and its path is not changed.
#[test]
fn the_configuration_counts() {
    let Some(run) = run(Some("configured.tel")) else { return };
    assert_eq!((&*run.stdout, &*run.stderr), ("user 0\ncontrol \"all\"\n", ""));
    assert_eq!(left(&run), ["configured.tel"]);
    assert_eq!(Stream::read(run.dir().join("configured.tel")).events.len(), 10);
}

/// If the program names no path, nothing is written to the directory that the user chose.
#[test]
fn there_is_no_stream_by_default() {
    let Some(run) = run(Some("control")) else { return };
    assert_eq!(left(&run), [""; 0]);
    let complaint = "`telemetry.tel`: the user who starts a program with raised privileges chooses its directory; help: \
                     name a path from the root on in `Config::output`";
    assert!(run.stderr.contains(complaint), "{}", run.stderr);
}
