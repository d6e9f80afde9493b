//! `telemetry list`: running processes, and ring files of dead ones.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::process::{Counters, DeadRing, Found, Info, Pid, Place, ask_all, command_line, directory};
use crate::term::ended::{Context, Ended, Run};
use crate::term::json::JsonArgs;
use crate::term::message::note;
use crate::term::output::Output;
use crate::text::date;
use crate::text::table::Table;
use crate::text::{elapsed, escaped_text, grouped};

/// The columns: those with words, and the others, of which the last one has words, too.
const WORDS: [&str; 6] = ["pid", "program", "uptime", "output", "directory", PRESETS];
const OTHERS: [&str; 4] = ["emitted", "per second", "lost", "command"];

/// The column that only some lists have.
const PRESETS: &str = "presets";

/// The maximum of characters in a column of words.
const MAX_WORDS_WIDTH: usize = 48;

const EXAMPLES: &str = "\
A process is listed from the first emitter that it reaches, even if its event is off, unless TELEMETRY_SOCKET is
`off`. The command removes sockets of ended processes. Root sees the processes of all users.

Examples:
  telemetry list
  telemetry list --json | jq -r '.processes[].pid'
  telemetry list --remove-dead           also remove the ring files of ended processes";

/// List running processes and leftover ring files
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    json: JsonArgs,

    /// Remove the ring files of ended processes
    #[arg(long)]
    remove_dead: bool,
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct List {
    version: u32,
    processes: Vec<Listed>,
    dead: Vec<Dead>,
}

#[derive(Serialize)]
struct Listed {
    started: String,
    /// Seconds since the start.
    uptime: u64,
    /// The program and its arguments.
    command: Vec<String>,
    directory: Option<String>,
    per_second: f64,
    counters: Counters,
    #[serde(flatten)]
    info: Info,
}

#[derive(Serialize)]
struct Dead {
    pid: u32,
    copy: u32,
    ring: String,
    removed: bool,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut found = Found::default();
        for place in Place::all()? {
            let Found { processes, rings } = place.find();
            found.processes.extend(processes);
            found.rings.extend(rings);
        }
        let mut processes = Vec::new();
        for info in ask_all(&found.processes) {
            match info {
                Ok(Some(info)) => processes.push(Listed::new(info)),
                Ok(None) => {}
                Err(failure) => context.problem(failure),
            }
        }
        let mut dead = Vec::new();
        for ring in &found.rings {
            let removed =
                self.remove_dead && ring.remove().map_err(|failure| context.problem(failure)).is_ok();
            dead.push(Dead::new(ring, removed));
        }
        let list = List { version: 1, processes, dead };
        Output::stdout().show(self.json.is_on(), &list, |out| list.append_text(out))?;
        if list.processes.is_empty() && list.dead.is_empty() && !context.has_problems() {
            note(
                "no process found; help: a program with telemetry is listed from the first emitter that it reaches",
            );
        }
        Ok(())
    }
}

impl List {
    fn append_text(&self, out: &mut Vec<u8>) {
        if !self.processes.is_empty() {
            let has_presets = self.processes.iter().any(|listed| listed.presets().is_some());
            let words = if has_presets { &WORDS[..] } else { &WORDS[..WORDS.len() - 1] };
            let mut table = Table::new(words.len(), &[words, &OTHERS].concat()).with_words_last();
            for listed in &self.processes {
                let Listed { uptime, command, directory, per_second, counters, info, .. } = listed;
                let words = [
                    info.called().to_string(),
                    escaped_text(&info.program),
                    elapsed(*uptime),
                    short(&info.masks.output).unwrap_or("nothing".into()),
                    directory.as_deref().map_or("?".into(), escaped_text),
                ];
                let presets = has_presets.then(|| listed.presets().unwrap_or("-".into()));
                let numbers = [counters.emitted, per_second.round() as u64, counters.lost()];
                let command = short(&command.join(" ")).unwrap_or("?".into());
                table.row(words.into_iter().chain(presets).chain(numbers.map(grouped)).chain([command]));
            }
            table.append(out, 0);
        }
        for Dead { pid, copy, ring, removed } in &self.dead {
            let pid = Pid { number: *pid, copy: *copy };
            let line = match removed {
                true => format!("process {pid} is dead, its ring file `{ring}` is removed\n"),
                false => {
                    format!("process {pid} is dead, its ring file is at `{ring}`: telemetry recover {ring}\n")
                }
            };
            out.extend_from_slice(line.as_bytes());
        }
    }
}

impl Listed {
    fn new(info: Info) -> Listed {
        Listed {
            started: date::rfc_3339(info.started_ns),
            uptime: info.now_ns.saturating_sub(info.started_ns) / 1_000_000_000,
            command: command_line(info.called()),
            directory: directory(info.called()).map(|path| path.to_string_lossy().into_owned()),
            per_second: info.per_second(),
            counters: info.counters,
            info,
        }
    }

    /// Returns the presets of all its registries, if there are any.
    fn presets(&self) -> Option<String> {
        let presets: BTreeSet<&str> =
            self.info.registries.iter().flat_map(|of| of.presets.iter().map(String::as_str)).collect();
        short(&presets.into_iter().collect::<Vec<_>>().join(" "))
    }
}

impl Dead {
    fn new(ring: &DeadRing, removed: bool) -> Dead {
        let Pid { number: pid, copy } = ring.pid;
        Dead { pid, copy, ring: escaped_text(&ring.ring.to_string_lossy()), removed }
    }
}

/// Returns the first of some words, if there are any.
fn short(words: &str) -> Option<String> {
    let words = escaped_text(words);
    match words.char_indices().nth(MAX_WORDS_WIDTH) {
        _ if words.is_empty() => None,
        None => Some(words),
        Some((end, _)) => Some(words[..words[..end].rfind(' ').unwrap_or(end)].to_string() + " ..."),
    }
}
