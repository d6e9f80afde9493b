//! Tests with real sockets, and with a process that only remembers what it was asked.

use std::fs::{File, Permissions, create_dir, set_permissions, write};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::actions::{Actions, Failure, Numbers, OfKind};
use super::place::Place;
use super::request::LIMIT;
use super::seat::Seat;
use super::serve::{CLIENT_TIMEOUT, MAX_ASKS, MAX_TAILS, Server, admit};
use telemetry_format::{Notice, NoticeTag};

use crate::control::switches::Mask;
use crate::model::registry_def::{Kind, Preset, RegistryDef};
use crate::own::requests::Answer;

/// Answers with the request.
struct Fake {
    changes: Mutex<String>,
    tails: Mutex<Vec<(Option<String>, UnixStream, Seat)>>,
    /// Length of a snapshot.
    snapshot: usize,
}

static REGISTRY: RegistryDef = RegistryDef {
    name: "gc",
    version: [1, 2, 3],
    fingerprint: 0xfe,
    text: "",
    kinds: &[
        Kind { name: "Pool", bit: 0, slots: 0..0, inherits: false },
        Kind { name: "Ref", bit: 1, slots: 0..0, inherits: false },
    ],
    presets: &[Preset { name: "busy", events: &[] }],
    types: &[],
    events: &[],
};

impl Actions for Fake {
    fn get(&self, mask: Mask) -> String {
        format!("{mask:?}{}", self.changes.lock().unwrap())
    }

    fn change(&self, mask: Mask, on: bool, words: &str) {
        *self.changes.lock().unwrap() += &format!(" {mask:?} {on} {words}");
    }

    fn set_for(&self, words: &str, time: Duration) {
        *self.changes.lock().unwrap() += &format!(" {time:?} {words}");
    }

    fn unknown(&self, words: &str) -> Vec<String> {
        words.split(' ').filter(|word| word.starts_with('X')).map(str::to_owned).collect()
    }

    fn flush(&self) {
        panic!("a sink of the program's own");
    }

    fn mark(&self, text: &str) {
        *self.changes.lock().unwrap() += &format!(" mark {text}");
    }

    fn answer_of(&self, name: &str) -> Result<Arc<Answer>, String> {
        let answer: Arc<Answer> = match name {
            "echo" => Arc::new(|text| Ok(format!("{text}\n\"{text}\""))),
            "no" => Arc::new(|text| Err(format!("not\n{text}"))),
            "panics" => Arc::new(|_| panic!("a request of the program's own")),
            "long" => Arc::new(|_| Ok("x".repeat(65_537))),
            "stuck" => Arc::new(|_| {
                std::thread::sleep(Duration::from_secs(2));
                Ok(String::new())
            }),
            _ => return Err(format!("unknown request `{name}`")),
        };
        Ok(answer)
    }

    fn counters(&self) -> Numbers {
        vec![("emitted", 3), ("written", 2)]
    }

    fn pool(&self) -> Numbers {
        vec![("size", 4096), ("free", 0)]
    }

    fn counters_and_kinds(&self) -> (Numbers, Vec<OfKind>) {
        let kinds = vec![("gc", "Pool", vec![("emitted", 1)]), ("gc", "Ref", vec![("emitted", 2)])];
        (self.counters(), kinds)
    }

    fn sinks(&self) -> Vec<(String, Option<Failure>, Numbers)> {
        let tag = NoticeTag { notice: Notice::SinkFailed, errno: Some(28) };
        vec![("`a\".tel`".into(), Some((tag, "no \"room\"".into())), vec![("written", 2)])]
    }

    fn facts(&self) -> String {
        "program = \"fake\"\n".into()
    }

    fn defs(&self) -> Vec<&'static RegistryDef> {
        vec![&REGISTRY]
    }

    fn snapshot(&self, mut to: File) -> io::Result<()> {
        if self.snapshot == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        to.write_all(&vec![7; self.snapshot])
    }

    fn tail(&self, words: Option<&str>, to: UnixStream, seat: Seat) {
        self.tails.lock().unwrap().push((words.map(str::to_owned), to, seat));
    }
}

