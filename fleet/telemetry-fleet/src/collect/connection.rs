//! One connection of a host.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access::Peer;
use crate::collect::incoming::{NotTaken, Received};
use crate::collect::server::Collector;
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::{Host, Inspector, SegmentName};
use crate::store::Put;
use crate::wire::{Bye, Done, Hello, Kind, Message, Outcome, Segment, Version, Welcome, data, read_header};

/// How long a peer may take to read an answer, and how often it gets a sign of life.
const ANSWER: Duration = Duration::from_secs(30);
const ALIVE: Duration = Duration::from_secs(15);

/// A segment must come within this time, and a second more for each of these bytes.
const SEGMENT: Duration = Duration::from_secs(60);
const SLOWEST: u64 = 16 << 10;

/// The connection of a host that is known.
pub(crate) struct Known {
    pub(crate) host: Host,
    peer: Peer,
    version: Version,
    stream: TlsStream<TcpStream>,
}

/// Why a connection ends.
enum End {
    /// The host closed it, or it failed: what to log.
    Closed(Option<String>),
    /// The host did something wrong. It is told.
    Wrong(String),
    /// The collector cannot go on for now. The host is told.
    Later(String),
}

/// Finds out who connects.
///
/// # Errors
/// Why it is refused. It has been told.
pub(crate) async fn greet(collector: &Collector, tcp: TcpStream) -> Result<Known, String> {
    let config = collector.access.tls(|problem| {
        log::line(format_args!("warning: files for TLS have changed and are not used: {problem}"));
    });
    // Small frames answer large ones; none should wait for more.
    let _ = tcp.set_nodelay(true);
    let mut stream = TlsAcceptor::from(config).accept(tcp).await.map_err(|error| tls_problem(&error))?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificates = certificates.iter().map(|one| one.clone().into_owned()).collect();
    let hello = match read_header(&mut stream).await {
        Ok((Kind::Hello, len)) => {
            let mut payload = Vec::new();
            data(&mut stream, len, &mut payload).await.map_err(|error| error.to_string())?;
            Message::parse(Kind::Hello, &payload)
        }
        Ok((kind, _)) => Err(format!("it began with a frame {kind:?}, expected Hello")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err("it closed the connection before it said who it is".to_owned());
        }
        Err(error) => Err(error.to_string()),
    };
    let checked = hello.and_then(|hello| {
        let Message::Hello(hello) = hello else { return Err("it sent no Hello".to_owned()) };
        check(collector, hello, certificates)
    });
    let (host, peer, version) = match checked {
        Ok(checked) => checked,
        Err(why) => {
            let bye = Message::Bye(Bye { is_passing: false, text: why.clone() });
            let _ = stream.write_all(&bye.frame()).await;
            let _ = stream.shutdown().await;
            return Err(why);
        }
    };
    let (window, max_segment) = (collector.window(), collector.limits.segment);
    let welcome = Message::Welcome(Welcome { version, window, max_segment });
    stream.write_all(&welcome.frame()).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    Ok(Known { host, peer, version, stream })
}

type Checked = (Host, Peer, Version);

fn check(
    collector: &Collector,
    hello: Hello,
    certificates: Vec<rustls::pki_types::CertificateDer<'static>>,
) -> Result<Checked, String> {
    let Hello { versions, host, token } = hello;
    let version = Version::agree(collector.versions, versions).ok_or_else(|| {
        format!(
            "it speaks the versions {} to {} of the protocol, expected one of {} to {}",
            versions.0, versions.1, collector.versions.0, collector.versions.1
        )
    })?;
    let host: Host = host.parse()?;
    let peer = Peer { certificates, token };
    collector.access.check(&host, &peer).map_err(|why| format!("host `{host}`: {why}"))?;
    Ok((host, peer, version))
}

/// Says why TLS failed.
fn tls_problem(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
        Some(error) => crate::access::refusal(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it closed the connection during the handshake of TLS".to_owned()
        }
        None => format!("the handshake of TLS failed: {error}"),
    }
}

impl Known {
    /// Tells the host why it is not served.
    pub(crate) async fn dismiss(mut self, is_passing: bool, why: &str) {
        let bye = Message::Bye(Bye { is_passing, text: why.to_owned() });
        let told = async {
            self.stream.write_all(&bye.frame()).await?;
            self.stream.shutdown().await
        };
        let _ = tokio::time::timeout(ANSWER, told).await;
    }

