//! Accepts connections.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::access::ServerAccess;
use crate::collect::figures::Figures;
use crate::collect::greet::greet;
use crate::collect::incoming::Incoming;
use crate::collect::places::Places;
use crate::collect::requests::Requests;
use crate::log;
use crate::store::Store;
use crate::wire::{Version, WINDOW};

/// What peers may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections of hosts at a time.
    pub connections: usize,
    /// Bytes of a segment.
    pub segment: u64,
    /// Bytes of a segment's payloads when they are decompressed.
    pub unpacked: u64,
    /// How long a connection may take to say who it is.
    pub hello: Duration,
    /// How long a host may be silent.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            segment: 64 << 20,
            unpacked: 512 << 20,
            hello: Duration::from_secs(10),
            silence: Duration::from_secs(120),
        }
    }
}

/// Bytes of segments that are in memory at a time for a store that takes no files.
const MEMORY: usize = 48 << 20;

/// Connections that have not said who they are, at a time.
const MAX_UNKNOWN: usize = 256;

/// A collector.
pub struct Collector {
    pub(crate) store: Store,
    pub(crate) access: ServerAccess,
    pub(crate) limits: Limits,
    pub(crate) versions: (Version, Version),
    pub(crate) figures: Arc<Figures>,
    pub(crate) incoming: Incoming,
    /// Kibibytes of segments that may be in memory.
    pub(crate) memory: Semaphore,
    places: Arc<Places>,
    pub(crate) requests: Arc<Requests>,
}

impl Collector {
    /// A collector that stores segments in `store`. If the store is no directory, segments lie in
    /// `spool` until they are whole.
    ///
    /// # Errors
    /// Those of the directory.
    pub fn new(
        store: Store,
        access: ServerAccess,
        limits: Limits,
        spool: Option<PathBuf>,
        newest: Version,
    ) -> Result<Collector, String> {
        let dir = match (store.dir(), spool) {
            (Some(dir), _) => dir.join("incoming"),
            (None, Some(spool)) => spool,
            (None, None) => return Err("a store that is no directory needs --spool DIR".to_owned()),
        };
        let incoming = Incoming::open(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        Ok(Collector {
            store,
            access,
            places: Places::new(MAX_UNKNOWN, limits.connections),
            limits,
            versions: (Version::OLDEST, newest),
            figures: Arc::default(),
            incoming,
            memory: Semaphore::new(MEMORY >> 10),
            requests: Arc::default(),
        })
    }

    /// Returns what it has done.
    pub fn figures(&self) -> Arc<Figures> {
        self.figures.clone()
    }

    /// Serves operators until this is dropped.
    #[cfg(unix)]
    pub fn admin(&self, admin: crate::collect::Admin) -> impl Future<Output = ()> + Send + use<> {
        admin.serve(self.requests.clone())
    }

    /// Waits for memory to hold a segment. Each waits for its turn, so a long one is not starved.
    pub(crate) async fn memory(&self, len: u64) -> Option<tokio::sync::SemaphorePermit<'_>> {
        let kibibytes = (len >> 10).clamp(1, (MEMORY >> 10) as u64);
        self.memory.acquire_many(kibibytes as u32).await.ok()
    }

    /// Serves hosts until `stop` is true, then answers what has come in full.
    pub async fn run(self: Arc<Self>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
                Some(_) = connections.join_next() => continue,
            };
            match accepted {
                Ok((tcp, peer)) => {
                    let own = self.clone();
                    connections.spawn(own.connection(tcp, peer, stop.clone()));
                }
                Err(error) => {
                    log::line(format_args!("cannot accept a connection: {error}"));
                    // This happens, for example, while all file descriptors are in use.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_secs(30), all).await.is_err() {
            log::line("stopped before all connections had ended");
        }
    }

    async fn connection(
        self: Arc<Self>,
        tcp: tokio::net::TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
    ) {
        let place = self.places.unknown();
        let known = tokio::select! {
            known = tokio::time::timeout(self.limits.hello, greet(&self, tcp)) => known,
            () = place.replaced() => return self.refused(peer, "it did not say who it is, and others wait"),
        };
        let known = match known {
            Ok(Ok(known)) => known,
            Ok(Err(why)) => return self.refused(peer, &why),
            Err(_) => return self.refused(peer, "it did not say who it is in time"),
        };
        let place = match place.known(&known.host) {
            Ok(place) => place,
            Err(why) => {
                self.refused(peer, &format!("host `{}`: {why}", known.host));
                return known.dismiss(true, &why).await;
            }
        };
        self.figures.connections.fetch_add(1, Ordering::Relaxed);
        known.serve(self.clone(), peer, stop).await;
        self.figures.connections.fetch_sub(1, Ordering::Relaxed);
        drop(place);
    }

    fn refused(&self, peer: SocketAddr, why: &str) {
        self.figures.refused_connections.fetch_add(1, Ordering::Relaxed);
        log::line(format_args!("{peer}: refused: {why}"));
    }

    /// Returns the window of a connection, in bytes.
    pub(crate) fn window(&self) -> u64 {
        WINDOW
    }
}

/// Allows this process as many open files as the system does. A collector has one for each host.
pub fn allow_many_files() -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}
