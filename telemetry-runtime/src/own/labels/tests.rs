//! Decodes what a store returns as a reader would, and compares it with what was put in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use telemetry_format::{Cursor, HEADER_LEN, Header, Label, Loss, flags, memory, put, state};

use super::block::{BLOCK, CAPACITY};
use super::store::{Position, Store};
use super::table::{LOCATION_BITS, MAX_ENTRIES, Table};
use crate::own::registry as own;

/// A decoded event.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Intern(u64, String),
    Address(u64, u64),
}

/// A reader of one stream, with all that it has read.
#[derive(Default)]
struct Reader {
    position: Position,
    events: Vec<Event>,
    bytes: usize,
    lost: Loss,
    session: u64,
    /// Block and offset where the next part must begin.
    next: (u32, u32),
    time: u64,
    slot: u64,
}

impl Reader {
    /// Reads what is new in a store. Returns the number of parts.
    fn read(&mut self, store: &Store) -> usize {
        let mut parts = 0;
        while let Some((header, payload)) = store.next_part(&mut self.position) {
            self.part(&header, payload);
            parts += 1;
        }
        parts
    }

    fn part(&mut self, header: &Header, payload: &[u8]) {
        assert_eq!((header.thread, header.kind), (0, own::LABEL_KIND));
        assert_eq!(header.registry, own::registry().def().fingerprint);
        // If a block was read in full before it was sealed, no part says that it is the last one.
        let place = (header.seq, header.offset);
        assert!([self.next, (self.next.0 + 1, 0)].contains(&place), "{place:?} after {:?}", self.next);
        assert_eq!(header.before, self.events.len() as u64);
        assert_eq!(payload.len(), header.payload_len as usize);
        assert_eq!(header.unpacked_len, header.payload_len);
        assert!(header.lost.events() + header.lost.truncated >= self.lost.events() + self.lost.truncated);
        if header.offset == 0 {
            assert!(header.base_ticks >= self.time, "no block begins before another ends");
            (self.time, self.slot) = (header.base_ticks, 0);
        }
        let mut cursor = Cursor::new(payload);
        for _ in 0..header.events {
            let event = self.event(&mut cursor);
            self.events.push(event);
        }
        assert!(cursor.is_empty());
        assert!(self.time <= header.end_ticks);
        let end = header.offset + header.payload_len;
        self.next = if header.flags == flags::LAST { (header.seq + 1, 0) } else { (header.seq, end) };
        self.bytes += payload.len();
        (self.lost, self.session) = (header.lost, header.session);
    }

    fn event(&mut self, cursor: &mut Cursor<'_>) -> Event {
        let code = cursor.unsigned().unwrap();
        self.time += cursor.unsigned().unwrap();
        if code == u64::from(own::INTERN) {
            let label = cursor.unsigned().unwrap();
            Event::Intern(label, cursor.str().unwrap().to_owned())
        } else {
            assert_eq!(code, u64::from(own::LABEL_ADDRESS));
            Event::Address(cursor.delta(&mut self.slot).unwrap(), cursor.unsigned().unwrap())
        }
    }
}

/// Returns all that a store has, as a stream that begins now gets it.
fn all(store: &Store) -> Reader {
    let mut reader = Reader::default();
    reader.read(store);
    reader
}

#[derive(Debug, Clone)]
enum Step {
    Intern(String),
    Address(u64, u64),
    /// One of several streams reads.
    Read(usize),
}

