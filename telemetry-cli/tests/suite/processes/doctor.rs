//! `doctor` finds each cause, which a real process or file provokes.

mod rings;

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use serde_json::Value;
use telemetry_testing::nested::PROFILE;
use telemetry_testing::program;

use super::hostile::as_other_user;
use super::{CHILD, Program, Sockets, is_root, wait};
use crate::gc_events;
use crate::run::{Folder, Run, run};
use crate::streams::{blocks, failed, future, gc, gc_run, image, lossy};

fn emit() {
    gc_events::pool_init!(1_u64, 2_u64, 3_u64, 0);
    gc_events::ref_fix!(4_u64);
}

/// Returns the causes that a run of `doctor --json` has found, notes in parentheses.
fn causes(run: &Run) -> String {
    let json: Value =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr));
    let cause = |finding: &Value| {
        for key in ["found", "why", "help"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {json:#}");
        }
        let cause = finding["cause"].as_str().unwrap().to_string();
        if finding["is_problem"].as_bool().unwrap() { cause } else { format!("({cause})") }
    };
    json["findings"].as_array().unwrap().iter().map(cause).collect::<Vec<_>>().join(" ")
}

/// Checks the findings, and that exit code and text agree with them.
#[track_caller]
fn check(mut command: Command, expected: &str) -> String {
    let found = run(&mut command, &[]);
    assert_eq!(causes(&found), expected, "{}", String::from_utf8_lossy(&found.stdout));
    let is_problem = expected.split(' ').any(|cause| !cause.is_empty() && !cause.starts_with('('));
    assert_eq!(found.code, Some(is_problem.into()), "{}", found.stderr);
    String::from_utf8(found.stdout).unwrap()
}

/// Checks the findings about a process.
#[track_caller]
fn check_process(sockets: &Sockets, pid: u32, expected: &str) -> String {
    check(sockets.command(&format!("doctor --json {pid}")), expected)
}

fn emitted(sockets: &Sockets, pid: u32, least: u64) {
    wait("events", || {
        let run = sockets.run(&format!("control {pid} --counters --json"));
        let json: Value = serde_json::from_slice(&run.stdout).unwrap_or_default();
        json["counters"]["emitted"].as_u64().is_some_and(|emitted| emitted >= least)
    });
}

#[test]
fn a_process_that_traces_is_fine() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::doctor::a_process_that_traces_is_fine", &[], emit);
    emitted(&sockets, program.pid, 1);
    wait("the stream", || sockets.path("stream.tel").exists());
    check_process(&sockets, program.pid, "");
    let text = sockets.prints(&format!("doctor {}", program.pid));
    assert!(text.starts_with(&format!("process {}: ", program.pid)) && text.lines().count() == 1, "{text}");

    std::fs::remove_file(sockets.path("stream.tel")).unwrap();
    let found = check_process(&sockets, program.pid, "removed-file");
    // The help works.
    let copy = found.split("cp ").nth(1).unwrap().split(' ').next().unwrap();
    std::fs::copy(copy, sockets.path("rescued.tel")).unwrap();
    assert!(String::from_utf8(sockets.run("print rescued.tel").stdout).unwrap().contains("PoolInit"));
}

/// The help for a process that cannot be examined does not lead back to `doctor`.
#[test]
fn a_process_that_cannot_be_examined() {
    if std::fs::read("/proc/1/environ").is_ok() {
        return eprintln!("SKIPPED: the environment of process 1 can be read");
    }
    let run = crate::run::run(&mut Sockets::new().command("doctor 1"), &[]);
    let said = ["its environment cannot be read; help: run", "belongs to another user"];
    assert!(said.iter().any(|text| run.stderr.contains(text)), "{}", run.stderr);
    assert!(!run.stderr.contains("says why"), "{}", run.stderr);
}

