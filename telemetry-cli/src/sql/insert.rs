//! Rows for a table: gathered, and inserted many at a time.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use super::tables::quoted;

/// Rows per statement. Most of a row's cost is the statement. Measured with 9 columns: 310 to 420
/// ns a row with 1 row at a time, 165 to 180 with 32, and the same with 64.
const ROWS: usize = 32;

/// With this many bytes of text, rows do not wait for others.
const MAX_WAITING_BYTES: usize = 256 << 10;

/// Inserts rows for one form of an event.
pub(super) struct Insert<'c> {
    connection: &'c Connection,
    /// Inserts one row, or many rows. The latter is prepared at its first use.
    one: Statement<'c>,
    many: Option<Statement<'c>>,
    /// `INSERT INTO … VALUES `, and the values of a row.
    into: String,
    row: String,
    columns: usize,
    cells: Vec<Cell>,
    /// Texts and blobs of the cells.
    bytes: Vec<u8>,
    /// Rows so far.
    pub(super) rows: u64,
}

/// One value of a row.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Start and end in the bytes.
    Text(u32, u32),
    Blob(u32, u32),
}

impl<'c> Insert<'c> {
    /// Prepares rows of these columns, some with a constant value. In the order of the table's own
    /// columns, SQLite makes the row in place. In any other order it copies each value once more.
    pub(super) fn new(
        connection: &'c Connection,
        table: &str,
        columns: &[(&str, Option<i64>)],
    ) -> rusqlite::Result<Self> {
        let names: Vec<_> = columns.iter().map(|(name, _)| quoted(name)).collect();
        let values =
            columns.iter().map(|(_, fixed)| fixed.map_or("?".to_string(), |value| value.to_string()));
        let row = format!("({})", values.collect::<Vec<_>>().join(","));
        let into = format!("INSERT INTO {} ({}) VALUES ", quoted(table), names.join(","));
        let one = connection.prepare(&format!("{into}{row}"))?;
        let columns = columns.iter().filter(|(_, fixed)| fixed.is_none()).count();
        let cells = Vec::with_capacity(ROWS * columns);
        Ok(Insert { connection, one, many: None, into, row, columns, cells, bytes: Vec::new(), rows: 0 })
    }

    #[inline]
    pub(super) fn null(&mut self) {
        self.cells.push(Cell::Null);
    }

    #[inline]
    pub(super) fn integer(&mut self, number: i64) {
        self.cells.push(Cell::Integer(number));
    }

    #[inline]
    pub(super) fn real(&mut self, number: f64) {
        self.cells.push(Cell::Real(number));
    }

    /// Adds text, which must be UTF-8.
    #[inline]
    pub(super) fn text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        let (from, until) = self.append(append);
        self.cells.push(Cell::Text(from, until));
    }

    #[inline]
    pub(super) fn blob(&mut self, bytes: &[u8]) {
        let (from, until) = self.append(|all| all.extend_from_slice(bytes));
        self.cells.push(Cell::Blob(from, until));
    }

    fn append(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> (u32, u32) {
        let from = self.bytes.len() as u32;
        append(&mut self.bytes);
        (from, self.bytes.len() as u32)
    }

    /// Discards an incomplete row.
    pub(super) fn undo_row(&mut self) {
        self.cells.truncate(self.cells.len() / self.columns * self.columns);
    }

    /// Ends a row.
    #[inline]
    pub(super) fn end_row(&mut self) -> rusqlite::Result<()> {
        self.rows += 1;
        if self.cells.len() < ROWS * self.columns && self.bytes.len() < MAX_WAITING_BYTES {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Inserts the waiting rows.
    #[cold]
    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        let Insert { connection, one, many, into, row, columns, cells, bytes, .. } = self;
        if cells.len() == ROWS * *columns {
            let many = match many {
                Some(many) => many,
                None => {
                    many.insert(connection.prepare(&format!("{into}{}", vec![row.as_str(); ROWS].join(",")))?)
                }
            };
            execute(many, cells, bytes)?;
        } else {
            for row in cells.chunks_exact(*columns) {
                execute(one, row, bytes)?;
            }
        }
        cells.clear();
        bytes.clear();
        Ok(())
    }
}

fn execute(statement: &mut Statement<'_>, cells: &[Cell], bytes: &[u8]) -> rusqlite::Result<()> {
    let run = |from: u32, until: u32| bytes.get(from as usize..until as usize).unwrap_or_default();
    for (index, cell) in cells.iter().enumerate() {
        let index = index + 1;
        match *cell {
            Cell::Integer(number) => statement.raw_bind_parameter(index, number)?,
            Cell::Real(number) => statement.raw_bind_parameter(index, number)?,
            Cell::Null => statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(ValueRef::Null))?,
            Cell::Text(from, until) => {
                statement
                    .raw_bind_parameter(index, ToSqlOutput::Borrowed(ValueRef::Text(run(from, until))))?;
            }
            Cell::Blob(from, until) => {
                statement
                    .raw_bind_parameter(index, ToSqlOutput::Borrowed(ValueRef::Blob(run(from, until))))?;
            }
        }
    }
    statement.raw_execute()?;
    Ok(())
}
