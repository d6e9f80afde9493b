//! `telemetry-fleet ship`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use telemetry_fleet::daemon::{Allow, Listen, Service, Settings};
use telemetry_fleet::destination::Destination;
use telemetry_fleet::remote::Remote;
use telemetry_fleet::segment::Host;
use telemetry_fleet::ship::{Shipper, Sum};
use telemetry_fleet::spool::Spool;
use telemetry_fleet::store::Store;
use telemetry_fleet::wire::Version;
use telemetry_fleet::{log, metrics};

use crate::cli::access::ClientOptions;
use crate::cli::open_files::allow_many_files;
use crate::cli::signals::{Asked, signals};

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

    /// Bytes of a segment, in MiB; a collector that stores in a bucket takes at most 40
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    segment_size: u64,

    /// Send kinds with sensitive parameters, too, whatever their registry says
    #[arg(long)]
    send_sensitive: bool,

    /// Address for programs, tcp:HOST:PORT or unix:PATH; runs until SIGTERM
    #[arg(long, value_name = "ADDR", help_heading = "Service")]
    listen: Vec<Listen>,

    /// Directory whose closed files are shipped, then removed; runs until SIGTERM
    #[arg(long, value_name = "DIR", help_heading = "Service")]
    watch: Vec<PathBuf>,

    /// Bytes of the spool, in MiB; beyond it, the oldest events of the lowest priority are shed
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 30),
        help_heading = "Service")]
    spool_limit: u64,

    /// Seconds after which a segment of a connected program is closed
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400),
        help_heading = "Service")]
    segment_age: u64,

    /// Seconds to send what is left after SIGTERM; the rest stays in the spool
    #[arg(long, value_name = "S", default_value_t = 10, help_heading = "Service")]
    stop_timeout: u64,

    /// Loopback address that serves metrics for Prometheus, at /metrics
    #[arg(long, value_name = "ADDR", help_heading = "Service")]
    metrics: Option<SocketAddr>,

    /// File with these options, as keys in TOML; those of the command line win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    access: ClientOptions,

    /// What the collector may ask of a program: `flush`, `snapshot`, words of `telemetry control`
    #[arg(long, value_name = "PROGRAM=REQUEST,…", help_heading = "Requests")]
    allow: Vec<Allow>,

    /// The command `telemetry`, which asks programs
    #[arg(long, value_name = "PATH", default_value = "telemetry", help_heading = "Requests")]
    control_command: PathBuf,

    /// Newest version of the protocol to speak, to go back after an upgrade
    #[arg(long, value_name = "VERSION", default_value_t = Version::NEWEST, help_heading = "Collector")]
    protocol: Version,
}

/// Ships, and returns the exit code. `read` gives the options, again at each reload.
pub(crate) fn run(read: impl Fn() -> Result<Ship, String>) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for the network: {error}"))?;
    let ship = read()?;
    if let Err(why) = allow_many_files() {
        log::line(format_args!("warning: {why}"));
    }
    let is_service = !ship.listen.is_empty() || !ship.watch.is_empty();
    let ended =
        runtime.block_on(async { if is_service { ship.serve(read).await } else { ship.run().await } });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

impl Ship {
    async fn run(self) -> Result<ExitCode, String> {
        let (host, spool) = (self.host()?, self.spool()?);
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

    /// Ships until a signal asks to stop.
    async fn serve(self, read: impl Fn() -> Result<Ship, String>) -> Result<ExitCode, String> {
        if !self.files.is_empty() {
            return Err(
                "files are for a run that ends, expected neither --listen nor --watch with them".to_owned()
            );
        }
        let mut asked = signals()?;
        let (host, spool) = (self.host()?, self.spool()?);
        let service = Service::start(spool, host.clone(), &self.listen, self.settings(&host)?)?;
        let page = match self.metrics {
            Some(address) => {
                let serving = metrics::serve(address, service.page()).await;
                let (bound, page) = serving.map_err(|error| format!("{address}: {error}"))?;
                log::line(format_args!("metrics at http://{bound}/metrics"));
                Some(page)
            }
            None => None,
        };
        log::line(format_args!("shipping host `{host}` to {}", self.to));
        let mut stop_timeout = self.stop_timeout;
        while let Some(Asked::Reload) = asked.recv().await {
            match read().and_then(|new| new.settings(&host).map(|settings| (new, settings))) {
                Ok((new, settings)) => {
                    service.change(settings);
                    stop_timeout = new.stop_timeout;
                    log::line("reloaded");
                    for option in self.unchanged(&new, &host) {
                        log::line(format_args!("{option}: not changed while running; restart to change it"));
                    }
                }
                Err(error) => log::line(format_args!("not reloaded: {error}")),
            }
        }
        log::line("stopping");
        let left = service.stop(Duration::from_secs(stop_timeout)).await;
        drop(page);
        if left > 0 {
            log::line(format_args!("{left} bytes stay in the spool"));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the options that a reload does not change, of those that are others in `new`.
    fn unchanged(&self, new: &Ship, host: &Host) -> Vec<&'static str> {
        let all = [
            ("--host", new.host().as_ref() == Ok(host)),
            ("--listen", new.listen == self.listen),
            ("--spool", new.spool == self.spool),
            ("--metrics", new.metrics == self.metrics),
            ("--send-sensitive", new.send_sensitive == self.send_sensitive),
        ];
        all.into_iter().filter_map(|(option, is_same)| (!is_same).then_some(option)).collect()
    }

    fn settings(&self, host: &Host) -> Result<Settings, String> {
        Ok(Settings {
            to: self.destination(host)?,
            watch: self.watch.clone(),
            max_len: self.segment_size << 20,
            max_age: Duration::from_secs(self.segment_age),
            spool_limit: self.spool_limit << 20,
            allow: self.allow.clone(),
            command: self.control_command.clone(),
        })
    }

    fn host(&self) -> Result<Host, String> {
        self.host.clone().map_or_else(system_name, Ok)
    }

    fn spool(&self) -> Result<Spool, String> {
        let spool = Spool::open(&self.spool).map_err(|error| format!("{}: {error}", self.spool.display()))?;
        Ok(spool.send_sensitive(self.send_sensitive))
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
