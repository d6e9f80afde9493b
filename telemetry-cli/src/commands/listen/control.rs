//! Sockets by which `telemetry control` reaches the programs that are connected.
//!
//! Each client's connection is passed on to the program, which answers it as a client of its own
//! control socket. So the protocol is between those two, and the program knows who asks.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use telemetry_decode::blocks::Block;
use telemetry_format::BlockType;

use super::address::{RemovedAtEnd, remove_stale};
use crate::term::native;

/// The answer to a client if the program takes no requests.
const REFUSED: &str = "error: it takes no requests; help: start the program with TELEMETRY_BACK_CHANNEL=on\n";

/// The maximum of bytes in a request.
const MAX_REQUEST_LEN: usize = 8192;

/// How long a client may take to send a request that is refused.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The socket of a session. Dropping it removes its file.
pub(super) struct ControlSocket {
    program: Arc<UnixStream>,
    _file: RemovedAtEnd,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Makes the socket, and passes its clients on to a program if that takes requests. Otherwise
    /// refuses them.
    pub(super) fn open(
        path: PathBuf,
        program: UnixStream,
        takes_requests: bool,
    ) -> io::Result<ControlSocket> {
        remove_stale(&path)?;
        let listener = native::bind_own(&path)?;
        let file = RemovedAtEnd::new(path);
        let program = Arc::new(program);
        let own = program.clone();
        let thread = std::thread::Builder::new().name("control".to_owned());
        let thread = Some(thread.spawn(move || pass_on(&listener, &own, takes_requests))?);
        Ok(ControlSocket { program, _file: file, thread })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // This also ends the wait of the thread.
        let _ = self.program.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Passes clients on until the program has closed its connection.
fn pass_on(listener: &UnixListener, program: &UnixStream, takes_requests: bool) {
    while let Ok(true) = native::wait_for_client(listener, program) {
        let Ok((client, _)) = listener.accept() else { return };
        if !takes_requests || native::send_connection(program, &client).is_err() {
            refuse(client);
        }
    }
}

/// Reads a request, because a client that still writes would not see the answer. Refuses it.
fn refuse(mut client: UnixStream) {
    let _ = client.set_nonblocking(false);
    let _ = client.set_read_timeout(Some(REFUSAL_TIMEOUT));
    let _ = client.read(&mut [0; MAX_REQUEST_LEN]);
    let _ = client.set_nonblocking(true);
    let _ = client.write(REFUSED.as_bytes());
}

/// Tells from the first block of a stream whether the program takes requests. A stream that begins
/// with another block than a session does not tell.
pub(super) fn takes_requests(first: &Block<'_>) -> bool {
    let facts = || std::str::from_utf8(first.payload).ok()?.parse::<toml::Table>().ok();
    match first.header.block_type {
        BlockType::Session => facts()
            .is_some_and(|facts| facts.get("back_channel").and_then(toml::Value::as_bool) == Some(true)),
        _ => true,
    }
}