/// Runs the steps with a store of this number of blocks, and compares it with the model.
fn check(blocks: usize, steps: &[Step]) {
    let store = Store::new(blocks);
    let mut readers: [Reader; 3] = Default::default();
    let (mut model, mut expected, mut lost) = (HashMap::new(), Vec::new(), Loss::default());
    for step in steps {
        match step {
            Step::Intern(text) => {
                let kept = put::truncate(text, own::MAX_STRING);
                assert_eq!(store.known(text), model.get(kept).copied());
                let label = store.intern(text);
                if let Some(&known) = model.get(kept) {
                    assert_eq!(label, known);
                } else if label == Label::NONE {
                    lost.pool += 1;
                } else {
                    assert_eq!(label.0, model.len() as u64 + 1);
                    lost.truncated += u64::from(kept.len() < text.len());
                    model.insert(kept.to_owned(), label);
                    expected.push(Event::Intern(label.0, kept.to_owned()));
                }
            }
            Step::Address(address, label) => {
                let before = store.lost();
                store.label(*address, Label(*label));
                if store.lost() == before {
                    expected.push(Event::Address(*address, *label));
                } else {
                    lost.pool += 1;
                }
            }
            Step::Read(reader) => {
                readers[*reader].read(&store);
                assert_eq!(readers[*reader].events, expected);
            }
        }
    }
    for reader in readers.iter_mut().chain([&mut all(&store)]) {
        reader.read(&store);
        assert_eq!(reader.events, expected);
        assert_eq!(reader.lost, lost);
        assert_eq!(reader.read(&store), 0, "nothing is told twice");
    }
    // A block is left only for an event that might not have fitted.
    let (least, bytes) = (blocks * (CAPACITY - own::MAX_STRING - 40), readers[0].bytes);
    assert!(lost.pool == 0 || bytes >= least, "{bytes} bytes, {} events lost", lost.pool);
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => "[a-c]{0,3}".prop_map(Step::Intern),
        3 => ("[a-z]{8}", 0..800_usize).prop_map(|(start, times)| Step::Intern(start + &"ä→𝄞".repeat(times))),
        3 => (any::<u64>(), 0..100_u64).prop_map(|(address, label)| Step::Address(address, label)),
        2 => (0..3_usize).prop_map(Step::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn streams_are_told_what_was_put_in(
        blocks in 0..4_usize,
        steps in proptest::collection::vec(step(), 0..800),
    ) {
        check(blocks, &steps);
    }
}

#[test]
fn a_store_that_is_full_counts() {
    let steps: Vec<_> = (0..30).map(|number| Step::Intern(format!("{number:>4096}"))).collect();
    check(0, &steps);
    check(1, &steps);
    let mut steps = vec![Step::Address(1, 1); 2 * CAPACITY];
    steps.push(Step::Intern("late".into()));
    check(1, &steps);
}

/// A string that is longer than the limit is truncated before a character of two bytes.
#[test]
fn strings_are_cut_at_a_border_and_counted() {
    let store = Store::new(1);
    let long = format!("a{}", "ä".repeat(own::MAX_STRING));
    let label = store.intern(&long);
    let kept = format!("a{}", "ä".repeat(own::MAX_STRING / 2 - 1));
    assert_eq!(store.intern(&kept), label);
    assert_eq!(store.intern(&format!("{kept}→ and more")), label);
    let reader = all(&store);
    assert_eq!(reader.events, [Event::Intern(1, kept)]);
    assert_eq!(reader.lost, Loss { truncated: 1, ..Loss::default() });
}

#[test]
fn threads_agree_on_every_label() {
    const THREADS: usize = 8;
    const STRINGS: usize = 10_000;
    let (store, over) = (Store::new(64), AtomicBool::new(false));
    let start = Barrier::new(THREADS);
    let intern = |thread: usize| {
        start.wait();
        // Each thread has an order of its own: an odd step through all strings.
        let order = (0..STRINGS).map(|at| (at * [1, 3, 7, 9, 11, 13, 17, 19][thread] + thread) % STRINGS);
        let mut labels = vec![Label::NONE; STRINGS];
        order.for_each(|number| labels[number] = store.intern(&format!("string {number}")));
        labels
    };
    let (labels, read) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reader = Reader::default();
            while !over.load(Ordering::Relaxed) {
                reader.read(&store);
            }
            reader.read(&store);
            reader.events
        });
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || intern(thread))).collect();
        let labels: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        (labels, reader.join().unwrap())
    });
    assert!(labels.iter().all(|theirs| *theirs == labels[0]));
    let numbers: BTreeSet<u64> = labels[0].iter().map(|label| label.0).collect();
    assert!(numbers.into_iter().eq(1..=STRINGS as u64));
    let told = read.iter().enumerate().map(|(at, event)| match event {
        Event::Intern(label, text) => {
            assert_eq!(*label, at as u64 + 1, "in order");
            let number: usize = text.strip_prefix("string ").unwrap().parse().unwrap();
            assert_eq!(labels[0][number], Label(*label));
        }
        Event::Address(..) => panic!("no address was labeled"),
    });
    assert_eq!(told.count(), STRINGS);
    assert_eq!(store.lost(), Loss::default());
}

/// A signal handler that interrupts the thread that appends.
#[test]
fn who_interrupts_does_not_wait() {
    let store = Store::new(1);
    let known = store.intern("known");
    let lock = store.lock();
    assert_eq!(store.intern("known"), known);
    assert_eq!(store.intern("unknown"), Label::NONE);
    store.label(0x1000, known);
    drop(lock);
    assert_eq!(all(&store).lost, Loss { reentrant: 2, ..Loss::default() });
    assert_eq!(store.intern("unknown"), Label(2));
    assert_eq!(all(&store).events.len(), 2);
}

/// A stream contains a loss even if there is no event to carry it, and contains it once.
#[test]
fn losses_alone_are_told() {
    let store = Store::new(1);
    store.count_reentrant();
    let mut reader = Reader::default();
    assert_eq!((reader.read(&store), reader.lost.reentrant), (1, 1));
    store.intern("a");
    store.count_reentrant();
    assert_eq!((reader.read(&store), reader.lost.reentrant), (1, 2));
    store.count_reentrant();
    assert_eq!((reader.read(&store), reader.lost.reentrant), (1, 3));
    assert_eq!(reader.read(&store), 0);
}

