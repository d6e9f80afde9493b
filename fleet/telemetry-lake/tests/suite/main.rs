//! Tests of the command, as a process on real stores.

mod buckets;
mod checkpoints;
mod chosen;
mod commit;
mod complete;
mod delete;
mod docs;
#[cfg(feature = "failpoints")]
mod kills;
mod lakes;
mod s3;
#[cfg(feature = "failpoints")]
mod schedules;
mod secrets;
mod versions;
