//! The system's wall clock is set back repeatedly while a program records.

use std::path::{Path, PathBuf};
use std::process::Command;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_format::BlockType;

use crate::support::process::child;
use crate::work;

/// Each reading of the wall clock is an hour earlier than the one before.
const LIBRARY: &str = r"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static long readings;
    if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, __func__);
    int failed = real(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec -= 3600 * __sync_fetch_and_add(&readings, 1);
    return failed;
}
";

/// Compiles the library, if there is a compiler.
fn library(directory: &Path) -> Option<PathBuf> {
    let (source, library) = (directory.join("clock.c"), directory.join("clock.so"));
    std::fs::write(&source, LIBRARY).expect("a writable directory");
    let compiler = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    match compiler {
        Ok(status) => {
            assert!(status.success(), "the library is C");
            Some(library)
        }
        Err(_) => {
            eprintln!("SKIPPED: no cc here");
            None
        }
    }
}

/// The times of a stream agree with the pairs of clock readings in its blocks, and never go back.
#[test]
fn is_set_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(library) = library(directory.path()) else { return };
    for clock in ["", "os"] {
        let run = child(
            "wall_clock::is_set_back",
            |process| process.env("LD_PRELOAD", &library).env("TELEMETRY_CLOCK", clock),
            || {
                let now = std::time::SystemTime::now;
                assert!(now() > now(), "the clock is set back");
                for number in 0..20_000_u64 {
                    work::alloc!(number, 0_u64, number, 1);
                    work::tick!();
                    if number % 1_000 == 0 {
                        let _ = now();
                        telemetry::flush();
                    }
                }
                vec![]
            },
        );
        let stream = run.stream();
        assert_eq!(stream.events.len(), 40_000, "clock `{clock}`");
        let mut moments = moments(&run.path());
        moments.sort_unstable();
        let (first, last) = (moments[0], moments[moments.len() - 1]);
        // The two clocks are read one after the other, which may take a moment.
        let goes_on = |two: &[(u64, u64)]| two[1].1 + 1_000_000_000 > two[0].1;
        assert!(moments.windows(2).all(goes_on), "clock `{clock}`: {moments:?}");
        assert!(last.1 - first.1 < 3_600_000_000_000, "clock `{clock}`: {first:?} to {last:?}");
    }
}

/// Ticks, and nanoseconds since 1970, in the headers of events blocks and sync blocks.
fn moments(path: &Path) -> Vec<(u64, u64)> {
    let mut blocks = Blocks::new(std::fs::File::open(path).expect("a stream"));
    let mut moments = Vec::new();
    while let Some(piece) = blocks.next().expect("a readable stream") {
        let Piece::Block(block) = piece else { panic!("{piece:?}") };
        let header = block.header;
        if matches!(header.block_type, BlockType::Session | BlockType::Events | BlockType::Sync) {
            moments.push((header.base_ticks, header.base_wall));
        }
    }
    moments
}
