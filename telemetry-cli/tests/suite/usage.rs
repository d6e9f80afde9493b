//! Inputs that are not named or no streams, and the options that all commands have.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::gzip::gzip;
use crate::run::{Folder, commands, run};
use crate::streams::{GC, gc};

/// Without a file and a default stream, a pipe or a file on standard input is read, and no device.
#[test]
fn standard_input_is_read_if_nothing_else_is_there() {
    let folder = Folder::new().with("gc.tel", gc());
    let named = folder.run("print --kind Pool gc.tel");
    assert_eq!(folder.run_on("print --kind Pool", &gc()).stdout, named.stdout);
    let mut from_file = folder.command("print --kind Pool");
    let output = from_file.stdin(std::fs::File::open(folder.path("gc.tel")).unwrap()).output().unwrap();
    assert_eq!(output.stdout, named.stdout);

    let nothing = folder.command("print").stdin(Stdio::null()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    let help = "help: name a file, or `-` for standard input, or set $TELEMETRY_FILENAME\n";
    assert!(nothing.stderr.ends_with(help.as_bytes()), "{}", String::from_utf8_lossy(&nothing.stderr));

    // What the program wrote, or was told to write, comes first.
    let missing = run(folder.command("print").env("TELEMETRY_FILENAME", "missing.tel"), &gc());
    assert_eq!((missing.code, missing.stdout.len()), (Some(2), 0));
    let folder = folder.with("telemetry.tel", gc());
    assert_eq!(folder.run_on("print --kind Pool", b"text").stdout, named.stdout);
}

#[test]
fn a_file_alone_is_shown() {
    let folder = Folder::new().with("gc.tel", gc());
    let info = folder.run("info gc.tel");
    for args in ["gc.tel", "-q gc.tel", "./gc.tel --strict"] {
        let run = folder.run(args);
        assert_eq!((run.code, run.stdout), (Some(0), info.stdout.clone()), "{args}");
    }
    let missing = folder.run("missing.tel");
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.starts_with("error: cannot read `missing.tel`: "), "{}", missing.stderr);
}

#[test]
fn the_first_and_the_last_events() {
    let folder = Folder::new().with("gc.tel", gc()).with("more.tel", gc());
    let lines = |args: &str| String::from_utf8(folder.run(args).stdout).unwrap();
    for form in ["", "--json", "--order stream"] {
        let all = lines(&format!("print gc.tel {form}"));
        let all: Vec<_> = all.lines().collect();
        let print = |more: &str| {
            let shown = lines(&format!("print gc.tel {form} {more}"));
            shown.lines().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(print("-n 3"), all[..3]);
        assert_eq!(print("--limit 1000"), all);
        assert_eq!(print("--last 3"), all[all.len() - 3..]);
        assert_eq!(print("--last 1000"), all);
        assert_eq!(print("--last 0").len(), 0);
    }
    folder.check(
        "first_and_last",
        &[
            "print gc.tel --limit 2",
            "print gc.tel --kind Pool --limit 3",
            "print gc.tel --kind Pool --last 2",
            "print gc.tel --follow --limit 1",
            "print gc.tel --limit 0",
            "print gc.tel --limit 1 --last 1",
            "print gc.tel --follow --last 1",
        ],
    );
}

#[test]
fn filters_that_nothing_can_pass() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check(
        "filters_that_nothing_can_pass",
        &[
            "print gc.tel --from 10 --until 5",
            "sql gc.tel --from 1s --until 1s",
            "print gc.tel --kind Pool --event TraceStart",
            "stats -q gc.tel --registry-name telemetry --kind gc:Pool --event PoolInit",
            "print gc.tel --kind trace --event TRACESTART --event PoolInit --limit 1",
            "spans gc.tel --span collection",
        ],
    );
}

