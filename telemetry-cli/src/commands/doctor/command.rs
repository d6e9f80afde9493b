//! Runs a command with a control socket of its own, and watches it.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use telemetry_decode::Reader;
use telemetry_decode::blocks::Index;
use telemetry_format::{NOTICE_PREFIX, Notice, NoticeTag};
use telemetry_schema::Registry;

use super::environment::{Environment, shown};
use super::finding::{Finding, Findings};
use super::{path, process, program, stream};
use crate::input::inputs::cannot_read;
use crate::process::{Info, Place, State, Unknown};
use crate::term::ended::Failure;
use crate::term::native::user;
use crate::text::hint::{did_you_mean, nearest_name};

/// The interval between requests to processes.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long a program may take to end after the request.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for lines of a program that has ended.
const LINE_TIMEOUT: Duration = Duration::from_millis(200);
/// The maximum of the runtime's lines that are examined.
const MAX_LINES: usize = 100;

/// The answers of a process.
struct Answers {
    info: Info,
    state: State,
    unknown: Unknown,
}

/// The observations of a command while it ran.
struct Seen {
    /// The process with the most events, in its last answer.
    process: Option<Answers>,
    /// The messages of runtimes on standard error.
    said: Vec<String>,
    status: ExitStatus,
    was_ended: bool,
}

/// Runs a command, and finds why its trace is empty.
pub(super) fn look(
    name: &OsStr,
    args: &[OsString],
    limit: Option<Duration>,
    quiet: bool,
) -> Result<Findings, Failure> {
    let environment = Environment::own();
    let program = program::find(name);
    let began = SystemTime::now();
    let seen = watch(name, program.as_deref(), args, &environment, limit, quiet)?;
    let subject = shown(Path::new(name));
    let (findings, fine) = explain(&seen, program.as_deref(), &environment, began)?;
    let ended = if seen.was_ended { "it was ended".to_string() } else { seen.status.to_string() };
    Ok(Findings::new(subject, format!("{fine}; {ended}"), findings).after(environment.misspelled()))
}

fn watch(
    name: &OsStr,
    program: Option<&Path>,
    args: &[OsString],
    environment: &Environment,
    limit: Option<Duration>,
    quiet: bool,
) -> Result<Seen, Failure> {
    let cannot = |what: &str, error: &std::io::Error| Failure::new(format!("cannot {what}: {error}"));
    // The runtime accepts only such a directory.
    let sockets = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| cannot("make a directory for sockets", &error))?;
    let mut command = Command::new(program.map_or(name, Path::as_os_str));
    command.args(args).env("TELEMETRY_SOCKET", sockets.path()).stderr(Stdio::piped());
    if quiet {
        command.stdout(std::io::stderr());
    }
    let what = format!("run {}", shown(Path::new(name)));
    let mut child = command.spawn().map_err(|error| cannot(&what, &error))?;
    let lines = listen(&mut child);
    let (start, mut process, mut was_ended) = (Instant::now(), None, false);
    let status = loop {
        if let Some(place) = Place::at(sockets.path().to_path_buf(), user())? {
            ask(&place, environment, &mut process);
        }
        if let Some(status) = child.try_wait().map_err(|error| cannot("wait for the command", &error))? {
            break status;
        }
        let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            was_ended = true;
            break stop(&mut child).map_err(|error| cannot("end the command", &error))?;
        }
        std::thread::sleep(INTERVAL);
    };
    // Another process may still have standard error open.
    let said = std::iter::from_fn(|| lines.recv_timeout(LINE_TIMEOUT).ok()).take(MAX_LINES).collect();
    Ok(Seen { process, said, status, was_ended })
}

/// Forwards standard error, and keeps the runtimes' messages. The channel ends when no writer is
/// left, or soon after the command.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(MAX_LINES);
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let mut err = std::io::stderr().lock();
                let _ = err.write_all(&line).and_then(|()| err.write_all(b"\n"));
                if let Some(said) = String::from_utf8_lossy(&line).strip_prefix(NOTICE_PREFIX) {
                    let _ = sender.try_send(said.to_string());
                }
            }
        });
    }
    lines
}

/// Asks all processes that have a socket by now.
fn ask(place: &Place, environment: &Environment, best: &mut Option<Answers>) {
    for process in place.find().processes {
        let (Ok(info), Ok(state)) = (process.info(), process.ask::<State>("counters")) else { continue };
        let is_better = best.as_ref().is_none_or(|before| {
            before.info.session == info.session || before.state.counters.emitted < state.counters.emitted
        });
        if is_better {
            let unknown = process::unknown(&process, environment);
            *best = Some(Answers { info, state, unknown });
        }
    }
}

/// Asks a program to end, and kills it if it does not.
fn stop(child: &mut Child) -> std::io::Result<ExitStatus> {
    crate::term::native::terminate(child.id());
    let since = Instant::now();
    while since.elapsed() < END_TIMEOUT {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(INTERVAL);
    }
    child.kill()?;
    child.wait()
}

