//! The accounts in a memory image: how many events each lane recorded, and where they went.
//!
//! A lane's account outlives its blocks. It tells a tool that recovers events from an image how
//! many events are missing there, and why.

use crate::header::Checksum;

/// The first bytes of a lane's account.
pub const ACCOUNT_MAGIC: [u8; 8] = *b"\x89TELLANE";
/// Length of a lane's account: 64 bytes of identity, then the counters as words of 8 bytes.
pub const ACCOUNT_LEN: usize = 128;
/// The first bytes of a session's account.
pub const TOTALS_MAGIC: [u8; 8] = *b"\x89TELSESS";
/// Length of a session's account.
pub const TOTALS_LEN: usize = 192;

/// Identifies the lane of an account. Written once, before the lane's first event, with a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneIdentity {
    /// The number of the session.
    pub session: u64,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// The session's number of the thread.
    pub thread: u32,
    /// The index of the account among those of the session.
    pub index: u32,
    /// The system's number of the thread.
    pub thread_id: u64,
    /// The system's name of the thread, padded with NUL.
    pub thread_name: [u8; 16],
}

/// Where the events of sealed blocks went. Every counter only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneCounters {
    /// Events in sealed blocks. The open block has more, and its header has their number.
    pub recorded: u64,
    /// Events that a sink has taken, in blocks that were returned to the pool.
    pub written: u64,
    /// Events that the flight recorder evicted for later ones.
    pub evicted: u64,
    /// Events that were lost because the pool was full.
    pub pool: u64,
    /// Events that were lost because they interrupted an emission of their own lane.
    pub reentrant: u64,
    /// Values that were truncated to their limit.
    pub truncated: u64,
    /// Events that were recorded for a sink and that no sink has taken.
    pub sink: u64,
}

/// The account of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneAccount {
    /// The lane.
    pub identity: LaneIdentity,
    /// Where its events went.
    pub counters: LaneCounters,
}

/// The totals of a session without those of present lanes: the sums of ended lanes whose accounts
/// are gone, and losses without a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionTotals {
    /// The number of the session.
    pub session: u64,
    /// The sums of the lanes that are gone.
    pub gone: LaneCounters,
    /// The index of a lane's account that is still in the image although `gone` includes it.
    pub counted: Option<u32>,
    /// Events without a lane that were lost because the pool was full.
    pub pool: u64,
    /// Events without a lane that were lost because they interrupted an emission.
    pub reentrant: u64,
}

impl LaneIdentity {
    /// Returns the bytes before the counters. [`ACCOUNT_MAGIC`] is 0 in them: it is stored after
    /// everything else.
    #[must_use]
    pub fn encode(&self, checksum: Checksum) -> [u8; 64] {
        let mut out = [0; 64];
        out[12] = self.kind;
        out[16..24].copy_from_slice(&self.session.to_le_bytes());
        out[24..32].copy_from_slice(&self.registry.to_le_bytes());
        out[32..36].copy_from_slice(&self.thread.to_le_bytes());
        out[36..40].copy_from_slice(&self.index.to_le_bytes());
        out[40..48].copy_from_slice(&self.thread_id.to_le_bytes());
        out[48..64].copy_from_slice(&self.thread_name);
        let sum = checksum(&out[12..]);
        out[8..12].copy_from_slice(&sum.to_le_bytes());
        out
    }
}

impl LaneAccount {
    /// Decodes the account at the start of `bytes`. Returns `None` if there is none.
    pub fn decode(bytes: &[u8], checksum: Checksum) -> Option<LaneAccount> {
        let bytes: &[u8; ACCOUNT_LEN] = bytes.first_chunk()?;
        if bytes[..8] != ACCOUNT_MAGIC || half(bytes, 8) != checksum(&bytes[12..64]) {
            return None;
        }
        let identity = LaneIdentity {
            session: word(bytes, 16),
            registry: word(bytes, 24),
            kind: bytes[12],
            thread: half(bytes, 32),
            index: half(bytes, 36),
            thread_id: word(bytes, 40),
            thread_name: *bytes[48..64].first_chunk()?,
        };
        Some(LaneAccount { identity, counters: LaneCounters::decode(&bytes[64..]) })
    }
}

impl LaneCounters {
    /// The number of counters.
    pub const COUNT: usize = 7;

    /// Returns the counters as words, in the order of the fields.
    pub fn words(&self) -> [u64; LaneCounters::COUNT] {
        let LaneCounters { recorded, written, evicted, pool, reentrant, truncated, sink } = *self;
        [recorded, written, evicted, pool, reentrant, truncated, sink]
    }

    /// Creates the counters from words in the order of the fields.
    pub fn from_words(words: [u64; LaneCounters::COUNT]) -> LaneCounters {
        let [recorded, written, evicted, pool, reentrant, truncated, sink] = words;
        LaneCounters { recorded, written, evicted, pool, reentrant, truncated, sink }
    }

