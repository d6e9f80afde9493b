//! `print --follow`, on files that really grow.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, Header};

use crate::run::Folder;
use crate::sensitive::{shop, told};
use crate::streams::{block_type, blocks, gc, gc_run, runtime_registry};

/// Longer than any step takes.
const LONG: Duration = Duration::from_secs(30);

/// The command while it follows.
struct Following {
    child: Child,
    lines: Receiver<String>,
    stderr: ChildStderr,
}

impl Following {
    fn new(folder: &Folder, args: &str) -> Following {
        Following::of(&mut folder.command(&format!("print --follow {args}")))
    }

    fn of(command: &mut Command) -> Following {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr): (ChildStdout, _) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Following { child, lines, stderr }
    }

    /// Waits for a number of further lines, and returns them.
    #[track_caller]
    fn expect(&self, number: usize) -> Vec<String> {
        let mut lines = Vec::new();
        while lines.len() < number {
            match self.lines.recv_timeout(LONG) {
                Ok(line) => lines.push(line),
                Err(_) => panic!("{} lines, expected {number}", lines.len()),
            }
        }
        lines
    }

    /// Waits for the end. Returns the lines that were not waited for, and the messages.
    #[track_caller]
    fn end(mut self, code: i32) -> (Vec<String>, String) {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LONG, "it did not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        assert_eq!(status.code(), Some(code), "{stderr}");
        (self.lines.iter().collect(), stderr)
    }
}