/// Explains the observations and the stream that is left.
fn explain(
    seen: &Seen,
    program: Option<&Path>,
    environment: &Environment,
    began: SystemTime,
) -> Result<(Vec<Finding>, String), Failure> {
    let elsewhere = seen.said.iter().find_map(|line| elsewhere(line));
    let path = match elsewhere {
        Some(name) => Some(environment.dir.join(name)),
        None => left(seen.process.as_ref().map(|answers| &answers.info), environment),
    };
    let stream = match path.filter(|path| program::begins_with(path, &telemetry_format::MAGIC)) {
        Some(path) => Some((Reader::open(&path).and_then(Reader::index).map_err(cannot_read)?, path)),
        None => None,
    };
    // The stream of another run says nothing about this one.
    let since = began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let is_new = |index: &Index| index.sessions.iter().any(|session| session.clock.start_wall() >= since);
    let stream = stream.filter(|(index, _)| is_new(index));
    let names = names(seen.process.as_ref(), stream.as_ref().map(|(index, _)| index));
    let mut findings: Vec<_> = seen.said.iter().filter_map(|line| of_line(line, &names)).collect();
    findings.extend(ended_by_bus_error(&seen.status, environment));
    if let Some((index, path)) = stream {
        let (of_stream, fine) = stream::examine(&path, &index)?;
        let told = |cause: &str| findings.iter().any(|finding: &Finding| finding.cause == cause);
        let more: Vec<_> = of_stream.into_iter().filter(|finding| !told(finding.cause)).collect();
        findings.extend(more);
        return Ok((findings, format!("{fine} in {}", shown(&path))));
    }
    if !findings.is_empty() {
        return Ok((findings, String::new()));
    }
    let fine = "its stream is not in a file".to_string();
    if let Some(Answers { info, state, unknown }) = &seen.process {
        let examined = process::examine(String::new(), info, state, unknown, Some(environment));
        return Ok((examined.findings, fine));
    }
    Ok((
        vec![match program.and_then(program::compiled_out) {
            Some(finding) => finding,
            None if environment.get("TELEMETRY_CONTROL").is_none() => process::switched_off(environment),
            None => Finding::problem(
                "no-event",
                "no event was reached",
                "the command ended, and no program that it ran reached an event",
                "if it starts another program, check that one; it may be built with TELEMETRY_VARIETY=rash",
            ),
        }],
        fine,
    ))
}

/// Returns the names that words can match, as far as the process or its stream has told them.
fn names(answers: Option<&Answers>, stream: Option<&Index>) -> Vec<String> {
    let mut names = answers.map_or(Vec::new(), |answers| answers.unknown.names().to_vec());
    for registry in answers.iter().flat_map(|answers| &answers.info.registries) {
        names.extend(registry.kinds.iter().chain([&registry.name]).cloned());
    }
    for known in stream.iter().flat_map(|index| &index.registries) {
        let Registry { name, kinds, events, .. } = &known.registry;
        let kinds = kinds.iter().map(|kind| &kind.name);
        names.extend(kinds.chain(events.iter().map(|event| &event.name)).chain([name]).cloned());
    }
    names
}

/// Explains a bus error. A program with a ring that ends so has usually lost the end of its file.
fn ended_by_bus_error(status: &ExitStatus, environment: &Environment) -> Option<Finding> {
    let ring = environment.get("TELEMETRY_RING")?;
    let is_bus_error = status.signal() == Some(libc::SIGBUS);
    is_bus_error.then(|| {
        Finding::problem(
            "ring-truncated",
            "the command was ended by SIGBUS",
            format!("its ring file `{ring}`, or another file that it maps, was truncated while it ran"),
            "put the ring file where no tool truncates it, as logrotate does with copytruncate",
        )
    })
}

/// Returns the stream, if it is a file.
fn left(info: Option<&Info>, environment: &Environment) -> Option<PathBuf> {
    let path = match info {
        Some(info) => environment.file(&info.filename, info.pid, &info.session),
        None => environment.file(environment.address(), 0, ""),
    };
    path.filter(|path| path.is_file())
}

/// Returns the file that a runtime writes instead of another: the last one that its notice names.
fn elsewhere(line: &str) -> Option<&str> {
    let (tag, text) = NoticeTag::parse(line)?;
    let name = text.strip_suffix('`')?.rsplit_once('`')?.1;
    (tag.notice == Notice::FileInUse).then_some(name)
}

/// Explains a line of a runtime. Returns nothing if it is not a notice.
fn of_line(line: &str, names: &[String]) -> Option<Finding> {
    let Some((tag, text)) = NoticeTag::parse(line) else {
        let help =
            "its runtime is newer than this command: the runtime's own docs/runtime.md lists its notices";
        let unknown =
            || Finding::problem("unknown-notice", line, "this command does not know the notice", help);
        return line.starts_with('[').then(|| unknown().noted());
    };
    Some(match tag.notice {
        Notice::SinkFailed | Notice::SinkAddress | Notice::SinkUntrusted | Notice::SinkPrivileged => {
            path::of_sink(text.to_string(), tag)
        }
        Notice::FileInUse => {
            let found = format!("its stream is in `{}`", elsewhere(line).unwrap_or("?"));
            let help = "put %p into TELEMETRY_FILENAME, so that each process has its own";
            Finding::problem("file-elsewhere", found, text, help).noted()
        }
        Notice::UnknownName => {
            let word = text.split('`').nth(1).unwrap_or_default();
            let help = match nearest_name(word, names) {
                Some(name) => did_you_mean(name),
                None => "telemetry check shows the names of a registry; `all` is everything".to_string(),
            };
            let why = "TELEMETRY_CONTROL, TELEMETRY_RECORD or the program switches on something that does not exist";
            Finding::problem("unknown-words", text, why, help)
        }
        // The counters of the process and its stream tell the same with more detail.
        Notice::EventsLost => return None,
        other => {
            let help = "docs/runtime.md lists the notices, and what to do";
            Finding::problem(other.code(), text, "the runtime reports it on standard error", help).noted()
        }
    })
}
