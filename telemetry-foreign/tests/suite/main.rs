//! Logs of other systems: read, written, damaged, and compared with the output of the systems' own
//! tools.

mod ghc;
mod mono;
mod mps;
mod seeds;
mod streams;

use telemetry_testing::reference;
