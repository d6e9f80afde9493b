//! A disk that is soon full.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system, until it is dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it at a directory. Says so if that is not allowed.
    pub(crate) fn mount(dir: &Path, size: &str) -> Option<SmallDisk> {
        std::fs::create_dir(dir).unwrap();
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(dir).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: cannot mount a small file system");
            return None;
        }
        Some(SmallDisk(dir.to_owned()))
    }

    pub(crate) fn grow(&self, size: &str) {
        let option = format!("remount,size={size}");
        assert!(Command::new("mount").args(["-o", &option]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
