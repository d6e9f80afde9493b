//! `telemetry-fleet token`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use telemetry_fleet::access::new_token;
use telemetry_fleet::segment::Host;

/// Make a token for a host: print it, and add its digest to the file of the collector
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  telemetry-fleet token h7 --tokens tokens.toml > h7.token")]
pub(crate) struct Token {
    /// Name of the host
    #[arg(value_name = "HOST")]
    host: Host,

    /// File of the collector with its tokens, created if missing
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,

    /// Days until it expires
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u64).range(0..=36_500))]
    days: u64,
}

impl Token {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let (token, entry) = new_token(&self.host, Duration::from_secs(self.days * 86_400))?;
        let wrong = |error| format!("{}: {error}", self.tokens.display());
        let mut file =
            std::fs::File::options().create(true).append(true).open(&self.tokens).map_err(wrong)?;
        file.write_all(entry.as_bytes()).map_err(wrong)?;
        println!("{token}");
        Ok(ExitCode::SUCCESS)
    }
}
