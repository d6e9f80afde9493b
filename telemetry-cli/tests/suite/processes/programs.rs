//! Real programs under control: switched, flushed, listed, stopped, killed, forked.
#![allow(unsafe_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Once;
use std::time::Duration;

use serde_json::Value;

use super::{Program, Sockets, wait};
use crate::gc_events;
use crate::run::run;
use crate::served;

pub(crate) fn emit() {
    gc_events::pool_init!(1_u64, 2_u64, 3_u64, 0);
    gc_events::ref_fix!(4_u64);
}

pub(crate) fn emitted(sockets: &Sockets, pid: u32) -> u64 {
    let json = sockets.prints(&format!("control {pid} --counters --json"));
    let json: Value = serde_json::from_str(&json).unwrap();
    json["counters"]["emitted"].as_u64().unwrap()
}

#[test]
fn a_program_is_switched() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::programs::a_program_is_switched", &[], emit);
    let pid = program.pid;
    assert!(
        sockets.prints(&format!("control {pid}")).contains("output    gc:Pool gc:Trace gc:Ref gc:User\n")
    );
    wait("an event", || emitted(&sockets, pid) > 0);
    let masks = sockets.prints(&format!("control {pid} --reset all"));
    assert!(masks.starts_with("output  nothing\n"), "{masks}");
    // Events that were just being emitted are recorded by then.
    sockets.prints(&format!("control {pid} --flush"));
    let silent = emitted(&sockets, pid);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(emitted(&sockets, pid), silent);
    let masks = sockets.prints(&format!("control {pid} Pool Ref -RefFix"));
    assert!(masks.starts_with("output  gc:Pool\n"), "{masks}");
    wait("an event", || emitted(&sockets, pid) > silent);
    program.end();
    assert!(!sockets.socket(pid).exists(), "removed at the end");
    assert_eq!(std::fs::read_dir(sockets.dir()).unwrap().count(), 0);
}

/// They are of one reading, though the program emits all the time.
#[test]
fn the_sum_of_the_kinds_is_the_total() {
    let sockets = Sockets::new();
    let test = "processes::programs::the_sum_of_the_kinds_is_the_total";
    let program = Program::ready(&sockets, test, &[], || (0..20_000).for_each(|_| emit()));
    wait("an event", || emitted(&sockets, program.pid) > 0);
    for _ in 0..20 {
        let json = sockets.prints(&format!("control {} --counters --json", program.pid));
        let shown: Value = serde_json::from_str(&json).unwrap();
        let of = |counters: &Value| counters["emitted"].as_u64().unwrap();
        let kinds = shown["kinds"].as_array().unwrap().iter();
        let program = kinds.filter(|kind| kind["registry"] != "telemetry");
        assert_eq!(program.map(of).sum::<u64>(), of(&shown["counters"]), "{shown:#}");
    }
}

#[test]
fn a_flush_writes_what_was_recorded() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_LATENCY", "3600")];
    let test = "processes::programs::a_flush_writes_what_was_recorded";
    let program = Program::ready(&sockets, test, &setup, || {
        static ONCE: Once = Once::new();
        ONCE.call_once(emit);
    });
    assert!(!sockets.path("stream.tel").exists());
    wait("the last event", || {
        sockets.prints(&format!("control {} --flush", program.pid));
        String::from_utf8(sockets.run("print stream.tel").stdout).unwrap().contains("RefFix")
    });
}

/// No event is enabled or recorded, but the program answers.
#[test]
fn a_silent_program_can_be_switched_on() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", "")];
    let test = "processes::programs::a_silent_program_can_be_switched_on";
    let program = Program::ready(&sockets, test, &setup, emit);
    assert_eq!(emitted(&sockets, program.pid), 0);
    sockets.prints(&format!("control {} Pool", program.pid));
    wait("an event", || emitted(&sockets, program.pid) > 0);
}