/// As in the child of a fork: the lock is held over the fork, and the session is new.
#[test]
fn a_new_session_has_the_labels_of_the_old() {
    let store = Store::new(3);
    let texts: Vec<String> = (0..100).map(|number| format!("{number:>1000}")).collect();
    let labels: Vec<Label> = texts.iter().map(|text| store.intern(text)).collect();
    store.label(0x1000, labels[7]);
    let old = all(&store);
    let old_block = store.block(1).unwrap();
    let lock = store.lock();
    assert!(lock.is_some());
    drop(lock);
    store.renew(7);
    let new = all(&store);
    assert_eq!((&new.events, new.session, new.next), (&old.events, 7, old.next));
    // The session of the process: 0 unless another test has started the runtime.
    assert_ne!(old.session, 7);

    // Both stores continue independently.
    let committed = old_block.committed();
    assert!(texts.iter().map(|text| store.intern(text)).eq(labels));
    assert_eq!(store.intern("new"), Label(101));
    store.label(0x1010, Label(101));
    assert_eq!(old_block.committed(), committed);
    let added = [Event::Intern(101, "new".into()), Event::Address(0x1010, 101)];
    assert_eq!(all(&store).events, [old.events, added.to_vec()].concat());
}

/// The new session does not contain what the old one writes into the memory of both after the fork.
#[test]
fn a_new_session_ends_where_it_was_forked() {
    let store = Store::new(2);
    store.intern("both");
    // SAFETY: no thread appends meanwhile.
    #[allow(unsafe_code)]
    let room = unsafe { store.block(0).unwrap().room() };
    room.fill(0xff);
    store.block(0).unwrap().commit(100);
    store.renew(7);
    store.intern("new");
    assert_eq!(all(&store).events, [Event::Intern(1, "both".into()), Event::Intern(2, "new".into())]);
}

/// The block as a core dump shows it.
#[test]
#[allow(unsafe_code)]
fn blocks_in_memory_can_be_read_by_their_magic() {
    let store = Store::new(2);
    (0..100).for_each(|number| _ = store.intern(&format!("{number:>1000}")));
    let [first, second] = [0, 1].map(|index| {
        let block = store.block(index).unwrap();
        // SAFETY: a block has this length, and no thread adds to it now.
        unsafe { core::slice::from_raw_parts(block.pointer().as_ptr().cast::<u8>(), BLOCK) }
    });
    let mut reader = Reader::default();
    for block in [first, second] {
        let mut head = *block.first_chunk::<HEADER_LEN>().unwrap();
        let word = head[state::OFFSET..].first_chunk_mut().unwrap();
        let (len, events) = state::unpack(u64::from_le_bytes(std::mem::take(word)));
        let header = Header::decode(&head, crc32c::crc32c).unwrap();
        assert_eq!(usize::from(header.header_len), memory::HEADER_LEN);
        let end = &block[memory::END_TICKS..];
        let end_ticks = u64::from_le_bytes(*end.first_chunk().unwrap());
        let is_last = end_ticks != 0;
        let header = Header {
            payload_len: len,
            unpacked_len: len,
            events,
            flags: if is_last { flags::LAST } else { 0 },
            end_ticks: if is_last { end_ticks } else { u64::MAX },
            ..header
        };
        reader.part(&header, &block[header.header_len.into()..][..len as usize]);
    }
    assert_eq!(reader.events, all(&store).events);
    assert_eq!((reader.events.len(), reader.next.0), (100, 1));
}

/// Strings whose hashes have the same bits in the table.
#[test]
fn equal_hashes_do_not_hide_each_other() {
    let table = Table::new();
    assert!(table.reserve(3));
    for location in 1..=3 {
        table.insert(0xabc << LOCATION_BITS | 5, location);
    }
    let find = |hash, wanted| table.find(hash, |location| (location == wanted).then_some(location));
    for wanted in 1..=3 {
        assert_eq!(find(0xabc << LOCATION_BITS, wanted), Some(wanted));
        assert_eq!(find(0xabd << LOCATION_BITS, wanted), None);
    }
}

#[test]
fn the_table_has_an_end() {
    let table = Table::new();
    let grown = (1..).take_while(|&entries| table.reserve(entries)).last();
    assert_eq!(grown, Some(MAX_ENTRIES));
}

/// The constants of this room agree with the registry.
#[test]
fn the_registry_says_the_same() {
    let text = own::registry().def().text;
    for expected in [
        format!("Label = {{ bit = {}", own::LABEL_KIND),
        format!("name = \"Intern\"\ncode = {:#06x}", own::INTERN),
        format!("name = \"LabelAddress\"\ncode = {:#06x}", own::LABEL_ADDRESS),
        format!("name = \"string\", sort = \"string\", max = {}", own::MAX_STRING),
    ] {
        assert!(text.contains(&expected), "{expected} is not in\n{text}");
    }
}

#[test]
fn sites_keep_their_label() {
    let site = || crate::intern!("sites_keep_their_label");
    let label = site();
    assert_ne!(label, Label::NONE);
    assert_eq!([site(), crate::intern("sites_keep_their_label")], [label; 2]);
    const NAME: &str = concat!("sites", "_of_constants");
    assert_eq!(crate::intern!(NAME), crate::intern("sites_of_constants"));
    assert_ne!(crate::intern!(NAME), label);
}
