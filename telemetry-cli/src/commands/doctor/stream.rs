//! Examines a file that should be a stream.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use telemetry_decode::blocks::{Blocks, Index, Piece};
use telemetry_decode::completeness::Cause;
use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Completeness, Filter, Order, Reader, Session, Value};
use telemetry_foreign::RECOGNIZED_BY;
use telemetry_format::{HeaderError, Loss, MAGIC};

use super::environment::shown;
use super::finding::{Finding, Findings};
use super::{path, program, ring};
use crate::input::inputs::cannot_read;
use crate::input::remedy;
use crate::process::{Pid, Place};
use crate::registry::in_program::contains;
use crate::stats::ending::endings;
use crate::term::ended::Failure;
use crate::text::sniff::{Look, known_by};
use crate::text::{count, grouped};

/// Examines a file.
pub(super) fn look(path: &Path) -> Result<Findings, Failure> {
    let subject = shown(path);
    let metadata = match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Findings::new(subject, "", absent(path)));
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Ok(Findings::new(subject, "", path::examine(path).into_iter().collect()));
        }
        metadata => metadata.map_err(|error| cannot_open(path, &error))?,
    };
    if metadata.is_dir() {
        let finding = Finding::problem(
            "wrong-path",
            "it is a directory",
            "a stream is a file",
            format!("telemetry doctor {}/FILE", path.display()),
        );
        return Ok(Findings::new(subject, "", vec![finding]));
    }
    if !metadata.is_file() {
        return Err(Failure::new(format!(
            "{subject} is a pipe or a device, expected a file, a process or a command"
        )));
    }
    File::open(path).map_err(|error| cannot_open(path, &error))?;
    if metadata.len() == 0 {
        let finding = Finding::problem(
            "empty-file",
            "it is empty",
            "the program has written nothing: it was killed before the first second was over, the disk is full, or it \
             runs and has something else to write first",
            match writer(path) {
                Some(pid) => format!("telemetry doctor {pid} asks the program that writes it"),
                None => {
                    "start the program again, with `telemetry doctor --` before its command line".to_string()
                }
            },
        );
        return Ok(Findings::new(subject, "", vec![finding]));
    }
    if let Some(finding) = ring::cut(path) {
        return Ok(Findings::new(subject, "", vec![finding]));
    }
    let index = Reader::open(path).and_then(Reader::index).map_err(cannot_read)?;
    let Completeness { blocks, events, bytes, .. } = &index.completeness;
    if *blocks == 0 {
        return Ok(Findings::new(subject, "", vec![no_stream(path, &index)]));
    }
    // In memory, blocks of events differ from those in streams, and blocks of facts do not.
    if *events == 0 && bytes.damaged > bytes.read {
        return Ok(Findings::new(subject, "", vec![memory_image(path)]));
    }
    let (findings, fine) = examine(path, &index)?;
    Ok(Findings::new(subject, fine, findings))
}

/// Returns the running process that has a file open.
fn writer(path: &Path) -> Option<Pid> {
    let path = path.canonicalize().ok()?;
    let processes = Place::all().ok()?.into_iter().flat_map(|place| place.find().processes);
    let has_it = |pid: &Pid| {
        let files = std::fs::read_dir(format!("/proc/{}/fd", pid.number)).into_iter().flatten().flatten();
        files.filter_map(|file| file.path().read_link().ok()).any(|file| file == path)
    };
    processes.map(|process| process.pid).find(has_it)
}

/// Explains that a file cannot be opened. Usually it is another user's.
fn cannot_open(path: &Path, error: &std::io::Error) -> Failure {
    let help = match error.kind() {
        ErrorKind::PermissionDenied => {
            "; help: it belongs to another user: run this as that user, or as root"
        }
        _ => "",
    };
    Failure::new(format!("cannot read {}: {error}{help}", shown(path)))
}

