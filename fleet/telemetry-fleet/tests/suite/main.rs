//! Tests of the crate and of its command.

mod authority;
#[cfg(target_os = "linux")]
mod backlog;
mod clouds;
mod collect;
#[cfg(target_os = "linux")]
mod control;
#[cfg(unix)]
mod daemon;
mod deploy;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(unix)]
mod faults;
mod hostile;
#[cfg(unix)]
mod metrics;
mod model;
#[cfg(all(unix, feature = "failpoints"))]
mod points;
mod refused;
mod rows;
mod s3;
#[cfg(target_os = "linux")]
mod secrets;
mod segments;
mod sensitive;
mod ship;
#[cfg(unix)]
mod silent_store;
mod texts;
mod versions;
