//! Programs that are asked by way of their sink: behind a listener, and behind peers that do
//! everything wrong.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::{Listening, PATIENCE};
use crate::gc_events;
use crate::processes::{OTHER_USER, Program, Sockets, is_root, wait};
use crate::run::run;

/// Where the program writes its messages.
const MESSAGES: &str = "TELEMETRY_TEST_MESSAGES";

/// Starts a program that can be reached only through its sink, unless this is it.
fn program(sockets: &Sockets, test: &str, setup: &[(&str, &str)]) -> Program {
    let (filename, messages) = (format!("unix:{}", sockets.path("s").display()), sockets.path("messages"));
    let usual = [
        ("TELEMETRY_FILENAME", &*filename),
        ("TELEMETRY_CONTROL", ""),
        ("TELEMETRY_SOCKET", "off"),
        ("TELEMETRY_BACK_CHANNEL", "on"),
        (MESSAGES, messages.to_str().unwrap()),
    ];
    let setup: Vec<_> = usual.into_iter().chain(setup.iter().copied()).collect();
    Program::start(sockets, &format!("listen::channel::{test}"), &setup, || {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let messages = File::create(std::env::var_os(MESSAGES).unwrap()).unwrap();
            // SAFETY: both descriptors are open.
            unsafe { libc::dup2(messages.as_raw_fd(), libc::STDERR_FILENO) };
            let answer = |text: &str| Ok(format!("{text} of 4096"));
            telemetry::control::on_request("cache.size", answer).unwrap();
            telemetry::control::on_request("fork", |_| Ok(fork().to_string())).unwrap();
        });
        gc_events::pool_init!(1_u64, 2_u64, 3_u64, 0);
    })
}

/// Makes a child that does nothing for a minute, and returns its number.
fn fork() -> i32 {
    // SAFETY: the child only sleeps.
    match unsafe { libc::fork() } {
        0 => {
            std::thread::sleep(PATIENCE);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) }
        }
        child => child,
    }
}

/// Starts a listener, and returns the socket of the only session that comes.
fn listen(sockets: &Sockets) -> (Listening, String) {
    let args = format!("unix:{} -d d --control", sockets.path("s").display());
    let mut listening = Listening::start(&mut sockets.command(&format!("listen {args}")), &args);
    let line = listening.wait_for("telemetry control ");
    let socket = line.split("telemetry control ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    (listening, socket)
}

/// Returns what the program has said about requests. It may also have said that it waits for its
/// listener.
fn notices(sockets: &Sockets) -> String {
    let messages = std::fs::read_to_string(sockets.path("messages")).unwrap();
    messages.split_inclusive('\n').filter(|line| line.contains("[socket-failed]")).collect()
}

/// Returns the facts of the stream's session.
fn facts(sockets: &Sockets, stream: &str) -> Json {
    let info: Json = serde_json::from_slice(&sockets.run(&format!("info --json {stream}")).stdout).unwrap();
    info["sessions"][0]["facts"].clone()
}

fn printed(sockets: &Sockets, stream: &str) -> String {
    String::from_utf8(sockets.run(&format!("print {stream}")).stdout).unwrap()
}

#[test]
fn a_program_is_asked_through_its_sink() {
    let sockets = Sockets::new();
    let program = program(&sockets, "a_program_is_asked_through_its_sink", &[]);
    let (listening, socket) = listen(&sockets);
    let stream = socket.replace(".control", ".tel");
    assert_eq!(facts(&sockets, &stream)["back_channel"], true);
    // Nothing is on, and yet the program is there.
    let shown = sockets.prints(&format!("control {socket}"));
    assert!(shown.starts_with(&format!("process     {}\n", program.pid)), "{shown}");
    assert!(!printed(&sockets, &stream).contains("PoolInit"));
    let masks = sockets.prints(&format!("control {socket} Pool"));
    assert!(masks.starts_with("output  gc:Pool\n"), "{masks}");
    wait("an event", || printed(&sockets, &stream).contains("PoolInit"));
    sockets.prints(&format!("control {socket} --flush"));
    let marked = run(sockets.command(&format!("control {socket} --mark")).arg("deploy 17"), &[]);
    assert_eq!((marked.code, &*marked.stderr), (Some(0), ""));
    wait("a mark", || printed(&sockets, &stream).contains("deploy 17"));
    let asked = run(sockets.command(&format!("control {socket} --ask")).arg("cache.size 7"), &[]);
    assert_eq!((String::from_utf8(asked.stdout).unwrap().as_str(), &*asked.stderr), ("7 of 4096\n", ""));
    sockets.prints(&format!("control {socket} --snapshot now.tel"));
    assert!(sockets.run("stats now.tel").code == Some(0));
    let unknown = sockets.run(&format!("control {socket} Pol"));
    let why = "error: `Pol` matches no kind or event; help: did you mean `Pool`?";
    assert_eq!((unknown.code, unknown.stderr.trim_end()), (Some(1), why));
    program.end();
    wait("the end of the socket", || !sockets.path(&socket).exists());
    let gone = format!(
        "error: no program is behind `{socket}`; help: `telemetry listen --control` names each that is"
    );
    sockets.check(&format!("control {socket}"), 2, &gone);
    let run = listening.interrupt();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("refused nothing"), "{}", run.stderr);
    assert!(String::from_utf8(run.stdout).unwrap().contains("in good order"));
    assert_eq!(notices(&sockets), "");
}

