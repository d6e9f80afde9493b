//! Live memory against a simple model, for correct programs and for arbitrary steps.

use std::collections::BTreeMap;

use proptest::prelude::*;
use telemetry_decode::replay::{Live, Op, Origin, Step};

fn origin(number: usize, thread: u32) -> Origin {
    let number = number as u64;
    Origin { number, offset: number * 10, time_ns: 0, session: 1, thread, registry: 0, code: 0 }
}

/// Returns the steps of a program whose allocator returns the lowest free address.
fn program(choices: &[(u8, usize, u64)]) -> Vec<Step> {
    let mut live = BTreeMap::<u64, u64>::new();
    let mut steps = Vec::new();
    for (action, which, size) in choices {
        let free = (1..).find(|address| !live.contains_key(address)).unwrap_or(0);
        let chosen = live.iter().nth(which % live.len().max(1)).map(|(address, size)| (*address, *size));
        match (action % 3, chosen) {
            (0, Some((pointer, size))) => {
                live.remove(&pointer);
                steps.push(Step::Free { pointer, size: Some(size) });
            }
            (1, Some((old, _))) => {
                let pointer = if which % 2 == 0 { old } else { free };
                live.remove(&old);
                live.insert(pointer, *size);
                steps.push(Step::Realloc { old, pointer, size: *size, align: 8 });
            }
            _ => {
                live.insert(free, *size);
                steps.push(Step::Alloc { pointer: free, size: *size, align: 8 });
            }
        }
    }
    steps
}

/// Executes operations, and returns the size of each number at the end.
fn execute(ops: &[Op]) -> Result<BTreeMap<u32, u64>, TestCaseError> {
    let mut memory = BTreeMap::new();
    for op in ops {
        match *op {
            Op::Alloc { slot, size, .. } => prop_assert_eq!(memory.insert(slot, size), None, "{:?}", op),
            Op::Free { slot } => prop_assert!(memory.remove(&slot).is_some(), "{:?}", op),
            Op::Realloc { slot, size } => prop_assert!(memory.insert(slot, size).is_some(), "{:?}", op),
            _ => prop_assert!(false, "{:?}", op),
        }
    }
    Ok(memory)
}

fn any_step() -> impl Strategy<Value = Step> {
    let (pointer, size) = (0..6_u64, prop_oneof![0..5_u64, Just(u64::MAX)]);
    let align = prop_oneof![4 => Just(8_u64), 1 => 0..5_u64];
    (0..3, pointer.clone(), pointer, size, align, any::<bool>()).prop_map(
        |(action, old, pointer, size, align, told)| match action {
            0 => Step::Alloc { pointer, size, align },
            1 => Step::Free { pointer, size: told.then_some(size) },
            _ => Step::Realloc { old, pointer, size, align },
        },
    )
}

proptest! {
    #[test]
    fn what_a_program_can_do_is_without_fault(choices in prop::collection::vec((any::<u8>(), 0..99_usize, 0..99_u64), 0..200)) {
        let steps = program(&choices);
        let mut live = Live::with_capacity(3);
        let ops: Vec<_> =
            steps.iter().enumerate().filter_map(|(n, step)| live.step(*step, &origin(n + 1, 1))).collect();
        prop_assert_eq!(ops.len(), steps.len());
        let memory = execute(&ops)?;
        let (faults, totals) = live.finish();
        prop_assert_eq!((faults.len(), totals.faults, totals.overlaps), (0, 0, 0));
        prop_assert_eq!(totals.live_bytes, memory.values().sum::<u64>());
        prop_assert_eq!(totals.live_blocks, memory.len() as u64);
        prop_assert_eq!(totals.allocs + totals.frees + totals.reallocs, steps.len() as u64);
    }

    /// For any stream, the operations can be executed, and every event is counted.
    #[test]
    fn anything_can_be_done_again(steps in prop::collection::vec((any_step(), 1..4_u32), 0..200)) {
        let mut live = Live::new();
        let ops = steps.iter().enumerate();
        let ops: Vec<_> = ops.filter_map(|(n, (step, thread))| live.step(*step, &origin(n + 1, *thread))).collect();
        let memory = execute(&ops)?;
        let before = live.totals();
        let (faults, totals) = live.finish();
        prop_assert_eq!(totals.live_blocks, memory.len() as u64);
        prop_assert_eq!(before.live_blocks, totals.live_blocks);
        prop_assert_eq!(totals.allocs + totals.frees + totals.reallocs, ops.len() as u64);
        prop_assert_eq!(faults.len() as u64, totals.faults);
        prop_assert!(faults.is_sorted_by_key(|fault| fault.origin.number));
        prop_assert!(totals.not_live + totals.inexcusable <= totals.faults);
    }
}
