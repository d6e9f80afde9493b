//! Logs of the MPS.

mod bytes;
mod hostile;
mod python;
mod registry;
mod round_trip;
mod seeds;
mod shown;
mod versions;

use telemetry_testing::mps as made;
