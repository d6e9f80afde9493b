//! A command, run with a control socket of its own and watched.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use telemetry_decode::{Index, Reader};

use super::environment::{Environment, shown};
use super::finding::{Finding, Findings};
use super::{path, process, program, stream};
use crate::exit::Failure;
use crate::input::cannot_read;
use crate::process::{Info, Place, State, user};
use crate::text::escaped_text;

/// How often processes are asked.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long a program may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long lines of a program that has ended may take.
const AFTER: Duration = Duration::from_millis(200);
/// Most lines of the runtime's that are looked at.
const MOST_LINES: usize = 100;

/// What was seen of a command while it ran.
struct Seen {
    /// The process with the most events, as it was asked last.
    process: Option<(Info, State)>,
    /// What runtimes have said on standard error.
    said: Vec<String>,
    status: ExitStatus,
    was_ended: bool,
}

/// Runs a command and says what keeps its trace empty.
pub(super) fn look(
    name: &OsStr,
    args: &[OsString],
    seconds: Option<f64>,
    quiet: bool,
) -> Result<Findings, Failure> {
    let environment = Environment::own();
    let program = program::find(name);
    let began = SystemTime::now();
    let seen = watch(name, program.as_deref(), args, seconds, quiet)?;
    let subject = shown(Path::new(name));
    let (findings, fine) = explain(&seen, program.as_deref(), &environment, began)?;
    let ended = if seen.was_ended { "it was ended".to_string() } else { seen.status.to_string() };
    Ok(Findings::new(subject, format!("{fine}; {ended}"), findings))
}

fn watch(
    name: &OsStr,
    program: Option<&Path>,
    args: &[OsString],
    seconds: Option<f64>,
    quiet: bool,
) -> Result<Seen, Failure> {
    let cannot = |what: &str, error: &std::io::Error| Failure::new(format!("cannot {what}: {error}"));
    // As the runtime wants it.
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
    let end = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let (start, mut process, mut was_ended) = (Instant::now(), None, false);
    let status = loop {
        if let Some(place) = Place::at(sockets.path().to_path_buf(), user())? {
            ask(&place, &mut process);
        }
        if let Some(status) = child.try_wait().map_err(|error| cannot("wait for the command", &error))? {
            break status;
        }
        let left = end.map(|end| end.saturating_sub(start.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            was_ended = true;
            break stop(&mut child).map_err(|error| cannot("end the command", &error))?;
        }
        std::thread::sleep(INTERVAL);
    };
    // Somebody else may have standard error still.
    let said = std::iter::from_fn(|| lines.recv_timeout(AFTER).ok()).take(MOST_LINES).collect();
    Ok(Seen { process, said, status, was_ended })
}

/// Hands standard error on, and keeps what runtimes say. The channel ends when nobody writes to it any more, or
/// soon after the command.
fn listen(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(MOST_LINES);
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let mut err = std::io::stderr().lock();
                let _ = err.write_all(&line).and_then(|()| err.write_all(b"\n"));
                if let Some(said) = String::from_utf8_lossy(&line).strip_prefix("telemetry: ") {
                    let _ = sender.try_send(said.to_string());
                }
            }
        });
    }
    lines
}

/// Asks all processes that have a socket by now.
fn ask(place: &Place, best: &mut Option<(Info, State)>) {
    for process in place.find().processes {
        let (Ok(info), Ok(state)) = (process.info(), process.ask::<State>("counters")) else { continue };
        let is_better = best.as_ref().is_none_or(|(other, before)| {
            other.session == info.session || before.counters.emitted < state.counters.emitted
        });
        if is_better {
            *best = Some((info, state));
        }
    }
}

/// Lets a program end, and ends it if it does not.
fn stop(child: &mut Child) -> std::io::Result<ExitStatus> {
    crate::process::terminate(child.id());
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(INTERVAL);
    }
    child.kill()?;
    child.wait()
}

/// What was seen, and the stream that is left.
fn explain(
    seen: &Seen,
    program: Option<&Path>,
    environment: &Environment,
    began: SystemTime,
) -> Result<(Vec<Finding>, String), Failure> {
    let info = seen.process.as_ref().map(|(info, _)| info);
    let mut findings: Vec<_> = seen.said.iter().filter_map(|line| of_line(line)).collect();
    let elsewhere = seen.said.iter().find_map(|line| elsewhere(line));
    let path = match elsewhere {
        Some(name) => Some(environment.dir.join(name)),
        None => left(info, environment),
    };
    let stream = match path.filter(|path| program::begins_with(path, &telemetry_format::MAGIC)) {
        Some(path) => Some((Reader::open(&path).and_then(Reader::index).map_err(cannot_read)?, path)),
        None => None,
    };
    // That of another run says nothing of this one.
    let since = began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let is_new = |index: &Index| index.sessions.iter().any(|session| session.clock.start_wall() >= since);
    if let Some((index, path)) = stream.filter(|(index, _)| is_new(index)) {
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
    if let Some((info, state)) = &seen.process {
        let examined = process::examine(String::new(), info, state, Some(environment));
        return Ok((examined.findings, fine));
    }
    Ok((
        vec![match program.and_then(program::compiled_out) {
            Some(finding) => finding,
            None if environment.get("TELEMETRY_CONTROL").is_none() => process::switched_off(environment),
            None => Finding::problem(
                "no-event",
                "no event was reached",
                "the command ended, and no program that it runs has come to an event",
                "if it starts another program, look at that one; it may be built with TELEMETRY_VARIETY=rash",
            ),
        }],
        fine,
    ))
}

/// The stream's file, if it is one.
fn left(info: Option<&Info>, environment: &Environment) -> Option<PathBuf> {
    let path = match info {
        Some(info) => environment.file(&info.filename, info.pid, &info.session),
        None => environment.file(environment.address(), 0, ""),
    };
    path.filter(|path| path.is_file())
}
/// The file that a runtime says it writes in the place of another.
fn elsewhere(line: &str) -> Option<&str> {
    line.split_once("this stream goes to `")?.1.strip_suffix('`')
}

/// What a line of a runtime's means.
fn of_line(line: &str) -> Option<Finding> {
    let line = escaped_text(line);
    if let Some(rest) = line.strip_prefix("cannot write ") {
        let (sink, failure) = rest.split_once(": ")?;
        let failure =
            failure.strip_suffix("; events are counted as lost until it can be written").unwrap_or(failure);
        return Some(path::explain_line(sink, failure));
    }
    if let Some(file) = elsewhere(&line) {
        let help = "put %p into TELEMETRY_FILENAME, so that each process has its own";
        let found = format!("its stream is in `{file}`");
        return Some(Finding::problem("file-elsewhere", found, line.clone(), help).noted());
    }
    if line.contains("names no kind and no event") {
        return Some(Finding::problem(
            "unknown-words",
            line,
            "TELEMETRY_CONTROL or TELEMETRY_RECORD, or the program, switches something on that there is not",
            "telemetry check shows the relation's names; `all` is everything",
        ));
    }
    let help = "docs/runtime.md has the variables, sinks and sockets that there are";
    Some(Finding::problem("told", line, "the runtime says so on standard error", help).noted())
}
