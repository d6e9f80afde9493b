//! `telemetry history`: the changes of every event, from the revisions of its registry in git.

mod past;

use std::path::PathBuf;

use serde::Serialize;
use telemetry_schema::parse_embedded;
use telemetry_schema::version::{Lock, State};

use self::past::{EventPast, Past, Reuse, Step};
use crate::git::{Content, GitFile, Objects, Revision};
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::json::JsonArgs;
use crate::term::message::warning;
use crate::term::output::OutputArgs;
use crate::text::count;
use crate::text::date;
use crate::text::table::Table;

const EXAMPLES: &str = "\
The revisions are those of the current branch. Dates are commit dates in UTC. A revision with errors in the
registry is reported and skipped. Changes of docs are in the JSON form only.

The exit code is 1 if a code was reused for another event, unless an `events.lock` shows that the code was
not released.

Examples:
  telemetry history
  telemetry history --event PoolInit
  telemetry history --json registries/gc.toml | jq '.events[] | [.event, .steps[0].version]'";

/// Show from git when each event was added, changed and retired
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registry file
    #[arg(value_name = "FILE", default_value = "events.toml")]
    file: PathBuf,

    /// Only this event: current or former name, or code (repeatable)
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let file = GitFile::find(&self.file)?;
        let revisions = file.revisions()?;
        let mut past = Past::default();
        let mut reports = Vec::with_capacity(revisions.len());
        let mut objects = file.objects()?;
        objects.contents(&revisions, |index, content| {
            reports.push(take(&mut past, index, &revisions[index], content));
        })?;
        for reuse in &mut past.reused {
            reuse.released = was_released(&file, &mut objects, &revisions[reuse.revision], reuse)?;
        }
        let history = History::new(self, past, reports);
        self.output
            .open(std::slice::from_ref(&self.file))?
            .show(self.json.is_on(), &history, |out| history.append_text(out))?;
        history.report(context, &self.event);
        Ok(())
    }
}

/// Adds a revision's content to what was before.
fn take(past: &mut Past, index: usize, revision: &Revision, content: Content) -> RevisionReport {
    let (version, unreadable) = match content {
        Content::Gone => (None, None),
        Content::Unreadable(why) => (None, Some(why)),
        Content::Text(text) => match parse_embedded(&text) {
            Ok(registry) => {
                past.add(index, &registry);
                (Some(registry.version.to_string()), None)
            }
            Err(invalid) => {
                let first = invalid.diagnostics.first().map(|first| {
                    let (line, column) = first.position(&text);
                    format!("{}:{line}:{column}: {}", revision.path, first.message)
                });
                (None, Some(first.unwrap_or_default()))
            }
        },
    };
    RevisionReport {
        commit: revision.commit.clone(),
        date: date::rfc_3339(revision.seconds.saturating_mul(1_000_000_000))[..10].to_string(),
        subject: revision.subject.clone(),
        path: revision.path.clone(),
        version,
        unreadable,
    }
}

/// Returns false if the lock beside the registry, just before the reuse, did not have the code.
fn was_released(
    file: &GitFile,
    objects: &mut Objects,
    revision: &Revision,
    reuse: &Reuse,
) -> Result<bool, Failure> {
    let lock = file.sibling_before(objects, revision, "lock")?.and_then(|text| Lock::parse(&text).ok());
    Ok(lock.is_none_or(|lock| lock.registry != reuse.registry || lock.event(reuse.code).is_some()))
}

/// All that the command shows; docs/cli.md describes the JSON form.
#[derive(Serialize)]
struct History {
    version: u32,
    file: String,
    registry: String,
    /// Index of the first revision of this registry. Those before are of others, or unreadable.
    first: usize,
    revisions: Vec<RevisionReport>,
    /// By code, in their latest form.
    events: Vec<EventReport>,
    /// Changes outside events: kinds, types, spans, the registry itself.
    other: Vec<Step>,
    reused: Vec<Reuse>,
}

#[derive(Serialize)]
struct RevisionReport {
    commit: String,
    date: String,
    subject: String,
    path: String,
    /// Null if the file was removed or could not be read.
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
}

#[derive(Serialize)]
struct EventReport {
    #[serde(flatten)]
    past: EventPast,
    state: &'static str,
}

impl History {
    fn new(args: &Args, mut past: Past, revisions: Vec<RevisionReport>) -> History {
        past.events.sort_by_key(|event| (event.code, event.steps.first().map(|step| step.revision)));
        let is_wanted =
            |event: &EventPast| args.event.is_empty() || args.event.iter().any(|word| event.is_called(word));
        let lock = &past.latest;
        let state = |event: &EventPast| {
            let latest = lock.as_ref().and_then(|lock| lock.event(event.code));
            match latest.filter(|latest| latest.name == event.event).map(|latest| latest.state) {
                Some(State::Used) => "used",
                Some(State::Retired) => "retired",
                Some(State::Gone(_)) | None => "gone",
            }
        };
        let events = past.events.iter().filter(|event| is_wanted(event));
        History {
            version: 1,
            file: args.file.display().to_string(),
            registry: lock.as_ref().map_or(String::new(), |lock| lock.registry.clone()),
            first: past.first,
            revisions,
            events: events.map(|event| EventReport { past: event.clone(), state: state(event) }).collect(),
            other: if args.event.is_empty() { past.other } else { Vec::new() },
            reused: past.reused,
        }
    }

    fn append_text(&self, out: &mut Vec<u8>) {
        let versions = self.revisions[self.first..].iter().filter_map(|revision| revision.version.as_deref());
        let versions: Vec<&str> = versions.collect();
        let (first, last) = (versions.first().unwrap_or(&"-"), versions.last().unwrap_or(&"-"));
        let revisions = count(self.revisions.len() as u64, "revision");
        let head = format!("{}: {}, {revisions}, version {first} to {last}\n", self.file, self.registry);
        out.extend_from_slice(head.as_bytes());
        let mut table = Table::new(6, &["event", "code", "date", "revision", "version", ""]);
        for event in &self.events {
            let EventPast { event: name, code, steps } = &event.past;
            self.add_rows(&mut table, [name.clone(), format!("{code:#06x}")], steps);
        }
        self.add_rows(&mut table, ["-".to_string(), "-".to_string()], &self.other);
        table.append(out, 0);
    }

    fn add_rows(&self, table: &mut Table, mut what: [String; 2], steps: &[Step]) {
        for step in steps {
            let revision = &self.revisions[step.revision];
            let mut when = [revision.date.clone(), short(&revision.commit), step.version.clone()];
            for message in step.messages() {
                table.row(what.iter().chain(&when).cloned().chain([message]));
                // The commit is named on its first line only.
                what = Default::default();
                when = Default::default();
            }
        }
    }

    /// Reports skipped revisions, unknown events and reused codes.
    fn report(&self, context: &mut Context, wanted: &[String]) {
        for revision in &self.revisions {
            if let Some(why) = &revision.unreadable {
                warning(format!("revision {} is skipped: {why}", short(&revision.commit)));
            }
        }
        for word in wanted {
            if !self.events.iter().any(|event| event.past.is_called(word)) {
                context.problem(format!("no revision has an event `{word}`"));
            }
        }
        for reuse in self.reused.iter().filter(|reuse| reuse.released) {
            let revision = &self.revisions[reuse.revision];
            context.problem(format!(
                "code {:#06x} belonged to `{}`, and was given to `{}` in revision {} of {}",
                reuse.code,
                reuse.was,
                reuse.is,
                short(&revision.commit),
                revision.date
            ));
        }
    }
}

/// Shortens a commit's id for people.
fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}
