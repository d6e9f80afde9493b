//! A collector, as a shipper sees it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::access::{ClientAccess, tls_problem};
use crate::log;
use crate::segment::{Host, SegmentName};
use crate::store::secrets::without_credentials;
use crate::store::{Put, StoreError};
use crate::wire::{
    self, DATA_LEN, Done, Hello, Kind, Message, Outcome, Reply, Segment, Status, Version, Welcome,
};

/// How long the collector may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// How long the collector may be silent. It gives signs of life.
const SILENCE: Duration = Duration::from_secs(60);
/// How often the shipper gives a sign of life.
const ALIVE: Duration = Duration::from_secs(30);

/// A collector at an address. It is connected when a segment is sent, and again after a failure.
pub struct Remote {
    address: String,
    name: ServerName<'static>,
    access: ClientAccess,
    host: Host,
    newest: Version,
    link: AsyncMutex<Option<Arc<Link>>>,
    status: Arc<Mutex<Status>>,
    /// Takes what the collector asks, if it may ask.
    asked: Mutex<Option<mpsc::Sender<Asked>>>,
}

/// A request of the collector.
pub struct Asked {
    /// What it asks.
    pub request: wire::Request,
    replies: mpsc::Sender<Reply>,
}

impl Asked {
    /// Answers what the program said, or why it was not done.
    pub async fn reply(self, outcome: Result<String, String>) {
        let (is_done, text) = outcome.map_or_else(|why| (false, why), |said| (true, said));
        // If the connection has ended, the collector says so.
        let _ = self.replies.send(Reply { number: self.request.number, is_done, text }).await;
    }
}

/// One connection.
struct Link {
    requests: mpsc::Sender<Request>,
    /// Kibibytes that may be sent and not answered.
    window: Arc<Semaphore>,
    permits: u64,
    max_segment: u64,
    pending: Pending,
}

/// A segment to send.
struct Request {
    name: SegmentName,
    path: PathBuf,
    len: u64,
    reply: oneshot::Sender<Result<Put, StoreError>>,
}

type Pending = Arc<Mutex<Waiting>>;

/// The segments that are not answered.
#[derive(Default)]
struct Waiting {
    replies: HashMap<u32, oneshot::Sender<Result<Put, StoreError>>>,
    /// Why the connection has ended.
    ended: Option<String>,
}

impl Waiting {
    fn why(&self) -> String {
        self.ended.clone().unwrap_or_else(|| "the connection ended".to_owned())
    }
}