    fn decode(bytes: &[u8]) -> LaneCounters {
        LaneCounters::from_words(core::array::from_fn(|index| word(bytes, 8 * index)))
    }
}

impl SessionTotals {
    /// Offsets in a session's account. This one is that of the session.
    pub const SESSION: usize = 8;
    /// The offset of the word that [`SessionTotals::selector`] returns.
    pub const SELECTOR: usize = 16;
    /// The offset of the two sums, one after the other.
    pub const SUMS: usize = 24;
    /// The offset of the losses without a lane: `pool`, then `reentrant`.
    pub const STRAYS: usize = SessionTotals::SUMS + 2 * 8 * LaneCounters::COUNT;

    /// Returns the word that says which of the two sums counts, and which present account that sum
    /// includes. One store of the word moves a lane from the accounts to the sum.
    pub const fn selector(sum: usize, counted: Option<u32>) -> u64 {
        let counted = match counted {
            Some(index) => index as u64 + 1,
            None => 0,
        };
        (sum as u64 & 1) | counted << 1
    }

    /// Decodes the account at the start of `bytes`. Returns `None` if there is none.
    pub fn decode(bytes: &[u8]) -> Option<SessionTotals> {
        let bytes: &[u8; TOTALS_LEN] = bytes.first_chunk()?;
        if bytes[..8] != TOTALS_MAGIC {
            return None;
        }
        let selector = word(bytes, SessionTotals::SELECTOR);
        let sum = SessionTotals::SUMS + (selector & 1) as usize * 8 * LaneCounters::COUNT;
        Some(SessionTotals {
            session: word(bytes, SessionTotals::SESSION),
            gone: LaneCounters::decode(&bytes[sum..]),
            counted: u32::try_from(selector >> 1).ok()?.checked_sub(1),
            pool: word(bytes, SessionTotals::STRAYS),
            reentrant: word(bytes, SessionTotals::STRAYS + 8),
        })
    }
}

const _: () =
    assert!(SessionTotals::STRAYS + 16 <= TOTALS_LEN && 64 + 8 * LaneCounters::COUNT <= ACCOUNT_LEN);

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(bytes: &[u8]) -> u32 {
        bytes.iter().fold(7, |sum, byte| sum.rotate_left(5) ^ u32::from(*byte))
    }

    #[test]
    fn an_account_is_read_back_and_damage_is_seen() {
        let identity = LaneIdentity {
            session: 0x0123_4567_89ab_cdef,
            registry: 99,
            kind: 7,
            thread: 12,
            index: 34,
            thread_id: 4711,
            thread_name: *b"worker-7\0\0\0\0\0\0\0\0",
        };
        let counters = LaneCounters::from_words([1, 2, 3, 4, 5, 6, u64::MAX]);
        let mut bytes = [0; ACCOUNT_LEN];
        bytes[..64].copy_from_slice(&identity.encode(checksum));
        bytes[..8].copy_from_slice(&ACCOUNT_MAGIC);
        for (index, word) in counters.words().iter().enumerate() {
            bytes[64 + 8 * index..][..8].copy_from_slice(&word.to_le_bytes());
        }
        assert_eq!(LaneAccount::decode(&bytes, checksum), Some(LaneAccount { identity, counters }));
        for at in 0..64 {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            assert_eq!(LaneAccount::decode(&damaged, checksum), None, "byte {at}");
        }
        assert_eq!(LaneAccount::decode(&bytes[..127], checksum), None);
    }

    #[test]
    fn totals_are_those_of_the_sum_that_is_selected() {
        let mut bytes = [0; TOTALS_LEN];
        bytes[..8].copy_from_slice(&TOTALS_MAGIC);
        bytes[SessionTotals::SUMS] = 1;
        bytes[SessionTotals::SUMS + 8 * LaneCounters::COUNT] = 2;
        // Two sums of seven counters follow the three words.
        (bytes[24 + 14 * 8], bytes[24 + 15 * 8]) = (11, 12);
        let read =
            |bytes: &[u8]| SessionTotals::decode(bytes).map(|totals| (totals.gone.recorded, totals.counted));
        assert_eq!(read(&bytes), Some((1, None)));
        for (sum, counted) in [(0, Some(0)), (1, Some(4095)), (1, None)] {
            let selector = SessionTotals::selector(sum, counted);
            bytes[SessionTotals::SELECTOR..][..8].copy_from_slice(&selector.to_le_bytes());
            assert_eq!(read(&bytes), Some((sum as u64 + 1, counted)));
        }
        let totals = SessionTotals::decode(&bytes).expect("a whole account");
        assert_eq!((totals.pool, totals.reentrant), (11, 12));
        assert_eq!(read(&bytes[..TOTALS_LEN - 1]), None);
    }
}