fn append(folder: &Folder, name: &str, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).create(true).open(folder.path(name)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Blocks are shown as they arrive, in pieces of any size. The end of the session ends the command.
#[test]
fn a_growing_file_is_followed_to_the_end_of_its_session() {
    let whole = gc();
    let folder = Folder::new().with("x.tel", "");
    let following = Following::new(&folder, "x.tel");
    let pieces: Vec<&[u8]> = whole.chunks(whole.len() / 7).collect();
    for piece in &pieces {
        append(&folder, "x.tel", piece);
        std::thread::sleep(Duration::from_millis(30));
    }
    let (lines, stderr) = following.end(0);
    assert_eq!(lines.len(), 23, "{stderr}");
    assert_eq!(stderr, "complete: 23 events; 14 blocks, 5,475 bytes\n");
}

#[test]
fn lines_are_shown_before_there_is_more() {
    let whole = gc();
    let parts = blocks(&whole);
    let half = parts[..parts.len() - 3].concat();
    let folder = Folder::new().with("x.tel", &half);
    let following = Following::new(&folder, "--json --kind Pool x.tel");
    following.expect(3);
    append(&folder, "x.tel", &whole[half.len()..]);
    following.end(0);
}

/// The strings of labels may come before the registry that says that they are sensitive.
#[test]
fn strings_are_hidden_before_their_registry_comes() {
    let runtime = runtime_registry().fingerprint();
    let (first, later): (Vec<_>, Vec<_>) = blocks(&shop()).into_iter().partition(|block| {
        let is_of_runtime = Header::decode(block, crc32c::crc32c).unwrap().registry == runtime;
        is_of_runtime || matches!(block_type(block), BlockType::Session | BlockType::Thread)
    });
    let folder = Folder::new().with("x.tel", first.concat());
    let following = Following::new(&folder, "x.tel");
    let strings = following.expect(2);
    assert!(strings.iter().all(|line| line.contains("Intern") && line.contains("<secret>")), "{strings:?}");
    append(&folder, "x.tel", &later.concat());
    let (events, stderr) = following.end(0);
    let text = [strings, events].concat().join("\n");
    assert!(text.contains("VisitStart"), "{stderr}{text}");
    assert_eq!(told(text.as_bytes()), <[String; 0]>::default(), "{text}");
}

/// An interrupt ends it with a verdict even while nothing comes through the pipe.
#[test]
fn a_pipe_is_followed_until_an_interrupt() {
    let cut = blocks(&gc())[..10].concat();
    let folder = Folder::new();
    let mut following = Following::of(folder.command("print --follow -").stdin(Stdio::piped()));
    let mut input = following.child.stdin.take().unwrap();
    input.write_all(&cut).unwrap();
    following.expect(13);
    let killed = Command::new("kill").args(["-INT", &following.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let (_, stderr) = following.end(0);
    assert!(stderr.contains("incomplete: 13 events"), "{stderr}");
}

/// A file that replaces another is read after the rest of the other one.
#[test]
fn a_replaced_file_is_followed() {
    let whole = gc();
    let cut = blocks(&whole)[..10].concat();
    let folder = Folder::new().with("x.tel", &cut).with("next.tel", gc_run(7).finish().unwrap());
    let following = Following::new(&folder, "--kind Pool x.tel");
    following.expect(3);
    std::fs::rename(folder.path("x.tel"), folder.path("old.tel")).unwrap();
    append(&folder, "old.tel", &whole[cut.len()..]);
    std::fs::rename(folder.path("next.tel"), folder.path("x.tel")).unwrap();
    let (lines, stderr) = following.end(0);
    assert_eq!(lines.len(), 3, "{stderr}");
    assert!(stderr.contains("complete: 6 events"), "{stderr}");
}

#[test]
fn the_segments_of_a_rotated_stream_are_followed() {
    let whole = gc();
    let cut = blocks(&whole)[..10].concat();
    let folder = Folder::new().with("x.tel", &cut);
    let following = Following::new(&folder, "x.tel");
    following.expect(10);
    append(&folder, "x.1.tel", &[]);
    append(&folder, "x.10.tel", &gc_run(9).finish().unwrap());
    append(&folder, "x.1.tel", &whole[cut.len()..]);
    let (lines, stderr) = following.end(0);
    assert!(stderr.contains("complete: 46 events"), "{} lines: {stderr}", lines.len());
}

/// Another program truncates the file, with half a block in it, and writes it again.
#[test]
fn a_cut_file_is_read_again() {
    let whole = gc();
    let folder = Folder::new().with("x.tel", &whole[..whole.len() - 400]);
    let following = Following::new(&folder, "--kind Pool x.tel");
    following.expect(3);
    std::thread::sleep(Duration::from_millis(300));
    let file = OpenOptions::new().write(true).open(folder.path("x.tel")).unwrap();
    file.set_len(0).unwrap();
    drop(file);
    std::thread::sleep(Duration::from_millis(300));
    append(&folder, "x.tel", &gc_run(7).finish().unwrap());
    let killed = |following: &Following| {
        Command::new("kill").args(["-INT", &following.child.id().to_string()]).status().unwrap()
    };
    following.expect(3);
    // The first session never ends.
    assert!(killed(&following).success());
    let (_, stderr) = following.end(1);
    assert!(stderr.starts_with("`x.tel` was truncated: reading it from its start again\n"), "{stderr}");
    assert!(stderr.contains("incomplete: 6 events"), "{stderr}");
}

/// Waiting takes almost no CPU time. An interrupt ends it with a verdict and a complete file.
#[test]
#[cfg(target_os = "linux")]
fn waiting_is_not_busy() {
    let whole = gc();
    let cut = blocks(&whole)[..10].concat();
    let folder = Folder::new().with("x.tel", cut);
    let following = Following::new(&folder, "x.tel -o out.txt");
    std::thread::sleep(Duration::from_secs(2));
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", following.child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    assert!(ticks <= 20, "{ticks} hundredths of a second in two seconds");
    assert!(!folder.path("out.txt").exists());
    let killed = Command::new("kill").args(["-TERM", &following.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let (_, stderr) = following.end(0);
    assert!(stderr.contains("has no end"), "{stderr}");
    assert_eq!(std::fs::read_to_string(folder.path("out.txt")).unwrap().lines().count(), 13);
}

#[test]
fn what_cannot_be_followed_is_said() {
    let folder = Folder::new().with("x.tel", gc());
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.check(
        "what_cannot_be_followed",
        &[
            "print --follow missing.tel",
            "print --follow folder",
            "print --follow x.tel x.tel",
            "print --follow --kind Pool - < x.tel",
            "print --follow --kind Pool x.tel",
        ],
    );
}
