//! What the layer records of programs that use `tracing`.

mod mapped;
mod recorded;
mod server;
mod spans;
mod values;