/// A server in its own directory.
struct Running {
    dir: tempfile::TempDir,
    server: Arc<Server<Fake>>,
}

impl Running {
    fn new(snapshot: usize) -> Running {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::at(dir.path().join("sockets")).unwrap();
        let listener = place.enter().unwrap();
        let actions = Fake { changes: Mutex::default(), tails: Mutex::default(), snapshot };
        let server = Arc::new(Server::new(actions, Ok(place)));
        let serving = server.clone();
        std::thread::spawn(move || super::accept(&listener, &serving));
        Running { dir, server }
    }

    fn connect(&self) -> UnixStream {
        let path = self.dir.path().join(format!("sockets/{}", std::process::id()));
        UnixStream::connect(path).unwrap()
    }

    /// Sends bytes, ends the request, and returns the answer.
    fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // A server that has read enough closes the connection.
        let _ = stream.write_all(request.as_ref());
        let _ = stream.shutdown(Shutdown::Write);
        answer(stream)
    }
}

/// Reads all that comes. If a server did not read all that was sent, the system reports that after
/// the answer.
fn answer(mut stream: UnixStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
    String::from_utf8(answer).unwrap()
}

/// Each answer runs in a thread of its own. Nothing that it does hinders other clients.
#[test]
fn the_program_answers_requests() {
    let running = Running::new(0);
    let check = |request: &str, expected: &str| assert_eq!(running.ask(request), expected, "{request:?}");
    check("ask echo\n", "ok\nanswer = \"\\u000a\\\"\\\"\"\n");
    check("ask echo  a  b \n", "ok\nanswer = \"a  b\\u000a\\\"a  b\\\"\"\n");
    check("ask no x\n", "error: not x\n");
    check("ask panics\n", "error: the program's answer panicked\n");
    check("ask long\n", "error: the answer has 65537 bytes, expected at most 65536\n");
    check("ask other\n", "error: unknown request `other`\n");
    check("ask\n", "error: `ask` without the name of a request\n");
    // Clients that have left keep their seats until the program has answered.
    let stuck: Vec<UnixStream> = (0..MAX_ASKS)
        .map(|_| {
            let mut stream = running.connect();
            stream.write_all(b"ask stuck\n").unwrap();
            stream
        })
        .collect();
    drop(stuck);
    let since = Instant::now();
    let refused = "error: the program answers 4 requests already, which is the most; help: try again later\n";
    check("ask echo\n", refused);
    assert!(running.ask("get\n").starts_with("ok\n"));
    while running.ask("ask echo\n") == refused {
        assert!(since.elapsed() < Duration::from_secs(60), "the seats are not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn requests_are_answered() {
    let running = Running::new(0);
    let check = |request: &str, expected: &str| assert_eq!(running.ask(request), expected, "{request:?}");
    check("get\n", "ok\noutput = \"Output\"\nrecord = \"Record\"\n");
    check(
        "set Ref -Pool\n",
        "ok\noutput = \"Output Output true Ref -Pool\"\nrecord = \"Record Output true Ref -Pool\"\n",
    );
    running.server.actions.changes.lock().unwrap().clear();
    check(
        " record \t reset  Ref X1 X2\t\n",
        "ok\noutput = \"Output Record false Ref X1 X2\"\nrecord = \"Record Record false Ref X1 X2\"\n\
         unknown = [\"X1\", \"X2\"]\nnames = [\"Pool\", \"Ref\", \"busy\", \"gc\"]\n",
    );
    running.server.actions.changes.lock().unwrap().clear();
    check(
        "for 1500 Ref Pool\n",
        "ok\noutput = \"Output 1.5s Ref Pool\"\nrecord = \"Record 1.5s Ref Pool\"\n",
    );
    running.server.actions.changes.lock().unwrap().clear();
    check("for 0 Ref\n", "error: `for 0`, expected a number of milliseconds, 1 to 86400000\n");
    check("for Ref\n", "error: `for Ref`, expected a number of milliseconds, 1 to 86400000\n");
    check("for 5\n", "error: `for` without words; help: `for 1000 all` means everything for a second\n");
    check("unknown Ref X1\n", "ok\nunknown = [\"X1\"]\nnames = [\"Pool\", \"Ref\", \"busy\", \"gc\"]\n");
    check("unknown Ref\n", "ok\n");
    check("unknown\n", "error: `unknown` without words\n");
    check(
        "counters\n",
        "ok\nemitted = 3\nwritten = 2\n\n[pool]\nsize = 4096\nfree = 0\n\n[[kind]]\nregistry = \"gc\"\nname = \"Pool\"\nemitted = 1\n\n\
         [[kind]]\nregistry = \"gc\"\nname = \"Ref\"\nemitted = 2\n\n\
         [[sink]]\nname = \"`a\\\".tel`\"\nwritten = 2\nnotice = \"[sink-failed 28]\"\nfailure = \"no \\\"room\\\"\"\n",
    );
    check(
        "info\n",
        "ok\nprogram = \"fake\"\noutput = \"Output\"\nrecord = \"Record\"\n\n[counters]\nemitted = 3\nwritten = 2\n\n\
         [[registry]]\nname = \"gc\"\nversion = \"1.2.3\"\nfingerprint = \"00000000000000fe\"\nevents = 0\n\
         kinds = [\"Pool\", \"Ref\"]\npresets = [\"busy\"]\n\n[[sink]]\nname = \"`a\\\".tel`\"\nwritten = 2\nnotice = \"[sink-failed 28]\"\nfailure = \"no \\\"room\\\"\"\n",
    );
    check("mark\n", "error: `mark` without a text\n");
    check(" mark  deploy  17 \n", "ok\n");
    assert_eq!(running.server.actions.changes.lock().unwrap().split_off(0), " mark deploy  17");
    // Only the first line counts.
    check("get\nset all\n", "ok\noutput = \"Output\"\nrecord = \"Record\"\n");
    check("flush\n", "error: the request panicked\n");
    check("snapshot\n", "error: cannot take a snapshot: no storage space\n");
}

#[test]
fn what_is_no_request_is_refused() {
    let running = Running::new(0);
    let check = |request: &[u8], expected: &str| {
        assert_eq!(running.ask(request), format!("error: {expected}\n"), "{}", request.escape_ascii());
    };
    let verbs = "expected `get`, `set`, `reset`, `record set`, `record reset`, `for`, `flush`, `counters`, `snapshot`, \
                 `unknown`, `tail`, `info`, `mark` or `ask`";
    check(b"\n", &format!("unknown request ``, {verbs}"));
    check(b"GET / HTTP/1.1\n", &format!("unknown request `GET`, {verbs}"));
    check(b"get now\n", "`now` behind `get`, expected nothing");
    check(b"set\n", "`set` without words; help: `set all` means everything");
    check(b"record reset \n", "`reset` without words; help: `reset all` means everything");
    check(b"record all\n", "`record all`, expected `record set` or `record reset`");
    check(b"set \xff\n", "a request that is not UTF-8 at byte 4, expected text");
    check(b"set a\0b\n", "a request with '\\0' at byte 5, expected words");
    check(b"set \x1b[31m\n", "a request with '\\u{1b}' at byte 4, expected words");
    check(b"", "0 bytes of a request, expected a line feed at its end");
    check(b"set all", "7 bytes of a request, expected a line feed at its end");
    let long = |len| [vec![b'a'; len], b"\n".to_vec()].concat();
    let too_long = format!("a request that is too long, expected at most {LIMIT} bytes");
    check(&long(LIMIT), &too_long);
    check(&long(1 << 20), &too_long);
    check(&vec![b'a'; 1 << 20], &too_long);
    let name = "a".repeat(LIMIT - 1);
    check(&long(LIMIT - 1), &format!("unknown request `{name}`, {verbs}"));
    assert_eq!(running.server.actions.changes.lock().unwrap().as_str(), "");
}

/// A client that sends nothing, or one byte now and then, gets no more than its time.
#[test]
fn slow_clients_hold_up_others_for_a_while_only() {
    let running = Running::new(0);
    let since = Instant::now();
    let silent = running.connect();
    let mut dripping = running.connect();
    let drip = std::thread::spawn(move || {
        while dripping.write_all(b"s").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let gone = running.connect();
    drop(gone);
    assert!(running.ask("get\n").starts_with("ok\n"));
    assert!((CLIENT_TIMEOUT..CLIENT_TIMEOUT * 15).contains(&since.elapsed()), "{:?}", since.elapsed());
    assert_eq!(answer(silent), "error: no request within 2 s\n");
    drip.join().unwrap();
}

#[test]
fn many_clients_are_all_answered() {
    let running = Running::new(0);
    std::thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| assert!(running.ask("info\n").starts_with("ok\n")));
        }
    });
}

