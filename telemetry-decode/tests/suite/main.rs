//! Streams written by [`telemetry_decode::Writer`] and read in every way, whole and broken.

#[path = "../../../telemetry-schema/tests/suite/arbitrary.rs"]
mod arbitrary;
mod made;
mod read;

mod account;
mod after;
mod clock;
mod damage;
mod document;
mod filter;
mod hostile;
mod labels;
mod logs;
mod names;
mod order;
mod pieces;
mod recover;
mod replay;
mod round_trip;
mod seeds;
mod shown;
mod texts;
mod writing;
