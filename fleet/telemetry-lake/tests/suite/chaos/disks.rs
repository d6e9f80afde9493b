//! The disks of spools, which get full.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::SmallDisk;

/// A spool has at most 1 MiB, and one segment more.
const SIZE: &str = "8m";

/// How often a disk got full in all schedules.
static FULL: AtomicU64 = AtomicU64::new(0);

/// How often a disk could not be made.
static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// Says how many disks got full.
pub(crate) fn told() -> String {
    let (full, skipped) = (FULL.load(Ordering::Relaxed), SKIPPED.load(Ordering::Relaxed));
    let skipped = match skipped {
        0 => String::new(),
        count => format!("; SKIPPED: {count} disks could not be mounted, so they never got full"),
    };
    format!("disks got full {full} times{skipped}")
}

/// The disks of a schedule, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Disks(Vec<(PathBuf, Option<SmallDisk>)>);

impl Disks {
    /// Lets a directory be on a disk of its own.
    pub(crate) fn add(&mut self, dir: &Path) {
        let disk = SmallDisk::mount(dir, SIZE);
        SKIPPED.fetch_add(u64::from(disk.is_none()), Ordering::Relaxed);
        self.0.push((dir.to_owned(), disk));
    }

    /// Fills a disk, or gives it its space again.
    pub(crate) fn fill(&self, number: usize, is_full: bool) {
        let (dir, disk) = &self.0[number];
        let ballast = dir.join("ballast");
        if disk.is_none() {
            return;
        }
        if !is_full {
            let _ = std::fs::remove_file(ballast);
            return;
        }
        let mut file = std::fs::File::options().create(true).append(true).open(ballast).unwrap();
        // The last write is a part of a page, or none.
        for len in [1 << 16, 1] {
            while file.write_all(&vec![0; len]).is_ok() {}
        }
        FULL.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives all disks their space again.
    pub(crate) fn free(&self) {
        (0..self.0.len()).for_each(|number| self.fill(number, false));
    }
}