/// More than a socket holds, so that sending it waits for the client.
#[test]
fn snapshots_that_are_not_read_delay_no_thread() {
    let running = Running::new(8 << 20);
    let ask = || {
        let mut stream = running.connect();
        stream.write_all(b"snapshot\n").unwrap();
        let mut ok = [0; 2];
        stream.read_exact(&mut ok).unwrap();
        (stream, ok)
    };
    let mut stuck = Vec::new();
    for _ in 0..4 {
        let (stream, ok) = ask();
        assert_eq!(&ok, b"ok");
        stuck.push(stream);
    }
    let (fifth, beginning) = ask();
    assert_eq!(&beginning, b"er");
    assert_eq!(answer(fifth), "ror: several snapshots are on their way already; help: try again later\n");
    assert!(running.ask("get\n").starts_with("ok\n"));
    // A client that reads in time gets all of it. One that does not is disconnected.
    let since = Instant::now();
    let cut = stuck.pop().unwrap();
    std::thread::sleep(CLIENT_TIMEOUT * 2);
    assert!(answer(cut).len() < 8 << 20);
    drop(stuck);
    let whole = loop {
        let (stream, ok) = ask();
        if &ok == b"ok" {
            break answer(stream);
        }
        assert!(since.elapsed() < Duration::from_secs(60), "transfers end");
    };
    let (len, whole) = whole.split_once('\n').unwrap();
    assert_eq!(len, " 8388608");
    assert_eq!(whole.len(), 8 << 20);
    let left = std::fs::read_dir(running.dir.path().join("sockets")).unwrap().count();
    assert_eq!(left, 1, "only the socket");
}

