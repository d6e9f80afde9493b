//! Logs of the MPS.

mod bytes;
mod hostile;
mod made;
mod python;
mod relation;
mod round_trip;
mod shown;
mod versions;
