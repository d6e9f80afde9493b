//! Columns of text.

/// Rows of cells; columns are as wide as their widest cell.
pub(crate) struct Table {
    /// Number of columns, from the left, that are words; the others are numbers, aligned to the right.
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(words: usize, head: &[&str]) -> Self {
        Table { words, rows: vec![head.iter().map(|cell| cell.to_string()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Appends the table, each line behind `indent` spaces.
    pub(crate) fn append(&self, out: &mut Vec<u8>, indent: usize) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> =
            (0..columns).map(|column| cells(column).map(|cell| width(cell)).max().unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, cell) in row.iter().enumerate() {
                let padding = " ".repeat(widths[column] - width(cell));
                line += if column == 0 { "" } else { "  " };
                line += &if column < self.words {
                    format!("{cell}{padding}")
                } else {
                    format!("{padding}{cell}")
                };
            }
            out.extend_from_slice(line.trim_end().as_bytes());
            out.push(b'\n');
        }
    }
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}
