//! `top`: its picture on a terminal, and how it leaves the terminal.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::pty::{Shown, Terminal};
use super::screen::Screen;
use crate::processes::programs::{emit, emitted, signal};
use crate::processes::{Program, Sockets, wait};
use crate::run::{Folder, by_default};
use crate::streams::gc;

/// A picture on a terminal.
struct Showing {
    terminal: Terminal,
    child: Child,
}

impl Showing {
    /// Starts `top`, and waits until it shows a text.
    fn start(command: &mut Command, what: &str) -> Showing {
        let (terminal, child) = Terminal::start(by_default(command), Shown::Both, 80);
        let showing = Showing { terminal, child };
        showing.see(what);
        assert!(showing.terminal.screen().is_alternate() && showing.terminal.screen().hides_cursor);
        assert_ne!(showing.terminal.modes(), showing.terminal.modes_before, "keys are read at once");
        showing
    }

    #[track_caller]
    fn see(&self, what: &str) {
        wait(&format!("{what:?} on {}", self.terminal.screen().text()), || {
            self.terminal.screen().text().contains(what)
        });
    }

    /// Waits for the end, and checks that the terminal is as before. Returns what is on it.
    #[track_caller]
    fn ended(mut self, how: &str) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let modes = self.terminal.modes();
        assert_eq!(modes, self.terminal.modes_before, "{how}: the modes");
        let (written, screen) = self.terminal.end();
        check_restored(&written, &screen, how);
        (status, screen.text())
    }
}

/// After the alternate screen is left, only text is written.
#[track_caller]
fn check_restored(written: &[u8], screen: &Screen, how: &str) {
    let written = String::from_utf8_lossy(written);
    let (_, after) = written.rsplit_once("\x1b[?1049l").unwrap_or_else(|| panic!("{how}: {written:?}"));
    assert!(!after.contains('\x1b'), "{how}: {after:?}");
    assert!(!screen.is_alternate() && !screen.hides_cursor && screen.column == 0, "{how}: {screen:?}");
}

/// A growing file, whose end does not come.
fn open_file() -> Folder {
    let whole = gc();
    let parts = crate::streams::blocks(&whole);
    Folder::new().with("gc.tel", parts[..parts.len() - 1].concat())
}

#[test]
fn every_exit_restores_the_terminal() {
    let folder = open_file();
    for (how, keys, number, dies_of) in [
        ("q", &b"q"[..], None, None),
        ("Ctrl-C", b"\x03", None, None),
        ("SIGINT", b"", Some(libc::SIGINT), None),
        ("SIGTERM", b"", Some(libc::SIGTERM), None),
        ("SIGHUP", b"", Some(libc::SIGHUP), None),
        ("Ctrl-\\", b"\x1c", None, Some(libc::SIGQUIT)),
        ("SIGQUIT", b"", Some(libc::SIGQUIT), Some(libc::SIGQUIT)),
        ("SIGUSR1", b"", Some(libc::SIGUSR1), Some(libc::SIGUSR1)),
        ("SIGXCPU", b"", Some(libc::SIGXCPU), Some(libc::SIGXCPU)),
    ] {
        let mut showing = Showing::start(&mut folder.command("top gc.tel"), "TraceStart");
        showing.terminal.press(keys);
        if let Some(number) = number {
            signal(showing.child.id(), number);
        }
        let (status, left) = showing.ended(how);
        assert_eq!(status.signal(), dies_of, "{how}: {left}");
        // The verdict is on the usual screen, without a picture.
        assert_eq!(left.contains(" has no end"), dies_of.is_none(), "{how}: {left}");
        assert!(!left.contains("per second"), "{how}: {left}");
    }
}

/// A terminal that takes no output, such as one behind a dead connection, keeps no signal from
/// ending the command.
#[test]
#[cfg(target_os = "linux")]
fn a_stuck_terminal_is_restored() {
    let folder = open_file();
    for (number, dies_of) in [(libc::SIGTERM, None), (libc::SIGQUIT, Some(libc::SIGQUIT))] {
        let mut showing = Showing::start(&mut folder.command("top gc.tel"), "TraceStart");
        let pid = showing.child.id();
        showing.terminal.freeze(pid);
        // The whole picture is to be drawn.
        showing.terminal.resize(100, 40);
        signal(pid, number);
        let since = Instant::now();
        while showing.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "signal {number} does not end it");
            std::thread::sleep(Duration::from_millis(5));
        }
        showing.terminal.thaw();
        let (status, left) = showing.ended("a stuck terminal");
        assert_eq!(status.signal(), dies_of, "{left}");
    }
}

