//! Events as rows, which are copies that any thread can format.

use std::sync::Arc;

use telemetry_decode::{EnumValue, Event, EventBatch, Value};
use telemetry_report::figures::keyed::{PerEvent, PerThread};
use telemetry_schema::{Sort, Type};

use super::table::{Style, Tables};
use crate::text::csv;
use crate::text::date::Moments;
use crate::text::signed_decimal;

/// The rows of a job, and the bytes of their texts, after which it is complete.
const MAX_ROWS: usize = 4096;
const MAX_BYTES: usize = 256 << 10;

/// The most memory that the lines of a job leave to those of another one.
const MAX_SPARE: usize = 4 << 20;

/// The numbers of a row before its fields: the indices of its style and its thread, the time since
/// the session's start, and the date.
const COMMON: usize = 4;

/// The rows of a job.
#[derive(Default)]
pub(super) struct Rows {
    len: usize,
    /// The numbers of each row. A field is the bits of a number, or the length of its text.
    numbers: Vec<u64>,
    /// The texts of fields that are not numbers.
    texts: Vec<u8>,
    styles: Vec<Arc<Style>>,
    /// Session, thread and its name as fields.
    threads: Vec<Arc<Vec<u8>>>,
}

/// The lines of a job by table.
#[derive(Default)]
pub(super) struct Lines {
    /// Those behind `len` are memory for others.
    of_tables: Vec<(usize, Vec<u8>)>,
    len: usize,
}

/// Copies events to rows.
pub(super) struct Copier<'t> {
    tables: &'t Tables,
    /// Events without a table have no style.
    styles: PerEvent<Option<Listed<Style>>>,
    threads: PerThread<Listed<Vec<u8>>>,
    rows: Rows,
    /// Number of earlier jobs.
    job: u64,
    scratch: Vec<u8>,
}

/// A part of a job that rows refer to by its index.
struct Listed<T> {
    made: Arc<T>,
    /// The last job that has it, and its index there.
    last: Option<(u64, u64)>,
}

impl<T> Listed<T> {
    fn new(made: T) -> Listed<T> {
        Listed { made: Arc::new(made), last: None }
    }

    /// Returns the index in the list of a job.
    #[inline]
    fn index(&mut self, job: u64, list: &mut Vec<Arc<T>>) -> u64 {
        match self.last {
            Some((last, index)) if last == job => index,
            _ => {
                list.push(self.made.clone());
                self.last.insert((job, list.len() as u64 - 1)).1
            }
        }
    }
}

impl<'t> Copier<'t> {
    pub(super) fn new(tables: &'t Tables) -> Copier<'t> {
        Copier {
            tables,
            styles: PerEvent::default(),
            threads: PerThread::default(),
            rows: Rows::default(),
            job: 0,
            scratch: Vec::new(),
        }
    }

    /// Begins a job with the memory of another one.
    pub(super) fn begin(&mut self, empty: Rows) {
        self.rows = empty;
    }

    /// Returns true if the job is complete.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len >= MAX_ROWS || self.rows.texts.len() >= MAX_BYTES
    }

    /// Adds events.
    pub(super) fn add(&mut self, batch: &EventBatch<'_>) {
        for row in batch.rows() {
            self.row(&batch.event(&row), |param| row.bits(param));
        }
    }

    /// Takes the rows so far.
    pub(super) fn take(&mut self) -> Rows {
        self.job += 1;
        std::mem::take(&mut self.rows)
    }

    #[inline(always)]
    fn row(&mut self, event: &Event<'_>, bits: impl Fn(usize) -> u64) {
        let Copier { tables, styles, threads, rows, job, scratch } = self;
        let style = styles.get(event, |event| tables.style(event).map(Listed::new));
        let Some(style) = style else { return };
        let thread = threads.get(event, |event| Listed::new(thread(event)));
        let common = [
            style.index(*job, &mut rows.styles),
            thread.index(*job, &mut rows.threads),
            event.time_ns() as u64,
            event.wall_ns() as u64,
        ];
        rows.numbers.extend_from_slice(&common);
        for field in &style.made.fields {
            rows.numbers.push(match field.number {
                Some(_) => bits(field.param),
                None => {
                    let start = rows.texts.len();
                    if let Some(value) = event.value(field.param) {
                        csv::value(&mut rows.texts, event, &value, scratch);
                    }
                    (rows.texts.len() - start) as u64
                }
            });
        }
        rows.len += 1;
    }
}

