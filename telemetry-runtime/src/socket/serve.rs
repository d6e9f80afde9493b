//! One connection: its request, and the answer.
//!
//! The request is a line of at most 8,192 bytes. The answer is a line, `ok` or `error: ` and the
//! reason. Lines of TOML follow an `ok`. For `tail`, a stream follows it. For `snapshot`, the line
//! is `ok BYTES`, and a stream follows. Then the connection is closed.

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
use super::seat::Seat;
use crate::control::switches::Mask;
use crate::memory::facts::Quoted;
use crate::own::requests::{Answer, MAX_ANSWER};
use crate::sys::atomic::AtomicUsize;

/// How long a client may take to send a request, and then to read the answer, or each piece of a
/// snapshot.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of snapshots that are sent to clients at a time.
const MAX_TRANSFERS: usize = 4;
/// Maximum number of requests that the program answers at a time.
pub(crate) const MAX_ASKS: usize = 4;
/// Maximum number of characters of the program's own errors.
const MAX_ERROR: usize = 1024;
/// Maximum number of clients that follow the process at a time.
pub(crate) const MAX_TAILS: usize = 16;

/// Answers requests, one after the other.
pub(crate) struct Server<A> {
    pub(crate) actions: A,
    /// Where snapshots are made, or why there is no such place.
    place: Result<Place, String>,
    transfers: Arc<AtomicUsize>,
    tails: Arc<AtomicUsize>,
    asks: Arc<AtomicUsize>,
}

/// What follows `ok` in an answer.
enum Reply {
    Text(String),
    /// A snapshot, at its beginning, and its length.
    Snapshot(File, u64, Seat),
    /// The words of a tail.
    Tail(Option<String>, Seat),
    /// What answers, and the text for it.
    Ask(Arc<Answer>, String, Seat),
}

impl<A: Actions> Server<A> {
    pub(crate) fn new(actions: A, place: Result<Place, String>) -> Self {
        Server { actions, place, transfers: Arc::default(), tails: Arc::default(), asks: Arc::default() }
    }

    /// Answers the client.
    // A function of its own, so that a waiting thread has a small stack. Most of its cost is in the
    // pages it touches.
    #[inline(never)]
    pub(crate) fn serve(&self, stream: UnixStream) {
        // A panic in the program's own sink during a flush must not end the program here.
        let reply = catch_unwind(AssertUnwindSafe(|| self.reply(&stream)))
            .unwrap_or_else(|_| Err("the request panicked".into()));
        match reply {
            Ok(Reply::Text(text)) => finish(&stream, &format!("ok\n{text}")),
            Ok(Reply::Snapshot(file, len, seat)) => send(stream, file, len, seat),
            Ok(Reply::Ask(answer, text, seat)) => ask(stream, answer, text, seat),
            Ok(Reply::Tail(words, seat)) => {
                if say(&stream, "ok\n").is_ok() {
                    self.actions.tail(words.as_deref(), stream, seat);
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
            Request::For { time, words } => {
                self.actions.set_for(words, time);
                self.masks() + &self.unknown(words)
            }
            Request::Unknown(words) => self.unknown(words),
            Request::Flush => {
                self.actions.flush();
                String::new()
            }
            Request::Mark(text) => {
                self.actions.mark(text);
                String::new()
            }
            Request::Ask(name, text) => {
                let answer = self.actions.answer_of(name)?;
                let Some(seat) = Seat::take(&self.asks, MAX_ASKS) else {
                    return Err(format!(
                        "the program answers {MAX_ASKS} requests already, which is the most; help: try again later"
                    ));
                };
                return Ok(Reply::Ask(answer, text.to_owned(), seat));
            }
            Request::Counters => self.counters(),
            Request::Info => self.info(),
            Request::Snapshot => return self.snapshot(),
            Request::Tail(words) => {
                let seat = Seat::take(&self.tails, MAX_TAILS).ok_or_else(|| {
                    format!(
                        "{MAX_TAILS} clients follow this process already, which is the most; help: end one of \
                         them, or take a snapshot"
                    )
                })?;
                return Ok(Reply::Tail(words.map(str::to_owned), seat));
            }
        }))
    }

    fn unknown(&self, words: &str) -> String {
        let unknown = self.actions.unknown(words);
        if unknown.is_empty() {
            return String::new();
        }
        let names = self.actions.defs().into_iter().flat_map(|def| {
            let kinds = def.kinds.iter().map(|kind| kind.name);
            let presets = def.presets.iter().map(|preset| preset.name);
            kinds.chain(presets).chain(def.events.iter().map(|event| event.name)).chain([def.name])
        });
        list("unknown", unknown) + &list("names", names)
    }

    fn masks(&self) -> String {
        let [output, record] =
            [Mask::Output, Mask::Record].map(|mask| Quoted(self.actions.get(mask).as_bytes()).to_string());
        format!("output = {output}\nrecord = {record}\n")
    }

    fn counters(&self) -> String {
        let (all, kinds) = self.actions.counters_and_kinds();
        let mut text = lines(&all);
        let _ = write!(text, "\n[pool]\n{}", lines(&self.actions.pool()));
        for (registry, kind, numbers) in kinds {
            let (registry, kind) = (Quoted(registry.as_bytes()), Quoted(kind.as_bytes()));
            let _ = write!(text, "\n[[kind]]\nregistry = {registry}\nname = {kind}\n{}", lines(&numbers));
        }
        text + &self.sinks()
    }

