//! Reads any number of objects through one `git cat-file --batch`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use telemetry_schema::limits::MAX_LOCK_LEN;

use super::command::{cannot_run, command};
use crate::term::ended::Failure;

/// The running process.
pub(crate) struct Objects {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// An object, or why there is none.
pub(super) enum Object {
    Text(String),
    NotUtf8 {
        at: usize,
    },
    TooLarge,
    /// A commit, tag, or directory.
    NoFile,
    /// The object is not in this clone.
    Missing,
}

impl Object {
    /// Returns the text of a file. Returns nothing for other objects and missing ones.
    ///
    /// # Errors
    /// The reason why it is not a registry.
    pub(super) fn text(self) -> Result<Option<String>, String> {
        match self {
            Object::Text(text) => Ok(Some(text)),
            Object::NotUtf8 { at } => Err(format!("not UTF-8 at byte {at}")),
            Object::TooLarge => Err(format!("larger than {} MiB", MAX_LOCK_LEN >> 20)),
            Object::NoFile | Object::Missing => Ok(None),
        }
    }
}

impl Objects {
    /// Starts the process in a directory of the repository.
    ///
    /// # Errors
    /// If git cannot be run.
    pub(super) fn open(dir: &Path) -> Result<Objects, Failure> {
        let mut command = command(dir);
        command.args(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| cannot_run(&error))?;
        let requests = child.stdin.take();
        let Some(answers) = child.stdout.take() else {
            return Err(Failure::new("cannot talk to `git cat-file`"));
        };
        Ok(Objects { child, requests, answers: BufReader::new(answers) })
    }

    /// Returns the object of an id, or of a name such as `REV:PATH` on one line.
    ///
    /// # Errors
    /// If git fails.
    pub(super) fn get(&mut self, name: &str) -> Result<Object, Failure> {
        self.ask(name).map_err(|error| Failure::new(format!("cannot read object {name} from git: {error}")))
    }

    /// Sends one request and reads its answer, so that no pipe fills up.
    fn ask(&mut self, name: &str) -> io::Result<Object> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(format!("{name}\n").as_bytes())?;
        requests.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        // The answer repeats the name, which may have spaces.
        if head.trim_end().ends_with(" missing") {
            return Ok(Object::Missing);
        }
        let mut words = head.split_whitespace().skip(1);
        let (is_file, len) = match (words.next(), words.next().map(str::parse::<u64>)) {
            (Some(word), Some(Ok(len))) => (word == "blob", len),
            _ => return Err(io::Error::other(format!("it says `{}`", head.trim()))),
        };
        if !is_file || len > MAX_LOCK_LEN {
            // Skips it with the line end after it.
            io::copy(&mut (&mut self.answers).take(len.saturating_add(1)), &mut io::sink())?;
            return Ok(if is_file { Object::TooLarge } else { Object::NoFile });
        }
        let mut bytes = vec![0; len as usize + 1];
        self.answers.read_exact(&mut bytes)?;
        bytes.pop();
        Ok(match String::from_utf8(bytes) {
            Ok(text) => Object::Text(text),
            Err(error) => Object::NotUtf8 { at: error.utf8_error().valid_up_to() },
        })
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // The process ends when its input does.
        self.requests = None;
        let _ = self.child.wait();
    }
}
