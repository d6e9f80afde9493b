//! Tests of the crate and of its command.

mod rows;
mod s3;
mod segments;
mod ship;
