//! Wrong directories, sockets and servers, and other users.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use telemetry_testing::program;

use super::rings::write_ring;
use super::{CHILD, OTHER_USER, Program, Sockets, is_root, wait};
use crate::gc_events;
use crate::run::{Folder, Run, run};

fn emit() {
    gc_events::pool_init!(1_u64, 2_u64, 3_u64, 0);
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn directories_that_others_can_change_are_refused() {
    let sockets = Sockets::new();
    let dir = sockets.dir();
    sockets.serve(|_, _| panic!("no request is allowed"));
    let pid = std::process::id();
    let check = |why: &str| {
        let refused = format!("error: cannot trust `{}`: {why}", dir.display());
        sockets.check(&format!("control {pid}"), 2, &refused);
        sockets.check(&format!("tail {pid}"), 2, &refused);
        sockets.check("list", 2, &refused);
    };
    for bits in [0o720, 0o702, 0o1777] {
        mode(&dir, bits);
        check(&format!("others may write to it, mode {bits:04o}; help: chmod 700 {}", dir.display()));
    }
    mode(&dir, 0o700);
    let moved = sockets.path("moved");
    std::fs::rename(&dir, &moved).unwrap();
    symlink(&moved, &dir).unwrap();
    check("it is not a directory");
    std::fs::remove_file(&dir).unwrap();
    std::fs::write(&dir, "").unwrap();
    check("it is not a directory");
    std::fs::remove_file(&dir).unwrap();
    std::fs::rename(&moved, &dir).unwrap();
    let above = dir.parent().unwrap();
    mode(above, 0o777);
    check("any user may replace it, since the directory above is open to all");
    mode(above, 0o700);
}

#[test]
fn what_is_no_socket_of_the_process_is_refused() {
    let sockets = Sockets::new();
    let other = Program::ready(
        &sockets,
        "processes::hostile::what_is_no_socket_of_the_process_is_refused",
        &[],
        emit,
    );
    let pid = std::process::id();
    let path = sockets.socket(pid);
    let check = |why: &str| {
        let refused = format!("error: cannot trust `{}`: {why}", path.display());
        sockets.check(&format!("control {pid}"), 2, &refused);
        std::fs::remove_file(&path).unwrap();
    };
    std::fs::write(&path, "").unwrap();
    check("it is not a socket");
    symlink(sockets.socket(other.pid), &path).unwrap();
    check("it is not a socket");
    std::fs::hard_link(sockets.socket(other.pid), &path).unwrap();
    check(&format!("it is served by process {}, expected {pid}", other.pid));
}

/// Invalid answers end the command with a message, and in time.
#[test]
fn servers_that_answer_nonsense_are_told_of() {
    let check = |answer: &'static [u8], expected: &str| {
        let sockets = Sockets::new();
        let pid = sockets.serve(move |_, stream| {
            let _ = stream.write_all(answer);
        });
        sockets.check(&format!("control {pid} all"), 2, &format!("error: process {pid} {expected}"));
    };
    check(b"", "sent no answer, expected `ok` or `error: ...`");
    check(b"HTTP/1.1 400 Bad Request\r\n", "sent no answer, expected `ok` or `error: ...`");
    check(b"error: \x1b[2J\n", "says: \\u{1b}[2J");
    check(b"ok\noutput = [\n", "sent an answer that cannot be parsed: unclosed array, expected `]`");
    check(
        b"ok\noutput = 7\n",
        "sent an answer that cannot be parsed: invalid type: integer `7`, expected a string",
    );
}

#[test]
fn answers_without_end_are_cut() {
    let sockets = Sockets::new();
    let pid = sockets.serve(|_, stream| {
        let _ = stream.write_all(b"ok\n");
        while stream.write_all(&[b'#'; 1 << 16]).is_ok() {}
    });
    sockets.check(&format!("control {pid}"), 2, &format!("error: process {pid} sent an oversized answer"));
}

