//! Starts and stops everything.

use std::fmt;
use std::io;
use std::net::TcpListener;
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::daemon::figures::Figures;
use crate::daemon::live::{Connection, Live, MAX_PROGRAMS, TICK};
use crate::daemon::queue::Queue;
use crate::daemon::requests::answer;
use crate::daemon::send::send;
use crate::daemon::settings::Settings;
use crate::daemon::watch::Watch;
use crate::destination::Destination;
use crate::log;
use crate::metrics::Page;
use crate::remote::Asked;
use crate::segment::Host;
use crate::spool::Spool;

/// Where programs connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `tcp:HOST:PORT`.
    Tcp(String),
    /// `unix:PATH`.
    #[cfg(unix)]
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        match text.split_once(':') {
            Some(("tcp", peer))
                if peer.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) =>
            {
                Ok(Listen::Tcp(peer.to_owned()))
            }
            #[cfg(unix)]
            Some(("unix", path)) if !path.is_empty() => Ok(Listen::Unix(path.into())),
            _ => Err("expected tcp:HOST:PORT or unix:PATH".to_owned()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(peer) => write!(f, "tcp:{peer}"),
            #[cfg(unix)]
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Requests of a collector that wait.
const MAX_REQUESTS: usize = 4;

/// A shipper that runs until it is stopped.
pub struct Service {
    live: Arc<Live>,
    settings: Arc<Mutex<Settings>>,
    to: Arc<Mutex<Destination>>,
    threads: Vec<JoinHandle<()>>,
    sending: tokio::task::JoinHandle<()>,
    /// Takes what a collector asks.
    requests: mpsc::Sender<Asked>,
    stop: watch::Sender<Option<Instant>>,
    sockets: Vec<PathBuf>,
}

impl Service {
    /// Starts.
    ///
    /// # Errors
    /// Those of the spool and the addresses.
    pub fn start(spool: Spool, host: Host, listen: &[Listen], settings: Settings) -> Result<Service, String> {
        let in_spool = |error: io::Error| format!("the spool: {error}");
        let figures = Arc::new(Figures::default());
        let queue =
            Queue::new(spool, host, settings.spool_limit, settings.max_len, figures).map_err(in_spool)?;
        let queue = Arc::new(queue);
        let live = Arc::new(Live::new(queue.clone(), settings.max_len, settings.max_age));
        let (mut threads, mut sockets) = (Vec::new(), Vec::new());
        for address in listen {
            let wrong = |error: io::Error| format!("{address}: {error}");
            let (accepting, name) = accept(address, live.clone()).map_err(wrong)?;
            log::line(format_args!("listening on `{name}`"));
            threads.push(accepting);
            #[cfg(unix)]
            if let Listen::Unix(path) = address {
                sockets.push(path.clone());
            }
        }
        let (stop, stopping) = watch::channel(None);
        let to = Arc::new(Mutex::new(settings.to.clone()));
        let settings = Arc::new(Mutex::new(settings));
        let (own, watched) = (live.clone(), settings.clone());
        threads.push(std::thread::spawn(move || take_files(&own, &watched)));
        let own = live.clone();
        threads.push(std::thread::spawn(move || {
            while !own.is_stopping() {
                own.cut_old();
                std::thread::sleep(TICK);
            }
        }));
        let (requests, asked) = mpsc::channel(MAX_REQUESTS);
        let service = Service {
            sending: tokio::spawn(send(queue, to.clone(), stopping.clone())),
            live,
            settings,
            to,
            threads,
            requests,
            stop,
            sockets,
        };
        service.take_requests();
        tokio::spawn(answer(service.live.clone(), service.settings.clone(), asked, stopping));
        Ok(service)
    }

    /// Changes what may change.
    pub fn change(&self, settings: Settings) {
        self.live.set_age(settings.max_age);
        self.live.set_max_len(settings.max_len);
        self.live.queue.set_limit(settings.spool_limit);
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = settings.to.clone();
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
        self.take_requests();
        self.live.queue.added.notify_one();
    }

    /// Tells a collector that it may ask, if anything is allowed.
    fn take_requests(&self) {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Destination::Collector(collector) = &settings.to
            && !settings.allow.is_empty()
        {
            collector.take_requests(self.requests.clone());
        }
    }

    /// Returns what makes the page of metrics.
    pub fn page(&self) -> impl Fn() -> Page + Send + Sync + 'static {
        let queue = self.live.queue.clone();
        // The folders of a spool are side by side.
        let refused = queue.spool.open_dir().with_file_name("refused");
        move || queue.figures.page(queue.status(), &refused)
    }

    /// Takes no more, and closes all segments. Then sends for at most `patience`. Returns the bytes
    /// that are left in the spool.
    pub async fn stop(self, patience: Duration) -> u64 {
        let Service { live, threads, sending, stop, sockets, .. } = self;
        live.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let own = live.clone();
        let closed = tokio::task::spawn_blocking(move || {
            for thread in threads {
                let _ = thread.join();
            }
            while own.queue.figures.connections.load(std::sync::atomic::Ordering::Relaxed) > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
            own.cut_all();
            for socket in sockets {
                let _ = std::fs::remove_file(socket);
            }
        });
        let _ = closed.await;
        let _ = stop.send(Some(Instant::now() + patience));
        let _ = sending.await;
        live.queue.status().spool
    }
}