/// The uses of the pool's memory, in a program that records one kind and outputs another.
#[test]
fn the_pool_is_shown() {
    let sockets = Sockets::new();
    let setup = [
        ("TELEMETRY_CONTROL", "Pool"),
        ("TELEMETRY_RECORD", "Ref"),
        ("TELEMETRY_BUFFER", "256k"),
        ("TELEMETRY_LATENCY", "3600"),
    ];
    let program = Program::ready(&sockets, "processes::programs::the_pool_is_shown", &setup, emit);
    let shown = || -> Value {
        let json = sockets.prints(&format!("control {} --counters --json", program.pid));
        serde_json::from_str(&json).unwrap()
    };
    wait("what the recorder keeps", || shown()["pool"]["retained"].as_u64() > Some(0));
    // Nothing changes while it is off.
    sockets.prints(&format!("control {} --reset all", program.pid));
    sockets.prints(&format!("control {} --record --reset all", program.pid));
    sockets.prints(&format!("control {} --flush", program.pid));
    let shown = shown();
    let of = |key: &str| shown["pool"][key].as_u64().unwrap();
    assert_eq!(of("size"), 256 << 10);
    assert_eq!(of("free") + of("open") + of("waiting") + of("retained"), of("size"), "{shown:#}");
    assert!(of("lanes") >= 2 && of("waiting") == 0, "{shown:#}");
    let kinds = shown["kinds"].as_array().unwrap().iter();
    let retained: Vec<_> = kinds.filter(|kind| kind["retained_bytes"].as_u64() > Some(0)).collect();
    assert_eq!(
        retained.iter().map(|kind| kind["retained_bytes"].as_u64().unwrap()).sum::<u64>(),
        of("retained")
    );
    assert!(retained.iter().any(|kind| kind["name"] == "Ref"), "{shown:#}");
    let line = format!(" {} retained by the recorder (gc:Ref ", grouped(of("retained")));
    let text = sockets.prints(&format!("control {}", program.pid));
    assert!(text.contains(&line), "{text}");
}

/// Formats a number like the command.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

#[test]
fn unknown_words_are_told() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::programs::unknown_words_are_told", &[], emit);
    let run = sockets.run(&format!("control {} Pol nonsense", program.pid));
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "error: `Pol` matches no kind or event; help: did you mean `Pool`?\n\
         error: `nonsense` matches no kind or event; help: the process has `Pool`, `Trace`, `Ref`, `User`, \
         `PoolInit`, `TraceStart`, `TraceEnd`, `RefFix` and 4 more\n"
    );
    assert!(String::from_utf8(run.stdout).unwrap().starts_with("output  gc:Pool"));
}

/// A misspelled word would match no event, however long the command waits.
#[test]
fn tail_refuses_a_word_without_a_match() {
    let sockets = Sockets::new();
    let test = "processes::programs::tail_refuses_a_word_without_a_match";
    let program = Program::ready(&sockets, test, &[], emit);
    wait("an event", || emitted(&sockets, program.pid) > 0);
    let pid = program.pid;
    let why = "error: `Pol` matches no kind or event; help: did you mean `Pool`?";
    sockets.check(&format!("tail {pid} Pol"), 2, why);
    let why = "error: `nonsense` matches no kind or event; help: the process has `Pool`, `Trace`, `Ref`, `User`, \
        `PoolInit`, `TraceStart`, `TraceEnd`, `RefFix` and 4 more";
    sockets.check(&format!("tail {pid} Ref nonsense"), 2, why);
}

/// Events that are recorded but not output are in the snapshot, and still there afterwards.
#[test]
fn a_snapshot_has_what_is_in_memory() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", "")];
    let test = "processes::programs::a_snapshot_has_what_is_in_memory";
    let program = Program::ready(&sockets, test, &setup, emit);
    let pid = program.pid;
    assert!(sockets.prints(&format!("control {pid} --record Ref")).ends_with("record  gc:Ref\n"));
    let mut before = 0;
    for _ in 0..2 {
        wait("events", || emitted(&sockets, pid) > before);
        before = emitted(&sockets, pid);
        assert_eq!(sockets.prints(&format!("control {pid} --snapshot now.tel")), "");
        let printed = sockets.run("print now.tel");
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        let printed = String::from_utf8(printed.stdout).unwrap();
        assert!(printed.lines().filter(|line| line.contains("RefFix")).count() as u64 >= before);
    }
    assert!(!sockets.path("stream.tel").exists(), "nothing is output");
    assert_eq!(std::fs::read_dir(sockets.dir()).unwrap().count(), 1);
}