    /// Takes segments to the end of the connection.
    pub(crate) async fn serve(
        self,
        collector: Arc<Collector>,
        address: SocketAddr,
        stop: watch::Receiver<bool>,
    ) {
        let Known { host, peer, version, stream } = self;
        let (mut read, write) = tokio::io::split(stream);
        let (answers, queue) = mpsc::channel(64);
        let writer = tokio::spawn(answer(write, queue));
        let permits = (collector.window() >> 10) as usize;
        let window = Arc::new(Semaphore::new(permits));
        let mut receiver =
            Receiver { collector, host, peer, version, answers, window: window.clone(), permits, stop };
        let end = receiver.run(&mut read).await;
        let host = receiver.host.clone();
        let bye = match end {
            End::Closed(None) => None,
            End::Closed(Some(why)) => {
                log::line(format_args!("{address}: host `{host}`: {why}"));
                None
            }
            End::Wrong(text) => {
                receiver.collector.figures.refused_connections.fetch_add(1, Ordering::Relaxed);
                log::line(format_args!("{address}: host `{host}`: refused: {text}"));
                Some(Bye { is_passing: false, text })
            }
            End::Later(text) => {
                log::line(format_args!("{address}: host `{host}`: closed for now: {text}"));
                Some(Bye { is_passing: true, text })
            }
        };
        if let Some(bye) = bye {
            // What has come in full is answered first.
            let all = window.acquire_many(permits as u32);
            let _ = tokio::time::timeout(ANSWER, all).await;
            let _ = receiver.answers.send(Message::Bye(bye)).await;
            drop(receiver);
            let _ = writer.await;
            drain(&mut read).await;
        } else {
            drop(receiver);
            // The host is gone. A segment that has come is stored anyway.
            writer.abort();
        }
    }
}

