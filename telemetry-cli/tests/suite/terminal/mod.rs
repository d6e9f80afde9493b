//! Commands on a terminal: it shows their progress while they work, and nothing of it remains.

mod pty;
mod screen;
mod top;

use std::io::{Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, RawStr, Value};

use self::pty::{Shown, Terminal};
use self::screen::Screen;
use crate::processes::programs::signal;
use crate::processes::wait;
use crate::replay;
use crate::run::{Folder, Run};
use crate::streams::gc_registry;

/// Output that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running command.
struct Working {
    terminal: Terminal,
    child: Child,
    input: Option<ChildStdin>,
    /// Output that goes to a pipe.
    elsewhere: Option<JoinHandle<Vec<u8>>>,
    /// It may only run a tenth of the time.
    is_slowed: bool,
}

impl Working {
    fn start(folder: &Folder, args: &str, shown: Shown, columns: u16) -> Working {
        let (terminal, mut child) = Terminal::start(&mut folder.command(args), shown, columns);
        let input = child.stdin.take();
        let all = |mut from: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let mut all = Vec::new();
                from.read_to_end(&mut all).unwrap();
                all
            })
        };
        let stdout = child.stdout.take().map(|out| all(Box::new(out)));
        let stderr = child.stderr.take().map(|out| all(Box::new(out)));
        Working { terminal, child, input, elsewhere: stdout.or(stderr), is_slowed: false }
    }

    fn give(&mut self, bytes: &[u8]) {
        // A command that has ended does not read.
        let _ = self.input.as_mut().unwrap().write_all(bytes);
    }

    /// Sends the same bytes repeatedly until the screen shows a text, and then some more.
    #[track_caller]
    fn give_until(&mut self, bytes: &[u8], what: &str) {
        let since = Instant::now();
        while !self.terminal.screen().text().contains(what) {
            assert!(since.elapsed() < PATIENCE, "{what:?} does not come: {:?}", self.terminal.screen());
            self.give(bytes);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    fn see(&self, what: &str) {
        wait(&format!("{what:?} on {:?}", self.terminal.screen()), || {
            self.terminal.screen().text().contains(what)
        });
    }

    /// Waits for the end. Returns its output elsewhere and its exit code, and its output on the
    /// terminal.
    fn end(mut self) -> (Run, Vec<u8>) {
        self.input = None;
        self.interrupted()
    }

    /// Interrupts it, since its input does not end.
    fn interrupted(mut self) -> (Run, Vec<u8>) {
        let since = Instant::now();
        let ended = loop {
            match self.child.try_wait().unwrap() {
                Some(ended) => break ended,
                None if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                    if self.is_slowed {
                        signal(self.child.id(), libc::SIGSTOP);
                        std::thread::sleep(Duration::from_millis(45));
                        signal(self.child.id(), libc::SIGCONT);
                    }
                }
                None => {
                    self.child.kill().unwrap();
                    panic!("it does not end: {:?}", self.terminal.screen());
                }
            }
        };
        let code = ended.code();
        let (written, screen) = self.terminal.end();
        let stdout = self.elsewhere.map_or_else(Vec::new, |all| all.join().unwrap());
        assert_eq!(screen.column, 0, "the prompt stands at the start of a line: {screen:?}");
        (Run { stdout, stderr: screen.text(), code }, written)
    }
}

/// The numbers of events in streams, until one takes long enough. A bar comes after a third of a
/// second.
const COUNTS: [u64; 4] = [50_000, 200_000, 800_000, 3_200_000];

/// Runs a command on longer and longer streams until it shows a bar, and compares with its output
/// without a terminal. The command is slowed, so that a short stream takes long enough.
#[track_caller]
fn check(args: &str, bar: &str, columns: u16) {
    for stream in (0..COUNTS.len()).map(blocks) {
        let folder = Folder::new().with("in.tel", stream);
        let working = Working::start(&folder, args, Shown::Stderr, columns);
        let (run, written) = Working { is_slowed: true, ..working }.end();
        let text = String::from_utf8(written).unwrap();
        if !text.contains(bar) {
            continue;
        }
        let plain = Folder::new().with("in.tel", stream).run(args);
        assert_eq!(run.code, plain.code, "{args}: {text}");
        assert!(run.stdout == plain.stdout, "{args}: another output than without a terminal");
        // The rest is the same as without a bar.
        let lines = plain.stderr.replace('\n', "\r\n");
        let expected = Screen::of(lines.as_bytes(), columns.into()).text();
        assert_eq!(run.stderr, expected, "{args}: what is left on the terminal of {text}");
        assert!(!plain.stderr.contains(bar) && !plain.stderr.contains('\x1b'), "{args}: {}", plain.stderr);
        return;
    }
    panic!("{args}: no bar");
}

/// Returns a stream of `COUNTS[index]` events. Each is made once, since several tests use it.
fn blocks(index: usize) -> &'static [u8] {
    static STREAMS: [OnceLock<Vec<u8>>; COUNTS.len()] = [const { OnceLock::new() }; COUNTS.len()];
    STREAMS[index].get_or_init(|| stream_of(COUNTS[index]))
}

