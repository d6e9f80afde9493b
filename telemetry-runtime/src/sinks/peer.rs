//! A connection to a Unix socket, and the other direction of it: what the peer asks of this
//! process, if the user allows it. The room `socket` answers.

use std::io::{self, IoSlice, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// What serves the peer of a connection, if the user allows peers to ask.
static SERVE: OnceLock<fn(&Arc<Shared>)> = OnceLock::new();

/// Has the peers of later connections served by a function, which starts a thread. Does not
/// allocate.
#[cfg_attr(miri, allow(dead_code))]
pub(crate) fn serve_with(serve: fn(&Arc<Shared>)) {
    let _ = SERVE.set(serve);
}

/// Returns true if peers may ask.
pub(super) fn is_served() -> bool {
    SERVE.get().is_some()
}

/// A connection that a sink and the thread that serves its peer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stream: UnixStream,
    /// The peer has closed it.
    has_ended: AtomicBool,
    /// The connection is that of the parent of this process.
    is_of_parent: AtomicBool,
}

#[cfg_attr(miri, allow(dead_code))]
impl Shared {
    /// Tells the sink that the peer has closed the connection. It may have nothing to write.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }
}

/// The sink's share of a connection. When it is dropped, the thread of the other share ends.
#[derive(Debug)]
pub(super) struct Connection(Arc<Shared>);

impl Connection {
    pub(super) fn new(stream: UnixStream) -> Connection {
        let (has_ended, is_of_parent) = (AtomicBool::new(false), AtomicBool::new(false));
        Connection(Arc::new(Shared { stream, has_ended, is_of_parent }))
    }

    /// Starts to serve the peer, if it may ask.
    pub(super) fn serve(&self) {
        if let Some(serve) = SERVE.get() {
            serve(&self.0);
        }
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.0.stream
    }

    /// Returns true if a thread has seen the end of the connection.
    pub(super) fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Acquire)
    }

    /// Closes the connection of the parent in the child of a fork, without ending it.
    pub(super) fn close_in_child(self) {
        self.0.is_of_parent.store(true, Ordering::Relaxed);
        // The thread with the other share does not exist here, so that share is never dropped.
        if Arc::strong_count(&self.0) > 1 {
            sys::close_shared(&self.0.stream);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.0.is_of_parent.load(Ordering::Relaxed) && Arc::strong_count(&self.0) > 1 {
            let _ = self.0.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream().write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
