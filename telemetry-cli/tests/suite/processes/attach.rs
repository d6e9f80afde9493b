//! Programs that nothing has prepared, in places of their own, and by their names.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::programs::{emit, emitted};
use super::{CHILD, Program, Sockets, is_root, wait};
use crate::run::run;

/// Nothing has prepared the program. It is found in its own place, which is not that of the
/// command, and in the usual place.
#[test]
fn a_program_that_is_not_prepared() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", ""), ("TELEMETRY_SOCKET", "")];
    let test = "processes::attach::a_program_that_is_not_prepared";
    let program = Program::start(&sockets, test, &setup, emit);
    let pid = program.pid;
    wait("a socket", || sockets.run(&format!("control {pid}")).code == Some(0));
    assert_eq!(emitted(&sockets, pid), 0);
    let listed = run(sockets.command("list --json").env_remove("TELEMETRY_SOCKET"), &[]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let listed = listed["processes"].as_array().unwrap().iter().find(|one| one["pid"] == pid).unwrap();
    assert_eq!((&listed["output"], &listed["counters"]["emitted"]), (&"".into(), &0.into()));
    sockets.prints(&format!("control {pid} Pool"));
    wait("an event", || emitted(&sockets, pid) > 0);
}

/// A program with a `/tmp` and numbers of processes of its own, as in a container.
#[test]
fn a_program_in_a_container() {
    let sockets = Sockets::new();
    let test = "processes::attach::a_program_in_a_container";
    if std::env::var_os(CHILD).is_none() {
        let mut probe = Command::new("unshare");
        let is_possible =
            probe.args(["--mount", "--pid", "--fork", "true"]).status().is_ok_and(|status| status.success());
        if !is_root(&sockets) || !is_possible {
            eprintln!("SKIPPED: no namespaces here");
            return;
        }
    }
    let setup =
        [("TELEMETRY_CONTROL", ""), ("TELEMETRY_SOCKET", ""), ("TELEMETRY_FILENAME", "/tmp/stream.tel")];
    let program = Program::start_by(&CONTAINER, &sockets, test, &setup, emit);
    let children = format!("/proc/{0}/task/{0}/children", program.pid);
    let inside = || std::fs::read_to_string(&children).unwrap_or_default().trim().parse::<u32>().ok();
    wait("the program", || inside().is_some());
    let pid = inside().unwrap();
    wait("a socket", || sockets.run(&format!("control {pid}")).code == Some(0));
    assert!(!Path::new(&format!("/tmp/telemetry-0/{pid}")).exists());
    sockets.prints(&format!("control {pid} Pool"));
    wait("an event", || emitted(&sockets, pid) > 0);
    // Its first events may not be written yet.
    wait("a fine process", || sockets.run(&format!("doctor {pid}")).code == Some(0));
    program.end();
}

/// The start of a command line that runs in a container.
const CONTAINER: [&str; 6] = ["unshare", "--mount", "--pid", "--fork", "sh", "-c"];

/// The name of a program stands for its only process.
#[test]
fn a_program_is_found_by_its_name() {
    let sockets = Sockets::new();
    let test = "processes::attach::a_program_is_found_by_its_name";
    let first = Program::ready(&sockets, test, &[], emit);
    let name = std::env::current_exe().unwrap().file_name().unwrap().to_str().unwrap().to_string();
    wait("an event", || emitted(&sockets, first.pid) > 0);
    wait("the stream", || sockets.path("stream.tel").exists());
    assert!(sockets.prints(&format!("control {name}")).starts_with(&format!("process     {}\n", first.pid)));
    assert!(sockets.prints(&format!("doctor {name}")).starts_with(&format!("process {}: ", first.pid)));
    let refused = sockets.run(&format!("tail {name} Pol"));
    assert!(refused.stderr.contains("`Pol` matches no kind or event"), "{}", refused.stderr);
    let misspelled = name.replace("suite", "siute");
    let absent =
        |name: &str, help: &str| format!("error: no running process is called `{name}`; help: {help}");
    sockets.check(
        &format!("control {misspelled}"),
        2,
        &absent(&misspelled, &format!("did you mean `{name}`?")),
    );
    sockets.check("control other", 2, &absent("other", "`telemetry list` shows the processes"));
    let second = Program::ready(&sockets, test, &[], emit);
    let [one, other] = [first.pid.min(second.pid), first.pid.max(second.pid)];
    let many =
        format!("error: 2 processes are called `{name}`; help: name one by its number: {one}, {other}");
    sockets.check(&format!("control {name}"), 2, &many);
    sockets.check(&format!("doctor {name}"), 2, &many);
}
