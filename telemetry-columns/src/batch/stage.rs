//! The latest rows of a table.
//!
//! Rows are collected as cells of 64 bits, column by column. After some rows each column takes its
//! cells at once, so an event needs no decision about types.

use std::sync::Arc;

use telemetry_decode::{Event, Value};

use crate::batch::column::{ColumnData, Growing, name};
use crate::batch::data::Data;
use crate::batch::names::Names;
use crate::batch::plan::{COMMON_CELLS, Fill, NONE, Plan, Step, Take};
use crate::batch::table_batch::Batch;
use crate::model::table::Table;

/// The most rows of a stage. A power of two.
const STAGE_ROWS: usize = 256;

/// The cells of a column in a stage. The length is not a power of two, so that the cells of a row
/// are in different sets of the processor's cache.
type Cells = [u64; STAGE_ROWS + 8];

/// The rows of a table that are not in a batch yet.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) table: Arc<Table>,
    columns: Vec<Growing>,
    /// Number of rows in the columns.
    rows: usize,
    cells: Vec<Cells>,
    /// Number of rows in the cells.
    staged: usize,
    /// The number of rows in the cells at which the columns take them.
    most: usize,
    /// Rows that the columns took since the limits were last compared, because versions changed.
    unsettled: usize,
    /// Index of the plan of the rows in the cells.
    plan: usize,
    /// Bytes of texts, bytes and items since the last batch.
    run_bytes: usize,
    /// Memory of the columns, and of the spare ones.
    pub(crate) held: usize,
    /// Empty columns with the memory of an earlier batch, which is used again.
    spare: Vec<Data>,
}