/// It answers nothing, and its stream is whole all the same.
#[test]
fn a_program_that_takes_no_requests() {
    let sockets = Sockets::new();
    let setup = [("TELEMETRY_BACK_CHANNEL", "off"), ("TELEMETRY_CONTROL", "all")];
    let program = program(&sockets, "a_program_that_takes_no_requests", &setup);
    let args = format!("unix:{} -d d --control", sockets.path("s").display());
    let mut listening = Listening::start(&mut sockets.command(&format!("listen {args}")), &args);
    let line = listening.wait_for("takes no requests");
    assert!(line.contains("help: start the program with TELEMETRY_BACK_CHANNEL=on"), "{line}");
    let session = line.split("session ").nth(1).unwrap().split(' ').next().unwrap();
    let (socket, stream) = (format!("d/{session}.control"), format!("d/{session}.tel"));
    let why = format!(
        "error: the program behind `{socket}` says: it takes no requests; help: start the program with \
         TELEMETRY_BACK_CHANNEL=on"
    );
    for command in ["control", "tail", "top"] {
        sockets.check(&format!("{command} {socket}"), 2, &why);
    }
    assert!(facts(&sockets, &stream).get("back_channel").is_none());
    program.end();
    wait("the end of the socket", || !sockets.path(&socket).exists());
    let run = listening.interrupt();
    assert_eq!((run.code, run.stderr.contains("refused nothing")), (Some(0), true), "{}", run.stderr);
}

/// The program finds the next listener, though it has nothing to write.
#[test]
fn a_listener_that_is_killed() {
    let sockets = Sockets::new();
    let program = program(&sockets, "a_listener_that_is_killed", &[]);
    let (listening, _) = listen(&sockets);
    listening.signal("-KILL");
    drop(listening);
    let (_listening, socket) = listen(&sockets);
    sockets.prints(&format!("control {socket} --flush"));
    program.end();
}

/// Sends a byte with descriptors.
fn pass(to: &UnixStream, descriptors: &[RawFd]) {
    let len = size_of_val(descriptors) as u32;
    let mut byte = [b'x'];
    let mut control = [0_u64; 8];
    // SAFETY: the pointers are to local values that outlive the call, and the lengths are theirs.
    let sent = unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(len) as _;
        let header = &mut *libc::CMSG_FIRSTHDR(&message);
        (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        header.cmsg_len = libc::CMSG_LEN(len) as _;
        descriptors.as_ptr().copy_to(libc::CMSG_DATA(header).cast(), descriptors.len());
        libc::sendmsg(to.as_raw_fd(), &message, 0)
    };
    assert_eq!(sent, 1, "{}", std::io::Error::last_os_error());
}

/// Asks the program as its peer, and returns the connection on which it answers.
fn request(to: &UnixStream, request: &str) -> UnixStream {
    let (mut own, theirs) = UnixStream::pair().unwrap();
    pass(to, &[theirs.as_raw_fd()]);
    drop(theirs);
    own.write_all(request.as_bytes()).unwrap();
    own.set_read_timeout(Some(PATIENCE)).unwrap();
    own
}

