//! Logs made byte by byte in the MPS's layout, without the project's writer.

use std::sync::LazyLock;

use telemetry_foreign::mps;
use telemetry_schema::{Registry, Sort};

/// A value of an event.
#[derive(Clone, Copy)]
pub enum Is {
    /// An integer.
    N(u64),
    /// A float.
    D(f64),
    /// A string.
    S(&'static str),
}
use Is::{D, N, S};

/// The bytes of padding: old data that no reader must use.
const STALE: u8 = 0xa7;

/// Returns the bytes of an event.
pub fn event(name: &str, ticks: u64, values: &[Is]) -> Vec<u8> {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(mps::registry);
    let event = REGISTRY.event_named(name).unwrap_or_else(|| panic!("no event {name}"));
    let mut bytes = [&event.code.to_le_bytes()[..], &[0; 2], &[STALE; 4], &ticks.to_le_bytes()].concat();
    assert_eq!(event.params.len(), values.len(), "{name}");
    for (param, value) in event.params.iter().zip(values) {
        let (number, size) = match (*value, param.sort) {
            (D(x), Sort::F64) => (x.to_bits(), 8),
            (S(text), Sort::String) => {
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0);
                // The MPS counts four bytes for the end of a string.
                bytes.extend_from_slice(&[STALE; 3]);
                continue;
            }
            (N(n), Sort::Bool) => (n, 1),
            (N(n), Sort::U32) => (n, 4),
            (N(n), _) => (n, 8),
            _ => panic!("{name}: `{}` is of another sort", param.name),
        };
        bytes.resize(bytes.len().next_multiple_of(size), STALE);
        bytes.extend_from_slice(&number.to_le_bytes()[..size]);
    }
    bytes.resize(bytes.len().next_multiple_of(8), STALE);
    let size = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Makes an EventInit with the version of the registry.
pub fn init(ticks: u64) -> Vec<u8> {
    init_of(ticks, [2, 0, 0, 92, 19, 64, 1_000_000])
}

/// Makes an EventInit with given numbers.
pub fn init_of(ticks: u64, numbers: [u64; 7]) -> Vec<u8> {
    event("EventInit", ticks, &numbers.map(N))
}

/// Makes an EventClockSync.
pub fn sync(ticks: u64, clock: u64) -> Vec<u8> {
    event("EventClockSync", ticks, &[N(clock)])
}

/// The version string of the logs.
pub const VERSION: &str = "@(#)Ravenbrook MPS, product.mps, release/1.118.0, platform.lii6gc, \
                           variety.asserted.logging.nonstats, compiled on Jan  1 2025 12:00:00";

/// Makes the first batch of every log: a hundred ticks.
pub fn beginning(ticks: u64) -> Vec<u8> {
    let version = event("Intern", ticks, &[N(1), S(VERSION)]);
    [init(ticks + 10), version, sync(ticks + 20, 1_000)].concat()
}

/// Makes a small log with all kinds of content: two batches of several kinds after the first one,
/// labels, doubles, booleans, an event without parameters, and a kind that is output late.
pub fn small() -> Vec<u8> {
    let address = 0x7f00_0000_1000;
    let pool = 0x5500_0000_2000;
    [
        beginning(1_000),
        // Arena, the newest first.
        event("MessagesExist", 2_500, &[]),
        event("PauseTimeSet", 2_100, &[N(7), D(0.1)]),
        // Pool.
        event("PoolInitMVFF", 2_301, &[N(pool), N(65_536), N(32), N(8), N(0), N(1), N(1)]),
        event("PoolInit", 2_300, &[N(pool), N(7), N(9), N(3)]),
        // User.
        event("LabelPointer", 2_202, &[N(pool), N(2)]),
        event("Intern", 2_201, &[N(2), S("a \"pool\" \\ of mine")]),
        sync(3_000, 2_000),
        event("ArenaPollEnd", 3_900, &[N(7), N(1)]),
        event("ArenaPollBegin", 3_100, &[N(7)]),
        // Object, which is output only now: its first two events are older than the end of the last
        // batch.
        event("PoolAlloc", 3_500, &[N(pool), N(address + 64), N(48)]),
        event("PoolAlloc", 2_900, &[N(pool), N(address + 32), N(u64::MAX)]),
        event("PoolAlloc", 2_400, &[N(pool), N(address), N(32)]),
        event("Label", 3_600, &[N(address), N(2)]),
        sync(4_000, 3_000),
        event("PoolFinish", 4_100, &[N(pool), N(7)]),
        event("PoolFree", 4_200, &[N(pool), N(address), N(32)]),
        sync(5_000, 4_000),
    ]
    .concat()
}

/// The output of `mpseventcnv` for [`small`].
pub const SMALL: &str = "\
00000000000003F2   1D 2 0 0 5C 13 40 F4240
00000000000003E8   21 1 \"@(#)Ravenbrook MPS, product.mps, release/1.118.0, platform.lii6gc, variety.asserted.logging.nonstats, compiled on Jan  1 2025 12:00:00\"
00000000000003FC   1C 3E8
00000000000009C4   26
0000000000000834   29 7 0.1
00000000000008FD   34 550000002000 10000 20 8 0 1 1
00000000000008FC   2D 550000002000 7 9 3
000000000000089A   23 550000002000 2
0000000000000899   21 2 \"a \\\"pool\\\" \\\\ of mine\"
0000000000000BB8   1C 7D0
0000000000000F3C    E 7 1
0000000000000C1C    D 7
0000000000000DAC   2A 550000002000 7F0000001040 30
0000000000000B54   2A 550000002000 7F0000001020 FFFFFFFFFFFFFFFF
0000000000000960   2A 550000002000 7F0000001000 20
0000000000000E10   22 7F0000001000 2
0000000000000FA0   1C BB8
0000000000001004   2B 550000002000 7
0000000000001068   2C 550000002000 7F0000001000 20
0000000000001388   1C FA0
";
