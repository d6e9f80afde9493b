//! Events into batches.

use std::collections::HashMap;

use telemetry_decode::{Event, KnownRegistry};

use crate::batch::plan::Plan;
use crate::batch::stage::{Limits, Stage};
use crate::batch::table_batch::Batch;
use crate::model::tables::Tables;

/// The rows of a batch, and the bytes of its texts, bytes and lists, unless the caller chooses.
const MAX_ROWS: usize = 64 << 10;
const MAX_BYTES: usize = 8 << 20;

/// When the rows of all tables take this much memory, the largest table gives a batch.
const MAX_HELD: usize = 64 << 20;

/// The memory for the latest rows of all tables. A registry can have many event types of which each
/// occurs rarely.
const MAX_CELLS: usize = 32 << 20;

/// Collects events as rows of tables, and gives them as batches.
///
/// Memory does not grow with the number of events.
#[derive(Debug)]
pub struct Builder {
    tables: Tables,
    limits: Limits,
    /// The names of the columns that are filled; all without it.
    wanted: Option<Vec<String>>,
    /// The plans of all events of the registries, one registry after the other.
    plans: Vec<Plan>,
    /// By fingerprint: the index of the registry's first plan.
    firsts: HashMap<u64, usize>,
    /// The registry of the last event, and the index of its first plan.
    last: Option<(u64, usize)>,
    /// By table.
    stages: Vec<Stage>,
    /// The memory of the cells of all stages.
    cell_bytes: usize,
    /// The number of tables that have given their last batches.
    finished: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new(Tables::default())
    }
}

impl Builder {
    /// Makes a builder for these tables. An event of a further registry adds the tables of that.
    pub fn new(tables: Tables) -> Builder {
        let limits = Limits { rows: MAX_ROWS, bytes: MAX_BYTES };
        Builder {
            tables,
            limits,
            wanted: None,
            plans: Vec::new(),
            firsts: HashMap::new(),
            last: None,
            stages: Vec::new(),
            cell_bytes: 0,
            finished: 0,
        }
    }

    /// Sets the most rows of a batch; 65,536 without it.
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Builder {
        self.limits.rows = rows.max(1);
        self
    }

    /// Sets the bytes of texts, bytes and lists after which a batch ends; 8 MiB without it.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Builder {
        // Offsets of rows have 31 bits.
        self.limits.bytes = bytes.clamp(1, 1 << 28);
        self
    }

    /// Fills only the columns of these names, in each table. This is faster. The other columns of a
    /// batch lack rows, so they must not be read.
    #[must_use]
    pub fn only(mut self, columns: impl IntoIterator<Item: Into<String>>) -> Builder {
        self.wanted = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Returns the tables, with those of all registries so far.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Adds an event. Returns a batch if one is complete; it may be that of another table.
    #[inline(always)]
    pub fn push(&mut self, event: &Event<'_>) -> Option<Batch> {
        let known = event.known_registry();
        let first = match self.last {
            Some((last, first)) if last == known.fingerprint => first,
            _ => self.enter(known),
        };
        let number = first + event.index();
        let plan = self.plans.get(number)?;
        let mut stage = self.stages.get_mut(plan.table)?;
        if !stage.has_plan(number) {
            let cell_bytes = &mut self.cell_bytes;
            change_plan(&mut self.stages, plan.table, number, &self.plans, self.limits, cell_bytes);
            stage = self.stages.get_mut(plan.table)?;
        }
        match stage.push(event, plan, self.limits) {
            false => None,
            true => self.settle(number),
        }
    }

    /// Returns the next of the last batches, after all events; `None` at the end.
    pub fn finish(&mut self) -> Option<Batch> {
        while self.finished < self.stages.len() {
            self.finished += 1;
            let batch = self.take(self.finished - 1, false);
            if batch.is_some() {
                return batch;
            }
        }
        self.finished = 0;
        None
    }

    /// Takes back a batch that is no longer needed. The next batch of the table uses its memory.
    pub fn reuse(&mut self, batch: Batch) {
        if let Some(stage) = self.stages.iter_mut().find(|stage| stage.is_of(&batch)) {
            stage.reuse(batch);
        }
    }

    /// Moves the staged rows of a plan's table to its columns.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, plan: usize) -> Option<Batch> {
        let table = self.plans.get(plan)?.table;
        let is_full = self.stages.get_mut(table)?.settle(&self.plans, self.limits);
        if is_full {
            return self.take(table, self.held() <= MAX_HELD);
        }
        // Some tables only hold memory for their next rows.
        while self.held() > MAX_HELD {
            let largest = (0..self.stages.len()).max_by_key(|table| self.stages[*table].held)?;
            let batch = self.take(largest, false);
            if batch.is_some() {
                return batch;
            }
        }
        None
    }

    /// Takes the rows of a table, and keeps memory for the next ones or releases it.
    fn take(&mut self, table: usize, keeps: bool) -> Option<Batch> {
        self.stages.get_mut(table)?.finish(&self.plans, self.limits, keeps)
    }

    /// Returns the memory of the rows of all tables.
    fn held(&self) -> usize {
        self.stages.iter().map(|stage| stage.held).sum()
    }

    /// Changes to another registry. Returns the index of its first plan.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, known: &KnownRegistry) -> usize {
        let first = match self.firsts.get(&known.fingerprint) {
            Some(first) => *first,
            None => self.add(known),
        };
        self.last = Some((known.fingerprint, first));
        first
    }

    fn add(&mut self, known: &KnownRegistry) -> usize {
        self.tables.add(known);
        for (stage, table) in self.stages.iter_mut().zip(self.tables.iter()) {
            stage.widen(table, &self.plans);
        }
        for index in self.stages.len()..self.tables.len() {
            self.stages.push(Stage::new(self.tables.get(index), self.limits));
        }
        let first = self.plans.len();
        let places = self.tables.places(known.fingerprint).cloned();
        for (event, place) in places.iter().flat_map(|places| places.iter()).enumerate() {
            let table = self.tables.get(place.table);
            let mut plan = Plan::new(&known.registry, event, place, table);
            if let Some(wanted) = &self.wanted {
                plan.keep(|column| wanted.contains(&table.columns[column].name));
            }
            self.plans.push(plan);
        }
        self.firsts.insert(known.fingerprint, first);
        first
    }
}

/// Prepares a table for rows of another event type or version. Its cells take memory, so those of
/// the other tables are released if all have much.
#[cold]
#[inline(never)]
fn change_plan(
    stages: &mut [Stage],
    table: usize,
    plan: usize,
    plans: &[Plan],
    limits: Limits,
    cell_bytes: &mut usize,
) {
    let Some(stage) = stages.get_mut(table) else { return };
    let before = stage.cell_bytes();
    stage.change_plan(plan, plans, limits);
    let own = stage.cell_bytes();
    *cell_bytes += own - before;
    if *cell_bytes > MAX_CELLS {
        *cell_bytes = own;
        let others = stages.iter_mut().enumerate().filter(|(other, _)| *other != table);
        others.for_each(|(_, stage)| stage.release_cells(plans));
    }
}
