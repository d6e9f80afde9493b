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
use tokio_rustls::server::TlsStream;

use crate::access::Peer;
use crate::collect::collector::{Collector, Limits};
use crate::collect::greet::Known;
use crate::collect::incoming::{NotTaken, Received};
use crate::collect::requests::Joined;
use crate::collect::task::Task;
use crate::log;
use crate::segment::{Host, Inspector, SegmentName};
use crate::wire::{Bye, Done, Kind, Message, Outcome, Segment, Status, Version, data, read_header};

/// How long a peer may take to read an answer, and how often it gets a sign of life.
const ANSWER: Duration = Duration::from_secs(30);
const ALIVE: Duration = Duration::from_secs(15);

/// A segment has a second more for each of these bytes.
const SLOWEST: u64 = 16 << 10;

/// Why a connection ends.
enum End {
    /// The host closed it, or it failed: what to log.
    Closed(Option<String>),
    /// The host did something wrong. It is told.
    Wrong(String),
    /// The collector cannot go on for now. The host is told.
    Later(String),
}

impl Known {
    /// Tells the host why it is not served.
    pub(crate) async fn dismiss(self, is_passing: bool, why: &str) {
        let bye = Message::Bye(Bye { is_passing, text: why.to_owned() });
        let (mut read, mut write) = tokio::io::split(self.stream);
        let told = async {
            write.write_all(&bye.frame()).await?;
            write.shutdown().await
        };
        let _ = tokio::time::timeout(ANSWER, told).await;
        drain(&mut read).await;
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
        let mut receiver = Receiver {
            collector,
            host,
            peer,
            version,
            answers,
            window: window.clone(),
            permits,
            stop,
            joined: None,
        };
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
    /// Set if the host takes requests.
    joined: Option<Joined>,
}

impl Receiver {
    async fn run(&mut self, read: &mut ReadHalf<TlsStream<TcpStream>>) -> End {
        let mut payload = Vec::new();
        loop {
            let silence = self.collector.limits.silence;
            let (kind, len) = match self.header(read, silence).await {
                Ok(Some(header)) => header,
                Ok(None) => return silent(silence),
                Err(end) => return end,
            };
            payload.clear();
            let ended = match tokio::time::timeout(silence, data(read, len, &mut payload)).await {
                Ok(Ok(())) => match Message::parse(kind, &payload) {
                    Ok(Message::Segment(segment)) => self.segment(read, segment).await,
                    Ok(Message::Alive) => Ok(()),
                    Ok(Message::Status(status)) => {
                        self.status(status);
                        Ok(())
                    }
                    Ok(Message::Reply(reply)) if self.version.has_requests() => {
                        if let Some(joined) = &self.joined {
                            joined.reply(reply);
                        }
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

    fn status(&mut self, status: Status) {
        self.collector.figures.status(&self.host, status);
        if status.takes_requests && self.version.has_requests() && self.joined.is_none() {
            self.joined = Some(self.collector.requests.join(&self.host, self.answers.clone()));
        }
    }

    /// Waits for the next frame. Returns `None` if it does not come in time.
    async fn header(
        &mut self,
        read: &mut ReadHalf<TlsStream<TcpStream>>,
        limit: Duration,
    ) -> Result<Option<(Kind, usize)>, End> {
        let header = tokio::select! {
            header = tokio::time::timeout(limit, read_header(read)) => header,
            _ = self.stop.wait_for(|stop| *stop) => return Err(End::Later("the collector stops".to_owned())),
        };
        match header {
            Ok(Ok(header)) => Ok(Some(header)),
            Ok(Err(error)) => Err(closed(&error)),
            Err(_) => Ok(None),
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
        let Limits { segment_time, silence, .. } = self.collector.limits;
        let mut limit = segment_time + Duration::from_secs(len / SLOWEST);
        let late = || End::Wrong("a segment did not come in time".to_owned());
        let (mut taken, mut left, mut rest) = (Ok(received), len, Vec::new());
        while left > 0 {
            // Only the peer's time counts, not that of the disk.
            let since = Instant::now();
            let Some((kind, len)) = self.header(read, limit.min(silence)).await? else {
                return Err(if limit < silence { late() } else { silent(silence) });
            };
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
            match tokio::time::timeout(limited.min(silence), data(read, len, to)).await {
                Ok(read) => read.map_err(|error| closed(&error))?,
                Err(_) if limited < silence => return Err(late()),
                Err(_) => return Err(silent(silence)),
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

fn silent(limit: Duration) -> End {
    End::Wrong(format!("it sent nothing for {} s", limit.as_secs()))
}

fn closed(error: &io::Error) -> End {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => End::Closed(None),
        io::ErrorKind::InvalidData => End::Wrong(error.to_string()),
        _ => End::Closed(Some(error.to_string())),
    }
}
