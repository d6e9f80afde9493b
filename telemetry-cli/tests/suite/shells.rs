//! Completions, manual pages, and output on a terminal.
#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::big::events;
use crate::run::{Folder, commands, run};
use crate::streams::gc;

/// Each installed shell accepts its completions.
#[test]
fn shells_take_their_completions() {
    let folder = Folder::new();
    let table = [
        ("bash", "bash", "source ./completions && complete -p telemetry"),
        ("zsh", "zsh", "autoload -Uz compinit && compinit -u -d ./dump && source ./completions"),
        ("fish", "fish", "source ./completions; complete -C 'telemetry sta' | string match -q 'stats*'"),
    ];
    for (shell, program, script) in table {
        let completions = folder.run(&format!("completions {shell}"));
        assert_eq!(completions.code, Some(0), "{}", completions.stderr);
        std::fs::write(folder.path("completions"), &completions.stdout).unwrap();
        let text = String::from_utf8(completions.stdout).unwrap();
        assert!(text.contains("spans") && text.contains("max-open"), "{shell}");
        let mut command = Command::new(program);
        command.args(["-c", script]).current_dir(folder.path("")).stdin(Stdio::null());
        match command.output() {
            Err(_) => eprintln!("SKIPPED: no {program} to take its completions"),
            Ok(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && stderr.is_empty(), "{shell}: {stderr}");
            }
        }
    }
    assert_eq!(folder.run("completions tcsh").code, Some(2));
}

#[test]
fn every_command_has_a_page() {
    let folder = Folder::new();
    let pages = folder.run("man -d man");
    assert_eq!((pages.code, pages.stdout.len()), (Some(0), 0), "{}", pages.stderr);
    let commands = commands(&folder);
    assert!(commands.len() >= 12, "{commands:?}");
    for command in &commands {
        let page = std::fs::read(folder.path(&format!("man/telemetry-{command}.1"))).unwrap();
        assert_eq!(page, folder.run(&format!("man {command}")).stdout, "{command}");
        let text = String::from_utf8(page).unwrap();
        assert!(text.contains(&format!(".TH telemetry-{command} 1")), "{command}");
        assert!(text.contains("Examples:"), "{command} has no examples");
    }
    assert!(folder.path("man/telemetry.1").exists());
    let unknown = folder.run("man nothing");
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

#[test]
fn colors_are_for_terminals() {
    let folder = Folder::new().with("gc.tel", gc());
    let is_colored = |args: &str| folder.run(args).stdout.contains(&0x1b);
    assert!(!is_colored("print --kind Pool gc.tel"));
    assert!(!is_colored("print --kind Pool --color never gc.tel"));
    assert!(is_colored("print --kind Pool --color always gc.tel"));
    // Without the colors it is the same text.
    let colored = String::from_utf8(folder.run("print --color always gc.tel").stdout).unwrap();
    let plain = String::from_utf8(folder.run("print gc.tel").stdout).unwrap();
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        stripped += before;
        rest = behind.split_once('m').unwrap().1;
    }
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(trimmed(&(stripped + rest)), trimmed(&plain));

    let mut forced = folder.command("print --kind Pool gc.tel");
    forced.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    assert!(run(&mut forced, &[]).stdout.contains(&0x1b));
    assert!(!run(forced.arg("-oout.txt"), &[]).stdout.contains(&0x1b));

    let Some(shown) = on_terminal(&folder, "TERM=xterm", "print --kind Pool gc.tel") else { return };
    assert!(shown.contains("\u{1b}[1mPoolInit"), "{shown:?}");
    for unset in ["NO_COLOR=1 TERM=xterm", "TERM=dumb"] {
        let shown = on_terminal(&folder, unset, "print --kind Pool gc.tel").unwrap();
        assert!(!shown.contains("\u{1b}[1m"), "{unset}: {shown:?}");
    }
}

/// A terminal shows the progress of long work, and nothing of it remains.
#[test]
fn progress_is_shown_and_erased() {
    // Short work shows nothing, so a fast machine needs more of it.
    let (mut folder, mut shown) = (Folder::new(), String::new());
    for count in [200_000, 2_000_000] {
        folder = folder.with("big.tel", events(8, count, 1));
        let Some(now) = on_terminal(&folder, "TERM=xterm", "stats big.tel -o out.txt") else { return };
        shown = now;
        if shown.contains('%') {
            break;
        }
    }
    assert!(shown.contains(" of ") && shown.contains('%'), "{shown:?}");
    // After the last erasure and the way back up, only the verdict follows.
    let last = shown.rsplit_once("\u{1b}[2K").map_or("", |(_, last)| last);
    let last = last.trim_start_matches("\u{1b}[1A").trim_start_matches('\r');
    assert!(last.starts_with("complete: "), "{shown:?}");
    // Without a terminal there is no bar.
    let quiet = folder.run("stats big.tel -o out.txt");
    assert!(!quiet.stderr.contains('%') && !quiet.stderr.contains('\r'), "{}", quiet.stderr);
}

/// Returns the output on a terminal, if a program can make one.
// Colors are also for terminals of a CI system, whatever `TERM` says.
fn on_terminal(folder: &Folder, variables: &str, args: &str) -> Option<String> {
    let line =
        format!("unset NO_COLOR CLICOLOR_FORCE CI; {variables} {} {args}", env!("CARGO_BIN_EXE_telemetry"));
    std::fs::write(folder.path("line.sh"), line).unwrap();
    let mut command = Command::new("script");
    command.args(["-qec", "sh ./line.sh", "/dev/null"]).current_dir(folder.path(""));
    if command.output().is_err() {
        eprintln!("SKIPPED: no `script` to make a terminal with");
        return None;
    }
    Some(String::from_utf8_lossy(&run(&mut command, &[]).stdout).into_owned())
}