    fn sinks(&self) -> String {
        let mut text = String::new();
        for (name, failure, numbers) in self.actions.sinks() {
            let _ = write!(text, "\n[[sink]]\nname = {}\n{}", Quoted(name.as_bytes()), lines(&numbers));
            if let Some((notice, failure)) = failure {
                let failure = Quoted(failure.as_bytes());
                let _ = writeln!(text, "notice = \"{notice}\"\nfailure = {failure}");
            }
        }
        text
    }

    fn info(&self) -> String {
        let mut text = self.actions.facts() + &self.masks();
        let _ = write!(text, "\n[counters]\n{}", lines(&self.actions.counters()));
        for def in self.actions.defs() {
            let [major, median, minor] = def.version;
            let _ = write!(
                text,
                "\n[[registry]]\nname = {}\nversion = \"{major}.{median}.{minor}\"\nfingerprint = \"{:016x}\"\n\
                 events = {}\n",
                Quoted(def.name.as_bytes()),
                def.fingerprint,
                def.events.len(),
            );
            text += &list("kinds", def.kinds.iter().map(|kind| kind.name));
            text += &list("presets", def.presets.iter().map(|preset| preset.name));
        }
        text + &self.sinks()
    }

    /// Makes a snapshot in a file, since the client may be slow, and memory is precious.
    fn snapshot(&self) -> Result<Reply, String> {
        let Some(seat) = Seat::take(&self.transfers, MAX_TRANSFERS) else {
            return Err("several snapshots are on their way already; help: try again later".into());
        };
        let failed = |error: io::Error| format!("cannot take a snapshot: {error}");
        let place = self.place.as_ref().map_err(|why| format!("cannot take a snapshot: {why}"))?;
        let mut file = place.spool().map_err(failed)?;
        file.try_clone().and_then(|file| self.actions.snapshot(file)).map_err(failed)?;
        let len = file.stream_position().map_err(failed)?;
        file.rewind().map_err(failed)?;
        Ok(Reply::Snapshot(file, len, seat))
    }
}

/// Sends a snapshot from a new thread.
fn send(stream: UnixStream, mut file: File, len: u64, seat: Seat) {
    let send = move || {
        // The time limit is for each piece, since a snapshot may be large.
        let sent = say(&stream, &format!("ok {len}\n"))
            .and_then(|()| stream.set_write_timeout(Some(CLIENT_TIMEOUT)));
        let _ = sent.and_then(|()| io::copy(&mut file, &mut &stream));
        let _ = stream.shutdown(Shutdown::Both);
        drop(seat);
    };
    // If the thread cannot be started, the connection is closed at once.
    let _ = std::thread::Builder::new().name("telemetry-ctl".into()).spawn(send);
}

/// Has the program answer, in a new thread: it may take long, or never come back.
fn ask(stream: UnixStream, answer: Arc<Answer>, text: String, seat: Seat) {
    let run = move || {
        let answered = catch_unwind(AssertUnwindSafe(|| answer(&text)));
        let text = match answered.unwrap_or_else(|_| Err("the program's answer panicked".into())) {
            Ok(text) if text.len() > MAX_ANSWER => {
                format!("error: the answer has {} bytes, expected at most {MAX_ANSWER}\n", text.len())
            }
            Ok(text) => format!("ok\nanswer = {}\n", Quoted(text.as_bytes())),
            Err(why) => {
                let line = why.chars().map(|c| if c.is_control() { ' ' } else { c });
                format!("error: {}\n", line.take(MAX_ERROR).collect::<String>())
            }
        };
        finish(&stream, &text);
        // The code of the program that a later call has replaced may end here.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(answer)));
        drop(seat);
    };
    // If the thread cannot be started, the connection is closed at once.
    let _ = std::thread::Builder::new().name("telemetry-ask".into()).spawn(run);
}

/// Admits only root and the user that the process acts as.
pub(crate) fn admit(peer: u32) -> Result<(), String> {
    let user = crate::sys::user();
    if peer == user || peer == 0 {
        return Ok(());
    }
    Err(format!("user {peer} may not control this process, only user {user} and root may"))
}

/// Reads a line, and returns it without its end. Ignores what follows the line.
fn read_line(mut stream: &UnixStream) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
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
                return Err(format!("no request within {} s", CLIENT_TIMEOUT.as_secs()));
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

/// Answers, and closes the connection, even if another process has it, too, such as a new forked
/// child.
fn finish(stream: &UnixStream, text: &str) {
    let _ = say(stream, text);
    let _ = stream.shutdown(Shutdown::Both);
}

fn say(mut stream: &UnixStream, text: &str) -> io::Result<()> {
    let deadline = Instant::now() + CLIENT_TIMEOUT;
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

/// Repeats an action with a time limit until it is done or the deadline has passed.
fn within(deadline: Instant, mut act: impl FnMut(Duration) -> io::Result<usize>) -> io::Result<usize> {
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match act(rest) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A socket returns this error when its time limit has passed.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            result => return result,
        }
    }
}

/// Returns lines of TOML.
fn lines(numbers: &Numbers) -> String {
    numbers.iter().map(|(key, number)| format!("{key} = {number}\n")).collect()
}

/// Returns a line of TOML with a list of texts, or nothing if the list is empty.
fn list(key: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| Quoted(text.as_ref().as_bytes()).to_string()).collect();
    if texts.is_empty() { String::new() } else { format!("{key} = [{}]\n", texts.join(", ")) }
}
