//! Censuses as text, JSON and CSV.

use std::io::Write;

use serde::Serialize;
use telemetry_report::census::{Counted, Shape, Whole};

use crate::input::verdict::Verdict;
use crate::text::table::Table;
use crate::text::{csv, escaped_text, grouped, signed_grouped};

/// The first line of comma-separated values.
pub(super) const CSV_HEAD: &str = "census,session,time_ns,class,value\n";

/// All that the command shows; docs/census.md describes the JSON form.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    version: u32,
    censuses: Vec<Shape>,
    completeness: &'a Verdict,
}

impl<'a> Shown<'a> {
    pub(super) fn new(counted: &Counted, limit: usize, completeness: &'a Verdict) -> Shown<'a> {
        let censuses = counted.series.iter().map(|series| Shape::new(series, limit));
        Shown { version: 1, censuses: censuses.collect(), completeness }
    }

    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        for (at, shape) in self.censuses.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            let unit = if shape.unit.is_empty() { String::new() } else { format!(" in {}", shape.unit) };
            let session =
                if self.censuses.len() > 1 { format!(", session {}", shape.session) } else { String::new() };
            let number = number(shape.count);
            let line = format!("{} of {}{unit}: {number}{session}\n", shape.census, shape.registry);
            out.extend_from_slice(line.as_bytes());
            let mut table = Table::new(1, &["class", "mean", "most", "at", "last"]);
            for class in shape.classes.iter().chain(&shape.others).chain([&shape.total]) {
                let numbers = [
                    grouped(class.mean),
                    class.most.map_or("-".to_string(), grouped),
                    class.most_at_ns.map_or("-".to_string(), signed_grouped),
                    grouped(class.last),
                ];
                table.row([escaped_text(&class.class)].into_iter().chain(numbers));
            }
            table.append(out, 0);
        }
    }
}

/// Returns a number of censuses in words.
pub(super) fn number(number: u64) -> String {
    format!("{} {}", grouped(number), if number == 1 { "census" } else { "censuses" })
}

/// Appends a line for each class of a census.
pub(super) fn append_csv(out: &mut Vec<u8>, whole: &Whole) {
    let Whole { what, session, time_ns, amounts } = whole;
    for (class, value) in amounts {
        // Writing to memory cannot fail.
        let _ = write!(out, "{what},{session:016x},{time_ns},");
        csv::field(out, class.as_bytes());
        let _ = writeln!(out, ",{value}");
    }
}