/// Explains what is there instead.
fn absent(path: &Path) -> Vec<Finding> {
    if let Some(finding) = path::examine(path) {
        return vec![finding];
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (stem, extension) = (path.file_stem().unwrap_or_default(), path.extension().unwrap_or_default());
    let start = format!("{}.", stem.to_string_lossy());
    let mut beside: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(above).into_iter().flatten().flatten() {
        let (name, other) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if name.starts_with(&start)
            && other.extension() == Some(extension)
            && program::begins_with(&other, &MAGIC)
        {
            beside.push(name);
        }
    }
    beside.sort();
    let found = "there is no such file";
    vec![if beside.is_empty() {
        Finding::problem(
            "no-file",
            found,
            "a stream's file is created with its first block: either nothing was recorded, or the file is elsewhere; a \
             relative name starts from the directory in which the program was started",
            "start the program with `telemetry doctor --` before its command line; telemetry list shows those that run",
        )
    } else {
        Finding::problem(
            "file-elsewhere",
            found,
            format!(
                "beside it is {}: streams of several processes, or segments of one stream",
                beside.join(", ")
            ),
            format!("telemetry doctor {}", above.join(&beside[beside.len() - 1]).display()),
        )
    }]
}

/// Explains a file in which no block could be read.
fn no_stream(path: &Path, index: &Index) -> Finding {
    let version = index.completeness.damage.iter().find_map(|damage| match damage.cause {
        Cause::Header(HeaderError::Version(version)) => Some(version),
        _ => None,
    });
    if let Some(version) = version {
        return Finding::problem(
            "other-format",
            format!(
                "its blocks have format version {version}, expected {}",
                telemetry_format::FORMAT_VERSION
            ),
            "the program that wrote it was built with another version of telemetry",
            "read it with the command of that version, or build the program again",
        );
    }
    if program::is_program(path) {
        return program::compiled_out(path).unwrap_or_else(|| {
            Finding::problem(
                "not-a-stream",
                "it is a program",
                "what it records is in another file",
                format!("telemetry doctor ./{} runs it", path.file_name().unwrap_or_default().display()),
            )
        });
    }
    if contains(path, &MAGIC).unwrap_or_default() {
        return memory_image(path);
    }
    let mut first = Vec::new();
    // A file that cannot be read any more looks like nothing.
    let _ = File::open(path).and_then(|file| file.take(RECOGNIZED_BY as u64).read_to_end(&mut first));
    if let Some(log) = known_by(&first) {
        let help = format!("telemetry stats {0} and telemetry print {0} show its events", path.display());
        return Finding::problem("not-a-stream", format!("it is {log}"), "no telemetry wrote it", help);
    }
    let look = Look::of(&first);
    let found = format!("it is {}", look.what);
    Finding::problem("not-a-stream", found, "it contains no block of a stream", look.help(path))
}

fn memory_image(path: &Path) -> Finding {
    Finding::problem(
        "memory-image",
        "it is not a stream, but contains blocks of one",
        "it is a ring file, a core dump or another image of a program's memory",
        format!("telemetry recover {} -o whole.tel", path.display()),
    )
}

/// Explains what a stream says about its program.
pub(super) fn examine(path: &Path, index: &Index) -> Result<(Vec<Finding>, String), Failure> {
    let Completeness { sessions, .. } = &index.completeness;
    let mut findings = Vec::new();
    let is_own = |registry: u64| {
        let known = index.registries.iter().find(|known| known.fingerprint == registry);
        known.is_some_and(|known| known.registry.name == RUNTIME_REGISTRY)
    };
    let lanes = || index.completeness.lanes.iter().filter(|lane| !is_own(lane.registry));
    let sum = |of: fn(&telemetry_decode::completeness::LaneReport) -> u64| {
        lanes().map(of).fold(0, u64::saturating_add)
    };
    let (events, excluded, missing) =
        (sum(|lane| lane.read), sum(|lane| lane.excluded), sum(|lane| lane.missing));
    let variety = index.sessions.iter().find_map(|session| program::variety(session.facts.text("variety")?));
    findings.extend(variety);
    let loss = Loss {
        pool: sum(|lane| lane.lost.pool),
        reentrant: sum(|lane| lane.lost.reentrant),
        sink: sum(|lane| lane.lost.sink),
        truncated: 0,
    };
    if events == 0 && missing == 0 && loss.causes().next().is_none() {
        findings.push(nothing(path, &index.sessions, excluded)?);
    }
    findings.extend(loss.causes().map(|(cause, events)| Finding::of_loss(cause, events, "")));
    if missing > 0 {
        findings.push(Finding::problem(
            "missing",
            format!("{} written and not here", count(missing, "event")),
            "the file was truncated or damaged, or other files of the stream were not named",
            remedy::MISSING,
        ));
    }
    let damaged = damaged_bytes(path).map_err(cannot_read)?;
    if damaged > 0 {
        findings.push(Finding::problem(
            "damaged",
            format!("{} of it cannot be read", count(damaged, "byte")),
            "a full disk or a kill truncated it, or it was changed later",
            "telemetry validate names the byte ranges; everything else is read",
        ));
    }
    let unended = sessions.iter().filter(|(_, ended)| !ended).count() as u64;
    if unended > 0 {
        let finding = Finding::problem(
            "not-ended",
            format!("{} did not end in good order", count(unended, "session")),
            "the program still runs, was killed, or called _exit; then up to a second of events is missing",
            "telemetry::flush() before _exit, a shorter TELEMETRY_LATENCY, or TELEMETRY_RING to survive kills",
        );
        // If the program recorded nothing, the end of its stream is not the reason.
        findings.push(finding.noted());
    }
    let open =
        |filter| Reader::open(path).and_then(|reader| reader.filter(filter).events()).map_err(cannot_read);
    for (session, ending) in endings(index, open)? {
        findings.extend(ending.rows().map(|(what, text)| end(index, session, what, &text)));
    }
    let fine = format!("{} of {}", count(events, "event"), count(index.sessions.len() as u64, "session"));
    let fine = if excluded > 0 { format!("{fine}, {} excluded", grouped(excluded)) } else { fine };
    Ok((findings, fine))
}

/// Explains what a session says of its end. A panic may have been caught, and a status may be
/// meant.
fn end(index: &Index, session: u64, what: &str, text: &str) -> Finding {
    let of = if index.sessions.len() > 1 { format!(" in session {session:016x}") } else { String::new() };
    let before = "telemetry print --last 20 shows what came before";
    let (cause, found, why, help) = match what {
        "panic" => (
            "panicked",
            "a thread panicked",
            "the stream does not say whether the program caught the panic",
            format!("{before}; TELEMETRY_TRACEBACK=20 prints it at the panic"),
        ),
        "signal" => (
            "signaled",
            "a thread got a fatal signal",
            "the system or the program itself sent it",
            format!("{before}; a core dump shows the code"),
        ),
        _ => (
            "exited",
            "the program ended with a status",
            "it reports by it that it failed",
            before.to_string(),
        ),
    };
    Finding::problem(cause, format!("{found}{of}: {text}"), why, help).noted()
}

/// Counts bytes that are in no whole block. The index has only headers, so it does not know damage
/// in blocks.
fn damaged_bytes(path: &Path) -> std::io::Result<u64> {
    let mut blocks = Blocks::new(File::open(path)?);
    let mut damaged = 0;
    while let Some(piece) = blocks.next()? {
        if let Piece::Damage(damage, _) = piece {
            damaged += damage.range.end - damage.range.start;
        }
    }
    Ok(damaged)
}

/// Explains why a stream has no event of its program.
fn nothing(path: &Path, sessions: &[Session], excluded: u64) -> Result<Finding, Failure> {
    if excluded > 0 {
        return Ok(Finding::problem(
            "recorded-only",
            format!("it contains no event, and {} recorded in the program", count(excluded, "event")),
            "they were for the flight recorder, and their kinds were not output",
            "TELEMETRY_CONTROL names what is output, TELEMETRY_RECORD what is only recorded",
        ));
    }
    let changes = changes(path)?;
    let program = sessions.iter().find_map(|session| session.facts.text("program")).unwrap_or("the program");
    Ok(if changes.is_empty() {
        Finding::problem(
            "no-event",
            format!("it contains no event, and `{program}` reported none"),
            "it has not reached an event that was on, or recorded events are not written yet",
            match sessions.iter().find_map(|session| session.facts.number("pid")) {
                Some(pid) => format!(
                    "telemetry doctor {pid} asks it while it runs; telemetry::flush() in the program writes at once"
                ),
                None => "telemetry::flush() in the program writes at once".to_string(),
            },
        )
    } else {
        Finding::problem(
            "switched-off",
            format!("it contains only events of switches: {}", changes.join(", ")),
            "no event that these words switch on was reached, or it was switched off before",
            "TELEMETRY_CONTROL=all switches everything on; telemetry info lists the kinds and events",
        )
    })
}

/// Returns the first changes of switches in a stream.
fn changes(path: &Path) -> Result<Vec<String>, Failure> {
    const MAX_CHANGES: usize = 8;
    let filter = Filter::default().registries([RUNTIME_REGISTRY]).events(["ControlChange"]);
    let reader = Reader::open(path).map_err(cannot_read)?;
    let mut events = reader.order(Order::Stream).filter(filter).events().map_err(cannot_read)?;
    let mut changes = Vec::new();
    while let Some(event) = events.next().map_err(cannot_read)? {
        let text = |name: &str| match event.get(name) {
            Some(Value::Named(named)) => named.name().unwrap_or("?").to_lowercase(),
            Some(value) => value.as_str().unwrap_or("?").to_string(),
            None => "?".to_string(),
        };
        if changes.len() == MAX_CHANGES {
            changes.push("and more".to_string());
            break;
        }
        changes.push(format!("{} {} `{}`", text("mask"), text("action"), text("words")));
    }
    Ok(changes)
}
