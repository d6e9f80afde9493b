//! `telemetry-fleet collect`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use telemetry_fleet::access::{ServerAccess, ServerFiles};
#[cfg(unix)]
use telemetry_fleet::collect::Admin;
use telemetry_fleet::collect::{Collector, Limits};
use telemetry_fleet::metrics::Serving;
use telemetry_fleet::store::Store;
use telemetry_fleet::wire::Version;
use telemetry_fleet::{log, metrics};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cli::open_files::allow_many_files;
use crate::cli::signals::{Asked, signals};

const EXAMPLES: &str = "\
A host is accepted with a certificate that one of --client-ca has signed and that has the host's name as a DNS name,
or with a token of --tokens. All files are read again when they change. SIGTERM answers what has come, then ends;
SIGHUP reads the file of --config again. See docs/fleet.md.

Examples:
  telemetry-fleet collect --listen 0.0.0.0:7400 --store s3://telemetry/prod --spool /var/spool/telemetry-collect \\
    --cert collector.pem --key collector.key --client-ca hosts.pem
  telemetry-fleet collect --listen 127.0.0.1:7400 --store file:///srv/telemetry --cert c.pem --key c.key \\
    --tokens tokens.toml";

/// Receive segments of hosts over TLS, and store them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct Collect {
    /// Address to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDR")]
    listen: SocketAddr,

    /// Store: file:///DIR or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL")]
    store: String,

    /// Directory for segments on their way to a store that is not a directory
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,

    /// Loopback address that serves metrics for Prometheus, at /metrics
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,

    /// Unix socket for `telemetry-fleet control`, for the user of this process alone
    #[cfg(unix)]
    #[arg(long, value_name = "PATH")]
    admin: Option<PathBuf>,

    /// File with these options, as keys in TOML; those of the command line win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Certificate of this collector and those of its authorities, in PEM form
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    cert: PathBuf,

    /// Private key of the certificate
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    key: PathBuf,

    /// Certificates of authorities whose hosts are accepted
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    client_ca: Option<PathBuf>,

    /// Lists of revoked certificates, in PEM form
    #[arg(long, value_name = "FILE", requires = "client_ca", help_heading = "Access")]
    revoked: Option<PathBuf>,

    /// Tokens that are accepted: see `telemetry-fleet token`
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    tokens: Option<PathBuf>,

    /// Connections of hosts at a time
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Limits")]
    max_connections: usize,

    /// Bytes of a segment, in MiB; a bucket takes at most 40 [default: 64, or 40 for a bucket]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1024), help_heading = "Limits")]
    max_segment: Option<u64>,

    /// Bytes of a segment when it is decompressed, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=1 << 20),
        help_heading = "Limits")]
    max_unpacked: u64,

    /// Seconds in which a connection must say who it is
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600),
        help_heading = "Limits")]
    hello_timeout: u64,

    /// Seconds for which a host may be silent
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400),
        help_heading = "Limits")]
    silence_timeout: u64,

    /// Seconds in which a segment must come, and one more for each 16 KiB of it
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600),
        help_heading = "Limits")]
    segment_timeout: u64,

    /// Newest version of the protocol to speak, to go back after an upgrade
    #[arg(long, value_name = "VERSION", default_value_t = Version::NEWEST, help_heading = "Limits")]
    protocol: Version,
}

