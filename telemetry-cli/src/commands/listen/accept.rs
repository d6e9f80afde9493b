//! Listening threads: one for each address, and one for each connection.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::address::Bound;
use super::connection::{Program, receive};
use super::limits::READ_TIMEOUT;
use super::places::Place;
use super::receiver::Receiver;

impl Receiver {
    /// Listens on separate threads.
    pub(super) fn start(self: &Arc<Self>, bound: Bound) -> io::Result<()> {
        let own = self.clone();
        let thread = std::thread::Builder::new().name("listen".to_owned());
        thread.spawn(move || match bound {
            Bound::Tcp(listener) => own.accept(|| {
                let (stream, peer) = listener.accept()?;
                stream.set_read_timeout(Some(READ_TIMEOUT))?;
                Ok((Program::of(stream), format!("tcp:{peer}")))
            }),
            #[cfg(unix)]
            Bound::Unix(listener, path) => own.accept(|| {
                let (stream, _) = listener.accept()?;
                stream.set_read_timeout(Some(READ_TIMEOUT))?;
                let mut program = Program::of(stream);
                if own.has_control {
                    program.control = Some(program.connection.try_clone()?);
                }
                Ok((program, format!("unix:{}", path.display())))
            }),
            Bound::Udp(socket) => own.receive_datagrams(&socket),
        })?;
        Ok(())
    }

    fn accept<C: Read + Send + 'static>(
        self: &Arc<Self>,
        next: impl Fn() -> io::Result<(Program<C>, String)>,
    ) {
        while !self.is_stopping() {
            match next() {
                Ok((program, peer)) => self.take(program, peer),
                Err(error) => {
                    self.with_state(|state| state.tell(format!("cannot accept a connection: {error}")));
                    // This happens, for example, while all file descriptors are in use.
                    std::thread::sleep(READ_TIMEOUT);
                }
            }
        }
    }

    /// Reads a connection on a new thread.
    fn take(self: &Arc<Self>, program: Program<impl Read + Send + 'static>, peer: String) {
        let Some(place) = self.places.take(Instant::now()) else {
            return self.with_state(|state| {
                state.refused.connections += 1;
                state.tell(format!(
                    "{peer}: refused, beyond --max-connections {}",
                    self.limits.max_connections
                ));
            });
        };
        let open = Open::new(self.clone(), place);
        let thread = std::thread::Builder::new().name("connection".to_owned());
        let spawned = thread.spawn(move || receive(&open.receiver, &open.place, program, &peer));
        if let Err(error) = spawned {
            self.with_state(|state| {
                state.refused.connections += 1;
                state.tell(format!("a connection is refused: cannot start a thread: {error}"));
            });
        }
    }
}

/// Counts a connection as open until this is dropped.
struct Open {
    receiver: Arc<Receiver>,
    place: Arc<Place>,
}

impl Open {
    fn new(receiver: Arc<Receiver>, place: Arc<Place>) -> Open {
        receiver.connections.fetch_add(1, Ordering::Relaxed);
        receiver.with_state(|state| state.connections += 1);
        Open { receiver, place }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.receiver.places.leave(&self.place);
        // Release: a reader of this count sees everything that the connection stored.
        self.receiver.connections.fetch_sub(1, Ordering::Release);
    }
}
