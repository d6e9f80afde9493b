//! Sockets by which `telemetry control` reaches the programs that are connected.
//!
//! Each client's connection is passed on to the program, which answers it as a client of its own
//! control socket. So the protocol is between those two, and the program knows who asks.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::address::{RemovedAtEnd, remove_stale};
use crate::term::native;

/// The answer to a client if the program takes no requests.
const REFUSED: &str =
    "error: the program takes no requests here; help: start it with TELEMETRY_BACK_CHANNEL=on\n";

/// The socket of a session. Dropping it removes its file.
pub(super) struct ControlSocket {
    program: Arc<UnixStream>,
    _file: RemovedAtEnd,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Makes the socket, and passes its clients on to a program.
    pub(super) fn open(path: PathBuf, program: UnixStream) -> io::Result<ControlSocket> {
        remove_stale(&path)?;
        let listener = native::bind_own(&path)?;
        let file = RemovedAtEnd::new(path);
        let program = Arc::new(program);
        let own = program.clone();
        let thread = std::thread::Builder::new().name("control".to_owned());
        let thread = Some(thread.spawn(move || pass_on(&listener, &own))?);
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
fn pass_on(listener: &UnixListener, program: &UnixStream) {
    while let Ok(true) = native::wait_for_client(listener, program) {
        let Ok((mut client, _)) = listener.accept() else { return };
        if native::send_connection(program, &client).is_err() {
            let _ = client.set_nonblocking(true);
            let _ = client.write(REFUSED.as_bytes());
        }
    }
}
