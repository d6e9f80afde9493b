//! Files of tables, Parquet and Arrow: values at the limits, and commands that are ended early.

mod ended;
mod one;
mod read;
mod values;