/// The process ends the time, though the command that asked is long gone.
#[test]
fn events_are_on_for_a_time() {
    let sockets = Sockets::new();
    let test = "processes::programs::events_are_on_for_a_time";
    let program = Program::ready(&sockets, test, &[("TELEMETRY_CONTROL", "")], emit);
    let pid = program.pid;
    let output = || sockets.prints(&format!("control {pid} --json"));
    assert!(sockets.prints(&format!("control {pid} --for 1h Ref")).starts_with("output  gc:Ref\n"));
    assert!(sockets.prints(&format!("control {pid} --for 100ms Trace")).starts_with("output  gc:"));
    wait("the end of the time", || output().contains("\"output\": \"gc:Ref\""));
    let refused = sockets.run(&format!("control {pid} --for 25h Ref"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("expected 1 ms to a day, found `25h`"), "{}", refused.stderr);
}

/// A mark from outside is an event of the process, which every command shows.
#[test]
fn a_mark_comes_from_outside() {
    let sockets = Sockets::new();
    let test = "processes::programs::a_mark_comes_from_outside";
    let program = Program::ready(&sockets, test, &[], emit);
    let pid = program.pid;
    wait("an event", || emitted(&sockets, pid) > 0);
    let mut command = sockets.command(&format!("control {pid} --mark"));
    let marked = run(command.arg(" deploy  17 "), &[]);
    assert_eq!((marked.code, marked.stderr.as_str()), (Some(0), ""));
    sockets.prints(&format!("control {pid} --flush"));
    let printed = sockets.run("print stream.tel --event Mark");
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("telemetry-ctl") && printed.contains("text:\"deploy  17\""), "{printed}");
}

/// Answers a request, and emits.
fn emit_and_answer() {
    telemetry::control::on_request("cache.size", |text| match text {
        "" => Err("expected a unit".into()),
        unit => Ok(format!("12 {unit}")),
    })
    .expect("a name of letters");
    emit();
}

#[test]
fn a_program_answers_a_request_of_its_own() {
    let sockets = Sockets::new();
    let test = "processes::programs::a_program_answers_a_request_of_its_own";
    let program = Program::ready(&sockets, test, &[], emit_and_answer);
    let pid = program.pid;
    wait("an event", || emitted(&sockets, pid) > 0);
    let ask = |request: &str| run(sockets.command(&format!("control {pid} --ask")).arg(request), &[]);
    let answered = ask("cache.size pages of 4 KiB");
    assert_eq!(String::from_utf8(answered.stdout).unwrap(), "12 pages of 4 KiB\n");
    for (request, expected) in [
        ("cache.size", "expected a unit"),
        ("cache.sise", "unknown request `cache.sise`, expected cache.size"),
    ] {
        let refused = ask(request);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

/// Follows a kind that is not output otherwise, until an interrupt.
#[test]
fn a_tail_follows_until_it_is_interrupted() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", "Pool")];
    let test = "processes::programs::a_tail_follows_until_it_is_interrupted";
    let program = Program::ready(&sockets, test, &setup, emit);
    let pid = program.pid;
    let mut tail = sockets.command(&format!("tail {pid} Ref"));
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    for _ in 0..10 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("RefFix") && line.ends_with("at:0x4"), "{line}");
    }
    assert!(sockets.prints(&format!("control {pid}")).contains("output    gc:Pool\n"));
    let number_of_sinks = || {
        let json: Value = serde_json::from_str(&sockets.prints(&format!("control {pid} --json"))).unwrap();
        json["sinks"].as_array().unwrap().len()
    };
    assert_eq!(number_of_sinks(), 2);
    signal(tail.id(), libc::SIGINT);
    assert!(lines.all(|line| line.unwrap().contains("RefFix")));
    let output = tail.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("complete: "), "{said}");
    // Its sink is gone. What was on the way to it may count as lost.
    wait("the end of the sink", || number_of_sinks() == 1);
}

