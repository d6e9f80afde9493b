//! Walks of chains of frames that the tests make up, on several kinds of stacks, and the store.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use telemetry_format::{Cursor, Loss};

use super::store::Stacks;
use super::walk::{Low, Walk, here};
use crate::own::labels::{Position, Store};
use crate::own::registry::{MAX_FRAMES, MODULE, STACK, StackEnd};
use crate::sys;

#[inline(never)]
fn walk(code: u64, frame: u64) -> Walk {
    let mut place = std::mem::MaybeUninit::uninit();
    // No function is above this one, so that frames are walked whatever feature is on.
    Walk::new(&mut place).take(code, frame, Low::of(u64::MAX));
    // SAFETY: it was made there.
    unsafe { place.assume_init() }
}

/// A frame: the address of the next, and a place in code.
type Frame = [u64; 2];

/// Walks a chain in which each frame leads to the next and the last to `last`, and compares the
/// places. The walk begins at the frame of the index `start`.
#[inline(never)]
fn check(len: usize, last: impl Fn(&[Frame]) -> u64, expected: (usize, StackEnd)) {
    let mut chain = [[0; 2]; 100];
    let chain = &mut chain[..len];
    for index in 0..len {
        let next = chain.get(index + 1).map(|next| next.as_ptr().expose_provenance() as u64);
        chain[index] = [next.unwrap_or(0), 1000 + index as u64];
    }
    chain[len - 1][0] = last(chain);
    let start = chain.as_ptr().expose_provenance() as u64;
    let walk = walk(999, std::hint::black_box(start));
    let places: Vec<u64> = (999..999 + expected.0 as u64).collect();
    assert_eq!((walk.frames(), walk.end), (&places[..], expected.1));
}

#[test]
fn a_walk_says_how_it_ends() {
    check(20, |_| 0, (21, StackEnd::Complete));
    check(1, |_| 0, (2, StackEnd::Complete));
    // A chain of as many as there may be, and of more.
    check(MAX_FRAMES - 1, |_| 0, (MAX_FRAMES, StackEnd::Complete));
    check(MAX_FRAMES, |_| 0, (MAX_FRAMES, StackEnd::Limit));
    check(100, |_| 0, (MAX_FRAMES, StackEnd::Limit));
}

/// Frames lead to themselves, downward, to places between words, and out of the stack.
#[test]
fn a_corrupted_chain_ends_the_walk() {
    let at = |chain: &[Frame], index: usize| chain[index].as_ptr().addr() as u64;
    check(10, |chain| at(chain, 9), (11, StackEnd::Corrupt));
    check(10, |chain| at(chain, 0), (11, StackEnd::Corrupt));
    check(10, |chain| at(chain, 9) + 17, (11, StackEnd::Corrupt));
    for outside in [1, 8, 0x1000, 1 << 47, u64::MAX, u64::MAX - 7, u64::MAX - 15, i64::MAX as u64] {
        check(10, |_| outside, (11, StackEnd::NoFramePointer));
    }
    let heap = Box::new([0_u64; 4]);
    check(10, |_| heap.as_ptr().addr() as u64, (11, StackEnd::NoFramePointer));
    // The last words of the stack, and those behind it.
    let here = std::hint::black_box([0; 2]);
    let top = super::bounds::top(here.as_ptr().addr() as u64).expect("this thread's stack");
    check(10, |_| top - 8, (11, StackEnd::Corrupt));
    check(10, |_| top, (11, StackEnd::NoFramePointer));
}

/// Every word of the stack as the begin of a chain: whatever it leads to, nothing faults.
#[test]
fn any_word_of_the_stack_is_a_frame_to_begin_with() {
    let (_, start) = (0, std::hint::black_box([1_u64; 2]));
    let low = start.as_ptr().addr() as u64;
    let top = super::bounds::top(low).expect("this thread's stack");
    for frame in (low..top).step_by(8).take(100_000) {
        assert!(!walk(1, frame).frames().is_empty());
    }
    for bits in 0..64 {
        assert!(!walk(1, 1 << bits).frames().is_empty());
    }
}

/// The main thread's bounds come from elsewhere, so a child of its own checks them: a fork has the
/// stack of the thread that forks.
#[test]
fn threads_know_their_own_stack() {
    let known = || {
        let word = 0_u64;
        let low = core::ptr::from_ref(&word).addr() as u64;
        super::bounds::top(low).is_some_and(|top| low < top && top - low < 64 << 20)
    };
    assert!(known());
    assert!(std::thread::spawn(known).join().unwrap());
    let small = std::thread::Builder::new().stack_size(64 << 10).spawn(known).unwrap();
    assert!(small.join().unwrap());
}

thread_local! {
    static SEEN: RefCell<Vec<(usize, StackEnd)>> = const { RefCell::new(Vec::new()) };
}

