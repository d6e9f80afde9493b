//! Asks a running process by its control socket.

use std::path::{Path, PathBuf};

use telemetry_format::{Loss, NoticeTag};

use super::environment::{Environment, shown};
use super::finding::{Finding, Findings};
use super::{path, program, ring};
use crate::process::{Counters, Info, KindCounters, Pid, Pool, Process, SinkCounters, State, Unknown};
use crate::term::ended::Failure;
use crate::term::native::exists;
use crate::text::{count, grouped};

/// Examines a process.
pub(super) fn look(pid: Pid) -> Result<Findings, Failure> {
    let subject = format!("process {pid}");
    let environment = Environment::of(pid.number);
    let process = match Process::find(pid) {
        Ok(process) => process,
        // It exists, it is ours, and it has no socket.
        Err(failure) => match (exists(pid.number), &environment) {
            (Ok(()), Some(environment)) => {
                let exe = std::fs::read_link(format!("/proc/{}/exe", pid.number)).ok();
                let findings = vec![without_socket(pid, exe.as_deref(), environment)];
                return Ok(Findings::new(subject, "", findings).after(environment.misspelled()));
            }
            (Ok(()), None) if pid.copy <= 1 => {
                let number = pid.number;
                return Err(Failure::new(format!(
                    "process {number} has no control socket, and its environment cannot be read; help: run \
                     `telemetry doctor {number}` as its user"
                )));
            }
            _ => return Err(failure),
        },
    };
    let info = process.info()?;
    let state = process.ask("counters")?;
    let unknown =
        environment.as_ref().map_or(Unknown::default(), |environment| unknown(&process, environment));
    let examined = examine(subject, &info, &state, &unknown, environment.as_ref());
    Ok(match environment {
        Some(environment) => examined.after(environment.misspelled()),
        None => examined,
    })
}

/// Asks a process which words of its environment match nothing. An older runtime does not know the
/// request, and one without registries knows no names.
pub(super) fn unknown(process: &Process, environment: &Environment) -> Unknown {
    let words =
        ["TELEMETRY_CONTROL", "TELEMETRY_RECORD"].map(|name| environment.get(name).unwrap_or_default());
    match words.concat().trim() {
        "" => Unknown::default(),
        _ => process.ask(&format!("unknown {}", words.join(" "))).unwrap_or_default(),
    }
}

/// Explains why a process that exists cannot be asked.
fn without_socket(pid: Pid, exe: Option<&Path>, environment: &Environment) -> Finding {
    if let Some(finding) = exe.and_then(program::compiled_out) {
        return finding;
    }
    let found = "it has no control socket";
    match environment.get("TELEMETRY_SOCKET") {
        Some("off") => Finding::problem(
            "no-socket",
            found,
            "TELEMETRY_SOCKET is `off` in its environment",
            "start it with TELEMETRY_SOCKET=on",
        ),
        Some(set) if set.contains('/') => Finding::problem(
            "no-socket",
            format!("{found} in `{set}`, which TELEMETRY_SOCKET names"),
            "the program has not called the runtime yet, or cannot use this directory",
            format!("a directory of its user with mode 0700: mkdir -m 700 {set}"),
        ),
        // As the process sees it, which may be in a container.
        _ if !Path::new(&format!("/proc/{}/root/tmp", pid.number)).is_dir() => Finding::problem(
            "no-socket",
            found,
            "it has no /tmp, where sockets are",
            "start it with TELEMETRY_SOCKET=/path, a directory of its user with mode 0700",
        ),
        _ => Finding::problem(
            "no-event",
            format!("{found}: it has reached no emitter yet"),
            "a program has a socket from the first emitter that it reaches, with these exceptions: /tmp cannot be written, \
             the build or the program has switched it off, its runtime is in a shared library, or it has a `malloc` of its own",
            "wait, or start it with TELEMETRY_SOCKET=on, which reports what is in the way",
        ),
    }
}