/// Makes a stream of small events, in many small blocks.
fn stream_of(count: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).block_size(60);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 1).unwrap();
    let registry = writer.registry(1, &gc_registry()).unwrap();
    let lane = Lane { session: 1, thread: 1, registry };
    for number in 0..count {
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(b"some words about it"))]).unwrap();
    }
    writer.end(1, count).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_bar_is_shown_and_erased() {
    let commands = [
        ("print in.tel", " % ", 120),
        ("print -o out.txt in.tel", " % ", 120),
        ("txt in.tel", " % ", 120),
        ("cnv in.tel", " % ", 120),
        ("csv -d tables in.tel", " % ", 120),
        ("stats in.tel", " % ", 120),
        // A bar that is wider than the terminal.
        ("stats in.tel", " % ", 30),
        ("spans in.tel", " % ", 120),
        ("validate in.tel", " % ", 120),
        ("convert --to telemetry -o out.tel in.tel", " % ", 120),
        ("sql -o out.db in.tel", " % ", 120),
        ("info in.tel", "reading the headers of blocks", 120),
        ("recover -o out.tel in.tel", "searching for blocks", 120),
    ];
    // A slowed command leaves the processor to the others.
    std::thread::scope(|scope| {
        for (args, bar, columns) in commands {
            scope.spawn(move || check(args, bar, columns));
        }
    });
}

/// Both the reading and the runs show something; the output differs in every run.
#[test]
fn a_replay_leaves_nothing() {
    let mut missing = vec![" % ", "run 1 of"];
    for count in COUNTS {
        let folder = Folder::new().with("in.tel", replay::long(count));
        let (run, written) = Working::start(&folder, "replay in.tel", Shown::Stderr, 120).end();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.starts_with(b"recording"), "{:?}", String::from_utf8(run.stdout));
        assert!(run.stderr.starts_with("complete: "), "{}", run.stderr);
        let written = String::from_utf8(written).unwrap();
        missing.retain(|bar| !written.contains(bar));
        if missing.is_empty() {
            return;
        }
    }
    panic!("no bar with {missing:?}");
}

#[test]
fn both_outputs_may_be_the_terminal() {
    let folder = Folder::new().with("in.tel", blocks(1));
    for args in ["stats in.tel", "print --order stream in.tel", "csv -d tables in.tel"] {
        let plain = folder.run(args);
        let lines = String::from_utf8(plain.stdout).unwrap() + &plain.stderr;
        let expected = Screen::of(lines.replace('\n', "\r\n").as_bytes(), 200).text();
        let (run, written) = Working::start(&folder, args, Shown::Both, 200).end();
        assert!(run.stderr == expected, "{args}: {}", run.stderr);
        if args.starts_with("print") {
            // Its own lines show the progress.
            assert!(!String::from_utf8(written).unwrap().contains(" % "), "{args}: a bar between lines");
        }
    }
}

#[test]
fn no_bar_goes_to_a_file() {
    let folder = Folder::new();
    let mut working = Working::start(&folder, "txt -l - -o /dev/null", Shown::Stdout, 120);
    for _ in 0..8 {
        working.give(&line().repeat(3000));
        std::thread::sleep(Duration::from_millis(100));
    }
    let (run, written) = working.end();
    let told = String::from_utf8(run.stdout).unwrap();
    assert_eq!(told, "read: 24,000 events; cnv text does not say what was lost\n");
    assert_eq!(written, b"");
}

/// Returns a line of `cnv` text.
fn line() -> &'static [u8] {
    b"0000000000000001   12 1 2 3 4\n"
}

#[test]
fn messages_stand_above_the_bar() {
    let folder = Folder::new();
    let mut working = Working::start(&folder, "txt -l - -o out.txt", Shown::Stderr, 120);
    working.give_until(&line().repeat(1000), " KiB");
    working.give(b"no event\n");
    working.see("line");
    working.give_until(&line().repeat(1000), " MiB");
    let (run, _) = working.end();
    let lines: Vec<_> = run.stderr.lines().collect();
    let [wrong, _, verdict] = lines[..] else { panic!("{}", run.stderr) };
    assert!(wrong.starts_with("error: standard input: line "), "{wrong}");
    assert!(verdict.starts_with("incomplete: "), "{verdict}");
}

#[test]
fn an_interrupt_leaves_a_clean_line_and_no_file() {
    for (args, input) in [
        ("txt -l -", line().repeat(1000)),
        ("txt -l - -o out.txt", line().repeat(1000)),
        ("sql -i - -o out.db", line().repeat(1000)),
    ] {
        let folder = Folder::new();
        let mut working = Working::start(&folder, args, Shown::Stderr, 120);
        working.give_until(&input, "iB/s");
        // Ctrl-C.
        working.terminal.press(b"\x03");
        let (run, written) = working.interrupted();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(run.code, None, "a signal ended it: {args}: {written:?}");
        assert_eq!(run.stderr, "", "{args}: {written:?}");
        assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0, "{args}: a file is left");
    }
}
