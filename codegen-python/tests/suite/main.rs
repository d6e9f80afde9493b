//! Generated modules, executed by CPython on streams that Rust wrote, and compared with the Rust reader event by
//! event and verdict by verdict.
//!
//! `TELEMETRY_PYTHON` names the interpreters, separated by spaces; by default `python3`.

#[path = "../../../telemetry-schema/tests/suite/arbitrary.rs"]
mod arbitrary;
#[expect(dead_code, reason = "what was written is compared through the Rust reader")]
#[path = "../../../telemetry-decode/tests/suite/made.rs"]
mod made;
#[expect(dead_code, reason = "`made` needs a little of it")]
#[path = "../../../telemetry-decode/tests/suite/read.rs"]
mod read;

mod dump;
mod python;

mod damage;
mod mps;
mod names;
mod same_events;
mod typing;
mod versions;