/// Takes closed files.
fn take_files(live: &Live, settings: &Mutex<Settings>) {
    let mut watch = Watch::new(live.queue.figures.clone());
    while !live.is_stopping() {
        let (dirs, max_len) = {
            let settings = settings.lock().unwrap_or_else(PoisonError::into_inner);
            (settings.watch.clone(), settings.max_len)
        };
        watch.pass(&dirs, live, max_len);
        std::thread::sleep(TICK);
    }
}

/// Listens on a new thread. Returns the address with the port that the system chose.
fn accept(address: &Listen, live: Arc<Live>) -> io::Result<(JoinHandle<()>, String)> {
    match address {
        Listen::Tcp(peer) => {
            let listener = TcpListener::bind(peer)?;
            listener.set_nonblocking(true)?;
            let name = format!("tcp:{}", listener.local_addr()?);
            let next = move || {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(TICK))?;
                Ok((stream, format!("tcp:{peer}")))
            };
            Ok((std::thread::spawn(move || accept_all(&live, next, || {})), name))
        }
        #[cfg(unix)]
        Listen::Unix(path) => {
            // A socket without a listener is what a killed process left.
            if std::os::unix::net::UnixStream::connect(path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            {
                std::fs::remove_file(path)?;
            }
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            let name = format!("unix:{}", path.display());
            let peer = name.clone();
            let listener = Arc::new(listener);
            let own = listener.clone();
            // From now on, programs cannot connect. Those that have connected can be accepted.
            let close = move || {
                let _ = rustix::net::shutdown(&*own, rustix::net::Shutdown::Read);
            };
            let next = move || {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(TICK))?;
                Ok((stream, peer.clone()))
            };
            Ok((std::thread::spawn(move || accept_all(&live, next, close)), name))
        }
    }
}

/// Accepts programs until the shipper stops. Then closes the address, and accepts the programs that
/// have connected: what they sent would be lost, and they would not count it.
fn accept_all<C: Connection + 'static>(
    live: &Arc<Live>,
    next: impl Fn() -> io::Result<(C, String)>,
    close: impl FnOnce(),
) {
    while !live.is_stopping() {
        match next() {
            Ok((connection, peer)) => live.accept(connection, peer),
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    live.queue.figures.error(format_args!("cannot accept a program: {error}"));
                }
                // A connection may wait this long.
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    close();
    for (connection, peer) in (0..MAX_PROGRAMS).map_while(|_| next().ok()) {
        live.accept(connection, peer);
    }
}