#[test]
fn tails_keep_their_connection() {
    let running = Running::new(0);
    for (request, expected) in [("tail\n", None), ("tail Pool -Ref\n", Some("Pool -Ref"))] {
        let mut stream = running.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut ok = [0; 3];
        stream.read_exact(&mut ok).unwrap();
        assert_eq!(&ok, b"ok\n");
        // The next request is served after this one.
        running.ask("get\n");
        let (words, mut kept, _seat) = running.server.actions.tails.lock().unwrap().pop().unwrap();
        assert_eq!(words.as_deref(), expected);
        kept.write_all(b"stream").unwrap();
        drop(kept);
        assert_eq!(answer(stream), "stream");
    }
}

/// Each tail takes memory. The one beyond the limit is refused until another ends.
#[test]
fn tails_are_counted() {
    let running = Running::new(0);
    let ask = || {
        let mut stream = running.connect();
        stream.write_all(b"tail all\n").unwrap();
        let mut ok = [0; 3];
        stream.read_exact(&mut ok).unwrap();
        (stream, ok)
    };
    let kept: Vec<_> = (0..MAX_TAILS).map(|_| ask()).collect();
    assert!(kept.iter().all(|(_, ok)| ok == b"ok\n"));
    // The next request is served after this one.
    running.ask("get\n");
    for _ in 0..2 {
        let (refused, beginning) = ask();
        assert_eq!(&beginning, b"err");
        let expected = "or: 16 clients follow this process already, which is the most; help: end one of them, or \
                        take a snapshot\n";
        assert_eq!(answer(refused), expected);
    }
    drop(running.server.actions.tails.lock().unwrap().pop());
    assert_eq!(&ask().1, b"ok\n");
}

