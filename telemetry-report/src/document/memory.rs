//! The memory of the program.

use super::forms::{MemoryForm, MemoryGroupForm};
use super::source::Source;
use crate::gather::axis::Series;
use crate::gather::cut::cut;
use crate::gather::memory::{Group, Memory};

/// Returns the memory, if events have roles in it.
pub(super) fn memory(source: &Source<'_>) -> Option<MemoryForm> {
    let memory = &source.gathered.memory;
    let totals = memory.totals()?;
    let intervals = source.gathered.axis.interval(source.gathered.axis.until()) + 1;
    let lists = memory.classes.iter().chain(memory.groups.iter().map(|(_, group)| group));
    let used = lists.filter(|group| group.allocations > 0).count();
    // Each group has two lists.
    let mut step = 1;
    while used * 2 * intervals.div_ceil(step) > source.room.memory && step < intervals {
        step *= 2;
    }
    let each = |changes: &Series<i64>| ends(&Group::live(changes, intervals), step);
    let group = |name: String, group: &Group| {
        let (live_bytes, live_blocks) = (each(&group.bytes), each(&group.blocks));
        MemoryGroupForm {
            name,
            allocations: group.allocations,
            allocated_bytes: group.allocated_bytes,
            left_bytes: live_bytes.last().copied().unwrap_or(0),
            left_blocks: live_blocks.last().copied().unwrap_or(0),
            live_bytes,
            live_blocks,
        }
    };
    let classes = memory.classes.iter().enumerate().filter(|(_, class)| class.allocations > 0);
    Some(MemoryForm {
        width: source.gathered.axis.width() * step as u64,
        live_bytes: each(&memory.all.bytes),
        live_blocks: each(&memory.all.blocks),
        peak_bytes: peaks(memory, intervals, step),
        allocated_bytes: sums(&memory.allocated, intervals, step),
        freed_bytes: sums(&memory.freed, intervals, step),
        classes: classes.map(|(class, of)| group(class_name(class), of)).collect(),
        groups: memory.groups.iter().map(|(name, of)| group(cut(name), of)).collect(),
        allocations: totals.allocs + totals.reallocs,
        frees: totals.frees,
        unknown_frees: totals.not_live,
    })
}

/// Names the sizes of a class: numbers of this many bits.
fn class_name(bits: usize) -> String {
    match bits {
        0 => "0 bytes".to_string(),
        1 => "1 byte".to_string(),
        bits => format!("{}..{} bytes", 1_u64 << (bits - 1), (1_u128 << bits) - 1),
    }
}

fn ends(values: &[i64], step: usize) -> Vec<i64> {
    values.chunks(step).filter_map(|values| values.last().copied()).collect()
}

fn sums(series: &Series<u64>, intervals: usize, step: usize) -> Vec<u64> {
    let at = |at: usize| series.values.get(at.checked_sub(series.first)?).copied();
    let all: Vec<u64> = (0..intervals).map(|index| at(index).unwrap_or(0)).collect();
    all.chunks(step).map(|values| values.iter().sum()).collect()
}

fn peaks(memory: &Memory, intervals: usize, step: usize) -> Vec<u64> {
    // Nothing changes after the last peak.
    let left = memory.all.bytes.values.iter().sum::<i64>().unsigned_abs();
    let all: Vec<u64> =
        (0..intervals).map(|index| memory.peaks.get(index).copied().unwrap_or(left)).collect();
    all.chunks(step).map(|values| values.iter().copied().max().unwrap_or(0)).collect()
}