fn serve() {
    served::connect!("ann");
    served::reload!();
    served::disconnect!("ann");
    served::request!(1_u32);
}

/// Rules are checked while the process runs: what came, and what does not come.
#[test]
fn a_tail_checks_rules() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_LATENCY", "0.05")];
    let program = Program::ready(&sockets, "processes::programs::a_tail_checks_rules", &setup, serve);
    let mut tail = sockets.command(&format!("tail --rules {}", program.pid));
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || lines.for_each(|line| _ = sender.send(line.unwrap())));
    let mut expected = vec![
        "rule `NoReload` is broken: `Reload` came while span `Connection` was open",
        "rule `Answered` is broken for id 1: `Response` has not come within 10 ms after `Request`",
    ];
    while !expected.is_empty() {
        let line = receiver.recv_timeout(Duration::from_secs(60)).expect("a line within a minute");
        expected.retain(|expected| *expected != line);
    }
    signal(tail.id(), libc::SIGINT);
    let output = tail.wait_with_output().unwrap();
    reader.join().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(" of broken rules\n"), "{said}");
    // Words choose the rules: one needs all of its events.
    let pid = program.pid;
    let filtered = sockets.run(&format!("tail --rules --thread main {pid}"));
    assert!(filtered.stderr.contains("found the filter `--thread main`"), "{}", filtered.stderr);
    let one = sockets.run(&format!("tail --rules --json -n 1 {pid} Connecting Reload"));
    let json: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!((&json["rule"], &json["how"]), (&"NoReload".into(), &"while-open".into()), "{json}");
    assert_eq!(one.code, Some(1), "{}", one.stderr);
    program.end();
}

/// It ends with the process. All events are accounted for although it begins in the middle.
#[test]
fn a_tail_ends_with_the_process() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::programs::a_tail_ends_with_the_process", &[], emit);
    wait("events", || emitted(&sockets, program.pid) > 10);
    let mut tail = sockets.command(&format!("tail --strict {} all", program.pid));
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    program.end();
    assert!(lines.any(|line| line.unwrap().contains("PoolInit")));
    let output = tail.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("complete: "), "{said}");
}

/// Neither the program nor its other output waits for a slow reader.
#[test]
fn a_tail_that_is_not_read_holds_up_nothing() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_CONTROL", "")];
    let test = "processes::programs::a_tail_that_is_not_read_holds_up_nothing";
    let program = Program::ready(&sockets, test, &setup, || (0..10_000).for_each(|_| emit()));
    let pid = program.pid;
    let mut stuck = UnixStream::connect(sockets.socket(pid)).unwrap();
    stuck.write_all(b"tail all\n").unwrap();
    stuck.read_exact(&mut [0; 3]).unwrap();
    sockets.prints(&format!("control {pid} all"));
    let size = || std::fs::metadata(sockets.path("stream.tel")).map_or(0, |metadata| metadata.len());
    wait("more than the connection holds", || size() > 16 << 20);
    // The command gives up if the program does not answer soon.
    sockets.prints(&format!("control {pid} --flush"));
}

#[test]
fn lists_show_what_can_be_asked() {
    let sockets = Sockets::new();
    let none =
        "no process found; help: a program with telemetry is listed from the first emitter that it reaches";
    sockets.check("list", 0, none);
    let test = "processes::programs::lists_show_what_can_be_asked";
    let [one, other] = [(); 2].map(|()| Program::ready(&sockets, test, &[], emit));
    let off = Program::start(&sockets, test, &[("TELEMETRY_SOCKET", "off")], emit);
    wait("its events", || sockets.path("stream.tel").exists());
    let listed = || {
        let json: Value = serde_json::from_str(&sockets.prints("list --json")).unwrap();
        let pids =
            json["processes"].as_array().unwrap().iter().map(|process| process["pid"].as_u64().unwrap());
        pids.map(|pid| u32::try_from(pid).unwrap()).collect::<Vec<_>>()
    };
    let mut both = [one.pid, other.pid];
    both.sort();
    assert_eq!(listed(), both);
    // The killed process leaves its socket.
    let dead = one.pid;
    one.kill();
    assert!(sockets.socket(dead).exists());
    let absent = format!("error: there is no process {dead}; help: `telemetry list` shows the processes");
    sockets.check(&format!("control {dead}"), 2, &absent);
    assert_eq!(listed(), [other.pid]);
    assert!(!sockets.socket(dead).exists(), "stale sockets are removed");
    let without = format!(
        "error: process {0} has no control socket; help: `telemetry doctor {0}` says why; a program with telemetry \
         has one from the first emitter that it reaches",
        off.pid
    );
    sockets.check(&format!("tail {}", off.pid), 2, &without);
}

