//! Logs of other systems: read, written, damaged, and compared with what the systems' own tools print.

mod ghc;
mod mono;
mod mps;
mod streams;

use telemetry_testing::reference;
