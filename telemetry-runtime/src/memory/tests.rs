//! What tests of several rooms share: a registry, the record of a lane, and a block. And tests of
//! what these say of themselves.
#![allow(unsafe_code)]

use core::ptr::{NonNull, from_ref};

use telemetry_format::{
    ACCOUNT_LEN, Encoding, LaneAccount, LaneCounters, LaneIdentity, Loss, SessionTotals, TOTALS_LEN, state,
};

use crate::memory::account::{Account, Totals};
use crate::memory::block::{Block, MEMORY_HEADER_LEN, PAGE, capacity, pages_for};
use crate::memory::record::{LaneRecord, Owner};
use crate::memory::registry::Registry;
use crate::model::counter_def::CounterDef;
use crate::model::limit_def::LimitDef;
use crate::model::registry_def::{EventInfo, Kind, ParamInfo, Preset, RegistryDef, Sort, TypeInfo};
use crate::sys;
use crate::sys::atomic::{AtomicU8, AtomicU64, Ordering};

/// The bits of the registry's kinds.
pub(crate) const ACCESS: u8 = 3;
pub(crate) const TRACE: u8 = 5;

/// The parameters of `Hit`.
const PARAMS: &[ParamInfo] = &[
    ParamInfo("size", "bytes", Sort::Word(0)),
    ParamInfo("level", "", Sort::Named(Encoding::Byte, 0)),
    ParamInfo("is_hot", "", Sort::Number(Encoding::Bool)),
    ParamInfo("ratio", "", Sort::Number(Encoding::F64)),
    ParamInfo("name", "", Sort::String),
    ParamInfo("parts", "", Sort::Counted(&Sort::Number(Encoding::Byte))),
];

const DEF: RegistryDef = RegistryDef {
    name: "cache",
    version: [1, 2, 3],
    fingerprint: 0xca,
    text: "[registry]\nname = \"cache\"\n",
    kinds: &[
        Kind { name: "Access", bit: ACCESS, inherits: false, slots: 0..1 },
        Kind { name: "Trace", bit: TRACE, inherits: true, slots: 1..2 },
    ],
    presets: &[Preset { name: "misses", events: &[2] }, Preset { name: "nothing", events: &[] }],
    types: &[TypeInfo { is_flags: false, values: &[(0, "Low"), (1, "High")] }],
    events: &[
        EventInfo { name: "Hit", code: 1, kind: 0, params: PARAMS },
        EventInfo { name: "Miss", code: 2, kind: 0, params: &[] },
        EventInfo { name: "Step", code: 7, kind: 1, params: &[] },
    ],
};

/// The name of the thread of all lanes, without NUL at its end.
const THREAD_NAME: [u8; 16] = *b"a thread's name!";

fn mask() -> &'static [AtomicU8] {
    Box::leak(Box::new([AtomicU8::new(0)]))
}

/// Returns a registry that is not in use. Its events are off.
pub(crate) fn registry() -> &'static Registry {
    Box::leak(Box::new(Registry::new(DEF, mask())))
}

/// Returns such a registry whose kind `Access` stays on this host.
pub(crate) fn local_registry() -> &'static Registry {
    Box::leak(Box::new(Registry::new(DEF, mask()).with_local(1 << ACCESS, false)))
}

/// Returns such a registry with two counters and a limit. Each thread has the second counter.
pub(crate) fn counting_registry() -> &'static Registry {
    let base: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    let counters: &'static [CounterDef; 2] = Box::leak(Box::new([
        CounterDef { event: 0, per_thread: false, base, sample: |_, _| {} },
        CounterDef { event: 1, per_thread: true, base, sample: |_, _| {} },
    ]));
    let limits: &'static [LimitDef; 1] = Box::leak(Box::new([LimitDef::new(1, "Miss", |_| {})]));
    Box::leak(Box::new(Registry::new(DEF, mask()).with_counters(counters).with_limits(limits)))
}

/// Returns the owner of a lane.
pub(crate) fn owner(registry: &'static Registry, kind: u8) -> Owner {
    Owner { registry, kind, thread: 7, thread_id: 70, thread_name: THREAD_NAME }
}

