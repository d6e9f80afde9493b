//! The plan for making rows of an event type of one version. It has what follows from the registry,
//! looked up once.

use std::sync::Arc;

use telemetry_decode::names::Numbers;
use telemetry_schema::{Count, Param, Registry, Sort, Type};

use crate::model::column::{ColumnType, Common};
use crate::model::place::{ParamPlace, Place};
use crate::model::table::Table;

/// The number of cells of the common columns. Those of the parameters follow, one for each, and
/// then further ones.
pub(crate) const COMMON_CELLS: usize = Common::ALL.len();

/// The plan of an event type.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Index of the table.
    pub(crate) table: usize,
    /// The number of cells of a row.
    pub(crate) cells: usize,
    /// The steps for parameters that need more than their bits in a cell.
    pub(crate) steps: Vec<Step>,
    /// By column: the origin of its rows.
    pub(crate) fills: Vec<Fill>,
}

/// A step for a parameter, made when the event is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Index of the parameter.
    pub(crate) param: usize,
    pub(crate) take: Take,
}

/// The values that a step takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Take {
    /// The string of a number: its key goes to a cell.
    Name { numbers: Numbers, column: usize, cell: usize },
    /// A text: its length goes to the parameter's cell. The length of its bytes goes to `cell` if
    /// they are not UTF-8.
    Text { column: usize, bytes: usize, cell: usize },
    /// Bytes: their number goes to the parameter's cell.
    Bytes { column: usize },
    /// An array: the number of its items goes to the parameter's cell.
    List { column: usize, names: Option<usize>, numbers: Option<Numbers> },
}

/// The origin of a column's rows.
#[derive(Debug, Clone)]
pub(crate) enum Fill {
    /// The caller does not need the column, which stays empty.
    Unwanted,
    /// The version does not have the column.
    Missing,
    /// The bits in a cell.
    Bits(usize),
    /// The bits in a cell, where [`NONE`] is no value.
    BitsOrNone(usize),
    /// The lengths in a cell, of rows whose bytes or items are in the column already. [`NONE`] is
    /// no value.
    Lengths(usize),
    /// The names of the numbers in a cell.
    Names { cell: usize, ty: Arc<Type> },
}

/// A cell without a value.
pub(crate) const NONE: u64 = u64::MAX;

impl Plan {
    /// Makes the plan of an event type by its index in a registry.
    pub(crate) fn new(registry: &Registry, event: usize, place: &Place, table: &Table) -> Plan {
        let mut plan = Plan {
            table: place.table,
            cells: COMMON_CELLS,
            steps: Vec::new(),
            fills: vec![Fill::Missing; table.columns.len()],
        };
        for (cell, common) in Common::ALL.into_iter().enumerate() {
            let is_known = common != Common::Position;
            plan.fills[cell] = if is_known { Fill::Bits(cell) } else { Fill::BitsOrNone(cell) };
        }
        let Some(event) = registry.events.get(event) else { return plan };
        plan.cells += event.params.len();
        for (index, (param, place)) in event.params.iter().zip(&place.params).enumerate() {
            plan.add(registry, (index, param), *place, table);
        }
        plan
    }

    /// Leaves out the columns that are not wanted, by their indices.
    pub(crate) fn keep(&mut self, is_wanted: impl Fn(usize) -> bool) {
        for (column, fill) in self.fills.iter_mut().enumerate() {
            if !is_wanted(column) {
                *fill = Fill::Unwanted;
            }
        }
        self.steps.retain(|step| match step.take {
            Take::Name { column, .. } | Take::Bytes { column } => is_wanted(column),
            Take::Text { column, bytes, .. } => is_wanted(column) || is_wanted(bytes),
            Take::List { column, names, .. } => is_wanted(column) || names.is_some_and(&is_wanted),
        });
    }

    fn add(
        &mut self,
        registry: &Registry,
        (index, param): (usize, &Param),
        place: ParamPlace,
        table: &Table,
    ) {
        let (own, column) = (COMMON_CELLS + index, place.value);
        let numbers = numbers(registry, param);
        self.fills[column] = Fill::Lengths(own);
        let take = if param.count != Count::One {
            if let Some(names) = place.names {
                self.fills[names] = Fill::Lengths(own);
            }
            Take::List { column, names: place.names, numbers }
        } else if table.columns[column].ty == ColumnType::Utf8 {
            let (cell, bytes) = (self.cell(), place.bytes.unwrap_or(column));
            self.fills[bytes] = Fill::Lengths(cell);
            Take::Text { column, bytes, cell }
        } else if table.columns[column].ty == ColumnType::Binary {
            Take::Bytes { column }
        } else {
            self.fills[column] = Fill::Bits(own);
            match (place.names, registry.ty(param.sort), numbers) {
                (Some(names), Some(ty), _) => {
                    let ty = Arc::new(ty.clone());
                    self.fills[names] = Fill::Names { cell: own, ty };
                    return;
                }
                (Some(names), None, Some(numbers)) => {
                    let cell = self.cell();
                    self.fills[names] = Fill::BitsOrNone(cell);
                    Take::Name { numbers, column: names, cell }
                }
                _ => return,
            }
        };
        self.steps.push(Step { param: index, take });
    }

    /// Adds a cell to the row.
    fn cell(&mut self) -> usize {
        self.cells += 1;
        self.cells - 1
    }
}

/// Returns the space of a parameter's numbers, if they stand for strings.
fn numbers(registry: &Registry, param: &Param) -> Option<Numbers> {
    let is_marked = !param.numbers.is_empty() && param.has_numbers();
    let marked = || is_marked.then(|| Numbers::of(&registry.name, param.number_space()));
    match param.sort {
        Sort::Label => Some(Numbers::LABELS),
        Sort::Pointer | Sort::Addr | Sort::F32 | Sort::F64 | Sort::Bool => None,
        Sort::String | Sort::Bytes | Sort::Named(_) => None,
        Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => marked(),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => marked(),
    }
}
