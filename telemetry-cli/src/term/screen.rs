//! The alternate screen. When a picture on it ends in any way, the terminal is as before.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use super::native::{self, Modes};

/// The terminal that must be restored, and the messages that wait until then.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// The time that a terminal has to take what restores it.
const RESTORE_TIME: Duration = Duration::from_millis(500);

/// The maximum of messages that wait.
const MAX_MESSAGES: usize = 100;

struct Shown {
    terminal: File,
    modes: Modes,
    messages: Vec<String>,
}

/// Enters the alternate screen without a cursor; leaves it, without colors.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &[u8] = b"\x1b[0m\x1b[2J\x1b[?25h\x1b[?1049l";

/// Shows the alternate screen, and reads by key from now on.
pub(super) fn enter(mut terminal: File, modes: Modes) -> io::Result<()> {
    let mut place = shown();
    modes.by_key().set(&terminal)?;
    let entered = write_soon(&mut terminal, ENTER);
    *place = Some(Shown { terminal, modes, messages: Vec::new() });
    entered
}

/// Writes to the alternate screen, and returns how many bytes the terminal took. A panic of another
/// thread may have left the screen: then nothing is written.
pub(super) fn write(bytes: &[u8]) -> io::Result<usize> {
    let mut place = shown();
    let Some(shown) = &mut *place else { return Ok(bytes.len()) };
    let mut written = 0;
    while written < bytes.len() {
        match shown.terminal.write(&bytes[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// Writes a few bytes, again after some time if the terminal does not take all. Then what it has
/// not shown is discarded.
fn write_soon(terminal: &mut File, bytes: &[u8]) -> io::Result<()> {
    match terminal.write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            if !native::wait_for_room(terminal, RESTORE_TIME)? {
                native::discard_output(terminal);
            }
            terminal.write_all(bytes)
        }
        done => done,
    }
}

/// Restores the terminal, if a picture is shown, and then shows the messages that waited.
pub(super) fn leave() {
    let Some(Shown { mut terminal, modes, messages }) = shown().take() else { return };
    // Without the terminal, there is nothing to restore.
    let _ = write_soon(&mut terminal, LEAVE);
    let _ = modes.set(&terminal);
    for message in messages {
        let _ = writeln!(io::stderr(), "{message}");
    }
}

/// Keeps a message until the picture ends. Returns false if none is shown.
pub(super) fn keeps(message: &dyn std::fmt::Display) -> bool {
    let mut place = shown();
    let Some(shown) = &mut *place else { return false };
    if shown.messages.len() < MAX_MESSAGES {
        shown.messages.push(message.to_string());
    }
    true
}

/// Restores the terminal before a panic is told.
pub(super) fn leave_at_panic() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            tell(panic);
        }));
    });
}

fn shown() -> MutexGuard<'static, Option<Shown>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