/// Collects until a signal asks to stop. `read` gives the options, again at each reload.
pub(crate) fn run(read: impl Fn() -> Result<Collect, String>) -> Result<ExitCode, String> {
    allow_many_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot wait for the network: {error}"))?;
    let ended = runtime.block_on(async {
        let mut asked = signals()?;
        let (mut options, collector) = prepared(&read).await?;
        let mut serving = options.start(collector).await?;
        loop {
            let (stop, stopping) = watch::channel(false);
            let running = tokio::spawn(serving(stopping));
            let mut what = asked.recv().await;
            // Until everything new is checked, the collector goes on as it is.
            let next = loop {
                if what != Some(Asked::Reload) {
                    break None;
                }
                tokio::select! {
                    next = prepared(&read) => match next {
                        Ok(next) => break Some(next),
                        Err(error) => log::line(format_args!("not reloaded: {error}")),
                    },
                    again = asked.recv() => {
                        what = again;
                        continue;
                    }
                }
                what = asked.recv().await;
            };
            log::line(if next.is_some() { "reloading" } else { "stopping" });
            let _ = stop.send(true);
            let _ = running.await;
            let Some((new, collector)) = next else { return Ok(ExitCode::SUCCESS) };
            serving = match new.start(collector).await {
                Ok(serving) => {
                    options = new;
                    serving
                }
                // Another program may have the new address. The old one was free just now.
                Err(error) => {
                    log::line(format_args!("not reloaded: {error}"));
                    options.start(options.collector().await?).await?
                }
            };
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

/// Reads the options, and opens what they name.
async fn prepared(read: &impl Fn() -> Result<Collect, String>) -> Result<(Collect, Collector), String> {
    let options = read()?;
    let collector = options.collector().await?;
    Ok((options, collector))
}

impl Collect {
    /// Opens the files and the store.
    async fn collector(&self) -> Result<Collector, String> {
        let access = ServerAccess::new(ServerFiles {
            certificate: self.cert.clone(),
            key: self.key.clone(),
            client_ca: self.client_ca.clone(),
            revoked: self.revoked.clone(),
            tokens: self.tokens.clone(),
        })?;
        let store = Store::open(&self.store).map_err(|error| error.to_string())?;
        store.probe().await.map_err(|error| error.to_string())?;
        let limits = Limits {
            connections: self.max_connections,
            segment: self.max_segment.map_or(Limits::default().segment, |mib| mib << 20),
            unpacked: self.max_unpacked << 20,
            hello: Duration::from_secs(self.hello_timeout),
            silence: Duration::from_secs(self.silence_timeout),
            segment_time: Duration::from_secs(self.segment_timeout),
        };
        if store.dir().is_none() && self.max_segment.is_some_and(|mib| mib > Limits::MOST_OF_A_BUCKET >> 20) {
            return Err(format!(
                "found --max-segment {}, expected at most {} for a store that is not a directory",
                self.max_segment.unwrap_or_default(),
                Limits::MOST_OF_A_BUCKET >> 20
            ));
        }
        Collector::new(store, access, limits, self.spool.clone(), self.protocol)
    }

    /// Opens the addresses. Returns what serves until its argument is true.
    async fn start(&self, collector: Collector) -> Result<Serve, String> {
        let collector = Arc::new(collector);
        let listener = TcpListener::bind(self.listen).await;
        let listener = listener.map_err(|error| format!("{}: {error}", self.listen))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        #[cfg(unix)]
        let admin = match &self.admin {
            Some(path) => Some(Admin::bind(path).map_err(|error| format!("{}: {error}", path.display()))?),
            None => None,
        };
        let page = match self.metrics {
            Some(address) => {
                let figures = collector.figures();
                let serving = metrics::serve(address, move || figures.page()).await;
                let (bound, page) = serving.map_err(|error| format!("{address}: {error}"))?;
                log::line(format_args!("metrics at http://{bound}/metrics"));
                Some(page)
            }
            None => None,
        };
        let tasks = page.into_iter();
        // Nothing fails from here on, so no task is left that has an address.
        #[cfg(unix)]
        let tasks = tasks.chain(admin.map(|admin| Serving::start(collector.admin(admin))));
        log::line(format_args!("collecting at tls://{address}"));
        Ok(Box::new(move |stop| {
            Box::pin(async move {
                collector.run(listener, stop).await;
                // The next options may have the same addresses.
                for task in tasks {
                    task.stop().await;
                }
            })
        }))
    }
}

/// Serves until its argument is true.
type Serve = Box<dyn FnOnce(watch::Receiver<bool>) -> Running + Send>;
type Running = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