/// Programs with one kind of events, in many environments.
#[test]
fn processes_with_nothing_to_show() {
    let sockets = Sockets::new();
    let test = "processes::doctor::processes_with_nothing_to_show";
    let no_such = sockets.path("no/such/stream.tel").display().to_string();
    let folder = sockets.dir().display().to_string();
    for (setup, least, expected) in [
        (&[("TELEMETRY_CONTROL", "")][..], 0, "switched-off"),
        (&[("TELEMETRY_CONTROL", "Trase")], 0, "unknown-words"),
        (&[("TELEMETRY_CONTROL", "RefFx")], 0, "unknown-words"),
        (&[("TELEMETRY_CONTROL", "User")], 0, "no-event"),
        (&[("TELEMETRY_CONTROL", ""), ("TELEMETRY_RECORD", "all")], 1, "recorded-only"),
        (&[("TELEMETRY_LATENCY", "3600")], 1, "not-written-yet"),
        (&[("TELEMETRY_FILENAME", "/dev/full")], 10_000, "disk-full"),
        (&[("TELEMETRY_FILENAME", &no_such)], 10_000, "wrong-path"),
        (&[("TELEMETRY_FILENAME", &folder)], 10_000, "wrong-path"),
        (&[("TELEMETRY_FILENAME", "tcp:127.0.0.1:1")], 10_000, "no-reader"),
        (&[("TELEMETRY_FILENAME", "nonsense:x")], 10_000, "wrong-path"),
        (&[("TELEMETRY_BUFFER", "64k"), ("TELEMETRY_FILENAME", "/dev/null")], 100_000, "pool-full"),
    ] {
        let program = Program::ready(&sockets, test, setup, || {
            static ONCE: Once = Once::new();
            match std::env::var("TELEMETRY_LATENCY").as_deref() {
                Ok("3600") => ONCE.call_once(emit),
                _ => (0..20_000).for_each(|_| emit()),
            }
        });
        if least > 0 {
            emitted(&sockets, program.pid, least);
        } else {
            wait("the registry", || {
                sockets.prints(&format!("control {}", program.pid)).contains("registry  gc")
            });
        }
        // A sink that fails may also fill the memory. Memory may even be full before the first
        // attempt to connect fails; then the cause is not known yet.
        let mut found = None;
        wait(expected, || {
            let now = run(&mut sockets.command(&format!("doctor --json {}", program.pid)), &[]);
            let is_first = causes(&now).split(' ').next() == Some(expected);
            found = Some(now);
            is_first
        });
        let found = found.expect("the last answer");
        for (word, name) in [("Trase", "Trace"), ("RefFx", "RefFix")] {
            if setup[0].1 == word {
                let json = String::from_utf8(found.stdout.clone()).unwrap();
                assert!(json.contains(&format!("did you mean `{name}`?")), "{json}");
            }
        }
        program.kill();
    }
}

/// Variables with misspelled names are named, with the ones that they mean.
#[test]
fn variables_that_do_not_exist() {
    let sockets = Sockets::new();
    let test = "processes::doctor::variables_that_do_not_exist";
    let setup = [("TELEMETRY_BUFER", "1M"), ("TELEMTRY_CONTROL", "all"), ("TELEMETRY_OTHER", "1")];
    let program = Program::ready(&sockets, test, &setup, emit);
    emitted(&sockets, program.pid, 1);
    wait("the stream", || sockets.path("stream.tel").exists());
    let found = check_process(&sockets, program.pid, "unknown-variable unknown-variable");
    for (name, meant) in [("TELEMETRY_BUFER", "TELEMETRY_BUFFER"), ("TELEMTRY_CONTROL", "TELEMETRY_CONTROL")]
    {
        assert!(found.contains(&format!("{name} is set, and there is no such variable")), "{found}");
        assert!(found.contains(&format!("did you mean `{meant}`?")), "{found}");
    }
    let mut command = sockets.command("doctor --json sleep 0");
    command.env("TELEMETRY_CONTROLS", "all");
    check(command, "unknown-variable compiled-out");
}

