//! Streams written by [`telemetry_decode::writer::Writer`] and read in every way, whole and broken.

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
mod send;
mod shown;
mod texts;
mod told;
mod typed;
mod writing;

use telemetry_testing::{made, read, registries};