/// Returns the record of a lane. It is in no table.
pub(crate) fn record(registry: &'static Registry, kind: u8) -> &'static LaneRecord {
    let record = zeros::<LaneRecord>();
    assert!(record.claim(9, &owner(registry, kind), zeros(), 1));
    record
}

/// Returns a block without events, which belongs to no lane.
pub(crate) fn block() -> NonNull<Block> {
    let at = sys::map(PAGE).expect("memory");
    // SAFETY: the memory is a page that nothing else uses. It is never unmapped.
    NonNull::from(Box::leak(Box::new(unsafe { Block::scratch(at.cast()) })))
}

/// Returns zeros that are never unmapped, as the tables of records and accounts begin.
fn zeros<T: 'static>() -> &'static T {
    let at = sys::map(size_of::<T>()).expect("memory");
    // SAFETY: the memory is new and begins at a page. This file asks only for types that may be
    // zeros.
    unsafe { &*at.cast::<T>() }
}

/// Returns the bytes of an account, as a post-mortem finds them.
fn bytes_of<T, const LEN: usize>(account: &T) -> [u8; LEN] {
    assert_eq!(size_of::<T>(), LEN);
    // SAFETY: the account has this length, and no other thread uses it.
    unsafe { *from_ref(account).cast::<[u8; LEN]>() }
}

fn account_in(account: &Account) -> Option<LaneAccount> {
    LaneAccount::decode(&bytes_of::<_, ACCOUNT_LEN>(account), crc32c::crc32c)
}

#[test]
fn a_record_says_whose_it_is_until_it_is_freed() {
    let registry = registry();
    let (record, account) = (zeros::<LaneRecord>(), zeros::<Account>());
    let state = || (record.is_taken(), record.is_closed());
    assert_eq!(state(), (false, false));
    // What an earlier lane has left.
    [&record.seq, &record.blocks].iter().for_each(|number| number.store(5, Ordering::Relaxed));
    let counts = [&record.before, &record.seen, &record.overwritten];
    counts.iter().for_each(|count| count.store(6, Ordering::Relaxed));
    account.sink.store(7, Ordering::Relaxed);
    record.open.set(block());

    assert!(record.claim(9, &owner(registry, ACCESS), account, 77));
    assert_eq!((state(), record.index()), ((true, false), 9));
    let found = record.owner();
    assert!(core::ptr::eq(found.registry, registry) && core::ptr::eq(record.account(), account));
    assert_eq!((found.kind, found.thread, found.thread_id, found.thread_name), (ACCESS, 7, 70, THREAD_NAME));
    assert_eq!([&record.seq, &record.blocks].map(|number| number.load(Ordering::Relaxed)), [0; 2]);
    assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [0; 3]);
    assert_eq!(record.open.get(), None);
    let identity = LaneIdentity {
        session: 77,
        registry: 0xca,
        kind: ACCESS,
        thread: 7,
        index: 9,
        thread_id: 70,
        thread_name: THREAD_NAME,
    };
    assert_eq!(account_in(account), Some(LaneAccount { identity, counters: LaneCounters::default() }));

    assert!(!record.claim(9, &owner(registry, TRACE), account, 78), "it is not free");
    assert_eq!(record.owner().kind, ACCESS);
    record.close();
    assert_eq!(state(), (true, true));
    record.free();
    assert_eq!(state(), (false, false));
    assert!(record.claim(9, &owner(registry, TRACE), account, 78));
}

#[test]
fn an_account_counts_where_events_went() {
    let record = record(registry(), ACCESS);
    let account = record.account();
    record.count_sealed(10);
    record.count_sealed(4);
    for (number, counter) in [
        &account.written,
        &account.evicted,
        &account.pool,
        &account.reentrant,
        &account.truncated,
        &account.sink,
    ]
    .into_iter()
    .enumerate()
    {
        counter.store(1 << number, Ordering::Relaxed);
    }
    let counters = LaneCounters::from_words([10, 1, 2, 4, 8, 16, 32]);
    assert_eq!(account.read(), counters);
    assert_eq!(account_in(account).map(|account| account.counters), Some(counters));
    // Each sink counts for itself what it has lost.
    assert_eq!(record.lost(), Loss { pool: 4, reentrant: 8, sink: 0, truncated: 16 });

    let totals = zeros::<Totals>();
    let told = || SessionTotals::decode(&bytes_of::<_, TOTALS_LEN>(totals));
    assert_eq!(told(), None);
    totals.begin(77);
    let none = SessionTotals { session: 77, ..SessionTotals::default() };
    assert_eq!(told(), Some(none));
    totals.take(9, account);
    assert_eq!(told(), Some(SessionTotals { gone: counters, ..none }));
    assert_eq!(account_in(account), None, "a lane is counted once");
    totals.take(9, account);
    totals.take(9, account);
    let gone = LaneCounters::from_words(counters.words().map(|counter| 3 * counter));
    // A late reading of the losses is no smaller.
    totals.set_strays(&Loss { pool: 5, reentrant: 6, ..Loss::default() });
    totals.set_strays(&Loss { pool: 4, reentrant: 7, ..Loss::default() });
    assert_eq!(told(), Some(SessionTotals { gone, pool: 5, reentrant: 7, ..none }));
}

