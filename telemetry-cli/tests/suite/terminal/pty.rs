//! A terminal for one command: its output there, and keys that are pressed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::screen::Screen;

/// The outputs of a command that are the terminal. The others are pipes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Stderr,
    Stdout,
    Both,
}

/// A terminal with a command in a session of its own, as in a window.
pub(crate) struct Terminal {
    keys: File,
    written: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
    /// Nothing is to be read, and nothing is being read.
    frozen: Arc<[AtomicBool; 2]>,
    columns: u16,
    /// The modes before the command began.
    pub(crate) modes_before: String,
}

impl Terminal {
    /// Starts a command on a terminal of some width.
    pub(crate) fn start(command: &mut Command, shown: Shown, columns: u16) -> (Terminal, Child) {
        let (master, slave) = pair(columns);
        let modes_before = modes_of(&master);
        let of = |shows: bool| if shows { Stdio::from(slave.try_clone().unwrap()) } else { Stdio::piped() };
        command.stdin(Stdio::piped()).env("TERM", "xterm");
        command.stdout(of(shown != Shown::Stderr)).stderr(of(shown != Shown::Stdout));
        let terminal = slave.as_raw_fd();
        // SAFETY: both calls are async-signal-safe, and the descriptor is open: the parent has it
        // until after the fork.
        unsafe {
            command.pre_exec(move || {
                if libc::setsid() < 0 || libc::ioctl(terminal, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        // The command keeps its own ends of the terminal.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        drop(slave);
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut from, into) = (master.try_clone().unwrap(), Arc::clone(&written));
        let frozen = Arc::<[AtomicBool; 2]>::default();
        let states = Arc::clone(&frozen);
        let reading = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            loop {
                while states[0].load(Ordering::Relaxed) {
                    states[1].store(true, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(1));
                }
                match from.read(&mut piece) {
                    Ok(0) => break,
                    Ok(len) => into.lock().unwrap().extend_from_slice(&piece[..len]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Linux reports this when no process has the terminal open.
                    Err(_) => break,
                }
            }
        });
        (Terminal { keys: master, written, reading, frozen, columns, modes_before }, child)
    }

    /// Reads nothing from now on, as a dead connection does, and fills the terminal's buffer.
    pub(crate) fn freeze(&self, child: u32) {
        self.frozen[0].store(true, Ordering::Relaxed);
        let mut options = File::options();
        options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let mut terminal = options.open(format!("/proc/{child}/fd/1")).unwrap();
        // The reader takes one more piece.
        while !self.frozen[1].load(Ordering::Relaxed) {
            let _ = terminal.write(b" ");
        }
        while terminal.write(&[b' '; 4096]).is_ok() {}
        while terminal.write(b" ").is_ok() {}
    }

    /// Reads again.
    pub(crate) fn thaw(&self) {
        self.frozen[0].store(false, Ordering::Relaxed);
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
    }

    /// Changes the size, as when a window is dragged. The command gets a signal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the descriptor is open, and the structure is our own.
        assert_eq!(unsafe { libc::ioctl(self.keys.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
        self.columns = columns;
    }

    /// Returns the present modes.
    pub(crate) fn modes(&self) -> String {
        modes_of(&self.keys)
    }

    /// Returns the present screen.
    pub(crate) fn screen(&self) -> Screen {
        Screen::of(&self.written.lock().unwrap(), self.columns.into())
    }

    /// Returns everything that was written, once no process has the terminal open.
    pub(crate) fn end(self) -> (Vec<u8>, Screen) {
        self.reading.join().unwrap();
        let written = self.written.lock().unwrap().clone();
        let screen = Screen::of(&written, self.columns.into());
        (written, screen)
    }
}

/// Returns the modes of a terminal as text. Both of its ends have the same.
fn modes_of(terminal: &File) -> String {
    // SAFETY: a zeroed structure is valid, and the call fills it.
    let modes = unsafe {
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut modes), 0);
        modes
    };
    let flags = [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag];
    format!("{flags:x?} {:?}", modes.c_cc)
}

/// Opens a new terminal, and returns its two ends.
fn pair(columns: u16) -> (File, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are valid for the call, and null where the name and the modes are not
    // needed.
    let opened =
        unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    for end in [master, slave] {
        // SAFETY: the descriptor is open. No other command may keep it open.
        assert_eq!(unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) }, 0);
    }
    // SAFETY: both are open, and owned only here.
    unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) }
}