impl Remote {
    /// A collector at `tls://HOST:PORT`. Nothing is connected yet. `name` is the name in its
    /// certificate, if that is not `HOST`.
    ///
    /// # Errors
    /// For another address.
    pub fn new(
        url: &str,
        name: Option<&str>,
        access: ClientAccess,
        host: Host,
        newest: Version,
    ) -> Result<Remote, StoreError> {
        let parse = || {
            let address = url.strip_prefix("tls://")?.trim_end_matches('/');
            let (host, port) = address.rsplit_once(':')?;
            port.parse::<u16>().ok()?;
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            Some((address.to_owned(), host.to_owned()))
        };
        let (address, own) = parse().filter(|_| !url.contains('@')).ok_or_else(|| {
            let shown = without_credentials(url);
            StoreError::new(format!("`{shown}` is not the address of a collector; expected tls://HOST:PORT"))
        })?;
        let name = name.unwrap_or(&own).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| StoreError::new(format!("`{name}` cannot be the name of a collector")))?;
        Ok(Remote {
            address,
            name,
            access,
            host,
            newest,
            link: AsyncMutex::default(),
            status: Arc::default(),
            asked: Mutex::default(),
        })
    }

    /// Connects, to see that the collector accepts this host.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.link().await.map(drop)
    }

    /// Sends a segment, and waits until the collector has stored it.
    ///
    /// # Errors
    /// Those of the connection and of the file. The segment may be stored nevertheless.
    pub async fn put(&self, name: &SegmentName, path: &Path) -> Result<Put, StoreError> {
        if name.host != self.host {
            let (of, host) = (&name.host, &self.host);
            return Ok(Put::Refused(format!(
                "it is of the host `{of}`, and this shipper is `{host}`; help: ship its file with `--host {of}`"
            )));
        }
        let wrong = |error: io::Error| StoreError::new(format!("{}: {error}", path.display()));
        let len = path.metadata().map_err(wrong)?.len();
        let link = self.link().await?;
        if len > link.max_segment {
            let most = link.max_segment;
            return Ok(Put::Refused(format!("it has {len} bytes, and the collector takes at most {most}")));
        }
        let kibibytes = (len >> 10).clamp(1, link.permits) as u32;
        let ended = || self.wrong(&link.pending.lock().unwrap_or_else(PoisonError::into_inner).why());
        let _permit = link.window.acquire_many(kibibytes).await.map_err(|_| ended())?;
        let (reply, answer) = oneshot::channel();
        let request = Request { name: name.clone(), path: path.to_owned(), len, reply };
        // If the task has ended, the reply is dropped.
        let _ = link.requests.send(request).await;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Tells the collector the state of the spool, with the next sign of life.
    pub fn set_status(&self, status: Status) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Takes requests of the collector from the next connection on.
    pub fn take_requests(&self, to: mpsc::Sender<Asked>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
    }

    fn wrong(&self, why: &str) -> StoreError {
        StoreError::new(format!("tls://{}: {why}", self.address))
    }

    /// Returns the connection, a new one if there is none.
    async fn link(&self) -> Result<Arc<Link>, StoreError> {
        let mut current = self.link.lock().await;
        if let Some(link) = &*current
            && !link.requests.is_closed()
        {
            return Ok(link.clone());
        }
        let connected = tokio::time::timeout(CONNECT, self.connect()).await;
        let link = connected.unwrap_or_else(|_| Err(self.wrong("the collector did not answer in time")))?;
        *current = Some(link.clone());
        Ok(link)
    }

    async fn connect(&self) -> Result<Arc<Link>, StoreError> {
        let (config, token) = self.access.get(|problem| {
            log::line(format_args!("warning: files for TLS have changed and are not used: {problem}"));
        });
        let tcp = TcpStream::connect(&*self.address).await.map_err(|error| self.wrong(&error.to_string()))?;
        let _ = tcp.set_nodelay(true);
        let stream = TlsConnector::from(config).connect(self.name.clone(), tcp).await;
        let mut stream = stream.map_err(|error| self.wrong(&tls_problem(&error)))?;
        let versions = (Version::OLDEST, self.newest);
        let hello = Hello { versions, host: self.host.to_string(), token };
        // If the collector has refused the certificate, reading says so, not writing.
        let _ = stream.write_all(&Message::Hello(hello).frame()).await;
        let _ = stream.flush().await;
        let answer = message(&mut stream).await.map_err(|error| self.wrong(&tls_problem(&error)))?;
        let Welcome { version, window, max_segment } = match answer {
            Message::Welcome(welcome) => welcome,
            Message::Bye(bye) => {
                return Err(self.wrong(&format!("the collector refuses this host: {}", bye.text)));
            }
            _ => return Err(self.wrong("it is not a collector: its first message is wrong")),
        };
        if !(Version::OLDEST..=self.newest).contains(&version) {
            return Err(self.wrong(&format!("the collector chose the version {version} of the protocol")));
        }
        let (read, write) = tokio::io::split(stream);
        let (requests, queue) = mpsc::channel(1);
        let pending = Pending::default();
        let permits = (window >> 10).clamp(1, u64::from(u32::MAX >> 4));
        let status = self.status.clone();
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = asked.filter(|_| version.has_requests());
        let (to_replies, replies) = mpsc::channel(8);
        let sender = Sender {
            write,
            queue,
            replies,
            pending: pending.clone(),
            next: 0,
            status,
            told: None,
            takes_requests: asked.is_some(),
        };
        let sending = tokio::spawn(sender.run());
        let window = Arc::new(Semaphore::new(permits as usize));
        let link = Link { requests, window: window.clone(), permits, max_segment, pending: pending.clone() };
        let prefix = format!("tls://{}", self.address);
        tokio::spawn(async move {
            let why = receive(read, &pending, asked.as_ref(), to_replies).await;
            sending.abort();
            let _ = sending.await;
            window.close();
            let mut waiting = pending.lock().unwrap_or_else(PoisonError::into_inner);
            for (_, reply) in waiting.replies.drain() {
                let _ = reply.send(Err(StoreError::new(format!("{prefix}: {why}"))));
            }
            waiting.ended = Some(why);
        });
        Ok(Arc::new(link))
    }
}

