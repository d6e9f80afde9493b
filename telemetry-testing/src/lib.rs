//! Code that the tests of several packages share. Not published.
//!
//! Packages use it as a development dependency, by path alone.

pub mod counting;
pub mod eventlog;
pub mod fake_s3;
#[cfg(feature = "streams")]
pub mod made;
pub mod mono;
#[cfg(feature = "streams")]
pub mod mps;
pub mod nested;
pub mod processor_time;
pub mod program;
#[cfg(feature = "streams")]
pub mod read;
pub mod reference;
pub mod registries;
pub mod version_cases;
pub mod wait;
#[cfg(feature = "streams")]
pub mod work;