/// The limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl Stage {
    pub(crate) fn new(table: &Arc<Table>, limits: Limits) -> Stage {
        let columns = table.columns.iter().map(|column| Growing::new(&column.ty, 0));
        Stage {
            table: table.clone(),
            columns: columns.collect(),
            rows: 0,
            cells: Vec::new(),
            staged: 0,
            most: limits.rows.min(STAGE_ROWS),
            unsettled: 0,
            plan: usize::MAX,
            run_bytes: 0,
            held: 0,
            spare: Vec::new(),
        }
    }

    /// Adds the columns that the table has now.
    pub(crate) fn widen(&mut self, table: &Arc<Table>, plans: &[Plan]) {
        self.flush(plans);
        for column in &table.columns[self.columns.len()..] {
            self.columns.push(Growing::new(&column.ty, self.rows));
        }
        self.table = table.clone();
        self.spare = Vec::new();
        self.plan = usize::MAX;
    }

    /// Returns true if the cells have the form of a plan.
    #[inline(always)]
    pub(crate) fn has_plan(&self, plan: usize) -> bool {
        self.plan == plan
    }

    /// Changes the form of the cells to that of another version.
    #[cold]
    #[inline(never)]
    pub(crate) fn change_plan(&mut self, plan: usize, plans: &[Plan], limits: Limits) {
        self.flush(plans);
        self.columns.iter_mut().filter_map(|column| column.names.as_mut()).for_each(Names::forget_numbers);
        self.plan = plan;
        let until_settled = STAGE_ROWS.saturating_sub(self.unsettled);
        self.most = until_settled.min(limits.rows.saturating_sub(self.rows));
        let cells = plans.get(plan).map_or(0, |plan| plan.cells);
        self.cells.resize(self.cells.len().max(cells), [0; STAGE_ROWS + 8]);
    }

    /// Returns the memory of the cells.
    pub(crate) fn cell_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cells>()
    }

    /// Moves the staged rows to the columns. Releases the cells, and what speeds up the next rows.
    pub(crate) fn release_cells(&mut self, plans: &[Plan]) {
        self.flush(plans);
        self.columns.iter_mut().filter_map(|column| column.names.as_mut()).for_each(Names::forget_numbers);
        self.cells = Vec::new();
        self.plan = usize::MAX;
    }

    /// Adds a row. Returns true if the columns should take the rows.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: &Event<'_>, plan: &Plan, limits: Limits) -> bool {
        let row = self.staged % STAGE_ROWS;
        let Some((common, params)) = self.cells.split_first_chunk_mut::<COMMON_CELLS>() else {
            return false;
        };
        let (session, ns) = (event.session(), event.time_ns());
        let time = ns.saturating_add_unsigned(session.clock.start_wall());
        let values =
            [session.id, event.thread().into(), event.position().unwrap_or(NONE), ns as u64, time as u64];
        for (cells, value) in common.iter_mut().zip(values) {
            cells[row] = value;
        }
        for (cells, bits) in params.iter_mut().zip(event.bits()) {
            cells[row] = bits;
        }
        if !plan.steps.is_empty() {
            self.take(event, plan, row);
        }
        self.staged += 1;
        self.staged >= self.most || self.run_bytes >= limits.bytes
    }

    /// Moves the staged rows to the columns.
    fn flush(&mut self, plans: &[Plan]) {
        let Some(plan) = plans.get(self.plan).filter(|_| self.staged > 0) else { return };
        // Later registries may have added columns.
        let fills = plan.fills.iter().chain(std::iter::repeat(&Fill::Missing));
        for (column, fill) in self.columns.iter_mut().zip(fills) {
            column.fill(fill, self.rows, self.staged, &self.cells);
        }
        self.rows += self.staged;
        self.unsettled += self.staged;
        self.staged = 0;
        self.measure();
    }

    /// Moves the staged rows to the columns. Returns true if they are enough for a batch.
    pub(crate) fn settle(&mut self, plans: &[Plan], limits: Limits) -> bool {
        self.flush(plans);
        self.unsettled = 0;
        self.most = STAGE_ROWS.min(limits.rows.saturating_sub(self.rows));
        self.rows >= limits.rows || self.run_bytes >= limits.bytes
    }

    /// Returns the rows as a batch, if there are any. With `keeps`, prepares memory for as many
    /// rows again; without, releases all memory.
    pub(crate) fn finish(&mut self, plans: &[Plan], limits: Limits, keeps: bool) -> Option<Batch> {
        self.flush(plans);
        let mut spare = std::mem::take(&mut self.spare).into_iter().filter(|_| keeps);
        let rows = std::mem::take(&mut self.rows);
        let columns = self.columns.iter_mut().zip(&self.table.columns).map(|(growing, column)| {
            let next = spare.next().unwrap_or_else(|| {
                let mut next = Data::new(&column.ty);
                next.reserve(if keeps { rows } else { 0 });
                next
            });
            growing.take(next)
        });
        let batch = Batch { table: self.table.clone(), rows, columns: columns.collect() };
        (self.run_bytes, self.unsettled) = (0, 0);
        self.most = STAGE_ROWS.min(limits.rows);
        self.measure();
        (rows > 0).then_some(batch)
    }

    /// Returns true if a batch has the columns of the table. The table may have got further columns
    /// since.
    pub(crate) fn is_of(&self, batch: &Batch) -> bool {
        Arc::ptr_eq(&batch.table, &self.table)
    }

    /// Takes a batch of the table, to use its memory again.
    pub(crate) fn reuse(&mut self, batch: Batch) {
        self.spare = batch.columns.into_iter().map(ColumnData::emptied).collect();
        self.measure();
    }

    /// Measures the memory.
    fn measure(&mut self) {
        let columns = self.columns.iter().map(|column| column.data.room());
        self.held = columns.chain(self.spare.iter().map(Data::room)).sum();
    }

    /// Takes the values that are not a single number.
    #[inline(never)]
    fn take(&mut self, event: &Event<'_>, plan: &Plan, row: usize) {
        for Step { param, take } in &plan.steps {
            let own = COMMON_CELLS + param;
            match *take {
                Take::Name { numbers, column, cell } => {
                    let number = self.cells[own][row];
                    let text = || event.session().labels.string_of(numbers, number);
                    let names = self.columns[column].names.as_mut();
                    let key = names.map_or(NONE, |names| names.key(event.session().id, number, text));
                    self.cells[cell][row] = key;
                }
                Take::Text { column, bytes, cell } => {
                    let run = event.run(*param);
                    let (length, bytes) = match std::str::from_utf8(run) {
                        Ok(_) => (self.add_run(column, run), NONE),
                        Err(_) => {
                            let text = String::from_utf8_lossy(run);
                            (self.add_run(column, text.as_bytes()), self.add_run(bytes, run))
                        }
                    };
                    self.cells[own][row] = length;
                    self.cells[cell][row] = bytes;
                }
                Take::Bytes { column } => {
                    self.cells[own][row] = self.add_run(column, event.run(*param));
                }
                Take::List { column, names, numbers } => {
                    let Some(Value::Array(array)) = event.value(*param) else { continue };
                    self.cells[own][row] = array.len() as u64;
                    self.run_bytes += array.len() * 8;
                    for value in array {
                        let bits = bits(&value);
                        if let Some((items, _)) = self.columns[column].items() {
                            items.data.push_bits(std::iter::once(bits));
                        }
                        let Some((items, Some(of))) = names.and_then(|names| self.columns[names].items())
                        else {
                            continue;
                        };
                        let key = match (&value, numbers) {
                            (Value::Named(named), _) => of.key(0, bits, || name(bits, named.ty()?)),
                            (_, Some(numbers)) => {
                                let text = || event.session().labels.string_of(numbers, bits);
                                of.key(event.session().id, bits, text)
                            }
                            _ => NONE,
                        };
                        items.push_key(key);
                    }
                }
            }
        }
    }

    /// Adds the bytes of a row to a column. Returns their number.
    fn add_run(&mut self, column: usize, run: &[u8]) -> u64 {
        if let Data::Runs(runs) = &mut self.columns[column].data {
            runs.bytes.extend_from_slice(run);
        }
        self.run_bytes += run.len();
        run.len() as u64
    }
}

/// Returns the bits of a number.
fn bits(value: &Value<'_>) -> u64 {
    match *value {
        Value::F32(x) => x.to_bits().into(),
        Value::F64(x) => x.to_bits(),
        _ => value.as_i128().unwrap_or_default() as u64,
    }
}
