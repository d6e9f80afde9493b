//! What the runtime needs from the system: one file per family, and its own text and atomics. Uses
//! no other room. Miri, which knows no C library, gets `other`, which does without one. It never
//! knows events, blocks or settings.

pub(crate) mod atomic;
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
mod build_id;
pub(crate) mod c_text;
#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
mod cpuid;
#[cfg(all(unix, not(miri)))]
mod descriptor;
pub(crate) mod errno;
#[cfg(all(target_os = "linux", not(miri)))]
mod fatal;
mod file_lock;
#[cfg(all(unix, not(miri)))]
mod library;
#[cfg(all(unix, not(miri)))]
mod machine;
mod mapped;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) mod maps;
mod no_ring;
mod notices;
#[cfg(any(not(unix), miri))]
mod other;
#[cfg(all(unix, not(miri)))]
mod output;
pub(crate) mod raw_file;
#[cfg(all(unix, not(miri)))]
mod ring;
#[cfg(all(unix, not(miri)))]
mod ring_place;
#[cfg(all(unix, not(miri)))]
mod signals;
#[cfg(feature = "testing")]
pub(crate) mod spawned;
pub(crate) mod text;
#[cfg(all(unix, not(miri)))]
mod threads;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) mod timers;
#[cfg(all(unix, not(miri)))]
mod unix;
mod usage;
pub(crate) mod user_signal_names;
#[cfg(all(unix, not(miri)))]
mod user_signals;
mod wait;

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
pub(crate) use build_id::build_id;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) use build_id::find as find_build_id;
#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
pub(crate) use cpuid::{cpuid, highest_extended};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use fatal::{Fault, handle_fatal};
pub(crate) use file_lock::lock_file;
#[cfg(all(unix, not(miri)))]
pub(crate) use library::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use machine::*;
pub(crate) use mapped::Mapped;
pub(crate) use no_ring::NoRing;
pub(crate) use notices::{report, tag_of, tagged, with_errno};
#[cfg(any(not(unix), miri))]
pub(crate) use other::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use output::{Planted, open_output};
#[cfg(all(unix, not(miri)))]
pub(crate) use ring::RingFile;
#[cfg(all(unix, not(miri)))]
pub(crate) use ring_place::ring_at;
#[cfg(all(unix, not(miri)))]
pub(crate) use signals::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use threads::*;
#[cfg(all(unix, not(miri)))]
pub(crate) use unix::*;
pub(crate) use usage::{Usage, usage};
#[cfg(all(unix, not(miri)))]
pub(crate) use user_signals::{count_signal, signals_so_far};
pub(crate) use wait::*;

/// Programs of other systems have no build ID.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn build_id() -> Option<&'static [u8]> {
    None
}