impl Rows {
    /// Removes all rows, and keeps the memory for others.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.numbers.clear();
        self.texts.clear();
        self.styles.clear();
        self.threads.clear();
    }

    /// Formats the rows.
    pub(super) fn format(&self, lines: &mut Lines) {
        // By style: the index of its table's lines.
        let places: Vec<usize> = self.styles.iter().map(|style| lines.place(style.table)).collect();
        let (mut numbers, mut texts) = (&self.numbers[..], &self.texts[..]);
        // Events that inherit their times have the same.
        let (mut last, mut times, mut moments) = ([0; 2], Vec::new(), Moments::default());
        while let Some((&[style, thread, since, date], rest)) = numbers.split_first_chunk::<COMMON>() {
            let out = &mut lines.of_tables[places[style as usize]].1;
            if last != [since, date] || times.is_empty() {
                last = [since, date];
                times.clear();
                signed_decimal(&mut times, since as i64);
                times.push(b',');
                moments.append(&mut times, date as i64);
            }
            out.extend_from_slice(&times);
            out.extend_from_slice(&self.threads[thread as usize]);
            let style = &self.styles[style as usize];
            out.extend_from_slice(&style.head);
            let fields = &rest[..style.fields.len()];
            for (field, bits) in style.fields.iter().zip(fields) {
                out.extend_from_slice(&field.commas);
                match &field.number {
                    Some((sort, ty)) => number(out, *sort, ty.as_ref(), *bits),
                    None => {
                        let (text, later) = texts.split_at(*bits as usize);
                        out.extend_from_slice(text);
                        texts = later;
                    }
                }
            }
            out.extend_from_slice(&style.tail);
            numbers = &rest[fields.len()..];
        }
    }
}

impl Lines {
    /// Returns the index of a table's lines.
    fn place(&mut self, table: usize) -> usize {
        let used = &self.of_tables[..self.len];
        used.iter().position(|(of, _)| *of == table).unwrap_or_else(|| {
            match self.of_tables.get_mut(self.len) {
                Some(spare) => spare.0 = table,
                None => self.of_tables.push((table, Vec::new())),
            }
            self.len += 1;
            self.len - 1
        })
    }

    /// Passes the lines of each table to a function.
    pub(super) fn each<E>(&self, mut visit: impl FnMut(usize, &[u8]) -> Result<(), E>) -> Result<(), E> {
        self.of_tables[..self.len].iter().try_for_each(|(table, lines)| visit(*table, lines))
    }

    /// Removes all lines, and keeps the memory for others, unless it is unusually much.
    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.of_tables.iter_mut().for_each(|(_, lines)| lines.clear());
        if self.of_tables.iter().map(|(_, lines)| lines.capacity()).sum::<usize>() > MAX_SPARE {
            self.of_tables.clear();
        }
    }
}

/// Appends a number by its bits.
#[inline(always)]
fn number(out: &mut Vec<u8>, sort: Sort, ty: Option<&Type>, bits: u64) {
    csv::number(
        out,
        &match sort {
            Sort::Pointer | Sort::Addr => Value::Addr(bits),
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(bits as i64),
            Sort::F32 => Value::F32(f32::from_bits(bits as u32)),
            Sort::F64 => Value::F64(f64::from_bits(bits)),
            Sort::Bool => Value::Bool(bits != 0),
            Sort::Named(_) => Value::Named(EnumValue::of(bits, ty)),
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::Word => Value::Unsigned(bits),
            Sort::String | Sort::Bytes | Sort::Label => Value::Unsigned(bits),
        },
    );
}

/// Returns the fields of an event's thread.
fn thread(event: &Event<'_>) -> Vec<u8> {
    let mut fields = format!(",{:#018x},{},", event.session().id, event.thread()).into_bytes();
    csv::field(&mut fields, event.thread_name().unwrap_or_default().as_bytes());
    fields
}
