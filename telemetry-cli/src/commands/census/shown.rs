//! Censuses as text, JSON and CSV.

use std::cmp::Reverse;
use std::io::Write;

use serde::Serialize;

use super::counted::{Amounts, Counted, OTHERS, Series, Whole};
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

#[derive(Serialize)]
struct Shape {
    census: String,
    registry: String,
    session: String,
    unit: String,
    count: u64,
    /// Those with most first.
    classes: Vec<Class>,
    /// All that are not listed.
    others: Option<Class>,
    total: Class,
}

#[derive(Serialize)]
struct Class {
    class: String,
    mean: u64,
    /// Unknown of others: the sums of their amounts at each time are not kept.
    most: Option<u64>,
    most_at_ns: Option<i64>,
    last: u64,
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

impl Shape {
    fn new(series: &Series, limit: usize) -> Shape {
        let mut classes: Vec<_> = series.classes.iter().collect();
        classes.sort_by_key(|(class, amounts)| (Reverse(amounts.sum), class.as_str()));
        let rest = classes.split_off(limit.min(classes.len()));
        let class = |class: &str, amounts: &Amounts| Class::new(class, amounts, series.censuses);
        Shape {
            census: series.what.clone(),
            registry: series.registry.clone(),
            session: format!("{:016x}", series.session),
            unit: series.unit.clone(),
            count: series.censuses,
            classes: classes.into_iter().map(|(name, amounts)| class(name, amounts)).collect(),
            others: (!rest.is_empty()).then(|| {
                let mut others = Amounts::default();
                for (_, amounts) in rest {
                    others.sum += amounts.sum;
                    others.last.0 += if amounts.last.1 == series.censuses { amounts.last.0 } else { 0 };
                }
                others.last.1 = series.censuses;
                Class { most: None, most_at_ns: None, ..class(OTHERS, &others) }
            }),
            total: class("total", &series.total),
        }
    }
}

impl Class {
    fn new(class: &str, amounts: &Amounts, censuses: u64) -> Class {
        let mean = amounts.sum / u128::from(censuses.max(1));
        Class {
            class: class.to_string(),
            mean: u64::try_from(mean).unwrap_or(u64::MAX),
            most: Some(amounts.most),
            most_at_ns: Some(amounts.most_at_ns),
            // A class that is not in the last census has nothing there.
            last: if amounts.last.1 == censuses { amounts.last.0 } else { 0 },
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
