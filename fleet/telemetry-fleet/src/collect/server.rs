//! Accepts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::collect::collector::Collector;
use crate::collect::greet::greet;
use crate::log;

impl Collector {
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
        let of_host = match place.known(&known.host) {
            Ok(of_host) => of_host,
            Err(why) => {
                self.refused(peer, &format!("host `{}`: {why}", known.host));
                // It keeps its place among the unknown ones, which are limited.
                return tokio::select! {
                    () = known.dismiss(true, &why) => {}
                    () = place.replaced() => {}
                };
            }
        };
        drop(place);
        self.figures.connections.fetch_add(1, Ordering::Relaxed);
        known.serve(self.clone(), peer, stop).await;
        self.figures.connections.fetch_sub(1, Ordering::Relaxed);
        drop(of_host);
    }

    fn refused(&self, peer: SocketAddr, why: &str) {
        self.figures.refused_connections.fetch_add(1, Ordering::Relaxed);
        log::line(format_args!("{peer}: refused: {why}"));
    }
}