#[test]
fn silence_is_not_waited_for() {
    let sockets = Sockets::new();
    let pid = sockets.serve(|_, stream| {
        // One byte at a time would never end, if there were no limit in total.
        while stream.write_all(b"o").is_ok() {
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let silent =
        format!("error: process {pid} does not answer; help: try again later, others may be talking to it");
    sockets.check(&format!("control {pid}"), 2, &silent);
}

#[test]
fn a_snapshot_that_is_cut_leaves_no_file() {
    let sockets = Sockets::new();
    let pid = sockets.serve(|_, stream| stream.write_all(b"ok 2000\nhalf").unwrap());
    std::fs::write(sockets.path("out.tel"), "before").unwrap();
    let cut = format!("error: process {pid} sent 4 bytes of a snapshot, expected 2,000");
    sockets.check(&format!("control {pid} --snapshot out.tel"), 2, &cut);
    assert_eq!(std::fs::read(sockets.path("out.tel")).unwrap(), b"before");
}

/// Runs the command as another user.
pub(super) fn as_other_user(command: &Command, folder: &Folder) -> Run {
    // A path that other users can read.
    let path = folder.path("telemetry");
    program::copy(command.get_program(), &path);
    mode(path.parent().unwrap(), 0o755);
    let mut theirs = Command::new(path);
    theirs
        .args(command.get_args())
        .current_dir("/")
        .uid(OTHER_USER)
        .gid(OTHER_USER)
        .env_remove("TELEMETRY_SOCKET");
    theirs.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut theirs, &[])
}

#[test]
fn other_users_are_refused() {
    const TEST: &str = "processes::hostile::other_users_are_refused";
    // As another user, with an open path: the message is the process's own.
    if let Some(path) = std::env::var_os(CHILD).filter(|path| path.as_encoded_bytes().contains(&b'/')) {
        let mut stream = UnixStream::connect(path).unwrap();
        let _ = stream.write_all(b"set all\n");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        eprintln!("{}", String::from_utf8(answer).unwrap());
        return;
    }
    let (sockets, folder) = (Sockets::new(), Folder::new());
    let program = Program::ready(&sockets, TEST, &[], emit);
    if !is_root(&sockets) {
        return;
    }
    let pid = program.pid;
    mode(sockets.dir().parent().unwrap(), 0o755);
    let asked = as_other_user(&sockets.command(&format!("control {pid}")), &folder);
    let owner = format!(
        "error: cannot trust `{}`: it belongs to user 0, expected {OTHER_USER}\n",
        sockets.dir().display()
    );
    assert_eq!((asked.code, asked.stderr), (Some(2), owner));

    mode(&sockets.dir(), 0o711);
    mode(&sockets.socket(pid), 0o666);
    let path = folder.path("test");
    program::copy(std::env::current_exe().unwrap(), &path);
    let mut theirs = Command::new(path);
    theirs.args([TEST, "--exact", "--nocapture"]).current_dir("/").uid(OTHER_USER).gid(OTHER_USER);
    let asked = run(theirs.env(CHILD, sockets.socket(pid)), &[]);
    let refused =
        format!("error: user {OTHER_USER} may not control this process, only user 0 and root may\n");
    assert!(asked.stderr.contains(&refused), "{}", asked.stderr);
}

/// Root reaches the default sockets of other users' processes, and removes nothing there.
#[test]
fn root_reaches_all_users() {
    const TEST: &str = "processes::hostile::root_reaches_all_users";
    let (sockets, folder) = (Sockets::new(), Folder::new());
    // The child runs this too, as the other user, and never returns.
    if std::env::var_os(CHILD).is_some() {
        Program::start(&sockets, TEST, &[], emit);
    }
    if !is_root(&sockets) {
        return;
    }
    let path = folder.path("test");
    program::copy(std::env::current_exe().unwrap(), &path);
    mode(path.parent().unwrap(), 0o755);
    let mut theirs = Command::new(path);
    theirs.args([TEST, "--exact", "--nocapture"]).current_dir("/").uid(OTHER_USER).gid(OTHER_USER);
    theirs.env(CHILD, TEST).env("TELEMETRY_FILENAME", "/dev/null").env("TELEMETRY_CONTROL", "all");
    let program = Program::spawn(theirs.env_remove("TELEMETRY_SOCKET"));
    let pid = program.pid;
    let dir = Path::new("/tmp/telemetry-65534");
    let socket = dir.join(pid.to_string());
    wait("a socket", || socket.exists());
    let ours = |args: &str| run(sockets.command(args).env_remove("TELEMETRY_SOCKET"), &[]);
    let shown = ours(&format!("control {pid}"));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert!(String::from_utf8(shown.stdout).unwrap().contains(&format!("process     {pid}")));

    // Their link may point to any file: to one of ours, or even to a ring.
    let precious = sockets.path("precious");
    write_ring(&precious, 4_194_305);
    let link = dir.join("4194305.ring");
    let _ = std::fs::remove_file(&link);
    symlink(&precious, &link).unwrap();
    let removing = ours("list --remove-dead");
    assert!(!removing.stderr.contains("precious"), "{}", removing.stderr);
    assert!(precious.exists());
    chown(&precious, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    let removing = ours("list --remove-dead");
    std::fs::remove_file(&link).unwrap();
    let theirs = format!("cannot remove `{}`: it is for user {OTHER_USER} to remove", precious.display());
    assert!(removing.stderr.contains(&theirs), "{}", removing.stderr);
    assert_eq!(removing.code, Some(1));
    assert!(precious.exists());
    program.kill();
    assert!(ours("list").code.is_some());
    assert!(socket.exists(), "theirs to remove");
    std::fs::remove_file(&socket).unwrap();

    // The server must be the owner of the directory.
    let listener = UnixListener::bind(&socket).unwrap();
    chown(&socket, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    let refused = ours(&format!("control {pid}"));
    drop(listener);
    std::fs::remove_file(&socket).unwrap();
    // This fails if another process is there.
    let _ = std::fs::remove_dir(dir);
    assert_eq!(
        refused.stderr,
        format!(
            "error: cannot trust `{}`: it is served by user 0, expected {OTHER_USER}\n",
            socket.display()
        )
    );
}