/// Walks chains on another stack than the thread's own.
extern "C" fn on_another_stack() {
    let mut seen = Vec::new();
    let mut see = |frame: u64| {
        let walk = walk(1, frame);
        seen.push((walk.frames().len(), walk.end));
    };
    let own: [Frame; 2] = [[0, 3], [0, 0]];
    let second = own[0].as_ptr().expose_provenance() as u64;
    let first: [Frame; 1] = [[second, 2]];
    see(first.as_ptr().expose_provenance() as u64);
    // Nothing is there, or something that is no frame.
    for frame in [0, 1, 8, 0x1000, u64::MAX - 7, 1 << 47] {
        see(frame);
    }
    let (mut a, mut b): (Frame, Frame) = ([0, 1], [0, 1]);
    a[0] = b.as_ptr().expose_provenance() as u64;
    b[0] = a.as_ptr().expose_provenance() as u64;
    see(std::hint::black_box(&b).as_ptr().addr() as u64);
    see(std::hint::black_box(&a).as_ptr().addr() as u64);
    // The real one, which may lead anywhere.
    let (_, frame) = here();
    walk(1, frame);
    SEEN.with(|all| *all.borrow_mut() = seen);
}

fn seen_on_another_stack() {
    use StackEnd::{Complete, Corrupt, NoFramePointer};
    let seen = SEEN.with(|seen| seen.take());
    assert_eq!(seen[0], (3, Complete));
    let ends: Vec<StackEnd> = seen[1..7].iter().map(|(_, end)| *end).collect();
    assert_eq!(ends, [Complete, Corrupt, NoFramePointer, NoFramePointer, NoFramePointer, NoFramePointer]);
    assert!(seen[1..7].iter().all(|(len, _)| *len == 1), "{seen:?}");
    // Two frames that lead to each other: one step downward is allowed.
    assert!(seen[7..].iter().all(|(len, end)| *len <= 5 && *end == Corrupt), "{seen:?}");
}

#[cfg(target_env = "gnu")]
#[test]
fn a_fiber_has_a_stack() {
    // SAFETY: the contexts and the stack outlive the switches, and the function returns to the
    // context that it is linked to.
    unsafe {
        let len = 256 << 10;
        let stack = libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(stack, libc::MAP_FAILED);
        let (mut fiber, mut back): (libc::ucontext_t, libc::ucontext_t) =
            (core::mem::zeroed(), core::mem::zeroed());
        assert_eq!(libc::getcontext(&mut fiber), 0);
        fiber.uc_stack.ss_sp = stack;
        fiber.uc_stack.ss_size = len;
        fiber.uc_link = &mut back;
        libc::makecontext(&mut fiber, on_another_stack, 0);
        assert_eq!(libc::swapcontext(&mut back, &fiber), 0);
        libc::munmap(stack, len);
    }
    seen_on_another_stack();
}

#[test]
fn a_signal_handler_may_have_a_stack() {
    extern "C" fn handler(_: libc::c_int) {
        on_another_stack();
    }
    std::thread::spawn(|| {
        let mut stack = vec![0_u8; 256 << 10];
        // SAFETY: the stack outlives the signal, which this thread raises and handles at once.
        unsafe {
            let alternate =
                libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
            let mut before = core::mem::zeroed();
            assert_eq!(libc::sigaltstack(&alternate, &mut before), 0);
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGUSR2, &action, core::ptr::null_mut()), 0);
            assert_eq!(libc::raise(libc::SIGUSR2), 0);
            assert_eq!(libc::sigaltstack(&before, core::ptr::null_mut()), 0);
        }
        seen_on_another_stack();
    })
    .join()
    .unwrap();
}

/// A walk through places of this program's code.
fn walk_of(numbers: &[u64], end: StackEnd) -> Walk {
    let code = on_another_stack as *const () as u64;
    let frames: Vec<u64> = numbers.iter().map(|number| code + number).collect();
    Walk::of(&frames, end)
}

/// By number: how a stack ends, and its frames.
type Told = BTreeMap<u64, (u64, Vec<u64>)>;

/// The events of a lane: stacks, and the build IDs and paths of modules.
fn events(lane: &Store) -> (Told, Vec<(Vec<u8>, String)>, Loss) {
    let (mut stacks, mut modules, mut lost) = (BTreeMap::new(), Vec::new(), Loss::default());
    let mut position = Position::default();
    while let Some((header, payload)) = lane.next_part(&mut position) {
        lost = header.lost;
        let mut slots = [0_u64; 3];
        let mut cursor = Cursor::new(payload);
        for _ in 0..header.events {
            let code = cursor.unsigned().unwrap();
            cursor.unsigned().unwrap();
            if code == u64::from(STACK) {
                let (number, end) = (cursor.unsigned().unwrap(), cursor.byte().unwrap());
                let len = cursor.unsigned().unwrap();
                let mut last = slots[0];
                let frames: Vec<u64> = (0..len).map(|_| cursor.delta(&mut last).unwrap()).collect();
                slots[0] = frames[0];
                assert!(stacks.insert(number, (u64::from(end), frames)).is_none(), "{number} comes once");
            } else {
                assert_eq!(code, u64::from(MODULE));
                let base = cursor.delta(&mut slots[1]).unwrap();
                let end = cursor.delta(&mut slots[2]).unwrap();
                assert!(base < end);
                let id = cursor.bytes().unwrap().to_vec();
                modules.push((id, cursor.str().unwrap().to_owned()));
            }
        }
        assert!(cursor.is_empty());
    }
    (stacks, modules, lost)
}

