//! A lane's change from one block to the next: who seals the old one, and which block is the
//! latest.

use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering, constant};

/// Where a lane is between its numbered blocks. All zeros is the state before the first block.
pub(crate) struct Turn {
    /// Number of the next block to be sealed. The lane or the drain raises it, and that one seals
    /// the block.
    sealed: AtomicU32,
    /// True if the lane has handed its block over and has recorded nothing in the next one yet.
    is_refilling: AtomicBool,
}

impl Turn {
    constant! {
        /// Creates the state before the first block.
        #[cfg_attr(not(loom), expect(dead_code, reason = "records begin as zeros"))]
        pub(crate) fn new() -> Turn {
            Turn { sealed: AtomicU32::new(0), is_refilling: AtomicBool::new(false) }
        }
    }

    /// Returns to the state before the first block.
    pub(crate) fn clear(&self) {
        self.sealed.store(0, Ordering::Relaxed);
        self.is_refilling.store(false, Ordering::Relaxed);
    }

    /// Claims the right to seal the block with this number. Only one caller gets it: the lane that
    /// fills the block, or the drain that has stopped the lane. The number decides, since another
    /// lane may own the memory of the block by now.
    pub(crate) fn claim(&self, seq: u32) -> bool {
        self.sealed.compare_exchange(seq, seq.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Returns true if the block before this number is sealed. The lane asks this about its open
    /// block.
    pub(crate) fn is_sealed_up_to(&self, seq: u32) -> bool {
        self.sealed.load(Ordering::Relaxed) == seq
    }

    /// Records that the lane begins a block, or that the first event is in it.
    pub(crate) fn set_refilling(&self, is_refilling: bool) {
        self.is_refilling.store(is_refilling, Ordering::Release);
    }

    /// Returns true for the block with the lane's latest events while its thread begins the next
    /// block. The thread may sleep there until other threads have filled the whole pool.
    pub(crate) fn is_latest(&self, seq: u32) -> bool {
        self.is_refilling.load(Ordering::Acquire) && self.is_sealed_up_to(seq.wrapping_add(1))
    }
}
