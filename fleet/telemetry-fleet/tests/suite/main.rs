//! Tests of the crate and of its command.

mod authority;
mod collect;
#[cfg(unix)]
mod daemon;
mod deploy;
mod hostile;
mod rows;
mod s3;
mod segments;
mod ship;
mod versions;