#[test]
fn keys_and_sizes_change_the_picture() {
    let folder = open_file();
    let mut showing = Showing::start(&mut folder.command("top gc.tel"), "sort: rate");
    showing.terminal.press(b"s");
    showing.see("sort: total");
    showing.terminal.press(b"?");
    showing.see("keep this picture");
    showing.terminal.press(b"x");
    showing.see("TraceStart");
    showing.terminal.press(b"p");
    showing.see("PAUSED");
    // Arrows and other keys do nothing.
    showing.terminal.press(b"\x1b[A\x1b[Bxyz");
    for (columns, rows) in [(40, 12), (200, 60), (10, 3), (1, 1), (80, 24)] {
        showing.terminal.resize(columns, rows);
        let last = if columns >= 40 { "q quit" } else { "" };
        wait(&format!("{columns} columns"), || {
            let text = showing.terminal.screen().text();
            let lines: Vec<_> = text.lines().collect();
            lines.len() <= rows.into()
                && lines.iter().all(|line| line.chars().count() <= columns.into())
                && (last.is_empty()
                    || lines.len() == usize::from(rows) && lines[lines.len() - 1].starts_with(last))
        });
    }
    showing.terminal.press(b"p");
    wait("no pause", || !showing.terminal.screen().text().contains("PAUSED"));
    showing.terminal.press(b"q");
    showing.ended("q");
}

/// Ctrl-Z gives the terminal back; the picture comes again when the program is continued.
#[test]
fn a_stop_restores_the_terminal_for_a_while() {
    let folder = open_file();
    let mut showing = Showing::start(&mut folder.command("top gc.tel"), "TraceStart");
    let pid = showing.child.id();
    showing.terminal.press(b"\x1a");
    wait("a stop", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    });
    wait("the usual screen", || !showing.terminal.screen().is_alternate());
    assert_eq!(showing.terminal.modes(), showing.terminal.modes_before);
    signal(pid, libc::SIGCONT);
    showing.see("TraceStart");
    assert_ne!(showing.terminal.modes(), showing.terminal.modes_before);
    showing.terminal.press(b"q");
    showing.ended("q after a stop");
}

/// A file whose program was killed has the rates of its last seconds; one that grows goes on.
#[test]
fn a_file_without_an_end_is_shown_to_its_last_event() {
    let folder = open_file();
    let mut showing = Showing::start(&mut folder.command("top gc.tel"), "last 3.00 s: 7.67 events/s");
    let mut file = std::fs::OpenOptions::new().append(true).open(folder.path("gc.tel")).unwrap();
    let whole = gc();
    file.write_all(crate::streams::blocks(&whole).last().unwrap()).unwrap();
    showing.see("have ended: this is the last picture");
    showing.see("last 3.00 s: 7.67 events/s");
    showing.terminal.press(b"q");
    showing.ended("q");
}

/// A file is shown to its end, and its last picture stays.
#[test]
fn a_finished_file_is_shown_to_its_end() {
    let folder = Folder::new().with("gc.tel", gc());
    let mut showing =
        Showing::start(&mut folder.command("top gc.tel"), "have ended: this is the last picture");
    showing.see("23 events");
    showing.terminal.press(b"q");
    let (status, left) = showing.ended("q");
    assert_eq!((status.code(), left.starts_with("complete: 23 events")), (Some(0), true), "{left}");
}

/// A program that is killed leaves its last picture, and a line that says so.
#[test]
fn a_killed_process_leaves_its_last_picture() {
    let sockets = Sockets::new();
    let test = "terminal::top::a_killed_process_leaves_its_last_picture";
    let program = Program::ready(&sockets, test, &[], emit);
    let pid = program.pid;
    wait("an event", || emitted(&sockets, pid) > 0);
    let mut showing = Showing::start(&mut sockets.command(&format!("top {pid}")), "PoolInit");
    showing.see("pool ");
    program.kill();
    showing.see(&format!("process {pid} has ended: this is the last picture"));
    let picture = showing.terminal.screen().text();
    assert!(picture.contains("PoolInit") && picture.contains("RefFix"), "{picture}");
    showing.terminal.press(b"q");
    let (status, left) = showing.ended("q after the end of the process");
    assert_eq!(status.signal(), None, "{left}");
}

/// One picture of a running process goes to a pipe.
#[test]
fn one_picture_of_a_process() {
    let sockets = Sockets::new();
    let test = "terminal::top::one_picture_of_a_process";
    let program = Program::ready(&sockets, test, &[], emit);
    wait("an event", || emitted(&sockets, program.pid) > 0);
    let run = sockets.run(&format!("top --once {} Pool", program.pid));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("PoolInit") && !text.contains("RefFix"), "{text}");
    let lines = ["nothing lost", "pool ", "kind ", "event "];
    assert!(lines.iter().all(|start| text.lines().any(|line| line.starts_with(start))), "{text}");
    let unknown = sockets.run(&format!("top --once {} Pol", program.pid));
    assert!(unknown.stderr.contains("`Pol` matches no kind or event"), "{}", unknown.stderr);
    program.end();
}
