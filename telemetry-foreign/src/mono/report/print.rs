//! The tables as text.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::heap::Shot;
use super::methods::{Oddity, Times};
use super::options::ReportOptions;
use super::order::{chained, large_slot, monitor_slot, probed, small_slot};
use super::samples;
use super::tally::Tally;
use super::traces::{Sums, Traces};
use crate::mono::header::FileHead;
use crate::mono::layout::Version;
use crate::mono::output::Output;
use crate::mono::text::Text;
use crate::mono::words;

/// Classes of a heap that are shown if not all are.
const HEAP_CLASSES: usize = 30;

/// Writes the tables of a log.
pub(super) fn print(
    mut tally: Tally,
    head: Option<FileHead>,
    options: ReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    tally.end();
    tally.end_shots();
    let is_one = head.as_ref().is_none_or(|head| head.version == Version::One);
    let mut tables = Tables { out: Vec::new(), to: Output::new(out), tally: &tally, options, is_one };
    tables.oddities();
    if let Some(head) = &head {
        words::header(head, &mut tables.out);
    }
    if !is_one {
        tables.jit();
    }
    tables.gc();
    samples::print(&tally, options.verbose, &mut tables.out);
    tables.allocations();
    tables.methods();
    tables.metadata();
    tables.exceptions();
    tables.monitors();
    tables.threads();
    if !is_one {
        tables.domains();
    }
    tables.shots();
    if !is_one {
        tally.counters.print(options.verbose, &mut tables.out);
    }
    let Tables { mut out, mut to, .. } = tables;
    to.end(&mut out)
}

struct Tables<'t> {
    /// Text that is not written yet.
    out: Vec<u8>,
    to: Output<'t>,
    tally: &'t Tally,
    options: ReportOptions,
    is_one: bool,
}

