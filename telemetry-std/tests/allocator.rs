//! The allocator counts what it allocates, and its events can be replayed.

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;

use telemetry::decode::{Reader, Value};
use telemetry_std::{Allocator, events};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

/// Sizes of allocations that nothing else in this process makes.
const ODD: usize = 50_021;

/// Allocates in a child process, whose runtime starts with its first allocation, before `main`.
#[test]
fn allocations_are_counted_and_recorded() {
    if std::env::var_os("ALLOCATES").is_some() {
        return allocate();
    }
    let stream = std::env::temp_dir().join(format!("allocations-{}.tel", std::process::id()));
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "allocations_are_counted_and_recorded"])
        .env("ALLOCATES", "1")
        .env("TELEMETRY_CONTROL", "std:all")
        .env("TELEMETRY_FILENAME", &stream)
        .status();
    assert!(child.expect("this test, again").success());
    let bytes = std::fs::read(&stream).expect("a stream");
    std::fs::remove_file(stream).expect("our own file");
    check(&bytes);
}

fn allocate() {
    let huge = events::HUGE_ALLOCATIONS.value();
    let live = events::LIVE_BYTES.value();
    let mut blocks: Vec<Vec<u8>> = (0..10).map(|_| Vec::with_capacity(ODD)).collect();
    assert_eq!(events::HUGE_ALLOCATIONS.value() - huge, 10);
    assert!(events::LIVE_BYTES.value() - live >= 10 * ODD as i64);
    // Five are freed, and the others grow.
    blocks.truncate(5);
    blocks.iter_mut().for_each(|block| block.reserve_exact(2 * ODD));
    black_box(&mut blocks);
    assert_eq!(events::HUGE_ALLOCATIONS.value() - huge, 10, "a block that grows is no allocation");
    let zeroed = black_box(vec![0_u8; ODD]);
    drop((blocks, zeroed));
}

/// The stream has the allocations, and each free is of memory that was allocated.
fn check(bytes: &[u8]) {
    let mut read = Reader::from_slice(bytes).events().expect("a stream");
    let mut live = HashMap::new();
    let mut found = [0; 3];
    let mut stacks = 0;
    while let Some(event) = read.next().expect("a readable stream") {
        let number = |value: Value<'_>| value.as_i128().and_then(|number| u64::try_from(number).ok());
        let values: Vec<u64> = event.values().map(|value| number(value).unwrap_or_default()).collect();
        let is_odd = |size: u64| [ODD as u64, 2 * ODD as u64].contains(&size);
        match (event.name(), &values[..]) {
            ("Alloc", &[pointer, size, align]) => {
                assert!(align.is_power_of_two() && pointer % align == 0);
                live.insert(pointer, size);
                found[0] += usize::from(is_odd(size));
            }
            ("StackAlloc", &[pointer, size, stack]) => {
                assert!(live.get(&pointer) == Some(&size));
                stacks += u32::from(stack > 0 && is_odd(size));
            }
            ("Free", &[pointer, size]) => {
                // The C library may free what it allocated for the first thread.
                if let Some(known) = live.remove(&pointer) {
                    assert_eq!(known, size);
                    found[1] += usize::from(is_odd(size));
                }
            }
            ("Realloc", &[old, pointer, size, _]) => {
                live.remove(&old);
                live.insert(pointer, size);
                found[2] += usize::from(is_odd(size));
            }
            _ => {}
        }
    }
    assert_eq!(stacks, 11, "allocations with a stack");
    assert_eq!(found, [11, 11, 5], "allocations, frees and reallocations");
    assert!(read.completeness().is_complete(), "{}", read.completeness());
}
