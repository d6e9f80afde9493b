//! Code that the tests of several packages share. Not published.
//!
//! Packages use it as a development dependency, by path alone.

pub mod counting;
pub mod eventlog;
pub mod fake_s3;
pub mod made;
pub mod mono;
pub mod mps;
pub mod nested;
pub mod processor_time;
pub mod program;
pub mod read;
pub mod reference;
pub mod registries;
pub mod version_cases;
pub mod wait;
pub mod work;
