//! `telemetry csv`: events as tables for spreadsheets, pandas, DuckDB and the like.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use telemetry_columns::layout::{Layout, Slot, table_name};
use telemetry_decode::{Event, Order};
use telemetry_schema as schema;

use crate::input::events::{EventArgs, Opened};
use crate::input::inputs::cannot_read;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::output::{Directory, Output};
use crate::term::progress::Progress;
use crate::text::csv;
use crate::text::date::Moments;
use crate::text::print::programs_registries;
use crate::text::signed_decimal;
use telemetry_report::figures::keyed::{PerEvent, PerThread};

const EXAMPLES: &str = "\
The first line names the columns: time_ns (since the session's start), time (UTC), session, thread,
thread_name, registry, kind, event, and the parameters. Without -d, the table has the parameters of all
events that pass the filter. A field is empty if the event has no such parameter.

Examples:
  telemetry csv --event PoolInit gc.tel -o pools.csv
  telemetry csv gc.tel -d tables                        tables/PoolInit.csv, tables/TraceStart.csv, ...
  telemetry csv gc.tel -d tables && duckdb -c \"SELECT avg(size) FROM 'tables/ArenaAlloc.csv'\"";

/// Write events as CSV: one table, or one per event with -d
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write EVENT.csv for each event that occurs to this directory; the files appear on success
    #[arg(short = 'd', long, value_name = "DIR", conflicts_with = "output")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    common: EventArgs,
}

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let mut opened = self.common.open(Order::Time)?;
        let choices = choices(&opened);
        match &self.directory {
            None => {
                let mut table = Table::new(&choices);
                let mut output = opened.output()?;
                table.append_head(output.buffer());
                opened.write_lines(output, |out, event| table.append_row(out, event))?;
            }
            Some(directory) => write_each(&mut opened, directory, &choices)?,
        }
        opened.end(context)
    }
}

/// An event that may occur, and its registry.
struct Choice {
    registry: String,
    fingerprint: u64,
    event: schema::Event,
}

/// Returns all events that the filter accepts, of the kinds that occur.
fn choices(opened: &Opened) -> Vec<Choice> {
    let lanes = opened.events.completeness().lanes;
    let mut choices = Vec::new();
    for known in opened.registries() {
        for (index, event) in known.registry.events.iter().enumerate() {
            let kind = known.registry.kind_of(event).bit;
            let occurs = lanes.iter().any(|lane| (lane.registry, lane.kind) == (known.fingerprint, kind));
            if occurs && known.wants(index) {
                let (registry, fingerprint) = (known.registry.name.clone(), known.fingerprint);
                choices.push(Choice { registry, fingerprint, event: event.clone() });
            }
        }
    }
    choices
}

/// Writes a table for each event that occurs.
fn write_each(opened: &mut Opened, directory: &Path, choices: &[Choice]) -> Result<(), Failure> {
    let _made = Directory::make(directory)?;
    let several = programs_registries(opened.registries()).nth(1).is_some();
    // Several versions of a registry may have an event of one name.
    let mut by_name = BTreeMap::<String, Vec<&Choice>>::new();
    for choice in choices {
        let Choice { registry, event, .. } = choice;
        let name = table_name(registry, &event.name, several);
        by_name.entry(format!("{name}.csv")).or_default().push(choice);
    }
    let mut by_event = HashMap::new();
    let mut tables: Vec<(PathBuf, Table, Option<Output>)> = Vec::new();
    for (name, choices) in by_name {
        by_event.extend(choices.iter().map(|choice| ((choice.fingerprint, choice.event.code), tables.len())));
        tables.push((directory.join(name), Table::new(choices), None));
    }
    let progress = Progress::of_bytes(opened.inputs.len());
    while let Some(batch) = opened.events.next_batch().map_err(cannot_read)? {
        for event in batch.iter() {
            // Only events that the filter accepts have a table.
            let Some(index) = by_event.get(&(event.known_registry().fingerprint, event.schema().code)) else {
                continue;
            };
            let (path, table, output) = &mut tables[*index];
            let output = match output {
                Some(output) => output,
                None => {
                    let output = output.insert(Output::beside(path, &opened.inputs.paths())?);
                    table.append_head(output.buffer());
                    output
                }
            };
            table.append_row(output.buffer(), &event);
            output.relieve()?;
        }
        progress.events(batch.len(), || opened.events.bytes_done());
    }
    tables.into_iter().filter_map(|(_, _, output)| output).try_for_each(Output::finish)
}