#[test]
fn only_the_same_user_and_root_may() {
    let user = crate::sys::user();
    assert_eq!(admit(user), Ok(()));
    assert_eq!(admit(0), Ok(()));
    assert_eq!(
        admit(user + 1),
        Err(format!("user {} may not control this process, only user {user} and root may", user + 1))
    );
    let (one, _other) = UnixStream::pair().unwrap();
    assert_eq!(super::native::peer(&one).unwrap(), user);
}

#[test]
fn only_a_directory_of_our_own_will_do() {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let directory = |name, bits| {
        create_dir(at(name)).unwrap();
        mode(&at(name), bits);
        at(name)
    };
    let check = |path: PathBuf, expected: Option<&str>| {
        let expected = expected.map(|why| format!("`{}` {why}", path.display()));
        assert_eq!(Place::at(path).err(), expected);
    };
    check(at("new"), None);
    assert_eq!(at("new").metadata().unwrap().mode() & 0o7777, 0o700);
    check(directory("ours", 0o700), None);
    check(directory("read by others", 0o704), Some("is open to others, expected mode 0700"));
    check(directory("written by the group", 0o720), Some("is open to others, expected mode 0700"));
    symlink(at("ours"), at("link")).unwrap();
    check(at("link"), Some("is not a directory"));
    symlink(at("nowhere"), at("dangling")).unwrap();
    check(at("dangling"), Some("is not a directory"));
    write(at("file"), "").unwrap();
    check(at("file"), Some("is not a directory"));
    let theirs = directory("theirs", 0o700);
    // Only root can give a directory away.
    if chown(&theirs, Some(65534), None).is_ok() {
        check(theirs, Some("belongs to another user"));
    }
    directory("open", 0o777);
    check(at("open/ours"), Some("can be replaced by others: anybody may write to the directory above"));
    mode(&at("open"), 0o1777);
    check(at("open/ours"), None);
    assert!(Place::at(at("no/where")).is_err());
}

#[test]
fn only_a_stale_socket_gives_way() {
    let temp = tempfile::tempdir().unwrap();
    let place = Place::at(temp.path().join("sockets")).unwrap();
    let path = temp.path().join(format!("sockets/{}", std::process::id()));
    let refused = format!("`{}` is there and is not a socket", path.display());
    let taken = || place.enter().err();
    write(&path, "precious").unwrap();
    assert_eq!(taken().as_ref(), Some(&refused));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    assert_eq!(taken().as_ref(), Some(&refused));
    std::fs::remove_file(&path).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    assert!(UnixStream::connect(&path).is_err(), "stale");
    assert_eq!(taken(), None);
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    // Another copy of the runtime listens there, so this one is beside it.
    let _other = UnixListener::bind(temp.path().join("other")).unwrap();
    std::fs::rename(temp.path().join("other"), &path).unwrap();
    assert_eq!(taken(), None);
    assert!(UnixStream::connect(&path).is_ok(), "left alone");
    assert!(path.with_file_name(format!("{}-2", std::process::id())).exists());
    // A path that is longer than the system's limit for sockets.
    let long = Place::at(temp.path().join("a".repeat(200))).unwrap();
    assert!(long.enter().err().is_some_and(|why| why.contains("cannot make")));
}
