//! One connection: who asks, what for, and the answer.
//!
//! The request is a line of at most 8,192 bytes. The answer is a line, `ok` or `error: ` and why, and behind an
//! `ok` lines of TOML, or for `tail` a stream; for `snapshot`, `ok BYTES` and a stream. Then the connection is
//! closed.

use core::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::actions::{Actions, Numbers};
use super::native;
use super::place::Place;
use super::request::{LIMIT, Request};
use crate::facts::Quoted;
use crate::own::ControlMask;
use crate::sync::{AtomicUsize, Ordering};

/// How long a request may take to come, and then its answer to be taken; of a snapshot, each piece.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Most snapshots on their way to clients at a time.
const MOST_TRANSFERS: usize = 4;

/// Answers requests, one after the other.
pub(crate) struct Server<A> {
    pub(crate) actions: A,
    place: Place,
    transfers: Arc<AtomicUsize>,
}

/// What an answer has behind `ok`.
enum Reply {
    Text(String),
    /// A snapshot, at its beginning, and how long it is.
    Snapshot(File, u64),
    /// The words of a tail.
    Tail(Option<String>),
}

impl<A: Actions> Server<A> {
    pub(crate) fn new(actions: A, place: Place) -> Self {
        Server { actions, place, transfers: Arc::default() }
    }

    /// Answers whoever is at the other end.
    // Apart, so that a thread that waits has a small stack: in pages touched, it is most of what it costs.
    #[inline(never)]
    pub(crate) fn serve(&self, stream: UnixStream) {
        // What a sink of the program's own does within a flush must not end the program here.
        let reply = catch_unwind(AssertUnwindSafe(|| self.reply(&stream)))
            .unwrap_or_else(|_| Err("the request panicked".into()));
        match reply {
            Ok(Reply::Text(text)) => finish(&stream, &format!("ok\n{text}")),
            Ok(Reply::Snapshot(file, len)) => self.send(stream, file, len),
            Ok(Reply::Tail(words)) => {
                if say(&stream, "ok\n").is_ok() {
                    self.actions.tail(words.as_deref(), stream);
                }
            }
            Err(why) => finish(&stream, &format!("error: {why}\n")),
        }
    }

    fn reply(&self, stream: &UnixStream) -> Result<Reply, String> {
        admit(native::peer(stream).map_err(|error| format!("cannot tell who asks: {error}"))?)?;
        let line = read_line(stream)?;
        Ok(Reply::Text(match Request::parse(&line)? {
            Request::Get => self.masks(),
            Request::Change { mask, on, words } => {
                self.actions.change(mask, on, words);
                self.masks() + &self.unknown(words)
            }
            Request::Unknown(words) => self.unknown(words),
            Request::Flush => {
                self.actions.flush();
                String::new()
            }
            Request::Counters => self.counters(),
            Request::Info => self.info(),
            Request::Snapshot => return self.snapshot(),
            Request::Tail(words) => return Ok(Reply::Tail(words.map(str::to_owned))),
        }))
    }

    fn unknown(&self, words: &str) -> String {
        list("unknown", self.actions.unknown(words))
    }

    fn masks(&self) -> String {
        let [output, record] = [ControlMask::Output, ControlMask::Record]
            .map(|mask| Quoted(self.actions.get(mask).as_bytes()).to_string());
        format!("output = {output}\nrecord = {record}\n")
    }

    fn counters(&self) -> String {
        let mut text = lines(&self.actions.counters());
        for (registry, kind, numbers) in self.actions.kinds() {
            let (registry, kind) = (Quoted(registry.as_bytes()), Quoted(kind.as_bytes()));
            let _ = write!(text, "\n[[kind]]\nregistry = {registry}\nname = {kind}\n{}", lines(&numbers));
        }
        text + &self.sinks()
    }

    fn sinks(&self) -> String {
        let mut text = String::new();
        for (name, failure, numbers) in self.actions.sinks() {
            let _ = write!(text, "\n[[sink]]\nname = {}\n{}", Quoted(name.as_bytes()), lines(&numbers));
            if let Some(failure) = failure {
                let _ = writeln!(text, "failure = {}", Quoted(failure.as_bytes()));
            }
        }
        text
    }