/// Reads what a peer has sent already. Otherwise the system would reset the connection, and the
/// peer would not get the last answer.
async fn drain(read: &mut ReadHalf<TlsStream<TcpStream>>) {
    let mut rest = vec![0; 16 << 10];
    let all = async { while read.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
    let _ = tokio::time::timeout(Duration::from_secs(5), all).await;
}

/// Sends answers, and signs of life.
async fn answer(mut write: WriteHalf<TlsStream<TcpStream>>, mut queue: mpsc::Receiver<Message>) {
    loop {
        let message = match tokio::time::timeout(ALIVE, queue.recv()).await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(_) => Message::Alive,
        };
        let sent = async {
            write.write_all(&message.frame()).await?;
            write.flush().await
        };
        if !matches!(tokio::time::timeout(ANSWER, sent).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = tokio::time::timeout(ANSWER, write.shutdown()).await;
}

/// Takes the segments of one connection.
struct Receiver {
    collector: Arc<Collector>,
    host: Host,
    peer: Peer,
    version: Version,
    answers: mpsc::Sender<Message>,
    /// Kibibytes that may come and not be answered.
    window: Arc<Semaphore>,
    permits: usize,
    stop: watch::Receiver<bool>,
}

impl Receiver {
    async fn run(&mut self, read: &mut ReadHalf<TlsStream<TcpStream>>) -> End {
        let mut payload = Vec::new();
        loop {
            let silence = self.collector.limits.silence;
            let (kind, len) = match self.header(read, silence).await {
                Ok(header) => header,
                Err(end) => return end,
            };
            payload.clear();
            let ended = match tokio::time::timeout(silence, data(read, len, &mut payload)).await {
                Ok(Ok(())) => match Message::parse(kind, &payload) {
                    Ok(Message::Segment(segment)) => self.segment(read, segment).await,
                    Ok(Message::Alive) => Ok(()),
                    Ok(Message::Status(status)) => {
                        self.collector.figures.status(&self.host, status);
                        Ok(())
                    }
                    Ok(_) => Err(End::Wrong(format!("it sent a frame {kind:?} between segments"))),
                    Err(why) => Err(End::Wrong(why)),
                },
                Ok(Err(error)) => Err(closed(&error)),
                Err(_) => Err(End::Wrong("a frame did not come in time".to_owned())),
            };
            if let Err(end) = ended {
                return end;
            }
        }
    }

    /// Waits for the next frame.
    async fn header(
        &mut self,
        read: &mut ReadHalf<TlsStream<TcpStream>>,
        limit: Duration,
    ) -> Result<(Kind, usize), End> {
        let header = tokio::select! {
            header = tokio::time::timeout(limit, read_header(read)) => header,
            _ = self.stop.wait_for(|stop| *stop) => return Err(End::Later("the collector stops".to_owned())),
        };
        match header {
            Ok(Ok(header)) => Ok(header),
            Ok(Err(error)) => Err(closed(&error)),
            Err(_) => Err(End::Wrong(format!("it sent nothing for {} s", limit.as_secs()))),
        }
    }

    /// Takes a segment: the rest of its bytes come in frames of data.
    async fn segment(
        &mut self,
        read: &mut ReadHalf<TlsStream<TcpStream>>,
        segment: Segment,
    ) -> Result<(), End> {
        let Segment { number, len, name } = segment;
        // It may have been revoked, or have expired, since the connection began.
        let checked = self.collector.access.check(&self.host, &self.peer);
        checked.map_err(|why| End::Wrong(format!("host `{}`: {why}", self.host)))?;
        let name: SegmentName =
            name.parse().map_err(|why: String| End::Wrong(why.escape_debug().to_string()))?;
        if name.host != self.host {
            return Err(End::Wrong(format!("a segment of another host, `{}`", name.host)));
        }
        let most = self.collector.limits.segment;
        if len > most {
            return Err(End::Wrong(format!("a segment of {len} bytes, expected at most {most}")));
        }
        let kibibytes = (len >> 10).clamp(1, self.permits as u64) as u32;
        let permit = self.window.clone().acquire_many_owned(kibibytes).await;
        let permit = permit.map_err(|_| End::Closed(None))?;
        let mut inspector = Inspector::new(&name, self.collector.limits.unpacked);
        if !self.version.has_all_intervals() {
            inspector = inspector.without_intervals();
        }
        let received = self.collector.incoming.begin(len, inspector);
        let received = received.map_err(|error| self.full(&error))?;
        match self.bytes(read, received, len).await? {
            Ok(received) => {
                let task = Task {
                    collector: self.collector.clone(),
                    number,
                    name,
                    len,
                    answers: self.answers.clone(),
                };
                tokio::spawn(async move {
                    task.run(received).await;
                    drop(permit);
                });
            }
            Err(why) => {
                log::line(format_args!("host `{}`: refused segment {name}: {why}", self.host));
                self.collector.figures.refused.fetch_add(1, Ordering::Relaxed);
                let done = Done { number, outcome: Outcome::Refused, text: why };
                let _ = self.answers.send(Message::Done(done)).await;
            }
        }
        Ok(())
    }

    /// Takes the bytes of a segment. Returns it, or why it is refused; its other bytes are then
    /// read and dropped.
    async fn bytes(
        &mut self,
        read: &mut ReadHalf<TlsStream<TcpStream>>,
        received: Received,
        len: u64,
    ) -> Result<Result<Received, String>, End> {
        let mut limit = SEGMENT + Duration::from_secs(len / SLOWEST);
        let (mut taken, mut left, mut rest) = (Ok(received), len, Vec::new());
        while left > 0 {
            // Only the peer's time counts, not that of the disk.
            let since = Instant::now();
            let (kind, len) = self.header(read, limit).await?;
            if kind != Kind::Data || len as u64 > left || len == 0 {
                return Err(End::Wrong(format!(
                    "a frame {kind:?} of {len} bytes inside a segment with {left} left"
                )));
            }
            let to = match &mut taken {
                Ok(received) => &mut received.chunk,
                Err(_) => &mut rest,
            };
            let limited = limit.saturating_sub(since.elapsed());
            match tokio::time::timeout(limited, data(read, len, to)).await {
                Ok(read) => read.map_err(|error| closed(&error))?,
                Err(_) => return Err(End::Wrong("a segment did not come in time".to_owned())),
            }
            limit = limit.saturating_sub(since.elapsed());
            left -= len as u64;
            rest.clear();
            taken = match taken {
                Ok(mut received) => {
                    received.left = left;
                    if received.is_due() { self.write(received).await? } else { Ok(received) }
                }
                wrong => wrong,
            };
        }
        Ok(taken)
    }

    async fn write(&self, received: Received) -> Result<Result<Received, String>, End> {
        match spawn_blocking(move || received.write()).await {
            Ok(Ok(received)) => Ok(Ok(received)),
            Ok(Err(NotTaken::Wrong(why))) => Ok(Err(why)),
            Ok(Err(NotTaken::Io(error))) => Err(self.full(&error)),
            Err(error) => Err(End::Later(error.to_string())),
        }
    }

    fn full(&self, error: &io::Error) -> End {
        self.collector.figures.store_errors.fetch_add(1, Ordering::Relaxed);
        End::Later(format!("the collector cannot write: {error}"))
    }
}

fn closed(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => End::Closed(None),
        io::ErrorKind::InvalidData => End::Wrong(error.to_string()),
        _ => End::Closed(Some(error.to_string())),
    }
}

/// Stores a segment and answers.
struct Task {
    collector: Arc<Collector>,
    number: u32,
    name: SegmentName,
    len: u64,
    answers: mpsc::Sender<Message>,
}

impl Task {
    async fn run(self, received: Received) {
        let figures = &self.collector.figures;
        figures.pending.fetch_add(self.len, Ordering::Relaxed);
        let done = self.stored(received).await;
        figures.pending.fetch_sub(self.len, Ordering::Relaxed);
        let Some((outcome, text)) = done else { return };
        let count = match outcome {
            Outcome::Stored => &figures.stored,
            Outcome::WasThere => &figures.were_there,
            Outcome::Differs | Outcome::Refused => {
                log::line(format_args!("host `{}`: refused segment {}: {text}", self.name.host, self.name));
                &figures.refused
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        failpoint("collect-answer");
        let _ = self.answers.send(Message::Done(Done { number: self.number, outcome, text })).await;
    }

    /// Returns `None` if the segment is neither stored nor refused.
    async fn stored(&self, received: Received) -> Option<(Outcome, String)> {
        let is_dir = self.collector.store.dir().is_some();
        failpoint("collect-received");
        let ended = spawn_blocking(move || received.end(is_dir)).await;
        let (file, events) = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(NotTaken::Wrong(why))) => return Some((Outcome::Refused, why)),
            Ok(Err(NotTaken::Io(error))) => {
                self.failed(&error.to_string()).await;
                return None;
            }
            Err(_) => return None,
        };
        failpoint("collect-before-put");
        let mut wait = Duration::from_secs(1);
        // The peer may have gone. It sends the segment again.
        while !self.answers.is_closed() {
            let put = if is_dir {
                self.collector.store.take(&self.name, &file.0).await
            } else {
                let _memory = self.collector.memory(self.len).await?;
                self.collector.store.put(&self.name, &file.0).await
            };
            let figures = &self.collector.figures;
            match put {
                Ok(Put::Stored) => {
                    failpoint("collect-after-put");
                    figures.bytes.fetch_add(self.len, Ordering::Relaxed);
                    figures.events.fetch_add(events, Ordering::Relaxed);
                    return Some((Outcome::Stored, String::new()));
                }
                Ok(Put::WasThere) => return Some((Outcome::WasThere, String::new())),
                Ok(Put::Differs) => {
                    return Some((Outcome::Differs, "the store has another segment of this name".to_owned()));
                }
                Ok(Put::Refused(why)) => return Some((Outcome::Refused, why)),
                Err(error) => {
                    figures.store_errors.fetch_add(1, Ordering::Relaxed);
                    log::line(format_args!(
                        "host `{}`: {error}; tried again in {} s",
                        self.name.host,
                        wait.as_secs()
                    ));
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(30));
        }
        None
    }

    /// Ends the connection, so that the host sends the segment again.
    async fn failed(&self, why: &str) {
        self.collector.figures.store_errors.fetch_add(1, Ordering::Relaxed);
        log::line(format_args!("host `{}`: cannot write: {why}", self.name.host));
        let text = format!("the collector cannot write: {why}");
        let _ = self.answers.send(Message::Bye(Bye { is_passing: true, text })).await;
    }
}