/// Of a sound stream, `-q` leaves only what was asked for; errors stay.
#[test]
fn quiet_commands_show_errors_only() {
    let mut broken = gc();
    let len = broken.len();
    broken[len - 300] ^= 1;
    let folder = Folder::new().with("gc.tel", gc()).with("broken.tel", broken);
    for command in ["print", "stats", "spans", "csv", "cnv"] {
        let [loud, quiet] = ["", "-q"].map(|option| folder.run(&format!("{command} {option} gc.tel")));
        assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""), "{command}");
        assert_eq!(loud.stdout, quiet.stdout, "{command}");
    }
    let broken = folder.run("print --quiet broken.tel");
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.lines().all(|line| line.starts_with("error: ")), "{}", broken.stderr);
}

#[test]
fn durations_have_units_up_to_hours() {
    let folder = Folder::new().with("gc.tel", gc());
    for time in ["1h", "1m", "1.5h", "90min", "30s"] {
        let run = folder.run(&format!("print gc.tel --from {time}"));
        assert_eq!((run.code, run.stdout.len()), (Some(0), 0), "{time}: {}", run.stderr);
        let listen = folder.run(&format!("listen tcp:127.0.0.1:0 --for {time} -d gc.tel"));
        assert!(!listen.stderr.contains("invalid value"), "{time}: {}", listen.stderr);
    }
}

/// Text that goes to no terminal has colors only on request.
#[test]
fn colors_can_be_forced() {
    let folder = Folder::new().with("gc.tel", gc());
    let is_colored = |variable: &str, args: &str| {
        let mut command = folder.command(args);
        let stdout = run(command.env_remove("NO_COLOR").env(variable, "1"), &[]).stdout;
        stdout.contains(&0x1b)
    };
    assert!(is_colored("CLICOLOR_FORCE", "print gc.tel --kind Pool"));
    assert!(is_colored("CLICOLOR_FORCE", "--help"));
    assert!(!is_colored("CLICOLOR_FORCE", "print gc.tel --kind Pool --color never"));
    assert!(!is_colored("TELEMETRY_UNUSED", "print gc.tel --kind Pool"));
}

/// An output directory has one name, filters have one name each, and `-d` and `-f` mean one thing.
#[test]
fn options_have_one_name() {
    let folder = Folder::new();
    let mut shorts = std::collections::BTreeMap::new();
    for command in commands(&folder) {
        let help = String::from_utf8(folder.run(&format!("help {command}")).stdout).unwrap();
        let options = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
        for option in options {
            let head = option.split("  ").next().unwrap();
            for name in ["--to <TIME>", "--since", "--dir ", "--top", "--seconds"] {
                assert!(!head.contains(name), "{command}: {head}");
            }
            let value = head.split_once('<').map(|(_, value)| value.trim_end_matches('>'));
            if value == Some("DIR") {
                assert!(head.starts_with("-d, --directory"), "{command}: {head}");
            }
            match head.split([' ', ',']).find(|word| word.starts_with("--")) {
                Some("--registry") => assert_eq!(value, Some("FILE"), "{command}"),
                Some("--registry-name") => assert_eq!(value, Some("NAME"), "{command}"),
                _ => {}
            }
            if let Some((short, long)) = head.split_once(", ") {
                let long = long.split_whitespace().next().unwrap().trim_end_matches('.').to_string();
                let known = shorts.entry(short.to_string()).or_insert_with(|| long.clone());
                assert_eq!(*known, long, "{command}: {short}");
            }
        }
    }
}