impl Tables<'_> {
    fn line(&mut self, line: &str) {
        self.out.text(line);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.out.text("\n");
        self.to.take_if_full(&mut self.out);
    }

    fn method_name(&mut self, address: u64) {
        match self.tally.methods.name(address) {
            Some(name) => self.out.bytes(name),
            None if self.is_one => self.out.text("unknown method"),
            None => self.out.text("unknown method ").pointer(address),
        };
    }

    fn class_name(&mut self, address: u64) {
        match self.tally.classes.name(address) {
            Some(name) => self.out.bytes(name),
            None if self.is_one => self.out.text("unresolved class"),
            None => self.out.text("unresolved class ").pointer(address),
        };
    }

    fn traces(&mut self, sums: &Sums, what: &str) {
        let traces: Option<&Traces> = self.tally.traces.as_ref();
        for (sum, frames) in traces.map(|traces| traces.sorted(sums)).unwrap_or_default() {
            if frames.is_empty() {
                continue;
            }
            self.out.text("\t").decimal(sum).text(" ").text(what).text(" from:\n");
            for frame in frames {
                self.out.text("\t\t");
                self.method_name(*frame);
                self.end_line();
            }
        }
    }

    fn oddities(&mut self) {
        for oddity in &self.tally.oddities {
            let method = match *oddity {
                Oddity::Unmatched(position, method) => {
                    let position = position as u64;
                    self.out.text("unmatched leave at stack pos: ").decimal(position).text(" for method ");
                    method
                }
                Oddity::Backward(method) => {
                    self.out.text("time went backwards for ");
                    method
                }
                Oddity::CalleesBigger(method) => {
                    self.out.text("callee time bigger for ");
                    method
                }
            };
            self.method_name(method);
            self.end_line();
        }
    }

    fn jit(&mut self) {
        let compiled = || self.tally.methods.all.iter().filter(|method| method.code != 0);
        let size = compiled().fold(0, |size: i32, method| size.wrapping_add(method.len));
        let (methods, (helpers, helpers_size)) = (compiled().count(), self.tally.helpers);
        self.line(&format!("\nJIT summary\n\tCompiled methods: {methods}\n\tGenerated code size: {size}"));
        self.line(&format!("\tJIT helpers: {helpers}\n\tJIT helpers code size: {helpers_size}"));
    }

    fn gc(&mut self) {
        let gc = &self.tally.gc;
        self.line(&format!("\nGC summary\n\tGC resizes: {}\n\tMax heap size: {}", gc.resizes, gc.largest));
        self.line(&format!("\tObject moves: {}", gc.moves));
        for (generation, (count, longest, all)) in gc.collections.into_iter().enumerate() {
            let Some(average) = all.checked_div(count) else { continue };
            let (longest, time, average) = (longest / 1000, all / 1000, average / 1000);
            self.line(&format!(
                "\tGen{generation} collections: {count}, max time: {longest}us, total time: {time}us, average: {average}us"
            ));
        }
        // The tool omits pinned handles, the fourth kind.
        for (kind, handles) in gc.handles.iter().enumerate().take(3).filter(|(_, handles)| handles.most > 0) {
            let kind = words::handle(kind as u64);
            let (created, destroyed, most) = (handles.created, handles.destroyed, handles.most);
            self.line(&format!(
                "\tGC handles {kind}: created: {created}, destroyed: {destroyed}, max: {most}"
            ));
            self.traces(&handles.created_traces, "created");
            self.traces(&handles.destroyed_traces, "destroyed");
        }
    }

    fn allocations(&mut self) {
        let classes = &self.tally.classes.all.all;
        let mut order = chained(classes.iter().map(|(address, _)| large_slot(*address)));
        order.retain(|index| classes[*index].1.objects > 0);
        order.sort_by_key(|index| Reverse(classes[*index].1.bytes));
        if order.is_empty() {
            return;
        }
        self.line(&format!(
            "\nAllocation summary\n{:>10} {:>10} {:>8} Type name",
            "Bytes", "Count", "Average"
        ));
        let (mut all_bytes, mut all_objects) = (0_u64, 0);
        for index in order {
            let (address, class) = &classes[index];
            let (bytes, objects) = (class.bytes, class.objects);
            all_bytes = all_bytes.wrapping_add(bytes);
            all_objects += objects;
            self.out.text(&format!("{bytes:10} {objects:10} {:8} ", bytes / objects));
            self.class_name(*address);
            self.end_line();
            self.traces(&class.traces, "bytes");
        }
        self.line(&format!("Total memory allocated: {all_bytes} bytes in {all_objects} objects"));
    }

    fn methods(&mut self) {
        let methods = &self.tally.methods.all;
        let times = &self.tally.methods.times;
        let mut order = chained(methods.iter().map(|method| large_slot(method.address)));
        order.retain(|index| times[*index].calls > 0);
        order.sort_by_key(|index| Reverse(times[*index].total()));
        let shown = order.iter().filter(|index| self.options.verbose || times[**index].total() >= 1_000_000);
        let shown: Vec<usize> = shown.copied().collect();
        if !shown.is_empty() {
            self.line(&format!(
                "\nMethod call summary\n{:>8} {:>8} {:>10} Method name",
                "Total(ms)", "Self(ms)", "Calls"
            ));
        }
        for index in shown {
            let method = &methods[index];
            let Times { calls, own, .. } = times[index];
            let (all, own) = (times[index].total() / 1_000_000, own / 1_000_000);
            self.out.text(&format!("{all:8} {own:8} {calls:10} "));
            self.method_name(method.address);
            self.end_line();
            self.traces(&method.traces, "calls");
        }
        let calls: u64 = order.iter().map(|index| times[*index].calls).sum();
        if calls > 0 {
            self.line(&format!("Total calls: {calls}"));
        }
    }

    fn metadata(&mut self) {
        self.line("\nMetadata summary");
        let tables = [("images", &self.tally.images), ("assemblies", &self.tally.assemblies)];
        for (what, names) in tables.into_iter().take(if self.is_one { 1 } else { 2 }) {
            self.line(&format!("\tLoaded {what}: {}", names.len()));
            if self.options.verbose {
                for index in chained(names.iter().map(|(address, _)| small_slot(*address))) {
                    self.out.text("\t\t").bytes(&names[index].1);
                    self.end_line();
                }
            }
        }
    }

    fn exceptions(&mut self) {
        self.line(&format!("\nException summary\n\tThrows: {}", self.tally.throws));
        self.traces(&self.tally.throw_traces, "throws");
        for (kind, count) in self.tally.clauses.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            self.line(&format!("\tExecuted {} clauses: {count}", words::clause(kind as u64)));
        }
    }

    fn monitors(&mut self) {
        let monitors = &self.tally.monitors.all.all;
        if monitors.is_empty() {
            return;
        }
        let mut order = chained(monitors.iter().map(|(object, _)| monitor_slot(*object)));
        match self.is_one {
            true => order.sort_by_key(|index| Reverse(monitors[*index].1.contentions)),
            false => order.sort_by_key(|index| Reverse(monitors[*index].1.waited)),
        }
        self.line("\nMonitor lock summary");
        for index in order {
            let (object, monitor) = &monitors[index];
            let contentions = monitor.contentions;
            self.out.text("\tLock object ").pointer(*object).text(": ").decimal(contentions);
            self.line(" contentions");
            if !self.is_one {
                let seconds = |ns: u64| ns as f64 / 1e9;
                let (waited, longest) = (seconds(monitor.waited), seconds(monitor.longest));
                let average = waited / contentions as f64;
                // C prints no sign for a NaN, except for that of a division by zero.
                let average = if average.is_nan() { "-nan".into() } else { format!("{average:.6}") };
                self.line(&format!(
                    "\t\t{waited:.6} secs total wait time, {longest:.6} max, {average} average"
                ));
            }
            self.traces(&monitor.traces, "contentions");
        }
        let [_, contentions, done, failed] = self.tally.monitors.steps;
        self.line(&format!("\tLock contentions: {contentions}\n\tLock acquired: {done}"));
        self.line(&format!("\tLock failures: {failed}"));
    }

    fn threads(&mut self) {
        self.line("\nThread summary");
        for (thread, _) in self.tally.stacks.all.iter().rev().filter(|(thread, _)| *thread != 0) {
            self.out.text("\tThread: ").pointer(*thread);
            if !self.is_one {
                let name = self.tally.thread_names.get(thread).map_or(&b""[..], |name| name);
                self.out.text(", name: \"").bytes(name).text("\"");
            }
            self.end_line();
        }
    }

    fn domains(&mut self) {
        self.line("\nDomain summary");
        for (domain, name) in self.tally.domains.all.iter().rev() {
            let name = name.as_deref().unwrap_or(b"(null)");
            self.out.text("\tDomain: ").pointer(*domain).text(", friendly name: \"").bytes(name).text("\"");
            self.end_line();
        }
        self.line("\nContext summary");
        for (context, domain) in self.tally.contexts.all.iter().rev() {
            self.out.text("\tContext: ").pointer(*context).text(", domain: ").pointer(*domain);
            self.end_line();
        }
    }

    fn shots(&mut self) {
        // The tool lists the newest first, and sorts by time.
        let mut shots: Vec<&Shot> = self.tally.shots.all.iter().rev().collect();
        shots.sort_by_key(|shot| shot.at);
        if !shots.is_empty() {
            self.line("\nHeap shot summary");
        }
        let mut earlier = None;
        for (number, shot) in shots.into_iter().enumerate() {
            self.shot(number, shot, earlier);
            earlier = Some(shot);
        }
    }

    fn shot(&mut self, number: usize, shot: &Shot, earlier: Option<&Shot>) {
        let classes = &shot.classes.all;
        let hashes: Vec<u64> = classes.iter().map(|(class, _)| class >> 2).collect();
        let mut order = probed(&hashes, 4, shot.was_known);
        order.sort_by_key(|index| Reverse(classes[*index].1.1));
        let (objects, bytes) = classes.iter().fold((0, 0_u64), |(objects, bytes), (_, class)| {
            (objects + class.0, bytes.wrapping_add(class.1))
        });
        let at = shot.at.wrapping_sub(self.tally.start.unwrap_or_default()) as f64 / 1e9;
        let roots = if self.is_one { "" } else { ", roots: 0" };
        self.line(&format!(
            "\n\tHeap shot {number} at {at:.3} secs: size: {bytes}, object count: {objects}, class count: {}{roots}",
            classes.len()
        ));
        self.line(&format!("\t{:>10} {:>10} {:>8} Class name", "Bytes", "Count", "Average"));
        let most = if self.options.verbose { usize::MAX } else { HEAP_CLASSES };
        for index in order.into_iter().take(most) {
            let (class, (objects, bytes)) = classes[index];
            self.out.text(&format!("\t{bytes:10} {objects:10} {:8} ", bytes / objects));
            self.class_name(class);
            if let Some((old_objects, old_bytes)) = earlier.and_then(|shot| shot.classes.get(class)) {
                let (bytes, objects) = (bytes.wrapping_sub(*old_bytes), objects.wrapping_sub(*old_objects));
                let (bytes, objects) = (bytes as i64, objects as i64);
                self.out.text(&format!(" (bytes: {bytes:+}, count: {objects:+})"));
            }
            self.end_line();
        }
    }
}