    fn info(&self) -> String {
        let mut text = self.actions.facts() + &self.masks();
        let _ = write!(text, "\n[counters]\n{}", lines(&self.actions.counters()));
        for relation in self.actions.relations() {
            let [major, median, minor] = relation.version;
            let _ = write!(
                text,
                "\n[[registry]]\nname = {}\nversion = \"{major}.{median}.{minor}\"\nfingerprint = \"{:016x}\"\n\
                 events = {}\n",
                Quoted(relation.name.as_bytes()),
                relation.fingerprint,
                relation.events.len(),
            );
            text += &list("kinds", relation.kinds.iter().map(|kind| kind.name));
        }
        text + &self.sinks()
    }

    /// All that is in memory, in a file: whoever takes it may be slow, and passes of the drain may not wait.
    fn snapshot(&self) -> Result<Reply, String> {
        let failed = |error: io::Error| format!("cannot take a snapshot: {error}");
        let mut file = self.place.spool().map_err(failed)?;
        file.try_clone().and_then(|file| self.actions.snapshot(file)).map_err(failed)?;
        let len = file.stream_position().map_err(failed)?;
        file.rewind().map_err(failed)?;
        Ok(Reply::Snapshot(file, len))
    }

    /// Sends a snapshot from a thread of its own.
    fn send(&self, stream: UnixStream, mut file: File, len: u64) {
        let transfers = self.transfers.clone();
        if transfers.fetch_add(1, Ordering::Relaxed) >= MOST_TRANSFERS {
            transfers.fetch_sub(1, Ordering::Relaxed);
            return finish(
                &stream,
                "error: several snapshots are on their way already; help: try again later\n",
            );
        }
        let send = move || {
            // The patience is with each piece: a snapshot may be large.
            let sent =
                say(&stream, &format!("ok {len}\n")).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            let _ = sent.and_then(|()| io::copy(&mut file, &mut &stream));
            let _ = stream.shutdown(Shutdown::Both);
            transfers.fetch_sub(1, Ordering::Relaxed);
        };
        // Without a thread, the connection is closed at once.
        let thread = std::thread::Builder::new().name("telemetry-ctl".into());
        if thread.spawn(send).is_err() {
            self.transfers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Only the user that the process acts as, and root, may ask.
pub(crate) fn admit(peer: u32) -> Result<(), String> {
    let user = native::user();
    if peer == user || peer == 0 {
        return Ok(());
    }
    Err(format!("user {peer} may not control this process, only user {user} and root may"))
}

/// The line without its end. What is behind it does not matter.
fn read_line(mut stream: &UnixStream) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + PATIENCE;
    let (mut line, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let n = within(deadline, |rest| {
            stream.set_read_timeout(Some(rest))?;
            stream.read(&mut piece)
        });
        match n {
            Ok(0) => {
                return Err(format!("{} bytes of a request, expected a line feed at its end", line.len()));
            }
            Ok(n) => line.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return Err(format!("no request within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("cannot read the request: {error}")),
        }
        let end = line.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(line.len()) >= LIMIT {
            return Err(format!("a request that is too long, expected at most {LIMIT} bytes"));
        }
        if let Some(end) = end {
            line.truncate(end);
            return Ok(line);
        }
    }
}

/// Answers, and closes the connection, whoever else has it: a child that was just forked, say.
fn finish(stream: &UnixStream, text: &str) {
    let _ = say(stream, text);
    let _ = stream.shutdown(Shutdown::Both);
}

fn say(mut stream: &UnixStream, text: &str) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let n = within(deadline, |patience| {
            stream.set_write_timeout(Some(patience))?;
            stream.write(rest)
        })?;
        rest = &rest[n..];
    }
    Ok(())
}

/// Does what takes a time limit until it is done.
fn within(deadline: Instant, mut act: impl FnMut(Duration) -> io::Result<usize>) -> io::Result<usize> {
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match act(rest) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // What a socket says whose time is up.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            result => return result,
        }
    }
}

/// Lines of TOML.
fn lines(numbers: &Numbers) -> String {
    numbers.iter().map(|(key, number)| format!("{key} = {number}\n")).collect()
}

/// A line of TOML with texts, or nothing.
fn list(key: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| Quoted(text.as_ref().as_bytes()).to_string()).collect();
    if texts.is_empty() { String::new() } else { format!("{key} = [{}]\n", texts.join(", ")) }
}