#[test]
fn processes_without_a_socket() {
    let sockets = Sockets::new();
    let test = "processes::doctor::processes_without_a_socket";
    let emit = || {
        if std::env::var_os("TELEMETRY_TEST_EARLY").is_none() {
            emit();
        }
    };
    let started = |setup: &[(&str, &str)]| {
        let program = Program::start(&sockets, test, setup, emit);
        wait("the stream", || sockets.path("stream.tel").exists());
        std::fs::remove_file(sockets.path("stream.tel")).unwrap();
        program
    };
    let off = started(&[("TELEMETRY_SOCKET", "off")]);
    check_process(&sockets, off.pid, "no-socket");
    // A directory that this command's environment does not name is found in the process's.
    let elsewhere = Sockets::new();
    let dir = elsewhere.dir().display().to_string();
    let other = started(&[("TELEMETRY_SOCKET", &dir)]);
    check_process(&sockets, other.pid, "removed-file");
    std::fs::remove_file(elsewhere.socket(other.pid)).unwrap();
    let found = check_process(&sockets, other.pid, "no-socket");
    assert!(found.contains(&format!("mkdir -m 700 {dir}")), "{found}");

    // Nothing is enabled, and no setting asks for a socket.
    let quiet = Program::start(&sockets, test, &[("TELEMETRY_SOCKET", ""), ("TELEMETRY_CONTROL", "")], emit);
    wait("its socket", || sockets.run(&format!("control {}", quiet.pid)).code == Some(0));
    let found = check_process(&sockets, quiet.pid, "switched-off");
    assert!(found.contains(&format!("telemetry control {} all", quiet.pid)), "{found}");
    let early =
        Program::start(&sockets, test, &[("TELEMETRY_SOCKET", ""), ("TELEMETRY_TEST_EARLY", "1")], emit);
    wait("its program", || {
        std::fs::read_link(format!("/proc/{}/exe", early.pid))
            .is_ok_and(|exe| exe == std::env::current_exe().unwrap())
    });
    check_process(&sockets, early.pid, "no-event");

    let sleep = Program::spawn(Command::new("sleep").arg("60"));
    wait("sleep", || {
        std::fs::read_link(format!("/proc/{}/exe", sleep.pid))
            .is_ok_and(|exe| exe != std::env::current_exe().unwrap())
    });
    check_process(&sockets, sleep.pid, "compiled-out");
    let pid = sleep.pid;
    sleep.kill();
    let dead = format!("error: there is no process {pid}; help: `telemetry list` shows the processes");
    sockets.check(&format!("doctor {pid}"), 2, &dead);
}

/// A user may not examine another user's process or file.
#[test]
fn what_is_another_users() {
    let (sockets, folder) = (Sockets::new(), Folder::new());
    if !is_root(&sockets) {
        return;
    }
    let program = Program::ready(&sockets, "processes::doctor::what_is_another_users", &[], emit);
    let asked = as_other_user(&folder.command(&format!("doctor {}", program.pid)), &folder);
    let expected = format!(
        "error: process {} belongs to another user; help: run this as that user, or as root\n",
        program.pid
    );
    assert_eq!((asked.code, asked.stderr), (Some(2), expected));

    let path = folder.path("private.tel");
    std::fs::write(&path, gc()).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let asked = as_other_user(&folder.command(&format!("doctor {}", path.display())), &folder);
    assert_eq!(asked.code, Some(2));
    assert!(asked.stderr.contains("it belongs to another user: run this as that user"), "{}", asked.stderr);
}