/// A file that is not a stream: one message, which says what it looks like and which command takes
/// it.
#[test]
fn files_of_other_sorts() {
    let folder = Folder::new()
        .with("events.toml", GC)
        .with("notes.txt", "nothing to see\n")
        .with("gc.tel.gz", gzip(&gc()))
        .with("app", std::fs::read(env!("CARGO_BIN_EXE_telemetry")).unwrap())
        .with("noise", [0, 7, 1, 255, 3])
        .with("app.ring", [&b"\x89TELRING"[..], &[0; 100]].concat())
        .with("trace.ctf", b"\xc1\x1f\xfc\xc1\0\0\0\0")
        .with("gc.cnv", "00000000000F4628   10 7F001000 1000000000 1000 0\n")
        .with("events.json", "{\"version\":1}\n");
    let files = [
        ("events.toml", "is a registry file", "telemetry check events.toml"),
        ("notes.txt", "is text", "TELEMETRY_FILENAME"),
        ("gc.tel.gz", "is compressed with gzip", "gunzip -c gc.tel.gz"),
        ("app", "is an ELF program", "telemetry doctor -- app"),
        ("noise", "is no stream", "TELEMETRY_FILENAME"),
        ("app.ring", "is a ring file", "telemetry recover app.ring"),
        ("trace.ctf", "is a CTF trace", "babeltrace2"),
        ("gc.cnv", "is cnv text", "telemetry txt --text gc.cnv"),
        ("events.json", "is JSON", "the stream that it was made from"),
    ];
    let readers = [
        "print",
        "print --order stream",
        "print --follow",
        "info",
        "stats",
        "stats --json",
        "spans",
        "validate",
        "csv",
        "cnv",
        "txt",
        "show",
        "convert --to telemetry -o out.tel",
        "replay",
        "sql -o x.db",
        "",
    ];
    for (file, what, help) in
        files.into_iter().filter(|(file, ..)| cfg!(target_os = "linux") || *file != "app")
    {
        for reader in readers {
            let run = folder.run(&format!("{reader} {file}"));
            let said = &run.stderr;
            assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{reader} {file}: {said}");
            assert_eq!(said.lines().count(), 1, "{reader} {file}: {said}");
            assert!(said.starts_with(&format!("error: `{file}` {what}")), "{reader} {file}: {said}");
            assert!(said.contains("; help: ") && said.contains(help), "{reader} {file}: {said}");
        }
        // Programs and ring files have findings of their own.
        if cfg!(unix) && !["app", "app.ring"].contains(&file) {
            let run = folder.run(&format!("doctor {file}"));
            let said = String::from_utf8(run.stdout).unwrap();
            assert_eq!(run.code, Some(1), "{file}: {said}");
            assert!(said.contains(&format!("it {what}")) && said.contains(help), "{file}: {said}");
        }
        let content = std::fs::read(folder.path(file)).unwrap();
        let run = folder.run_on("stats -", &content);
        assert_eq!((run.code, run.stdout.len()), (Some(2), 0), "{file}: {}", run.stderr);
    }
    assert!(!Path::new(&folder.path("out.tel")).exists());
}

/// A stream behind other bytes is read, from a pipe too.
#[test]
fn a_stream_behind_text_is_read() {
    let folder = Folder::new();
    let behind = [b"some text before it\n", &gc()[..]].concat();
    let long = [&b"# a comment\n".repeat(1000), &gc()[..]].concat();
    std::fs::write(folder.path("behind.tel"), &behind).unwrap();
    std::fs::write(folder.path("long.tel"), &long).unwrap();
    for run in [
        folder.run("print behind.tel"),
        folder.run("print long.tel"),
        folder.run_on("print -", &behind),
        folder.run_on("print --order stream -", &behind),
    ] {
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert_eq!(run.stdout.iter().filter(|byte| **byte == b'\n').count(), 23, "{}", run.stderr);
    }
}

/// Output that goes nowhere is an error, as for a full disk. Without output, it is none.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_fails() {
    let folder = Folder::new().with("gc.tel", gc());
    let program = env!("CARGO_BIN_EXE_telemetry");
    for (args, code) in [
        ("stats gc.tel", 2),
        ("print gc.tel", 2),
        ("info --json gc.tel", 2),
        ("print gc.tel --kind Pool -o out.txt", 0),
        ("stats gc.tel -o -", 2),
    ] {
        let script = format!("exec {program} {args} >&-");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args}: {said}");
        assert_eq!(
            said.contains("cannot write to standard output: it is closed"),
            code == 2,
            "{args}: {said}"
        );
    }
    let into_null = folder.command("stats gc.tel").stdout(Stdio::null()).output().unwrap();
    assert_eq!(into_null.status.code(), Some(0));
}
