//! Who may connect: certificates and tokens, read again when their files change.
//!
//! May use the names of hosts. Knows no frames.

mod client;
mod files;
mod pem;
mod server;
mod token;

pub(crate) use client::tls_problem;
pub use client::{ClientAccess, ClientFiles};
pub(crate) use server::{Peer, refusal};
pub use server::{ServerAccess, ServerFiles};
pub use token::{Tokens, new_token, toml_problem};
