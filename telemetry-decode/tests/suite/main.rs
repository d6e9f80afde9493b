//! Streams from [`telemetry_decode::writer::Writer`], read in every way, whole and damaged.

mod account;
mod after;
mod ahead;
mod batches;
mod clock;
mod damage;
mod document;
mod filter;
mod hidden;
mod hostile;
mod labels;
mod logs;
mod names;
mod order;
mod owned;
mod pieces;
mod recover;
mod recover_losses;
mod replay;
mod retimed;
mod round_trip;
mod rules;
mod scrub;
mod seeds;
mod send;
mod shards;
mod shown;
mod switched;
mod texts;
mod typed;
mod writing;

use telemetry_testing::{made, read, registries};
