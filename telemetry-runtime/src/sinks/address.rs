//! Makes a sink from its address, which is one line of text.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use super::datagram::Datagram;
use super::file::File;
use super::place;
use super::rotating::Rotating;
use super::socket::Socket;
use telemetry_format::Notice;

use crate::run::settings;
use crate::sinks::sink::{Batch, Sink};
use crate::sys;

/// The forms of an address, for messages.
const EXPECTED: &str = "a path, or `file:PATH`, `rotate:PATH?size=64M&age=3600&count=10`, `unix:PATH`, \
                        `tcp:HOST:PORT`, `udp:HOST:PORT`";

/// Makes the sink of an address, in the form of `TELEMETRY_FILENAME`.
///
/// | address | sink |
/// |---|---|
/// | `PATH`, `file:PATH` | [`File`] |
/// | `rotate:PATH?size=64M&age=3600&count=10` | [`Rotating`]; every option may be missing |
/// | `unix:PATH`, `tcp:HOST:PORT` | [`Socket`] |
/// | `udp:HOST:PORT` | [`Datagram`] |
///
/// `size` is in bytes, or with `k`, `M` or `G`; `age` is in seconds.
///
/// If a path begins with a word and a colon, write it as `./WORD:...`, or with `file:` before it.
///
/// # Errors
/// Returns an error for any other address, and for `rotate:` with the path of a device, a pipe or a
/// directory. Opens nothing yet, so nothing else can fail.
pub fn open(address: impl AsRef<OsStr>) -> io::Result<Box<dyn Sink>> {
    let address = address.as_ref();
    // Only a path may be something other than UTF-8.
    let Some(text) = address.to_str() else { return Ok(Box::new(File::new(address))) };
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    match scheme {
        "file" => path(text, rest).map(|path| Box::new(File::new(path)) as _),
        "rotate" => rotating(text, rest).map(|sink| Box::new(sink) as _),
        #[cfg(unix)]
        "unix" => path(text, rest).map(|path| Box::new(Socket::unix(path)) as _),
        "tcp" => host_and_port(text, rest).map(|peer| Box::new(Socket::tcp(peer)) as _),
        "udp" => host_and_port(text, rest).map(|peer| Box::new(Datagram::udp(peer)) as _),
        // One letter is a drive.
        word if word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Err(wrong(text, &format!("expected {EXPECTED}; help: for a file of that name, `./{text}`")))
        }
        _ => path(text, text).map(|path| Box::new(File::new(path)) as _),
    }
}

/// Does the same. For an invalid address, returns a sink that fails each write with that error.
pub(crate) fn open_or_refuse(address: impl AsRef<OsStr>) -> Box<dyn Sink> {
    let address = address.as_ref();
    open(address)
        .unwrap_or_else(|error| refuse(&address.to_string_lossy(), Notice::SinkAddress, &error.to_string()))
}

/// Returns a sink that fails each write with the given reason.
pub(crate) fn refuse(address: &str, notice: Notice, why: &str) -> Box<dyn Sink> {
    Box::new(Refusing { address: address.to_owned(), notice, error: why.to_owned() })
}

fn path<'a>(address: &str, path: &'a str) -> io::Result<&'a str> {
    if path.is_empty() { Err(wrong(address, "expected a path")) } else { Ok(path) }
}

fn host_and_port<'a>(address: &str, peer: &'a str) -> io::Result<&'a str> {
    match peer.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(peer),
        _ => Err(wrong(address, "expected a host and a port from 1 to 65535, such as `localhost:9000`")),
    }
}

fn rotating(address: &str, rest: &str) -> io::Result<Rotating> {
    let (files, options) = rest.split_once('?').unwrap_or((rest, ""));
    let files = path(address, files)?;
    place::expect_file(&place::expanded(Path::new(files)))
        .map_err(|error| wrong(address, &error.to_string()))?;
    let mut sink = Rotating::new(files);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let set = match name {
            "size" => settings::bytes(value).filter(|bytes| *bytes > 0).map(|bytes| sink.size(bytes as u64)),
            "age" => seconds(value).map(|age| sink.age(age)),
            "count" => value.parse().ok().filter(|count| *count > 0).map(|count| sink.count(count)),
            _ => None,
        };
        sink = set.ok_or_else(|| {
            let expected = "expected `size=` in bytes (64M), `age=` in seconds, `count=` of files, from 1";
            wrong(address, &format!("found `{option}`, {expected}"))
        })?;
    }
    Ok(sink)
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn wrong(address: &str, why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("`{address}` is not an address of a sink: {why}"))
}

/// Takes the place of a sink that could not be made.
struct Refusing {
    address: String,
    notice: Notice,
    error: String,
}

impl Sink for Refusing {
    fn write(&mut self, _blocks: &Batch<'_>) -> io::Result<()> {
        Err(sys::tagged(ErrorKind::InvalidInput, self.notice, self.error.clone()))
    }

    fn name(&self) -> String {
        format!("`{}`", self.address)
    }
}
