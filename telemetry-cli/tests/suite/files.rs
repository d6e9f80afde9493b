//! Inputs that cannot be opened and outputs that cannot be written.

use std::io::{Read, Write};
#[cfg(unix)]
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

#[cfg(unix)]
use crate::run::by_default;
use crate::run::{Folder, commands, run};
use crate::streams::gc;

#[test]
fn inputs() {
    let folder = Folder::new().with("gc.tel", gc());
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.check(
        "inputs",
        &[
            "print missing.tel",
            "print folder",
            "print gc.tel missing.tel",
            "print",
            "info missing.tel",
            "stats folder",
            "cnv missing.tel",
            "print -",
        ],
    );
}

#[test]
fn the_default_is_what_the_program_wrote() {
    let folder = Folder::new().with("telemetry.tel", gc()).with("other.tel", gc());
    for (name, expected) in [
        (None, 0),
        (Some("other.tel"), 0),
        (Some("file:other.tel"), 0),
        (Some("rotate:other.tel?size=64M"), 0),
        (Some(""), 0),
        (Some("missing.tel"), 2),
        (Some("."), 2),
        (Some("tcp:localhost:9000"), 2),
    ] {
        let mut command = folder.command("print --kind Pool");
        if let Some(name) = name {
            command.env("TELEMETRY_FILENAME", name);
        }
        let run = run(&mut command, &[]);
        assert_eq!(run.code, Some(expected), "{name:?}: {}", run.stderr);
        assert_eq!(
            run.stderr.contains("help: name a file that `telemetry listen` wrote"),
            name.is_some_and(|name| name.starts_with("tcp:"))
        );
    }
}

#[test]
fn outputs() {
    let folder = Folder::new().with("gc.tel", gc());
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.check(
        "outputs",
        &[
            "print gc.tel --kind Pool -o out.txt",
            "print gc.tel -o /dev/full",
            "info gc.tel -o folder",
            "info gc.tel -o folder/missing/out.txt",
            "info gc.tel -o gc.tel/out.txt",
        ],
    );
    let written = std::fs::read_to_string(folder.path("out.txt")).unwrap();
    assert_eq!(written.as_bytes(), folder.run("print gc.tel --kind Pool").stdout);

    for args in ["print gc.tel", "cnv gc.tel", "txt gc.tel", "info gc.tel", "stats --json gc.tel"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {stderr}");
        let expected = "error: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!(stderr, expected, "{args}");
    }
}

/// A file is replaced only when its new content is complete.
#[test]
fn a_failed_run_leaves_the_old_file() {
    let folder = Folder::new().with("gc.tel", gc()).with("out.txt", "old");
    let content = || std::fs::read_to_string(folder.path("out.txt")).unwrap();
    assert_eq!(folder.run("print missing.tel -o out.txt").code, Some(2));
    assert_eq!(content(), "old");
    assert_eq!(folder.run("print gc.tel -o out.txt").code, Some(0));
    assert!(content().contains("Heartbeat"));
    let left = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["gc.tel", "out.txt"]);
}

/// No command replaces its own input, under any name. The input stays as it was.
#[test]
#[cfg(unix)]
fn an_output_that_is_an_input_is_refused() {
    let folder = Folder::new().with("gc.tel", gc()).with("gc.toml", include_bytes!("../data/gc.toml"));
    let cnv = folder.run("cnv gc.tel").stdout;
    let folder = folder.with("gc.cnv", cnv).with("other.tel", gc());
    std::os::unix::fs::symlink("gc.tel", folder.path("link.tel")).unwrap();
    std::fs::hard_link(folder.path("gc.tel"), folder.path("hard.tel")).unwrap();
    std::fs::create_dir(folder.path("dir")).unwrap();
    std::os::unix::fs::symlink("../gc.toml", folder.path("dir/Heartbeat.csv")).unwrap();
    let names = ["gc.tel", "gc.toml", "gc.cnv"];
    let content = || names.map(|name| std::fs::read(folder.path(name)).unwrap());
    let before = content();
    let check = |args: &str, output: &str, input: &str| {
        let stdin = std::fs::File::open(folder.path("gc.tel")).unwrap();
        let run = folder.command(args).stdin(stdin).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        let expected = format!(
            "error: cannot write `{output}`: is an input of this command, {input}; help: name another file\n"
        );
        assert_eq!((run.status.code(), &*stderr), (Some(2), &*expected), "{args}");
        assert!(content() == before, "{args}");
    };
    check("recover gc.tel -o gc.tel", "gc.tel", "`gc.tel`");
    check("recover other.tel gc.tel -o link.tel", "link.tel", "`gc.tel`");
    check("recover link.tel -o gc.tel", "gc.tel", "`link.tel`");
    check("recover hard.tel -o ./gc.tel", "./gc.tel", "`hard.tel`");
    check("recover other.tel --registry gc.toml -o gc.toml", "gc.toml", "`gc.toml`");
    check("convert --to telemetry gc.tel -o gc.tel", "gc.tel", "`gc.tel`");
    check("convert --to telemetry - -o gc.tel", "gc.tel", "standard input");
    check("txt -l gc.cnv --registry gc.toml -o gc.cnv", "gc.cnv", "`gc.cnv`");
    check("csv -d dir --event Heartbeat gc.tel --registry gc.toml", "dir/Heartbeat.csv", "`gc.toml`");
    for command in
        ["print", "cnv", "txt", "csv", "show", "stats", "spans", "validate", "info", "replay --dry-run"]
    {
        check(&format!("{command} gc.tel --registry gc.toml -o gc.toml"), "gc.toml", "`gc.toml`");
    }
    check("py gc.toml -o gc.toml", "gc.toml", "`gc.toml`");
    check("check gc.toml -o gc.toml", "gc.toml", "`gc.toml`");
    check("check gc.toml --witness gc.toml", "gc.toml", "`gc.toml`");
    assert_eq!(folder.run("recover gc.tel -o other.tel").code, Some(0), "another file is replaced");
    assert_eq!(folder.run("recover /dev/null -o /dev/null").code, Some(1), "no file is lost there");
}

