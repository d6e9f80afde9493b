//! A picture that fills the terminal and changes.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use libc::{SIGALRM, SIGPROF, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU};

use super::ended::Failure;
use super::native::{self, Modes};
use super::screen;

/// Signals that end this process, beside interrupts. Limits of processor time and timers send some.
const FATAL: [i32; 7] = [SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU];

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Faint,
    Alarm,
}

/// A line of a picture.
pub(crate) type Line = (Look, String);

/// The picture.
pub(crate) struct Picture {
    keys: File,
    terminal: File,
    /// What the terminal has not taken yet.
    rest: Vec<u8>,
    /// Signals and other threads write to the other end.
    wake: UnixStream,
    waker: UnixStream,
    /// Signals that came.
    stopped: Arc<AtomicBool>,
    /// The number of a fatal one, or 0.
    fatal: Arc<AtomicUsize>,
    /// The lines on the screen.
    lines: Vec<Line>,
    size: (u16, u16),
    is_colored: bool,
}

/// Wakes up [`Picture::wait`].
pub(crate) struct Waker(UnixStream);

impl Waker {
    pub(crate) fn wake(&self) {
        // A full pipe wakes up, too.
        let _ = (&self.0).write(&[0]);
    }
}

impl Picture {
    /// Begins to draw on standard output.
    ///
    /// # Errors
    /// If it is not a terminal, or one that only has lines.
    pub(crate) fn open(instead: &str) -> Result<Picture, Failure> {
        if !io::stdout().is_terminal() {
            return Err(Failure::new(format!("standard output is not a terminal; help: {instead}")));
        }
        if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
            return Err(Failure::new(format!("the terminal has no cursor, as TERM says; help: {instead}")));
        }
        let failed = |error: io::Error| Failure::new(format!("cannot use the terminal: {error}"));
        let terminal = terminal().map_err(failed)?;
        let keys = match io::stdin() {
            stdin if stdin.is_terminal() => File::from(stdin.as_fd().try_clone_to_owned().map_err(failed)?),
            _ => File::open("/dev/tty").map_err(failed)?,
        };
        let modes = Modes::of(&terminal).map_err(failed)?;
        let (wake, waker) = UnixStream::pair().map_err(failed)?;
        for end in [&wake, &waker] {
            end.set_nonblocking(true).map_err(failed)?;
        }
        let (stopped, fatal) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stopped)).map_err(failed)?;
        let fatals: Vec<_> = FATAL.into_iter().filter(|signal| !native::ignores(*signal)).collect();
        for signal in &fatals {
            let number = usize::try_from(*signal).unwrap_or_default();
            signal_hook::flag::register_usize(*signal, Arc::clone(&fatal), number).map_err(failed)?;
        }
        for signal in [SIGWINCH, SIGTSTP].into_iter().chain(fatals) {
            let end = waker.try_clone().map_err(failed)?;
            signal_hook::low_level::pipe::register(signal, end).map_err(failed)?;
        }
        screen::leave_at_panic();
        screen::enter(terminal.try_clone().map_err(failed)?, modes).map_err(failed)?;
        let is_colored = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        let size = (0, 0);
        let (lines, rest) = (Vec::new(), Vec::new());
        let mut picture =
            Picture { keys, terminal, rest, wake, waker, stopped, fatal, lines, size, is_colored };
        picture.measure();
        Ok(picture)
    }

    /// Returns columns and rows.
    pub(crate) fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns what wakes up the picture, from any thread.
    pub(crate) fn waker(&self) -> io::Result<Waker> {
        self.waker.try_clone().map(Waker)
    }

    fn measure(&mut self) {
        let size = size_of_stdout().unwrap_or((80, 24));
        if size != self.size {
            self.size = size;
            self.lines.clear();
        }
    }

    /// Waits for keys, a signal, another thread, or the time. Returns the keys.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(crate) fn wait(&mut self, most: Duration) -> io::Result<Vec<u8>> {
        let to_write = if self.rest.is_empty() { None } else { Some(&self.terminal as _) };
        let [has_keys, is_woken, has_room] = native::wait_for([&self.keys, &self.wake], to_write, most)?;
        if is_woken {
            let mut bytes = [0; 256];
            while (&self.wake).read(&mut bytes).is_ok_and(|read| read == bytes.len()) {}
        }
        let fatal = self.fatal.load(Ordering::Relaxed);
        if fatal != 0 {
            screen::leave();
            native::die_of(i32::try_from(fatal).unwrap_or(SIGQUIT));
        }
        if self.stopped.swap(false, Ordering::Relaxed) {
            self.stop()?;
        }
        self.measure();
        if has_room {
            self.write_rest()?;
        }
        if !has_keys {
            return Ok(Vec::new());
        }
        let mut keys = vec![0; 64];
        match self.keys.read(&mut keys) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => Ok(keys[..read].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Stops the process as other programs stop, and goes on when it is continued.
    fn stop(&mut self) -> io::Result<()> {
        screen::leave();
        native::stop_self();
        let terminal = terminal()?;
        let modes = Modes::of(&terminal)?;
        self.lines.clear();
        self.rest.clear();
        screen::enter(terminal, modes)
    }

    fn write_rest(&mut self) -> io::Result<()> {
        let written = screen::write(&self.rest)?;
        self.rest.drain(..written);
        Ok(())
    }

    /// Draws lines, each cut to the width. Only what has changed is written. While the terminal has
    /// not taken the picture before, there is no new one.
    pub(crate) fn draw(&mut self, lines: &[Line]) -> io::Result<()> {
        if !self.rest.is_empty() {
            return self.write_rest();
        }
        let (columns, rows) = self.size;
        let mut out = Vec::new();
        let empty = (Look::Plain, String::new());
        let is_new = self.lines.is_empty();
        if is_new {
            out.extend_from_slice(b"\x1b[2J");
        }
        for row in 0..usize::from(rows) {
            let line = lines.get(row).unwrap_or(&empty);
            if self.lines.get(row).unwrap_or(&empty) == line {
                continue;
            }
            let text = console::truncate_str(&line.1, columns.into(), "…");
            let look = match line.0 {
                _ if !self.is_colored => "",
                Look::Plain => "",
                Look::Strong => "\x1b[1m",
                Look::Faint => "\x1b[2m",
                Look::Alarm => "\x1b[1;31m",
            };
            let end = if look.is_empty() { "" } else { "\x1b[0m" };
            write!(out, "\x1b[{};1H\x1b[2K{look}{text}{end}", row + 1)?;
        }
        let mut kept = lines.to_vec();
        kept.truncate(rows.into());
        if kept.is_empty() {
            kept.push(empty);
        }
        self.lines = kept;
        self.rest = out;
        self.write_rest()
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        screen::leave();
    }
}

