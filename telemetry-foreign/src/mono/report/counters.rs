//! Performance counters and their last values.

use telemetry_decode::counters::{INT, INTERVAL, LONG, TIME, UINT, ULONG, section};

use super::listed::Listed;
use crate::mono::decode::Item;
use crate::mono::text::Text;
use crate::mono::what::What;

/// The counters in the report without details.
const SHOWN: [&str; 14] = [
    "Methods from AOT",
    "Methods JITted using mono JIT",
    "Methods JITted using LLVM",
    "Total time spent JITting (sec)",
    "User Time",
    "System Time",
    "Total Time",
    "Working Set",
    "Private Bytes",
    "Virtual Bytes",
    "Page Faults",
    "CPU Load Average - 1min",
    "CPU Load Average - 5min",
    "CPU Load Average - 15min",
];

/// All counters, by their number.
#[derive(Default)]
pub(super) struct Counters(Listed<Option<Counter>>);

struct Counter {
    section: Vec<u8>,
    name: Vec<u8>,
    value_type: u64,
    unit: u64,
    value: Option<Value>,
}

enum Value {
    Number(u64),
    Real(f64),
    Text(Option<Vec<u8>>),
}

impl Counters {
    /// Returns the approximate number of bytes that the counters take, without texts.
    pub(super) fn taken(&self) -> usize {
        self.0.taken()
    }

    pub(super) fn define(&mut self, item: &Item<'_>) {
        let section = match section(item.value(0)) {
            Some(name) => name.as_bytes().to_vec(),
            None => item.text(1).to_vec(),
        };
        let (value_type, unit) = (item.value(3), item.value(4));
        let name = item.text(2).to_vec();
        let counter = self.0.of(item.value(6));
        counter.get_or_insert(Counter { section, name, value_type, unit, value: None });
    }

    pub(super) fn value(&mut self, item: &Item<'_>) {
        let Some(counter) = self.0.of(item.value(0)) else { return };
        counter.value = Some(match item.what {
            What::CounterReal => Value::Real(f64::from_bits(item.value(1))),
            What::CounterText => Value::Text((item.value(1) != 0).then(|| item.text(2).to_vec())),
            _ => {
                let before = if let Some(Value::Number(before)) = counter.value { before } else { 0 };
                Value::Number(before.wrapping_add(item.value(2)))
            }
        });
    }

    /// Appends the last values by section: of all counters, or of the most important ones.
    pub(super) fn print(&self, shows_all: bool, out: &mut Vec<u8>) {
        out.text("\nCounters:\n");
        let shown = |counter: &&Counter| {
            let is_shown = shows_all || SHOWN.iter().any(|name| name.as_bytes() == counter.name);
            is_shown && counter.value.is_some()
        };
        let counters = || self.0.all.iter().filter_map(|(_, counter)| counter.as_ref());
        let mut sections = Listed::<Vec<&Counter>>::default();
        let mut names = hashbrown::HashMap::new();
        for counter in counters() {
            let next = names.len() as u64;
            let number = *names.entry(&counter.section).or_insert(next);
            sections.of(number).extend(Some(counter).filter(shown));
        }
        for (_, counters) in &sections.all {
            let Some(first) = counters.first() else { continue };
            out.text("\t").bytes(&first.section).text(":\n");
            for counter in counters {
                let name = String::from_utf8_lossy(&counter.name);
                out.text(&format!("\t\t{name:<30} : "));
                counter.print(out);
                out.text("\n");
            }
        }
    }
}

impl Counter {
    fn print(&self, out: &mut Vec<u8>) {
        match (&self.value, self.value_type) {
            (Some(Value::Number(number)), INT) => out.signed((*number as i32).into()),
            (Some(Value::Number(number)), UINT) => out.decimal(u64::from(*number as u32)),
            (Some(Value::Number(number)), ULONG) => out.decimal(*number),
            (Some(Value::Number(number)), LONG) if self.unit == TIME => {
                out.text(&format!("{:.3}ms", *number as i64 as f64 / 10_000.0))
            }
            (Some(Value::Number(number)), INTERVAL) => {
                out.text(&format!("{:.3}ms", *number as i64 as f64 / 1_000.0))
            }
            (Some(Value::Number(number)), _) => out.decimal(u64::from(*number as u32)),
            (Some(Value::Real(value)), _) => out.text(&format!("{value:.6}")),
            (Some(Value::Text(Some(text))), _) => out.bytes(text),
            (Some(Value::Text(None)) | None, _) => out.text("<null>"),
        };
    }
}
