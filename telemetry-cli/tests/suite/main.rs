//! The command, run as a user runs it on streams made for the purpose. Each snapshot is a transcript:
//! the command lines, what they printed, and how they ended.

mod run;
mod streams;

mod big;
mod damage;
mod docs;
mod files;
mod filters;
mod relations;
mod report;
mod text;
