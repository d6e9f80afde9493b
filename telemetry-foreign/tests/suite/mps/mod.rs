//! Logs of the MPS.

mod bytes;
mod hostile;
mod made;
mod python;
mod relation;
mod round_trip;
mod seeds;
mod shown;
mod versions;
