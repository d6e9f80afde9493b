//! Running processes: the places of their sockets and ring files, and their answers.
//!
//! It may use `text` and `term`. It never sends a request to a socket before it has checked the
//! socket's owner.

mod answer;
mod find;
mod invocation;
mod name;
mod pid;
mod place;
mod ring;
mod talk;

pub(crate) use answer::{Counters, Info, KindCounters, Masks, Pool, SinkCounters, State, Unknown};
pub(crate) use invocation::{command_line, directory};
pub(crate) use name::{ProcessName, ask_all};
pub(crate) use pid::Pid;
pub(crate) use place::{Found, Place, Process, word};
pub(crate) use ring::DeadRing;
pub(crate) use talk::Sent;
