//! Sinks by their address, one line of text.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use super::{Datagram, File, Rotating, Socket, place};
use crate::sink::{Blocks, Sink};
use crate::start;

/// What an address may be.
const EXPECTED: &str = "a path, or `file:PATH`, `rotate:PATH?size=64M&age=3600&count=10`, `unix:PATH`, \
                        `tcp:HOST:PORT`, `udp:HOST:PORT`";

/// The sink of an address, as `TELEMETRY_FILENAME` takes it.
///
/// | address | sink |
/// |---|---|
/// | `PATH`, `file:PATH` | [`File`] |
/// | `rotate:PATH?size=64M&age=3600&count=10` | [`Rotating`]; each option may be missing. `size` in bytes, or with `k`, `M` or `G`; `age` in seconds |
/// | `unix:PATH`, `tcp:HOST:PORT` | [`Socket`] |
/// | `udp:HOST:PORT` | [`Datagram`] |
///
/// A path with a word and a colon at its start is written `./WORD:...`, or with `file:` before it.
///
/// # Errors
/// If it is none of these, or if files shall rotate at the path of a device, a pipe or a directory. Nothing is opened
/// yet, so nothing else can fail.
pub fn open(address: impl AsRef<OsStr>) -> io::Result<Box<dyn Sink>> {
    let address = address.as_ref();
    // Only a path may be no text.
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

/// The same, and for an address that is none a sink that says so whenever it is given something.
pub(crate) fn open_or_refuse(address: impl AsRef<OsStr>) -> Box<dyn Sink> {
    let address = address.as_ref();
    open(address).unwrap_or_else(|error| {
        let address = address.to_string_lossy().into_owned();
        Box::new(Refusing { address, error: error.to_string() })
    })
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
            "size" => start::bytes(value).filter(|bytes| *bytes > 0).map(|bytes| sink.size(bytes as u64)),
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
    io::Error::new(ErrorKind::InvalidInput, format!("`{address}` is no address of a sink: {why}"))
}

/// Stands for a sink that there is none of.
struct Refusing {
    address: String,
    error: String,
}

impl Sink for Refusing {
    fn write(&mut self, _blocks: &Blocks<'_>) -> io::Result<()> {
        Err(io::Error::new(ErrorKind::InvalidInput, self.error.clone()))
    }

    fn name(&self) -> String {
        format!("`{}`", self.address)
    }
}
