//! Reads arbitrary text as a map of compiled functions, as `perf` has it. Each address has the name
//! that a search of all lines finds.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../telemetry-cli/src/symbols/perf_map.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod perf_map;
#[path = "../../telemetry-cli/src/symbols/table.rs"]
mod table;

/// Start, end and name of a function.
type Range<'t> = (u64, u64, &'t str);

fuzz_target!(|bytes: &[u8]| {
    let table = perf_map::of_text(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let ranges: Vec<Range<'_>> = text.lines().filter_map(range).collect();
    for (start, end, _) in &ranges {
        for address in [*start, end.wrapping_sub(1), *end] {
            assert_eq!(table.name(address), name(&ranges, address), "{address:#x}");
        }
    }
});

fn range(line: &str) -> Option<Range<'_>> {
    let (start, rest) = line.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let start = number(start)?;
    Some((start, start.checked_add(number(size)?)?, name))
}

/// Returns the name of the last range that begins at or before an address, if the address is in it.
/// Of those that begin there, the first line counts.
fn name<'t>(ranges: &[Range<'t>], address: u64) -> Option<&'t str> {
    let last = ranges.iter().map(|(start, ..)| *start).filter(|start| *start <= address).max()?;
    let (_, end, name) = ranges.iter().find(|(start, ..)| *start == last)?;
    (address < *end).then_some(name)
}
