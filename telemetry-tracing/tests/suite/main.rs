//! What the layer records of programs that use `tracing`.

mod mapped;
mod recorded;
mod server;
mod sites;
mod spans;
mod values;