/// Columns that every event has.
const COMMON: [&str; 8] =
    ["time_ns", "time", "session", "thread", "thread_name", "registry", "kind", "event"];

/// The columns of a table, and the parameter of each event in each column.
struct Table {
    /// The columns of parameters, after those that all events have.
    layout: Layout<()>,
    styles: PerEvent<Style>,
    /// Session, thread and its name as fields.
    threads: PerThread<Vec<u8>>,
    moments: Moments,
    /// The time of the last event, and its fields. Events that inherit their times have the same.
    time: ((i64, i64), Vec<u8>),
    scratch: Vec<u8>,
}

/// The fields that are the same in all events of a code.
struct Style {
    /// Registry, kind and event as fields.
    head: Vec<u8>,
    /// For each column with a value: the commas before it, and the index of its parameter.
    params: Vec<(Vec<u8>, usize)>,
    /// The commas of the columns behind, and the end of the line.
    tail: Vec<u8>,
}

impl Table {
    /// Makes a table with the parameters of all of these events.
    fn new<'c>(choices: impl IntoIterator<Item = &'c Choice>) -> Table {
        let mut layout = Layout::default();
        for param in choices.into_iter().flat_map(|choice| &choice.event.params) {
            // Text has no types, so parameters of one name share a column.
            layout.column(&param.name, &column(param), (), "");
        }
        Table {
            layout,
            styles: PerEvent::default(),
            threads: PerThread::default(),
            moments: Moments::default(),
            time: ((0, 0), Vec::new()),
            scratch: Vec::new(),
        }
    }

    fn append_head(&self, out: &mut Vec<u8>) {
        let columns = self.layout.slots().iter().map(|slot| slot.name.as_str());
        let columns: Vec<_> = COMMON.into_iter().chain(columns).collect();
        out.extend_from_slice(columns.join(",").as_bytes());
        out.push(b'\n');
    }

    fn append_row(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        let (last, fields) = &mut self.time;
        let times = (event.time_ns(), event.wall_ns());
        if *last != times || fields.is_empty() {
            *last = times;
            fields.clear();
            signed_decimal(fields, times.0);
            fields.push(b',');
            self.moments.append(fields, times.1);
        }
        out.extend_from_slice(fields);
        out.extend_from_slice(self.threads.get(event, thread));
        let slots = self.layout.slots();
        let style = self.styles.get(event, |event| Style::new(event, slots));
        out.extend_from_slice(&style.head);
        for (commas, index) in &style.params {
            out.extend_from_slice(commas);
            if let Some(value) = event.value(*index) {
                csv::value(out, event, &value, &mut self.scratch);
            }
        }
        out.extend_from_slice(&style.tail);
    }
}

/// Returns the name of a parameter's column.
fn column(param: &schema::Param) -> String {
    // Parameters have no point in their names.
    if COMMON.contains(&param.name.as_str()) { format!("param.{}", param.name) } else { param.name.clone() }
}

fn thread(event: &Event<'_>) -> Vec<u8> {
    let mut fields = format!(",{:#018x},{},", event.session().id, event.thread()).into_bytes();
    csv::field(&mut fields, event.thread_name().unwrap_or_default().as_bytes());
    fields
}

impl Style {
    fn new(event: &Event<'_>, slots: &[Slot<()>]) -> Style {
        let head = format!(",{},{},{}", event.registry().name, event.kind().name, event.name());
        let params = &event.schema().params;
        let (mut placed, mut commas) = (Vec::new(), Vec::new());
        for slot in slots {
            commas.push(b',');
            if let Some(index) = params.iter().position(|param| param.name == slot.param) {
                placed.push((std::mem::take(&mut commas), index));
            }
        }
        commas.push(b'\n');
        Style { head: head.into_bytes(), params: placed, tail: commas }
    }
}