#[test]
fn equal_stacks_have_one_number() {
    let (lane, stacks) = (Store::new(64), Box::new(Stacks::new(64)));
    let mut numbers = BTreeMap::new();
    for round in 0..3 {
        for length in 1..=MAX_FRAMES as u64 {
            for end in [StackEnd::Complete, StackEnd::Corrupt] {
                let places: Vec<u64> = (0..length).map(|place| place * place % 97).collect();
                let walk = walk_of(&places, end);
                let known = stacks.known(&walk);
                assert_eq!(known.is_some(), round > 0);
                let number = stacks.intern(&lane, &walk);
                assert!(known.is_none_or(|known| known == number));
                let (_, frames) = (0, walk.frames().to_vec());
                let before = numbers.insert(number, (u64::from(end.repr()), frames.clone()));
                assert!(before.is_none_or(|before| before == (u64::from(end.repr()), frames)));
            }
        }
    }
    assert!(numbers.keys().copied().eq(1..=2 * MAX_FRAMES as u32));
    let (told, modules, lost) = events(&lane);
    assert_eq!(lost, Loss::default());
    assert!(told.into_iter().eq(numbers.into_iter().map(|(number, stack)| (u64::from(number), stack))));
    let program = std::env::current_exe().unwrap();
    let own: Vec<_> = modules.iter().filter(|(_, path)| **path == *program.to_string_lossy()).collect();
    assert_eq!(own.len(), 1, "{modules:?}");
    assert_eq!(sys::build_id().unwrap_or_default(), own[0].0);
}

#[test]
fn what_is_no_code_ends_a_stack() {
    let (lane, stacks) = (Store::new(64), Box::new(Stacks::new(64)));
    let code = on_another_stack as *const () as u64;
    let data = Box::new(0_u64);
    let data = core::ptr::from_ref(&*data).addr() as u64;
    let wrong = Walk::of(&[code, code + 1, data, code + 2], StackEnd::Complete);
    let number = stacks.intern(&lane, &wrong);
    assert_eq!(stacks.known(&wrong), Some(number), "it is found as it was walked");
    let right = Walk::of(&[code, code + 1], StackEnd::NoFramePointer);
    assert_eq!(stacks.intern(&lane, &right), number);
    let end = u64::from(StackEnd::NoFramePointer.repr());
    assert_eq!(events(&lane).0, BTreeMap::from([(1, (end, vec![code, code + 1]))]));
    // As many wrong ones as there may be at once, and more.
    for wrong in 0..200 {
        let walk = Walk::of(&[code, code + 1, data + wrong], StackEnd::Complete);
        assert_eq!(stacks.intern(&lane, &walk), number);
    }
}

#[test]
fn a_full_store_counts() {
    for (blocks, chunks) in [(0, 64), (64, 0), (1, 64), (64, 1)] {
        let (lane, stacks) = (Store::new(blocks), Box::new(Stacks::new(chunks)));
        let (mut full, mut last) = (0, 0);
        for place in 0..10_000 {
            let walk = walk_of(&[place % 100, place / 100, place % 7], StackEnd::Complete);
            match stacks.intern(&lane, &walk) {
                0 => full += 1,
                number => {
                    assert_eq!(number, last + 1);
                    last = number;
                }
            }
        }
        let (told, modules, lost) = events(&lane);
        assert_eq!(told.len(), last as usize);
        assert!(full > 0 && lost.pool >= full, "{blocks} {chunks}: {full} of {lost:?}");
        assert_eq!(modules.is_empty(), blocks == 0);
    }
}

#[test]
fn who_interrupts_does_not_wait() {
    let (lane, stacks) = (Store::new(64), Box::new(Stacks::new(64)));
    let known = walk_of(&[1, 2], StackEnd::Complete);
    let number = stacks.intern(&lane, &known);
    let lock = lane.lock();
    assert_eq!(stacks.known(&known), Some(number));
    assert_eq!(stacks.intern(&lane, &walk_of(&[3], StackEnd::Complete)), 0);
    drop(lock);
    assert_eq!(lane.lost(), Loss { reentrant: 1, ..Loss::default() });
    assert_eq!(stacks.intern(&lane, &walk_of(&[3], StackEnd::Complete)), number + 1);
}

#[test]
fn threads_agree_on_every_number() {
    const STACKS: u64 = 2000;
    let (lane, stacks) = (Store::new(64), Box::new(Stacks::new(64)));
    let intern = |thread: u64| {
        let order = (0..STACKS).map(|at| (at * [1, 3, 7, 9][thread as usize] + thread) % STACKS);
        let mut numbers = vec![0; STACKS as usize];
        for number in order {
            let walk = walk_of(&[number % 50, number / 50, 7], StackEnd::Complete);
            let known = stacks.known(&walk);
            numbers[number as usize] = known.unwrap_or_else(|| stacks.intern(&lane, &walk));
        }
        numbers
    };
    let all: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || intern(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|numbers| *numbers == all[0]));
    assert_eq!(events(&lane).0.len(), STACKS as usize);
}
