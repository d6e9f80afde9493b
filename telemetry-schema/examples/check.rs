//! Checks the `events.toml` files named on the command line: prints what is wrong with them, or the
//! fingerprint and canonical form of what they say.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        match telemetry_schema::load(Path::new(&path)) {
            Ok((registry, _)) => eprintln!("# {path} {:#018x}\n{}", registry.fingerprint(), registry.to_toml()),
            Err(error) => {
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
