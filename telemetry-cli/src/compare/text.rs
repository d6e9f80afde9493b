//! Differences as tables.

use super::forms::{Difference, Pair, Test, change, number};
use crate::text::table::Table;
use crate::text::{count, grouped, number_text};

impl Difference<'_> {
    /// Appends the tables, and what the stars mean.
    pub(crate) fn append_text(&self, out: &mut Vec<u8>) {
        for (letter, run) in ["A", "B"].iter().zip(&self.runs) {
            let seconds = number_text(&number(run.seconds));
            let events = count(run.events, "event");
            out.extend_from_slice(format!("{letter}: {}: {events} in {seconds} s\n", run.input).as_bytes());
        }
        out.push(b'\n');
        let heads = ["event", "", "A", "B", "change", "A per second", "B per second", "change"];
        let mut events = Table::new(2, &heads);
        for event in &self.events {
            let cells = [event.event.clone(), star(&event.test)].into_iter();
            events.row(cells.chain(three(&event.count)).chain(three(&event.per_second)));
        }
        events.append(out, 0);

        let heads = [
            "span",
            "",
            "A",
            "B",
            "change",
            "A p50 ns",
            "B p50 ns",
            "change",
            "A p99 ns",
            "B p99 ns",
            "change",
            "A total ns",
            "B total ns",
            "change",
        ];
        let mut spans = Table::new(2, &heads);
        for span in &self.spans {
            let cells = [span.span.clone(), star(&span.test)].into_iter();
            let figures = [&span.count, &span.p50_ns, &span.p99_ns, &span.total_ns];
            spans.row(cells.chain(figures.into_iter().flat_map(three)));
        }
        spans.append_if_any(out);
        self.append_groups(out);

        let stars = self.events.iter().map(|event| event.test.significant);
        let stars = stars.chain(self.spans.iter().map(|span| span.test.significant));
        let text = match (self.tests, stars.filter(|star| *star).count() as u64) {
            (0, _) => "no test: the runs are too short\n".to_string(),
            (tests, stars) => {
                let differences = if stars == 1 { "difference is" } else { "differences are" };
                let tests = count(tests, "test");
                format!("* {} {differences} more than noise, by {tests}\n", grouped(stars))
            }
        };
        out.push(b'\n');
        out.extend_from_slice(text.as_bytes());
    }

    fn append_groups(&self, out: &mut Vec<u8>) {
        let mut heads: Vec<String> = self.by.iter().map(|name| name.to_string()).collect();
        heads.extend(["A", "B", "change"].map(str::to_string));
        for sum in self.groups.first().iter().flat_map(|group| &group.sums) {
            heads.extend([
                format!("A {} sum", sum.param),
                format!("B {} sum", sum.param),
                "change".to_string(),
            ]);
        }
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = Table::new(self.by.len(), &heads);
        for group in &self.groups {
            let sums = group.sums.iter().flat_map(|sum| three(&sum.sum));
            table.row(group.values.iter().cloned().chain(three(&group.events)).chain(sums));
        }
        table.append_if_any(out);
        for (letter, dropped) in
            ["A", "B"].iter().zip(self.dropped_groups).filter(|(_, dropped)| *dropped > 0)
        {
            let text = format!("{letter}: {} dropped\n", count(dropped, "rare group"));
            out.extend_from_slice(text.as_bytes());
        }
    }
}

fn star(test: &Test) -> String {
    if test.significant { "*".to_string() } else { String::new() }
}

fn three(pair: &Pair) -> [String; 3] {
    [number_text(&number(pair.a)), number_text(&number(pair.b)), change(pair.change)]
}
