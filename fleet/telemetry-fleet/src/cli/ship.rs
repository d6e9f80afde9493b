//! `telemetry-fleet ship`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use telemetry_fleet::destination::Destination;
use telemetry_fleet::remote::Remote;
use telemetry_fleet::segment::Host;
use telemetry_fleet::ship::{Shipper, Sum};
use telemetry_fleet::spool::Spool;
use telemetry_fleet::store::Store;
use telemetry_fleet::wire::Version;

use crate::cli::access::ClientOptions;

const EXAMPLES: &str = "\
Each stream is cut into segments. A segment stays in the spool until the store has it, so a run that is killed
loses nothing: run it again with the same files. Segments that the store has already are not written twice.

S3 takes its settings from the environment: AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, and AWS_ALLOW_HTTP for an endpoint without TLS.

Exit codes: 0 if all is shipped, 1 if a stream is damaged or a segment is refused, 2 for other errors.

Examples:
  telemetry-fleet ship --spool /var/spool/telemetry --to s3://telemetry/prod app.*.tel
  telemetry-fleet ship --spool spool --to file:///srv/telemetry app.tel";

/// Ship streams to a store: a directory or an S3 bucket
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Ship {
    /// Streams, such as the closed files of `rotate:`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Directory for segments that the store does not have yet, created if missing
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,

    /// Store: file:///DIR or s3://BUCKET/PREFIX; or a collector: tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    to: String,

    /// Name of this host in the store [default: the system's name]
    #[arg(long, value_name = "NAME")]
    host: Option<Host>,

    /// Bytes of a segment, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    segment_size: u64,

    /// File with these options, as keys in TOML; those of the command line win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    access: ClientOptions,

    /// Newest version of the protocol to speak, to go back after an upgrade
    #[arg(long, value_name = "VERSION", default_value_t = Version::NEWEST, help_heading = "Collector")]
    protocol: Version,
}

/// Ships, and returns the exit code.
pub(crate) fn run(ship: Ship) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for the network: {error}"))?;
    runtime.block_on(ship.run())
}

impl Ship {
    async fn run(self) -> Result<ExitCode, String> {
        let host = match self.host.clone() {
            Some(host) => host,
            None => system_name()?,
        };
        let in_spool = |error| format!("{}: {error}", self.spool.display());
        let spool = Spool::open(&self.spool).map_err(in_spool)?;
        let to = self.destination(&host)?;
        to.probe().await.map_err(|error| error.to_string())?;
        let mut shipper = Shipper::new(host, spool, to, self.segment_size << 20);
        shipper.rest().await.map_err(|error| error.to_string())?;
        for file in &self.files {
            let damage = |range: std::ops::Range<u64>| {
                let bytes = range.end - range.start;
                eprintln!("warning: {}: {bytes} damaged bytes at offset {}", file.display(), range.start);
            };
            shipper.stream(file, damage).await.map_err(|error| error.to_string())?;
        }
        let sum = shipper.sum();
        println!("{}", text(sum));
        if sum.refused > 0 {
            let place = self.spool.join("refused");
            let refused = of(sum.refused, "segment");
            eprintln!("error: refused {refused}; help: they are kept in {}", place.display());
        }
        Ok(ExitCode::from(u8::from(sum.refused > 0 || sum.damaged > 0)))
    }

    fn destination(&self, host: &Host) -> Result<Destination, String> {
        let opened = if self.to.starts_with("tls:") {
            let (name, access) = (self.access.server_name.as_deref(), self.access.open()?);
            Remote::new(&self.to, name, access, host.clone(), self.protocol)
                .map(|remote| Destination::Collector(Arc::new(remote)))
        } else {
            Store::open(&self.to).map(|store| Destination::Store(Arc::new(store)))
        };
        opened.map_err(|error| error.to_string())
    }
}

/// Returns the system's name as the name of a host.
fn system_name() -> Result<Host, String> {
    let name = gethostname::gethostname().to_string_lossy().to_lowercase();
    name.parse().map_err(|error| format!("{error}; help: name the host with --host"))
}

fn text(sum: &Sum) -> String {
    let Sum { stored, were_there, refused, bytes, events, .. } = sum;
    let (segments, events) = (of(*stored, "segment"), of(*events, "event"));
    let mut text = format!("shipped {segments}; {events}, {bytes} bytes");
    if *were_there > 0 {
        text += &format!("; {were_there} in the store before");
    }
    if *refused > 0 {
        text += &format!("; {refused} refused");
    }
    text
}

fn of(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
