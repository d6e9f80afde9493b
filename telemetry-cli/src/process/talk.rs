//! A request and its answer.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::answer::{Info, Unknown};
use super::place::{Place, Process, absent, is_stopped, not_connected};
use crate::term::ended::{Ended, Failure};
use crate::term::message::warning;
use crate::term::native::{self, Peer};
use crate::text::escaped_text;

/// The maximum of bytes in a request, with the line feed.
const MAX_REQUEST_LEN: usize = 8192;
/// The maximum of bytes in an answer that is text.
const MAX_ANSWER_LEN: usize = 16 << 20;
/// How long an answer may take. The process serves one client at a time, each for up to two
/// seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take if the process must finish other work first.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer.
pub(crate) enum NotTalking {
    /// No process listens there.
    Stale(Failure),
    Silent(Failure),
}

impl From<NotTalking> for Failure {
    fn from((NotTalking::Stale(why) | NotTalking::Silent(why)): NotTalking) -> Failure {
        why
    }
}

/// A connection after the first line of the answer.
pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    /// Bytes to come, if the process says so.
    pub(crate) len: Option<u64>,
    deadline: Instant,
    called: Called,
}

impl Process {
    /// Returns the answer to a request.
    pub(crate) fn ask<T: DeserializeOwned>(&self, request: &str) -> Result<T, NotTalking> {
        let text = self.open(request)?.text().map_err(NotTalking::Silent)?;
        toml::from_str(&text).map_err(|error| {
            self.failure(format!("sent an answer that cannot be parsed: {}", escaped_text(error.message())))
        })
    }

    /// Returns the description of the process.
    pub(crate) fn info(&self) -> Result<Info, NotTalking> {
        // In a container, the process may know itself by another number.
        self.ask("info").map(|info: Info| match self.is_via {
            true => Info { copy: info.copy.max(1), ..info },
            false => Info { pid: self.pid.number, copy: self.pid.copy, ..info },
        })
    }

    /// Sends a request, and reads the first line of the answer.
    pub(crate) fn open(&self, request: &str) -> Result<Connection, NotTalking> {
        // A line feed in a word separates like a space.
        let request = request.replace(['\n', '\r'], " ") + "\n";
        if request.len() > MAX_REQUEST_LEN {
            let why = format!("cannot be sent {} bytes, at most {MAX_REQUEST_LEN}", request.len());
            return Err(self.failure(why));
        }
        let timeout = if ["flush\n", "snapshot\n"].contains(&&*request) || request.starts_with("ask ") {
            LONG_TIMEOUT
        } else {
            ANSWER_TIMEOUT
        };
        let mut stream = self.connect()?;
        let deadline = Instant::now() + timeout;
        let sent = stream
            .set_write_timeout(Some(ANSWER_TIMEOUT))
            .and_then(|()| stream.write_all(request.as_bytes()));
        sent.map_err(|error| NotTalking::Silent(self.silent(&error)))?;
        let mut connection = Connection { stream, len: None, deadline, called: self.called() };
        let line = connection.line().map_err(|error| NotTalking::Silent(self.silent(&error)))?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("ok", len) => connection.len = len.parse().ok(),
            ("error:", why) => return Err(self.failure(format!("says: {}", escaped_text(why)))),
            _ => return Err(self.failure("sent no answer, expected `ok` or `error: ...`".into())),
        }
        Ok(connection)
    }

    /// Refuses words without a match, since their events would never come. While no registry is in
    /// use, any word may match later.
    pub(crate) fn expect_known(&self, words: &[String]) -> Ended {
        // A process of an earlier version does not know the request.
        let unknown: Unknown = self.ask(&format!("unknown {}", words.join(" "))).unwrap_or_default();
        let mut messages = unknown.messages();
        if unknown.names().is_empty() {
            messages.for_each(warning);
            return Ok(());
        }
        messages.next().map_or(Ok(()), |why| Err(Failure::new(why)))
    }

    /// Connects to this process, and to no other.
    fn connect(&self) -> Result<UnixStream, NotTalking> {
        let refused = |why: String| {
            NotTalking::Silent(Failure::new(format!("cannot trust `{}`: {why}", self.path.display())))
        };
        match self.distrust() {
            Ok(None) => {}
            Ok(Some(why)) => return Err(refused(why)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.stale()),
            Err(error) => return Err(refused(error.to_string())),
        }
        // Its socket would accept the request, but no answer would come.
        if self.called().is_stopped() {
            return Err(NotTalking::Silent(self.silent(&ErrorKind::TimedOut.into())));
        }
        let stream = match connect_within(self.path.clone(), ANSWER_TIMEOUT) {
            Err(error) if [ErrorKind::ConnectionRefused, ErrorKind::NotFound].contains(&error.kind()) => {
                return Err(self.stale());
            }
            stream => stream.map_err(|error| NotTalking::Silent(self.silent(&error)))?,
        };
        let Peer { user, pid } = native::peer(&stream).map_err(|error| refused(error.to_string()))?;
        if user != self.owner {
            return Err(refused(format!("it is served by user {user}, expected {}", self.owner)));
        }
        if let Some(pid) = pid.filter(|pid| !self.is_via && *pid != self.pid.number) {
            let expected = self.pid.number;
            return Err(refused(format!("it is served by process {pid}, expected {expected}")));
        }
        Ok(stream)
    }

    fn stale(&self) -> NotTalking {
        NotTalking::Stale(match self.is_via {
            true => not_connected(&self.path),
            false => absent(self.pid, &Place::all().unwrap_or_default()),
        })
    }

    fn failure(&self, what: String) -> NotTalking {
        NotTalking::Silent(Failure::new(format!("{} {what}", self.called().text)))
    }

    /// Explains that the process cannot be reached.
    pub(crate) fn silent(&self, error: &io::Error) -> Failure {
        self.called().silent(error)
    }

    fn called(&self) -> Called {
        let (pid, path) = (self.pid, self.path.display());
        Called {
            text: if pid.number == 0 {
                format!("the program behind `{path}`")
            } else {
                format!("process {pid}")
            },
            number: (!self.is_via).then_some(pid.number),
        }
    }
}

