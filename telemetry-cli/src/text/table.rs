//! Columns of text.

/// Rows of cells. Each column is as wide as its widest cell.
pub(crate) struct Table {
    /// The number of columns with words, from the left. The others have numbers, which are aligned
    /// to the right.
    words: usize,
    /// The last column has words too.
    words_last: bool,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(words: usize, head: &[&str]) -> Self {
        Table { words, words_last: false, rows: vec![Row::new(head.iter().map(|cell| cell.to_string()))] }
    }

    /// Aligns the last column to the left too.
    pub(crate) fn with_words_last(self) -> Self {
        Table { words_last: true, ..self }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row::new(cells));
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
        let mut widths = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.ends.len()), 0);
            row.cells().zip(&mut widths).for_each(|(cell, most)| *most = width(cell).max(*most));
        }
        let columns = widths.len();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, cell) in row.cells().enumerate() {
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

/// The cells of a line, in one text: a table may have 100,000 lines.
struct Row {
    text: String,
    ends: Box<[u32]>,
}

impl Row {
    fn new(cells: impl IntoIterator<Item = String>) -> Row {
        let mut text = String::new();
        let add = |cell: String| {
            text += &cell;
            text.len() as u32
        };
        let ends = cells.into_iter().map(add).collect();
        Row { text, ends }
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start as usize..*end as usize])
    }
}

fn width(cell: &str) -> usize {
    console::measure_text_width(cell)
}