/// Explains that no event was enabled.
pub(super) fn switched_off(environment: &Environment) -> Finding {
    let why = match environment.get("TELEMETRY_CONTROL") {
        None => {
            "events are off until they are switched on, and TELEMETRY_CONTROL is not set in its environment"
                .to_string()
        }
        Some(words) => format!(
            "what TELEMETRY_CONTROL switched on, `{words}`, was switched off later, by the program or from outside"
        ),
    };
    Finding::problem(
        "switched-off",
        "no event is on",
        why,
        "TELEMETRY_CONTROL=all in its environment, or a kind's name instead; or in the program, `telemetry::set` of `all`",
    )
}

/// Explains the answers of a process.
pub(super) fn examine(
    subject: String,
    info: &Info,
    state: &State,
    unknown: &Unknown,
    environment: Option<&Environment>,
) -> Findings {
    let mut findings = Vec::new();
    let Counters { emitted, written, retained, .. } = state.counters;
    findings.extend(program::variety(&info.variety));
    let is_rash = info.variety == "rash";
    if emitted == 0 && !is_rash {
        findings.push(nothing(info, unknown, environment));
    } else if info.masks.output.is_empty() && written == 0 && !is_rash {
        findings.push(recorded_only(info, retained));
    }
    findings.extend(ring::of_process(info.pid, &info.session, Path::new(&info.ring)));
    findings.extend(sinks(&state.sinks, info, environment));
    findings.extend(losses(&state.counters, &state.kinds));
    findings.extend(state.pool.as_ref().and_then(full_pool));
    if retained > 0 && written == 0 && !info.masks.output.is_empty() && state.counters.lost_sink == 0 {
        findings.push(Finding::problem(
            "not-written-yet",
            format!("{} in memory, and none is written", count(retained, "event")),
            format!(
                "blocks that are not full are written after TELEMETRY_LATENCY, which is {} s",
                info.latency
            ),
            format!(
                "telemetry control {} --flush; in the program, telemetry::flush(), or a shorter latency",
                info.called()
            ),
        ));
    }
    if info.telemetry != env!("CARGO_PKG_VERSION") {
        findings.push(
            Finding::problem(
                "other-version",
                format!(
                    "its runtime is telemetry {}, this command is {}",
                    info.telemetry,
                    env!("CARGO_PKG_VERSION")
                ),
                "the program was built with another version",
                "if they do not understand each other, use the command of that version",
            )
            .noted(),
        );
    }
    let fine =
        format!("{} emitted, {} written to `{}`", count(emitted, "event"), grouped(written), info.filename);
    Findings::new(subject, fine, findings)
}

/// Explains why nothing was recorded.
fn nothing(info: &Info, unknown: &Unknown, environment: Option<&Environment>) -> Finding {
    let registries = info.registries.iter();
    let kinds: Vec<_> =
        registries.flat_map(|one| one.kinds.iter().map(move |kind| format!("{}:{kind}", one.name))).collect();
    let asked = environment.and_then(|environment| environment.get("TELEMETRY_CONTROL"));
    if kinds.is_empty() {
        return Finding::problem(
            "no-event",
            "the runtime has started, but the program has reached no event",
            "the program has not reached an emitter yet, or those that it reaches are compiled out",
            "wait, or check whether the code with events runs at all",
        );
    }
    if !info.masks.output.is_empty() || !info.masks.record.is_empty() {
        return Finding::problem(
            "no-event",
            format!(
                "{} is on, but no such event was emitted",
                [&*info.masks.output, &*info.masks.record].join(" ").trim()
            ),
            "the program has not reached such an emitter, or these emitters are compiled out",
            format!("there are {}; `all` is everything", kinds.join(", ")),
        );
    }
    match asked {
        Some(words) => Finding::problem(
            "unknown-words",
            format!("no event is on, though TELEMETRY_CONTROL is `{words}`"),
            "its words match no kind or event of the program, cancel each other, or were replaced later",
            unknown.hint().unwrap_or_else(|| format!("there are {}; `all` is everything", kinds.join(", "))),
        ),
        None => {
            let mut finding = switched_off(environment.unwrap_or(&Environment::own()));
            finding.help = format!("telemetry control {} all; or {}", info.called(), finding.help);
            finding
        }
    }
}

fn recorded_only(info: &Info, retained: u64) -> Finding {
    Finding::problem(
        "recorded-only",
        format!("{} in memory, and none is for a stream", count(retained, "event")),
        format!("`{}` is recorded for the flight recorder, and nothing is output", info.masks.record),
        format!(
            "telemetry control {0} --snapshot now.tel takes what is in memory; telemetry control {0} all outputs what comes",
            info.called()
        ),
    )
}

