//! The forms of an answer: columns of text, comma-separated values, or JSON.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};

use crate::program::cells::{Cells, json_text};
use crate::term::ended::Failure;
use crate::term::output::Output;
use crate::text::csv;

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Csv,
    Json,
}

/// The rows that decide the widths of columns of text. Later rows may be wider.
const MEASURED: usize = 1000;

/// Appends rows in a form.
pub(crate) struct Printer {
    form: Form,
    schema: SchemaRef,
    /// By column: the name of a member in JSON, with its punctuation.
    members: Vec<Vec<u8>>,
    is_begun: bool,
    /// The first rows of text, while they are measured.
    waiting: Vec<Vec<String>>,
    widths: Vec<usize>,
}

impl Printer {
    pub(crate) fn new(form: Form, schema: &SchemaRef) -> Printer {
        let member = |name: &String| {
            let mut member = Vec::new();
            json_text(&mut member, name);
            member.push(b':');
            member
        };
        let names = schema.fields().iter().map(|field| field.name());
        Printer {
            form,
            schema: Arc::clone(schema),
            members: names.clone().map(member).collect(),
            is_begun: false,
            waiting: Vec::new(),
            widths: names.map(|name| width(name)).collect(),
        }
    }

    /// Writes all rows of a batch.
    pub(crate) fn batch(&mut self, output: &mut Output, batch: &RecordBatch) -> Result<(), Failure> {
        let cells = Cells::of(batch);
        for row in 0..batch.num_rows() {
            let out = output.buffer();
            match self.form {
                Form::Text => self.text(out, &cells, row),
                Form::Csv => self.csv(out, &cells, row),
                Form::Json => self.json(out, &cells, row),
            }
            output.relieve()?;
        }
        Ok(())
    }

    /// Appends what is left after the last row.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        match self.form {
            Form::Text => self.release(out),
            Form::Csv => self.head(out),
            Form::Json => {}
        }
    }

    fn text(&mut self, out: &mut Vec<u8>, cells: &Cells, row: usize) {
        let line: Vec<String> = (0..self.widths.len()).map(|column| cells.text(column, row)).collect();
        for (most, cell) in self.widths.iter_mut().zip(&line) {
            *most = width(cell).max(*most);
        }
        if self.is_begun {
            return self.line(out, &line);
        }
        self.waiting.push(line);
        if self.waiting.len() == MEASURED {
            self.release(out);
        }
    }

    /// Appends the first rows of text, below the names of the columns.
    fn release(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let names: Vec<String> = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        self.line(out, &names);
        for line in std::mem::take(&mut self.waiting) {
            self.line(out, &line);
        }
    }

    fn line(&self, out: &mut Vec<u8>, cells: &[String]) {
        let mut line = String::new();
        for ((cell, most), field) in cells.iter().zip(&self.widths).zip(self.schema.fields()) {
            let padding = " ".repeat(most.saturating_sub(width(cell)));
            line += if line.is_empty() { "" } else { "  " };
            line += &match is_number(field.data_type()) {
                true => padding + cell,
                false => cell.clone() + &padding,
            };
        }
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }

    /// Appends the line of names, unless it was appended before.
    fn head(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        for (column, field) in self.schema.fields().iter().enumerate() {
            out.extend_from_slice(if column > 0 { b"," } else { b"" });
            csv::field(out, field.name().as_bytes());
        }
        out.push(b'\n');
    }

    fn csv(&mut self, out: &mut Vec<u8>, cells: &Cells, row: usize) {
        self.head(out);
        for column in 0..self.members.len() {
            out.extend_from_slice(if column > 0 { b"," } else { b"" });
            cells.csv(out, column, row);
        }
        out.push(b'\n');
    }

    fn json(&self, out: &mut Vec<u8>, cells: &Cells, row: usize) {
        out.push(b'{');
        for (column, member) in self.members.iter().enumerate() {
            out.extend_from_slice(if column > 0 { b"," } else { b"" });
            out.extend_from_slice(member);
            cells.json(out, column, row);
        }
        out.extend_from_slice(b"}\n");
    }
}

/// Returns true if values of a type are aligned to the right.
fn is_number(ty: &DataType) -> bool {
    ty.is_numeric()
}

fn width(cell: &str) -> usize {
    console::measure_text_width(cell)
}
