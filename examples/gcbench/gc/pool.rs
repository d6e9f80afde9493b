//! The pools of a heap: one for each of its two kinds of memory management.

use crate::events::{PoolAttr, PoolClass};

/// Facts about a pool. Its address identifies it in events.
pub(super) struct Pool {
    pub(super) name: &'static str,
    pub(super) class: PoolClass,
    pub(super) attr: PoolAttr,
}

/// Index of the collected pool.
pub(super) const OBJECTS: usize = 0;

/// Index of the manual pool.
pub(super) const TABLES: usize = 1;

/// A heap's pools.
pub(super) fn pools() -> [Pool; 2] {
    let collected = PoolAttr::Collected | PoolAttr::Moving | PoolAttr::Scanned;
    [
        Pool { name: "objects", class: PoolClass::Copying, attr: collected },
        Pool { name: "tables", class: PoolClass::FirstFit, attr: PoolAttr::Manual },
    ]
}