/// Asks the program as its peer, and returns the answer.
fn ask(to: &UnixStream, text: &str) -> String {
    let mut own = request(to, text);
    let mut answer = String::new();
    // It closes the connection before it has read a request that is too long.
    if let Err(error) = own.read_to_string(&mut answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    answer
}

/// The other end of a program's connection, which is read all the time.
struct Peer {
    stream: UnixStream,
    read: Arc<AtomicUsize>,
    reader: JoinHandle<()>,
}

impl Peer {
    /// Waits for the next connection of a program.
    fn accept(listener: &UnixListener) -> Peer {
        listener.set_nonblocking(true).unwrap();
        let mut accepted = None;
        wait("a connection", || {
            accepted = listener.accept().ok();
            accepted.is_some()
        });
        let (stream, _) = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        let (mut own, read) = (stream.try_clone().unwrap(), Arc::new(AtomicUsize::new(0)));
        let sum = read.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = own.read(&mut piece) {
                sum.fetch_add(n, Ordering::Relaxed);
            }
        });
        Peer { stream, read, reader }
    }

    /// Waits until the program has sent more.
    fn expect_more(&self) {
        let before = self.read.load(Ordering::Relaxed);
        wait("more", || self.read.load(Ordering::Relaxed) > before + 1000);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[test]
fn peers_that_do_everything_wrong() {
    let sockets = Sockets::new();
    let program = program(&sockets, "peers_that_do_everything_wrong", &[]);
    let listener = UnixListener::bind(sockets.path("s")).unwrap();
    let peer = Peer::accept(&listener);
    assert_eq!(ask(&peer.stream, "set Pool\n"), "ok\noutput = \"gc:Pool\"\nrecord = \"\"\n");
    peer.expect_more();
    for (request, answer) in [
        ("nonsense\n", "error: unknown request `nonsense`, expected `get`"),
        ("", "error: no request within 2 s\n"),
        ("fl", "error: no request within 2 s\n"),
        ("\0\n", "error: a request with '\\0' at byte 0, expected words\n"),
        (&"x".repeat(9000), "error: a request that is too long, expected at most 8192 bytes\n"),
    ] {
        let got = ask(&peer.stream, request);
        assert!(got.starts_with(answer), "{request:?}: {got}");
    }
    let mut tail = request(&peer.stream, "tail Pool\n");
    let mut first = [0; 1000];
    tail.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"ok\n"), "{first:?}");
    drop(tail);
    // What is no connection is closed. Of many, one is taken.
    let file = File::open("/dev/zero").unwrap();
    pass(&peer.stream, &[file.as_raw_fd()]);
    let (own, theirs) = UnixStream::pair().unwrap();
    pass(&peer.stream, &[theirs.as_raw_fd(); 8]);
    drop((own, theirs));
    for _ in 0..300 {
        assert_eq!(ask(&peer.stream, "flush\n"), "ok\n");
    }
    assert_eq!(notices(&sockets), "");
    if cfg!(target_os = "linux") {
        let open = std::fs::read_dir(format!("/proc/{}/fd", program.pid)).unwrap().count();
        assert!(open < 30, "{open} descriptors are open");
    }
    // A flood is left in the system's buffer. A write that has to wait for space fails soon.
    peer.stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut sent = 0;
    loop {
        match (&peer.stream).write(&[b'x'; 4096]) {
            Ok(n) => sent += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "after {sent} bytes");
                break;
            }
        }
    }
    assert!(sent < 16 << 20, "{sent} bytes were taken");
    let notice = "telemetry: [socket-failed] the peer of a sink cannot ask: it sent a byte without a connection, expected both\n";
    wait("a notice", || notices(&sockets) == notice);
    peer.expect_more();
    // The next connection is a new one.
    drop(peer);
    let peer = Peer::accept(&listener);
    assert_eq!(ask(&peer.stream, "flush\n"), "ok\n");
    peer.expect_more();
    drop(peer);
    program.end();
}

/// A child of the program does not keep the connection open.
#[test]
fn a_program_that_forks() {
    let sockets = Sockets::new();
    let program = program(&sockets, "a_program_that_forks", &[]);
    let listener = UnixListener::bind(sockets.path("s")).unwrap();
    let peer = Peer::accept(&listener);
    let answer = ask(&peer.stream, "ask fork\n");
    let child: i32 = answer.split('"').nth(1).unwrap().parse().unwrap();
    assert!(child > 0, "{answer}");
    program.kill();
    let since = Instant::now();
    while !peer.reader.is_finished() && since.elapsed() < PATIENCE / 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let has_ended = peer.reader.is_finished();
    // SAFETY: sends a signal to the child.
    unsafe { libc::kill(child, libc::SIGKILL) };
    assert!(has_ended, "the child keeps the connection open");
}

/// Another user listens where the program sends its events.
#[test]
fn a_peer_of_another_user() {
    let sockets = Sockets::new();
    let program = program(&sockets, "a_peer_of_another_user", &[("TELEMETRY_CONTROL", "Pool")]);
    if !cfg!(target_os = "linux") || !is_root(&sockets) {
        return;
    }
    let folder = File::open(sockets.dir().parent().unwrap()).unwrap();
    // SAFETY: the descriptor is open, and the system call changes only the user of this thread.
    unsafe {
        libc::fchmod(folder.as_raw_fd(), 0o777);
        libc::syscall(libc::SYS_setresuid, -1, OTHER_USER, -1);
    }
    let listener = UnixListener::bind(sockets.path("s"));
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_setresuid, -1, 0, -1) };
    let listener = listener.unwrap();
    let peer = Peer::accept(&listener);
    peer.expect_more();
    let notice = format!(
        "telemetry: [socket-failed] the peer of a sink cannot ask: user {OTHER_USER} may not control this process, only \
         user 0 and root may\n"
    );
    wait("a notice", || notices(&sockets) == notice);
    let (mut own, theirs) = UnixStream::pair().unwrap();
    pass(&peer.stream, &[theirs.as_raw_fd()]);
    own.write_all(b"set all\n").unwrap();
    own.set_nonblocking(true).unwrap();
    peer.expect_more();
    assert_eq!(own.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(peer);
    program.end();
}