/// Reads a message that is not data.
async fn message(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Message> {
    let (kind, len) = wire::read_header(from).await?;
    let mut payload = Vec::new();
    wire::data(from, len, &mut payload).await?;
    Message::parse(kind, &payload).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Takes answers to the end of the connection. Returns why it has ended.
async fn receive(
    mut from: ReadHalf<TlsStream<TcpStream>>,
    pending: &Pending,
    asked: Option<&mpsc::Sender<Asked>>,
    replies: mpsc::Sender<Reply>,
) -> String {
    loop {
        let message = match tokio::time::timeout(SILENCE, message(&mut from)).await {
            Ok(Ok(message)) => message,
            Ok(Err(error)) => return tls_problem(&error),
            Err(_) => return format!("the collector was silent for {} s", SILENCE.as_secs()),
        };
        match message {
            Message::Done(Done { number, outcome, text }) => {
                let reply = pending.lock().unwrap_or_else(PoisonError::into_inner).replies.remove(&number);
                let put = match outcome {
                    Outcome::Stored => Put::Stored,
                    Outcome::WasThere => Put::WasThere,
                    Outcome::Differs => Put::Differs,
                    Outcome::Refused => Put::Refused(text),
                };
                // Nothing waits for it if a stop gave up.
                let _ = reply.map(|reply| reply.send(Ok(put)));
            }
            Message::Alive => {}
            Message::Request(request) => {
                let asking = Asked { request, replies: replies.clone() };
                let Some(to) = asked else { return "the collector sent a wrong message".to_owned() };
                if let Err(TrySendError::Full(asking) | TrySendError::Closed(asking)) = to.try_send(asking) {
                    asking.reply(Err("too many requests wait".to_owned())).await;
                }
            }
            Message::Bye(bye) if bye.is_passing => {
                return format!("the collector closed for now: {}", bye.text);
            }
            Message::Bye(bye) => return format!("the collector refuses this host: {}", bye.text),
            _ => return "the collector sent a wrong message".to_owned(),
        }
    }
}

/// Sends segments, one after the other.
struct Sender {
    write: WriteHalf<TlsStream<TcpStream>>,
    queue: mpsc::Receiver<Request>,
    pending: Pending,
    next: u32,
    /// The state of the spool.
    status: Arc<Mutex<Status>>,
    told: Option<Status>,
    takes_requests: bool,
    /// Outcomes of requests.
    replies: mpsc::Receiver<Reply>,
}

impl Sender {
    async fn run(mut self) {
        // The other half of the connection finds out why it has failed.
        let _ = self.send().await;
        let _ = self.write.shutdown().await;
    }

    async fn send(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 8 + DATA_LEN];
        loop {
            self.tell().await?;
            tokio::select! {
                request = self.queue.recv() => match request {
                    Some(request) => self.segment(request, &mut buffer).await?,
                    None => return Ok(()),
                },
                Some(reply) = self.replies.recv() => {
                    self.write.write_all(&Message::Reply(reply).frame()).await?;
                }
                () = tokio::time::sleep(ALIVE) => self.write.write_all(&Message::Alive.frame()).await?,
            }
            self.write.flush().await?;
        }
    }

    /// Tells the state of the spool, if it has changed.
    async fn tell(&mut self) -> io::Result<()> {
        let now = *self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Status { takes_requests: self.takes_requests, ..now };
        if self.told.replace(now) != Some(now) {
            self.write.write_all(&Message::Status(now).frame()).await?;
            self.write.flush().await?;
        }
        Ok(())
    }

    async fn segment(&mut self, request: Request, buffer: &mut [u8]) -> io::Result<()> {
        let Request { name, path, len, reply } = request;
        let number = self.next;
        self.next = number.wrapping_add(1);
        let name = name.to_string();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => {
                let _ = reply.send(Err(StoreError::new(format!("{}: {error}", path.display()))));
                return Ok(());
            }
        };
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).replies.insert(number, reply);
        self.write.write_all(&Message::Segment(Segment { number, len, name }).frame()).await?;
        let mut left = len;
        while left > 0 {
            let part = left.min(DATA_LEN as u64) as usize;
            buffer[..8].copy_from_slice(&wire::header(Kind::Data, part));
            file.read_exact(&mut buffer[8..8 + part])?;
            self.write.write_all(&buffer[..8 + part]).await?;
            left -= part as u64;
        }
        Ok(())
    }
}
