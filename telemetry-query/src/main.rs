//! The program `telemetry-query`, which `telemetry query` starts: SQL over streams and Parquet
//! files.

// The command has more uses for what the program shares with it.
#[allow(dead_code)]
mod input;
mod program;
#[allow(dead_code)]
#[path = "../../telemetry-cli/src/term/mod.rs"]
mod term;
#[allow(dead_code, unused_imports)]
#[path = "../../telemetry-cli/src/text/mod.rs"]
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