/// Explains why sinks do not get events.
fn sinks(sinks: &[SinkCounters], info: &Info, environment: Option<&Environment>) -> Vec<Finding> {
    let mut findings: Vec<_> = sinks
        .iter()
        .filter_map(|sink| {
            let lost = sink.counters.get("lost").copied().unwrap_or_default();
            let failure = sink.failure.as_deref()?;
            let notice = sink.notice.as_deref().and_then(NoticeTag::parse);
            let finding = path::explain(&sink.name, failure, notice.map(|(tag, _)| tag), lost);
            Some(if lost > 0 { finding } else { finding.noted() })
        })
        .collect();
    let file = environment.and_then(|environment| environment.file(&info.filename, info.pid, &info.session));
    if let Some(file) = file.filter(|_| findings.is_empty()) {
        findings.extend(path::examine(&file).or_else(|| removed(&file, info.pid)));
    }
    findings
}

/// Finds that the program writes a file whose name now belongs to another file, or to none.
fn removed(file: &Path, pid: u32) -> Option<Finding> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let named = |entry: &std::fs::DirEntry| -> Option<PathBuf> { std::fs::read_link(entry.path()).ok() };
    let gone = PathBuf::from(format!("{} (deleted)", file.display()));
    let mut others = None;
    for entry in open {
        let Some(target) = named(&entry) else { continue };
        if target == gone {
            return Some(Finding::problem(
                "removed-file",
                format!("{} was removed or replaced while the process writes to it", shown(file)),
                "the process still has the old file, which cannot be opened by its name",
                format!(
                    "cp {} rescues it; the process makes a new one when it is started again",
                    entry.path().display()
                ),
            ));
        }
        let stem = file.file_stem()?.to_string_lossy().into_owned();
        let beside = |name: &str| name.starts_with(&format!("{stem}.{pid}"));
        if target.parent() == file.parent()
            && target.file_name().is_some_and(|name| beside(&name.to_string_lossy()))
        {
            others = Some(target);
        }
    }
    let other = others?;
    Some(
        Finding::problem(
            "file-elsewhere",
            format!("its stream is in {}", shown(&other)),
            format!("{} is written by another process, or was when this one started", shown(file)),
            "put %p into TELEMETRY_FILENAME, so that each process has its own",
        )
        .noted(),
    )
}

/// Finds that a pool has almost nothing left, and what uses it. The flight recorder's part does not
/// count, since it is evicted when it is needed.
fn full_pool(pool: &Pool) -> Option<Finding> {
    let Pool { size, free, open, waiting, lanes, .. } = *pool;
    if size == 0 || free >= size / 16 || open + waiting < size / 16 * 13 {
        return None;
    }
    let found = |what: &str| {
        format!("{} of the {} bytes of the pool are {what}", grouped(open.max(waiting)), grouped(size))
    };
    Some(if open >= waiting {
        Finding::problem(
            "pool-open",
            found(&format!("in open blocks of {}", count(lanes, "lane"))),
            "each thread has a block for each kind that it emits, and the next one gets none",
            "a TELEMETRY_BUFFER of at least 8 KiB for each thread and kind, fewer threads, or fewer kinds",
        )
    } else {
        Finding::problem(
            "pool-waiting",
            found("waiting for sinks"),
            "events come faster than the sinks take them",
            "a faster place for the stream, fewer kinds, or a larger TELEMETRY_BUFFER for bursts",
        )
    })
}

/// Explains lost events. A sink that failed has a finding of its own.
fn losses(counters: &Counters, kinds: &[KindCounters]) -> Vec<Finding> {
    let loss = Loss { sink: 0, ..counters.loss() };
    let findings = loss.causes().map(|(cause, events)| {
        let worst = kinds.iter().max_by_key(|kind| kind.counters.loss().of(cause));
        let most = worst.map(|kind| format!(", most of them of {}:{}", kind.registry, kind.name));
        Finding::of_loss(cause, events, &most.unwrap_or_default())
    });
    findings.collect()
}