/// A process that answers in the format of another version: a real process, through a server
/// between.
#[test]
fn a_runtime_of_another_version() {
    let behind = Sockets::new();
    let test = "processes::doctor::a_runtime_of_another_version";
    let program = Program::ready(&behind, test, &[], emit);
    emitted(&behind, program.pid, 1);
    wait("the stream", || behind.path("stream.tel").exists());
    let (sockets, socket) = (Sockets::new(), behind.socket(program.pid));
    let pid = sockets.serve(move |request, stream| {
        let mut process = UnixStream::connect(&socket).unwrap();
        process.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        process.read_to_string(&mut answer).unwrap();
        let answer = answer.replace(env!("CARGO_PKG_VERSION"), "0.0.9");
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let found = check_process(&sockets, pid, "(other-version)");
    assert!(found.contains("its runtime is telemetry 0.0.9, this command is "), "{found}");
    program.end();
}

/// The second of two processes with one file has another file.
#[test]
fn a_file_that_another_process_has() {
    let sockets = Sockets::new();
    let test = "processes::doctor::a_file_that_another_process_has";
    let first = Program::ready(&sockets, test, &[], emit);
    wait("the stream", || sockets.path("stream.tel").exists());
    let second = Program::ready(&sockets, test, &[], emit);
    let own = sockets.path(&format!("stream.{}.tel", second.pid));
    wait("its own", || own.exists());
    check_process(&sockets, first.pid, "");
    let found = check_process(&sockets, second.pid, "(file-elsewhere)");
    assert!(found.contains(&own.display().to_string()), "{found}");
    first.end();
    second.end();
    // If a file is missing, the files beside it are named.
    std::fs::remove_file(sockets.path("stream.tel")).unwrap();
    check(sockets.command("doctor --json stream.tel"), "file-elsewhere");
}

#[test]
fn files() {
    let whole = gc();
    let off = {
        let run = Sockets::new();
        let test = "processes::doctor::files";
        let setup = [("TELEMETRY_CONTROL", "User"), ("TELEMETRY_RECORD", "")];
        let program = Program::ready(&run, test, &setup, || gc_events::pool_init!(1_u64, 2_u64, 3_u64, 0));
        run.prints(&format!("control {} --reset User", program.pid));
        run.prints(&format!("control {} --snapshot off.tel", program.pid));
        std::fs::read(run.path("off.tel")).unwrap()
    };
    let folder = Folder::new()
        .with("gc.tel", &whole)
        .with("empty.tel", "")
        .with("text.tel", "no stream\n")
        .with("cut.tel", &whole[..whole.len() - 200])
        .with("lossy.tel", lossy())
        .with("failed.tel", failed())
        .with("open.tel", gc_run(1).finish().unwrap())
        .with("app.ring", image(&whole, 3))
        .with("damaged.tel", {
            let mut stream = whole.clone();
            stream[blocks(&whole)[..6].concat().len() + 150] ^= 1;
            stream
        })
        .with("future.tel", future(&whole))
        .with("off.tel", off)
        .with("rash.tel", variety("rash"))
        .with("hot.tel", variety("hot"));
    let program: PathBuf = std::env::current_exe().unwrap();
    program::copy("/bin/sleep", &folder.path("plain"));
    program::copy(program, &folder.path("ours"));
    for name in ["plain", "ours"] {
        std::fs::set_permissions(folder.path(name), Permissions::from_mode(0o644)).unwrap();
    }
    for (file, expected) in [
        ("gc.tel", ""),
        ("missing.tel", "no-file"),
        ("no/such/missing.tel", "wrong-path"),
        ("gc.tel/missing.tel", "wrong-path"),
        (".", "wrong-path"),
        ("empty.tel", "empty-file"),
        ("text.tel", "not-a-stream"),
        ("cut.tel", "missing damaged (not-ended)"),
        ("damaged.tel", "damaged"),
        ("lossy.tel", "pool-full reentrant (not-ended)"),
        ("failed.tel", "(panicked) (signaled) (exited)"),
        ("app.ring", "memory-image"),
        ("future.tel", "other-format"),
        ("off.tel", "switched-off (not-ended)"),
        ("rash.tel", "compiled-out no-event"),
        ("hot.tel", "(compiled-out) no-event"),
        ("plain", "compiled-out"),
        ("ours", "not-a-stream"),
    ] {
        check(folder.command(&format!("doctor --json {file}")), expected);
    }
    let mut default = folder.command("doctor --json");
    default.env("TELEMETRY_FILENAME", "gc.tel");
    check(default, "");
    check(folder.command("doctor --json"), "no-file");
}

/// Makes a stream without events of a build that has few or none.
fn variety(name: &str) -> Vec<u8> {
    let mut facts = telemetry_decode::Facts::default();
    facts.set("program", "app");
    facts.set("variety", name);
    let mut writer = telemetry_decode::writer::Writer::new(Vec::new());
    writer.session(5, &facts, 0, 1_795_240_051_000_000_000).unwrap();
    writer.end(5, 10).unwrap();
    writer.finish().unwrap()
}

/// The command is this test, in which it emits.
#[test]
fn commands() {
    const TEST: &str = "processes::doctor::commands";
    match std::env::var(CHILD).as_deref() {
        Ok("emits") => return (0..1000).for_each(|_| emit()),
        Ok("waits") => loop {
            emit();
            std::thread::sleep(std::time::Duration::from_millis(1));
        },
        _ => {}
    }
    let folder = Folder::new();
    let own = std::env::current_exe().unwrap();
    let doctor = |options: &str, child: &str, setup: &[(&str, &str)]| {
        let mut command = folder.command(&format!("doctor --json {options}"));
        command.arg(&own).args([TEST, "--exact", "--nocapture"]).env(CHILD, child);
        command.env_remove("TELEMETRY_CONTROL").envs(setup.iter().copied());
        command
    };
    let on = ("TELEMETRY_CONTROL", "all");
    let found = check(doctor("", "emits", &[on]), "");
    assert!(found.contains("2,000 events of 1 session in "), "{found}");
    assert!(folder.path("telemetry.tel").exists());
    let file = std::fs::File::open(folder.path("telemetry.tel")).unwrap();
    file.lock().unwrap();
    check(doctor("", "emits", &[on]), "(file-elsewhere)");
    drop(file);
    check(doctor("", "emits", &[]), "switched-off");
    check(doctor("", "emits", &[("TELEMETRY_CONTROL", "Trase")]), "unknown-words");
    check(doctor("", "emits", &[on, ("TELEMETRY_FILENAME", "/dev/full")]), "disk-full");
    check(doctor("", "emits", &[on, ("TELEMETRY_FILENAME", "no/such/file.tel")]), "wrong-path");
    check(doctor("", "emits", &[on, ("TELEMETRY_FILENAME", ".")]), "wrong-path");
    // Not even root can make files there.
    check(doctor("", "emits", &[on, ("TELEMETRY_FILENAME", "/sys/stream.tel")]), "not-allowed");
    // It does not end by itself. When it is killed, its stream has no end, but has the last second.
    let latency = ("TELEMETRY_LATENCY", "0.02");
    check(doctor("--for 1s", "waits", &[on, latency]), "(not-ended)");
    check(doctor("--for 1s", "waits", &[on, ("TELEMETRY_LATENCY", "3600")]), "not-written-yet");
    check(doctor("--for 1s", "waits", &[]), "switched-off");
    let found = check(doctor("--for 1s", "waits", &[("TELEMETRY_CONTROL", "RefFx")]), "unknown-words");
    assert!(found.contains("did you mean `RefFix`?"), "{found}");

    check(folder.command("doctor --json true"), "compiled-out");
    program::copy("/bin/true", &folder.path("here"));
    check(folder.command("doctor --json ./here with arguments"), "compiled-out");
    check(folder.command("doctor --json here"), "compiled-out");
    let missing = folder.run("doctor no-such-command with arguments");
    assert_eq!((missing.code, missing.stdout.len()), (Some(2), 0));
    assert!(missing.stderr.starts_with("error: cannot run `no-such-command`: "), "{}", missing.stderr);
}

/// A program whose build has compiled its events out.
#[test]
fn a_build_without_events() {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctor");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let main = |start: &str| {
        format!(
            "#[telemetry::telemetry_event(\"gc.toml\")]\npub mod events {{}}\n\
             fn main() {{\n    {start}\n    events::ref_fix!(4_u64);\n    \
             std::thread::sleep(std::time::Duration::from_millis(300));\n}}\n"
        )
    };
    std::fs::create_dir_all(kept.join("src/bin")).unwrap();
    let manifest = format!(
        "[workspace]\n[package]\nname = \"rash\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ntelemetry-events = {{ path = {root:?} }}\n\n{PROFILE}"
    );
    for (path, text) in [
        ("Cargo.toml", manifest),
        ("gc.toml", crate::streams::GC.to_string()),
        ("src/bin/silent.rs", main("")),
        ("src/bin/started.rs", main("telemetry::Config::new().control(\"all\").start().unwrap();")),
    ] {
        write_if_changed(&kept.join(path), text.as_bytes());
    }
    write_if_changed(&kept.join("Cargo.lock"), &std::fs::read(root.join("Cargo.lock")).unwrap());
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--offline", "--color=never"]).current_dir(&kept).env("TELEMETRY_VARIETY", "rash");
    // The directory of other tests. They use other builds of the runtime.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
    cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = Folder::new();
    for name in ["silent", "started"] {
        let mut command = folder.command("doctor --json");
        command.arg(target.join("debug").join(name)).env("TELEMETRY_CONTROL", "all");
        check(command, "compiled-out");
    }
}

/// Writes a file. If it has the content already, cargo must not build it again.
fn write_if_changed(path: &Path, content: &[u8]) {
    if std::fs::read(path).ok().as_deref() != Some(content) {
        std::fs::write(path, content).unwrap();
    }
}

/// The help works: events that were off are on afterwards.
#[test]
fn helps_help() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", "")];
    let program = Program::ready(&sockets, "processes::doctor::helps_help", &setup, emit);
    let pid = program.pid;
    wait("the registry", || sockets.prints(&format!("control {pid}")).contains("registry  gc"));
    let found = check_process(&sockets, pid, "switched-off");
    let help = format!("telemetry control {pid} all");
    assert!(found.contains(&help), "{found}");
    sockets.prints(help.strip_prefix("telemetry ").unwrap());
    wait("the stream", || sockets.path("stream.tel").exists());
    check_process(&sockets, pid, "");
}