/// Opens the terminal. If it cannot be opened by name, writing waits for it.
fn terminal() -> io::Result<File> {
    native::without_waiting(&io::stdout())
        .or_else(|_| io::stdout().as_fd().try_clone_to_owned().map(File::from))
}

/// Returns columns and rows of standard output, if it is a terminal.
pub(crate) fn size_of_stdout() -> Option<(u16, u16)> {
    native::size(&io::stdout())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// In a terminal that `script` makes, a picture ends by a panic, also one of another thread.
    #[test]
    fn a_panic_restores_the_terminal() {
        const CHILD: &str = "TELEMETRY_TEST_CHILD";
        const TEST: &str = "term::picture::tests::a_panic_restores_the_terminal";
        if let Ok(thread) = std::env::var(CHILD) {
            let mut picture = Picture::open("").unwrap();
            picture.draw(&[(Look::Strong, "the picture".to_string())]).unwrap();
            if thread == "other" {
                std::thread::spawn(|| panic!("on purpose")).join().unwrap_err();
            }
            panic!("on purpose");
        }
        if Command::new("script").arg("--version").output().is_err() {
            eprintln!("SKIPPED: no script(1), which makes a terminal");
            return;
        }
        let program = std::env::current_exe().unwrap();
        let line = format!("stty -a; {} --exact {TEST} --nocapture; stty -a", program.display());
        for thread in ["this", "other"] {
            let mut command = Command::new("script");
            command.args(["-qec", &line, "/dev/null"]).env(CHILD, thread).env("TERM", "xterm");
            let shown = command.stdin(std::process::Stdio::null()).output().unwrap().stdout;
            let shown = String::from_utf8(shown).unwrap();
            let (before, rest) = shown.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("{shown}"));
            let (picture, after) = rest.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("{shown}"));
            assert!(picture.contains("the picture") && after.contains("on purpose"), "{shown}");
            let modes = |text: &str| {
                text[text.find("speed").unwrap()..].lines().take(7).collect::<Vec<_>>().join("\n")
            };
            assert_eq!(modes(before), modes(after), "{shown}");
        }
    }
}
