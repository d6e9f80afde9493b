//! Files in other git revisions, read by the `git` command.
//!
//! It may use `term`. It never changes a repository, and no user setting changes what it reads.

mod command;
mod file;
mod history;
mod objects;

pub(crate) use file::{Blob, GitFile};
pub(crate) use history::{Content, Revision};
pub(crate) use objects::Objects;
