//! Columns of text.

/// Rows of cells. Each column is as wide as its widest cell.
pub(crate) struct Table {
    /// The number of columns with words, from the left. The others have numbers, which are aligned
    /// to the right.
    words: usize,
    /// The last column has words too.
    words_last: bool,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(words: usize, head: &[&str]) -> Self {
        Table { words, words_last: false, rows: vec![head.iter().map(|cell| cell.to_string()).collect()] }
    }

    /// Aligns the last column to the left too.
    pub(crate) fn with_words_last(self) -> Self {
        Table { words_last: true, ..self }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Appends an empty line and the table, if the table has rows.
    pub(crate) fn append_if_any(&self, out: &mut Vec<u8>) {
        if self.rows.len() > 1 {
            out.push(b'\n');
            self.append(out, 0);
        }
    }

    /// Appends the table, each line after `indent` spaces.
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
                let is_words = column < self.words || self.words_last && column + 1 == columns;
                line += &if is_words { format!("{cell}{padding}") } else { format!("{padding}{cell}") };
            }
            out.extend_from_slice(line.trim_end().as_bytes());
            out.push(b'\n');
        }
    }
}

fn width(cell: &str) -> usize {
    console::measure_text_width(cell)
}
