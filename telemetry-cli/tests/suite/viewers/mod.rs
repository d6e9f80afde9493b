//! Files for the viewers of others, read by independent programs: the same numbers as in our own
//! commands.

mod counters;
mod ctf;
mod docs;
mod expected;
mod firefox;
mod flames;
mod speedscope;
mod streams;
mod trace_processor;
mod traces;
