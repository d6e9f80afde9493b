//! A series in the form of `telemetry census --json`.

use std::cmp::Reverse;

use serde::Serialize;

use super::counted::{Amounts, OTHERS, Series};

/// A series, as `telemetry census --json` prints it.
#[derive(Debug, Serialize)]
pub struct Shape {
    /// What is counted.
    pub census: String,
    /// Its name.
    pub registry: String,
    /// 16 hexadecimal digits.
    pub session: String,
    /// Of the amounts; may be empty.
    pub unit: String,
    /// The number of censuses.
    pub count: u64,
    /// Those with most first.
    pub classes: Vec<ClassShape>,
    /// All that are not listed.
    pub others: Option<ClassShape>,
    /// All classes.
    pub total: ClassShape,
}

/// What there was of a class.
#[derive(Debug, Serialize)]
pub struct ClassShape {
    /// Its name.
    pub class: String,
    /// Over all censuses.
    pub mean: u64,
    /// In one census. Unknown of others: the sums of their amounts at each time are not kept.
    pub most: Option<u64>,
    /// The time of the census with most, since the session's start.
    pub most_at_ns: Option<i64>,
    /// In the last census.
    pub last: u64,
}

impl Shape {
    /// Returns the shape of a series, with at most `limit` classes.
    pub fn new(series: &Series, limit: usize) -> Shape {
        let mut classes: Vec<_> = series.classes.iter().collect();
        classes.sort_by_key(|(class, amounts)| (Reverse(amounts.sum), class.as_str()));
        let rest = classes.split_off(limit.min(classes.len()));
        let class = |class: &str, amounts: &Amounts| ClassShape::new(class, amounts, series.censuses);
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
                ClassShape { most: None, most_at_ns: None, ..class(OTHERS, &others) }
            }),
            total: class("total", &series.total),
        }
    }
}

impl ClassShape {
    fn new(class: &str, amounts: &Amounts, censuses: u64) -> ClassShape {
        let mean = amounts.sum / u128::from(censuses.max(1));
        ClassShape {
            class: class.to_string(),
            mean: u64::try_from(mean).unwrap_or(u64::MAX),
            most: Some(amounts.most),
            most_at_ns: Some(amounts.most_at_ns),
            // A class that is not in the last census has nothing there.
            last: if amounts.last.1 == censuses { amounts.last.0 } else { 0 },
        }
    }
}