/// The column is there only if a process has presets.
#[test]
fn a_list_has_presets() {
    for (presets, head, shown) in
        [("presets = [\"pauses\", \"busy\"]\n", true, "  busy pauses  "), ("", false, "  0  ")]
    {
        let sockets = Sockets::new();
        let answer = format!(
            "ok\npid = {}\nprogram = \"app\"\n\n[[registry]]\nname = \"gc\"\nversion = \"1.0.0\"\n{presets}",
            std::process::id()
        );
        sockets.serve(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
        });
        let listed = sockets.prints("list");
        let lines: Vec<_> = listed.lines().collect();
        assert_eq!(lines[0].contains("  presets  "), head, "{listed}");
        assert!(lines[1].contains(shown), "{listed}");
    }
}

#[test]
fn a_stopped_process_is_told_of() {
    let sockets = Sockets::new();
    let program = Program::ready(&sockets, "processes::programs::a_stopped_process_is_told_of", &[], emit);
    let pid = program.pid;
    signal(pid, libc::SIGSTOP);
    let stopped =
        format!("error: process {pid} is stopped, and cannot answer; help: `kill -CONT {pid}` lets it go on");
    wait("the stop", || sockets.run(&format!("control {pid}")).stderr.contains("stopped"));
    sockets.check(&format!("control {pid} all"), 2, &stopped);
    sockets.check("list", 1, &stopped);
    signal(pid, libc::SIGCONT);
    wait("an answer", || sockets.run(&format!("control {pid}")).code == Some(0));
}

/// The child of a fork does not answer for its parent or remove the parent's socket. It has its
/// own.
#[test]
fn forked_children_leave_the_socket_alone() {
    let sockets = Sockets::new();
    let file = sockets.path("child");
    let setup = [("CHILD_FILE", file.to_str().unwrap())];
    let test = "processes::programs::forked_children_leave_the_socket_alone";
    let mut forked = false;
    let program = Program::ready(&sockets, test, &setup, || {
        emit();
        let variable = |name| PathBuf::from(std::env::var_os(name).unwrap());
        let socket = variable("TELEMETRY_SOCKET").join(std::process::id().to_string());
        if !forked && socket.exists() {
            forked = true;
            // One ends at once, the other outlives its parent.
            let short = fork(|| {});
            // SAFETY: waits for our own child, whose status does not matter.
            unsafe { libc::waitpid(short, std::ptr::null_mut(), 0) };
            let long = fork(|| {
                emit();
                std::thread::sleep(Duration::from_secs(60));
            });
            std::fs::write(variable("CHILD_FILE"), format!("{long}\n")).unwrap();
        }
    });
    let child = || std::fs::read_to_string(&file).unwrap_or_default();
    wait("the children", || child().ends_with('\n'));
    let (pid, long) = (program.pid, child().trim().parse().unwrap());
    wait("an event", || emitted(&sockets, pid) > 0);
    wait("the child's own socket", || sockets.socket(long).exists());
    assert_eq!(emitted(&sockets, long), 2);
    program.kill();
    let absent = format!("error: there is no process {pid}; help: `telemetry list` shows the processes");
    sockets.check(&format!("control {pid}"), 2, &absent);
    signal(long, libc::SIGKILL);
}

pub(super) fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs the body and exits.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            body();
            libc::exit(0);
        }
        child
    }
}

pub(crate) fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: the process is our child and was not waited for.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}
