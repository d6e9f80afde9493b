//! Sinks by their address.

use std::io::ErrorKind;

use super::{seqs, write};
use crate::sinks::address::open_or_refuse;
use crate::sinks::sink::Sink;
use crate::sinks::{Rotating, open};

#[test]
fn addresses() {
    let check = |address: &str, expected: &str| {
        let name = open(address).unwrap_or_else(|error| panic!("{address}: {error}")).name();
        assert_eq!(name, expected, "{address}");
    };
    check("a.tel", "`a.tel`");
    check("/tmp/odd:name.tel", "`/tmp/odd:name.tel`");
    check("./tcp:no", "`./tcp:no`");
    check("c:\\a.tel", "`c:\\a.tel`");
    check("my-run:1.tel", "`my-run:1.tel`");
    check("file:tcp:a", "`tcp:a`");
    check("rotate:a.tel", "`a.tel`");
    check("rotate:a.tel?size=64M&age=0.5&count=3", "`a.tel`");
    check("tcp:localhost:9000", "`tcp:localhost:9000`");
    check("udp:[::1]:9000", "`udp:[::1]:9000`");
    #[cfg(unix)]
    check("unix:/run/a:b.socket", "`unix:/run/a:b.socket`");
}

#[test]
fn what_is_no_address_says_what_was_expected() {
    let check = |address: &str, expected: &str| {
        let error = open(address).err().unwrap_or_else(|| panic!("{address} is taken"));
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{address}");
        let start = format!("`{address}` is not an address of a sink: {expected}");
        assert!(error.to_string().starts_with(&start), "{error}");
    };
    check("", "expected a path");
    check("file:", "expected a path");
    check("rotate:?size=1", "expected a path");
    check("unix:", if cfg!(unix) { "expected a path" } else { "expected a path, or `file:PATH`" });
    check(
        "http://localhost:80/",
        "expected a path, or `file:PATH`, `rotate:PATH?size=64M&age=3600&count=10`",
    );
    check("tpc:localhost:80", "expected a path, or `file:PATH`");
    for peer in ["", "localhost", "localhost:", "localhost:http", "localhost:0", "localhost:70000", ":9000"] {
        for scheme in ["tcp", "udp"] {
            check(&format!("{scheme}:{peer}"), "expected a host and a port from 1 to 65535");
        }
    }
    for option in ["size=0", "size=1x", "size", "age=0", "age=-1", "age=nan", "age=1e99", "count=0", "keep=3"]
    {
        let expected = format!("found `{option}`, expected `size=` in bytes (64M), `age=` in seconds");
        check(&format!("rotate:a.tel?count=2&{option}"), &expected);
    }
}

/// Files do not rotate beside something that is not a file, by address or by type. Nothing is
/// created there.
#[test]
#[cfg(unix)]
fn only_files_rotate() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("directory")).expect("a directory");
    std::os::unix::fs::symlink("/dev/null", at("null")).expect("a link");
    std::os::unix::fs::symlink("directory", at("link")).expect("a link");
    super::pipes::make_pipe(&at("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    let there = || std::fs::read_dir(dir.path()).expect("a directory").count();
    let before = there();
    for (name, what) in [
        ("null", "a device"),
        ("pipe", "a pipe"),
        ("socket", "a socket"),
        ("directory", "a directory"),
        ("link", "a directory"),
    ] {
        let path = at(name).display().to_string();
        let why = format!("`{path}` is {what}, expected the path of a file");
        let address = format!("rotate:{path}?count=3");
        let error = open(&address).err().unwrap_or_else(|| panic!("{address} is taken"));
        assert_eq!(error.to_string(), format!("`{address}` is not an address of a sink: {why}"));
        let error = write(&mut Rotating::new(at(name)), [1]).expect_err("no file");
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidInput, why));
    }
    assert_eq!(there(), before);
    std::fs::write(at("file.tel"), "a file").expect("a file");
    write(&mut Rotating::new(at("file.tel")), [1]).expect("a file beside it");
    assert!(at("file.1.tel").exists());
}

/// The program continues, and each write reports why there is no stream.
#[test]
fn a_wrong_address_is_told_at_each_write() {
    let mut sink = open_or_refuse("tcp:localhost");
    assert_eq!(sink.name(), "`tcp:localhost`");
    for _ in 0..2 {
        let error = write(&mut sink, [1]).expect_err("no sink");
        assert!(error.to_string().contains("expected a host and a port"), "{error}");
    }
}

#[test]
fn options_of_rotation_count() {
    let dir = tempfile::tempdir().expect("a directory");
    let address = format!("rotate:{}?size=3k&count=2", dir.path().join("a.tel").display());
    let mut sink = open(address).expect("an address");
    for seq in 0..6 {
        write(&mut sink, [seq]).expect("a writable file");
    }
    let read = |name| std::fs::read(dir.path().join(name)).map(|stream| seqs(&stream)).ok();
    assert_eq!([1, 2, 3].map(|n| read(format!("a.{n}.tel"))), [None, Some(vec![2, 3]), Some(vec![4, 5])]);
}
