//! Numbers for Prometheus, over HTTP on a loopback address.

use std::fmt::{Display, Write};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::log;

/// Text in the exposition format of Prometheus.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Adds a number that only grows, with the value of each set of labels.
    pub fn counter<V: Display>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) {
        self.add("counter", name, help, values);
    }

    /// Adds a number that grows and falls.
    pub fn gauge<V: Display>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) {
        self.add("gauge", name, help, values);
    }

    /// Returns the text.
    pub fn text(self) -> String {
        self.0
    }

    fn add<V: Display>(
        &mut self,
        kind: &str,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP telemetry_{name} {help}\n# TYPE telemetry_{name} {kind}\n");
        for (labels, value) in values {
            let _ = writeln!(self.0, "telemetry_{name}{labels} {value}");
        }
    }
}

/// One value without labels.
pub fn one<V>(value: V) -> [(String, V); 1] {
    [(String::new(), value)]
}

/// Serves a page at `/metrics`. The address must be on loopback, because the page has no access
/// control. It is served until the second value is dropped.
///
/// # Errors
/// For another address, and if it cannot be bound.
pub async fn serve(
    address: SocketAddr,
    page: impl Fn() -> Page + Send + Sync + 'static,
) -> io::Result<(SocketAddr, Serving)> {
    if !address.ip().is_loopback() {
        let text = format!("metrics are served on loopback only, such as 127.0.0.1:9100; found {address}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let (page, places) = (Arc::new(page), Arc::new(Semaphore::new(16)));
    let serving = Serving::start(async move {
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((connection, _)) => {
                    let page = page.clone();
                    tokio::spawn(async move {
                        let _ =
                            tokio::time::timeout(Duration::from_secs(5), answer(connection, &*page)).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    log::line(format_args!("metrics: cannot accept a connection: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    });
    Ok((bound, serving))
}

/// A task that serves, and is told to end when this is dropped.
#[derive(Debug)]
pub struct Serving(tokio::task::JoinHandle<()>);

impl Serving {
    /// Starts a task.
    pub fn start(task: impl Future<Output = ()> + Send + 'static) -> Serving {
        Serving(tokio::spawn(task))
    }

    /// Ends the task, and waits for that. Its address is free then.
    pub async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answer(mut connection: TcpStream, page: &(impl Fn() -> Page + Sync)) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < 8 << 10 {
        if connection.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let is_found = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) = if is_found { ("200 OK", page().text()) } else { ("404 Not Found", String::new()) };
    let len = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all((head + &body).as_bytes()).await?;
    connection.shutdown().await
}
