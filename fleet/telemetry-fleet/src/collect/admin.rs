//! The socket of a collector's operators.
//!
//! A request is one line: `set`, `reset`, `flush` or `snapshot`, then the host, the program and the
//! words, with tabs between them. The answer is one line: `done` or `not done`, a tab, and a text.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use crate::collect::requests::Requests;
use crate::log;
use crate::segment::Host;
use crate::wire::{Ask, MAX_TEXT};

/// Operators at a time.
const MAX_OPERATORS: usize = 16;

/// How long a request may take to come.
const LINE: Duration = Duration::from_secs(10);

/// The socket, which goes when this is dropped.
#[derive(Debug)]
pub struct Admin {
    listener: UnixListener,
    path: PathBuf,
}

impl Admin {
    /// Makes the socket. Only the user of this process may connect. One that a killed process left
    /// is replaced.
    ///
    /// # Errors
    /// Those of the system.
    pub fn bind(path: &Path) -> io::Result<Admin> {
        use rustix::fs::Mode;
        if std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            std::fs::remove_file(path)?;
        }
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(path);
        rustix::process::umask(before);
        Ok(Admin { listener: listener?, path: path.to_owned() })
    }

    /// Serves operators.
    pub(crate) async fn serve(self, requests: Arc<Requests>) {
        let places = Arc::new(Semaphore::new(MAX_OPERATORS));
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let Ok(place) = places.clone().try_acquire_owned() else { continue };
                    let requests = requests.clone();
                    tokio::spawn(async move {
                        // An operator who has gone gets no answer.
                        let _ = answer(stream, &requests).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    log::line(format_args!("cannot accept an operator: {error}"));
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(stream: UnixStream, requests: &Requests) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    let mut read = BufReader::new(read.take(4 * MAX_TEXT as u64));
    tokio::time::timeout(LINE, read.read_line(&mut line)).await.map_err(io::Error::other)??;
    let asked = ask(line.trim_end_matches('\n'), requests).await;
    let (word, text) = match asked {
        Ok(text) => ("done", text),
        Err(text) => ("not done", text),
    };
    // The text is of a host, so it may have any lines.
    let text = text.replace('\n', "; ");
    write.write_all(format!("{word}\t{text}\n").as_bytes()).await
}

/// Does what a line asks.
async fn ask(line: &str, requests: &Requests) -> Result<String, String> {
    let fields: Vec<_> = line.split('\t').collect();
    let [verb, host, program, words] = fields[..] else {
        return Err(format!("a request of {} fields, expected 4", fields.len()));
    };
    let ask = Ask::ALL.into_iter().find(|ask| ask.word() == verb);
    let ask = ask.ok_or_else(|| format!("unknown request `{verb}`"))?;
    let host: Host = host.parse()?;
    if program.len().max(words.len()) > MAX_TEXT {
        return Err(format!("a program or words of more than {MAX_TEXT} bytes"));
    }
    let outcome = requests.ask(&host, ask, program.to_owned(), words.to_owned()).await;
    let how = outcome.as_ref().map_or_else(|why| format!("not done: {why}"), |_| "done".to_owned());
    log::line(format_args!("an operator asked `{program}` of host `{host}`: {verb} {words}: {how}"));
    outcome
}