impl Connection {
    /// Reads the rest of an answer that is text.
    fn text(mut self) -> Result<String, Failure> {
        let mut text = Vec::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            match self.read(&mut piece).map_err(|error| self.called.silent(&error))? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                n => text.extend_from_slice(&piece[..n]),
            }
            if text.len() > MAX_ANSWER_LEN {
                return Err(Failure::new(format!("{} sent an oversized answer", self.called.text)));
            }
        }
    }

    /// Reads the first line byte by byte, since a stream may follow.
    fn line(&mut self) -> io::Result<String> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.len() <= MAX_REQUEST_LEN + 1024 && self.read(&mut byte)? == 1 && byte != *b"\n" {
            line.push(byte[0]);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Reads within the time of the answer.
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(rest))?;
            match self.stream.read(to) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It closed before it had read the whole request, and said why.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(0),
                result => return result,
            }
        }
    }

    /// Sets the time limit for each following piece. Live streams have none.
    pub(crate) fn pieces(self, is_live: bool) -> Result<UnixStream, Failure> {
        let timeout = if is_live { None } else { Some(LONG_TIMEOUT) };
        self.stream.set_read_timeout(timeout).map_err(|error| self.called.silent(&error))?;
        Ok(self.stream)
    }
}

/// The bytes that a process sends.
pub(crate) struct Sent(pub(crate) UnixStream);

impl Read for Sent {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.0.read(to) {
            // The process was killed, or has closed the connection.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            result => result,
        }
    }
}

/// Connects. This waits if many other clients do. If the time is over, the waiting thread ends with
/// the command.
fn connect_within(path: std::path::PathBuf, timeout: Duration) -> io::Result<UnixStream> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || sender.send(UnixStream::connect(path)))?;
    receiver.recv_timeout(timeout).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

/// How messages call a process.
struct Called {
    text: String,
    /// The system's number, if it is known here.
    number: Option<u32>,
}

impl Called {
    /// Returns true if the system says that it is stopped.
    fn is_stopped(&self) -> bool {
        self.number.is_some_and(is_stopped)
    }

    /// Explains that it cannot be reached.
    fn silent(&self, error: &io::Error) -> Failure {
        let text = &self.text;
        Failure::new(match (error.kind(), self.number) {
            (ErrorKind::WouldBlock | ErrorKind::TimedOut, Some(number)) if is_stopped(number) => {
                format!("{text} is stopped, and cannot answer; help: `kill -CONT {number}` lets it go on")
            }
            (ErrorKind::WouldBlock | ErrorKind::TimedOut, Some(_)) => {
                format!("{text} does not answer; help: try again later, others may be talking to it")
            }
            (ErrorKind::WouldBlock | ErrorKind::TimedOut, None) => {
                format!("{text} does not answer; help: its messages may say why, or try again later")
            }
            (ErrorKind::PermissionDenied, _) => {
                format!("{text} belongs to another user; help: run this as that user, or as root")
            }
            _ => format!("cannot talk to {text}: {error}"),
        })
    }
}
