//! Tests of the command, as a process on real stores.

#[cfg(all(unix, feature = "failpoints"))]
#[path = "../../../telemetry-fleet/tests/suite/authority.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod authority;
mod buckets;
#[cfg(all(unix, feature = "failpoints"))]
mod chaos;
mod checkpoints;
mod chosen;
mod commit;
mod complete;
mod delete;
#[cfg(all(unix, feature = "failpoints"))]
#[path = "../../../telemetry-fleet/tests/suite/disk.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod disk;
mod docs;
mod faults;
#[cfg(feature = "failpoints")]
mod kills;
mod lakes;
mod moto;
mod others;
#[cfg(all(unix, feature = "failpoints"))]
#[path = "../../../telemetry-fleet/tests/suite/rows.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod rows;
mod s3;
mod secrets;
mod sensitive;
mod spans;
#[path = "../../../telemetry-fleet/tests/suite/texts.rs"]
mod texts;
mod versions;