#[test]
fn a_registry_has_a_switch_for_each_event() {
    let registry = registry();
    let on = || [0, 1, 2].map(|index| registry.is_on(index));
    assert_eq!(on(), [false; 3]);
    registry.switch(1, true);
    registry.switch(2, true);
    assert_eq!(on(), [false, true, true]);
    registry.switch(1, false);
    registry.switch(0, false);
    assert_eq!(on(), [false, false, true]);
    registry.switch_off();
    assert_eq!(on(), [false; 3]);
    assert!(!registry.has_changed());
    registry.change();
    assert!(registry.has_changed());
    // At first all events seem on, so that the first one calls the runtime.
    registry.forget();
    assert_eq!((on(), registry.has_changed(), registry.is_listed()), ([true; 3], false, false));
    assert_eq!((registry.name(), registry.version(), registry.fingerprint()), ("cache", [1, 2, 3], 0xca));
    assert_eq!(format!("{registry:?}"), "Registry(cache 1.2.3)");
    assert!(!registry.is_own());
    assert_eq!([ACCESS, TRACE].map(|kind| registry.is_local(kind)), [false; 2]);
    assert_eq!([ACCESS, TRACE].map(|kind| local_registry().is_local(kind)), [true, false]);
}

/// Blocks that were opened while a kind was on are still output after it is switched off.
#[test]
fn a_kind_is_output_until_it_is_switched_off() {
    let registry = registry();
    let are = |ticks: u64| {
        [ACCESS, TRACE, 0].map(|kind| (registry.is_followed(kind, ticks), registry.is_output(kind, ticks)))
    };
    let (neither, both) = ((false, false), (true, true));
    assert_eq!(are(u64::MAX), [neither; 3]);
    registry.add_output(1 << ACCESS, 1 << ACCESS | 1 << TRACE);
    assert_eq!(are(u64::MAX), [both, (false, true), neither]);
    registry.add_output(1 << TRACE, 1 << TRACE);
    assert_eq!(are(u64::MAX), [both, both, neither]);

    // Whatever the clock says, that is before now.
    let before = 1;
    registry.set_output(1 << TRACE, 1 << TRACE);
    assert_eq!(are(u64::MAX), [neither, both, neither]);
    assert_eq!(are(before), [both, both, neither]);
    registry.set_output(1 << ACCESS, 1 << ACCESS | 1 << TRACE);
    assert_eq!(are(u64::MAX), [both, (false, true), neither]);
    assert_eq!(are(before), [both, both, neither]);
    registry.set_output(0, 0);
    assert_eq!(are(u64::MAX), [neither; 3]);
    assert_eq!(are(before), [both, both, neither]);
    registry.forget();
    assert_eq!(are(before), [neither; 3]);
}

#[test]
fn blocks_have_room_behind_their_header() {
    for (len, pages) in [(0, 1), (1, 1), (capacity(1), 1), (capacity(1) + 1, 2), (capacity(4), 4)] {
        assert_eq!(pages_for(len), pages, "{len}");
    }
    assert_eq!([0, 1, 4].map(capacity), [0, PAGE - MEMORY_HEADER_LEN, 4 * PAGE - MEMORY_HEADER_LEN]);
}

/// Another process may write to a ring file.
#[test]
fn what_a_block_says_is_limited() {
    let block = block();
    // SAFETY: the block is never freed, and only this thread uses it.
    let (block, head) = unsafe { (block.as_ref(), &*block.as_ref().head()) };
    let check = |len: usize, expected: usize| {
        head.state.publish(state::pack(len as u32, 3));
        assert_eq!(block.committed(), (expected as u32, 3), "{len}");
    };
    check(0, 0);
    check(capacity(1), capacity(1));
    check(capacity(1) + 1, capacity(1));
    check(u32::MAX as usize, capacity(1));
    assert_eq!(block.taken(), 0);
    block.set_taken(65_535);
    assert_eq!(block.taken(), 65_535);
    block.set_taken(65_536);
    assert_eq!(block.taken(), 65_535);
    block.set_end_ticks(8);
    assert_eq!((block.end_ticks(), block.pages()), (8, 1));
    block.set_pages(4);
    assert_eq!((block.pages(), block.capacity()), (4, capacity(4)));
}