/// The target of a link is replaced, not the link. Its permissions stay.
#[test]
#[cfg(unix)]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new().with("gc.tel", gc()).with("real.txt", "old");
    let mode =
        |name: &str| std::fs::symlink_metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(folder.path("real.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    symlink("real.txt", folder.path("link.txt")).unwrap();
    assert_eq!(folder.run("cnv gc.tel -o link.txt").code, Some(0));
    assert!(folder.path("link.txt").is_symlink());
    assert_eq!(mode("real.txt"), 0o600);
    assert!(std::fs::metadata(folder.path("real.txt")).unwrap().len() > 100);
}

/// Starts a command that writes a file. When a part of the file is there, sends a signal, and then
/// the rest of its input.
#[cfg(unix)]
fn signaled(folder: &Folder, command: &mut Command, signal: &str) -> std::process::ExitStatus {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The command knows the format of its input by now. It waits for more while the input is open.
    let mut input = child.stdin.take().unwrap();
    input.write_all(&gc()[..100]).unwrap();
    let start = std::time::Instant::now();
    while entries(folder) < 3 && start.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(entries(folder), 3);
    // The handler is set just after the file is made.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    std::thread::sleep(std::time::Duration::from_millis(200));
    // A process that has ended reads no more.
    let _ = input.write_all(&gc()[100..]);
    drop(input);
    child.wait().unwrap()
}

#[cfg(unix)]
fn entries(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path("")).unwrap().count()
}

/// An interrupt removes the file that is being written, and the command dies of it.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_nothing_behind() {
    for (signal, number) in [("-INT", libc::SIGINT), ("-TERM", libc::SIGTERM), ("-HUP", libc::SIGHUP)] {
        let folder = Folder::new().with("gc.tel", gc()).with("out.txt", "old");
        let ended = signaled(&folder, by_default(&mut folder.command("cnv - -o out.txt")), signal);
        assert_eq!(ended.signal(), Some(number), "{ended}");
        assert_eq!(entries(&folder), 2);
        assert_eq!(std::fs::read_to_string(folder.path("out.txt")).unwrap(), "old");
    }
}

/// A program that `nohup` started continues when its terminal is closed.
#[test]
#[cfg(unix)]
fn a_hangup_that_is_ignored_stays_so() {
    let folder = Folder::new().with("gc.tel", gc()).with("out.txt", "old");
    let mut command = Command::new("sh");
    let telemetry = env!("CARGO_BIN_EXE_telemetry");
    command.args(["-c", "trap '' HUP; exec \"$0\" cnv - -o out.txt", telemetry]).current_dir(folder.path(""));
    let ended = signaled(&folder, &mut command, "-HUP");
    assert_eq!(ended.code(), Some(0), "{ended}");
    assert_eq!(std::fs::read(folder.path("out.txt")).unwrap(), folder.run("cnv gc.tel").stdout);
}

/// The reader of the output may stop at any time.
#[test]
fn a_broken_pipe_ends_quietly() {
    let folder = Folder::new().with("gc.tel", gc());
    for args in ["print", "cnv", "txt", "stats --json", "info"] {
        let many = "gc.tel ".repeat(400);
        let mut command = folder.command(&format!("{args} {many}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "", "{args}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args}");
    }
}

#[test]
fn help_is_for_every_command() {
    let folder = Folder::new();
    let lines: Vec<_> = commands(&folder).iter().map(|command| format!("{command} --help")).collect();
    let lines: Vec<_> = std::iter::once("--help").chain(lines.iter().map(String::as_str)).collect();
    folder.check("help", &lines);
    assert_eq!(folder.run("help print").stdout, folder.run("print --help").stdout);
    let version = String::from_utf8(folder.run("-V").stdout).unwrap();
    assert!(version.contains(" (stream format "), "{version}");
}

/// Names of temporary files cannot be guessed, and a link that another user has planted is not
/// followed.
#[cfg(unix)]
#[test]
fn planted_links_are_refused() {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    let folder = Folder::new().with("victim", "precious").with("whole.tel", gc());
    std::fs::create_dir(folder.path("shared")).unwrap();
    std::fs::write(folder.path("shared/own"), "old").unwrap();
    let victim = || std::fs::read_to_string(folder.path("victim")).unwrap();
    // Our own link is still followed.
    symlink(folder.path("shared/own"), folder.path("shared/link")).unwrap();
    assert_eq!(folder.run("cnv -o shared/link whole.tel").code, Some(0));
    assert_ne!(std::fs::read_to_string(folder.path("shared/own")).unwrap(), "old");
    symlink(folder.path("victim"), folder.path("shared/planted")).unwrap();
    if lchown(folder.path("shared/planted"), Some(65_534), None).is_err() {
        eprintln!("SKIPPED: cannot make a link of another user: not root");
        return;
    }
    // These are the permissions of /tmp.
    std::fs::set_permissions(folder.path("shared"), PermissionsExt::from_mode(0o1777)).unwrap();
    for command in ["cnv", "recover", "csv"] {
        let run = folder.run(&format!("{command} -o shared/planted whole.tel"));
        assert_eq!(run.code, Some(2), "{command}: {}", run.stderr);
        assert_eq!(victim(), "precious", "{command}");
    }
    let run = folder.run("csv -d shared/tables whole.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
