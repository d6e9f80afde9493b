//! `telemetry-fleet ship` as a process, with a directory as the store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use telemetry_fleet::segment::SegmentName;
use telemetry_fleet::spool::Spool;
use telemetry_testing::made::{Plan, make, registry};
use tempfile::TempDir;

use crate::rows::rows;

/// A host with streams, a spool and a store.
pub(crate) struct Host {
    pub(crate) dir: TempDir,
    pub(crate) files: Vec<PathBuf>,
    stream: Vec<u8>,
}

impl Host {
    /// Streams of several sessions each, which take several segments of 1 MiB.
    pub(crate) fn new() -> Host {
        let (dir, mut files, mut stream) = (tempfile::tempdir().unwrap(), Vec::new(), Vec::new());
        for seed in 1..=2 {
            let plan = Plan { seed, sessions: 2, events: 20_000, block_size: 4096, ..Plan::default() };
            let path = dir.path().join(format!("app.{seed}.tel"));
            // Sessions of the two differ in nothing but their numbers, which begin at 1 in both.
            let mut bytes = make(&registry(), &plan).stream;
            renumber(&mut bytes, seed * 100);
            std::fs::write(&path, &bytes).unwrap();
            files.push(path);
            stream.extend(bytes);
        }
        Host { dir, files, stream }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The address of the directory that is the store.
    pub(crate) fn store(&self) -> String {
        format!("file://{}", self.path("store").display())
    }

    /// The command, with a spool of this name.
    pub(crate) fn command(&self, spool: &str, to: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry-fleet"));
        command.args(["ship", "--host", "h7", "--segment-size", "1", "--to", to]);
        command.arg("--spool").arg(self.path(spool)).args(&self.files);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn ship(&self, to: &str) -> Said {
        said(&self.command("spool", to).output().unwrap())
    }

    /// Checks that the objects have every event once, and that the spool is empty.
    pub(crate) fn check(&self, objects: &[Vec<u8>]) {
        let wanted: BTreeSet<_> = rows(&self.stream).into_iter().collect();
        let found = rows(&objects.concat());
        assert_eq!(found.len(), wanted.len(), "each event once");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
        assert_eq!(files_in(&self.path("spool/open")).len() + files_in(&self.path("spool/ready")).len(), 0);
    }

    /// The segments in the directory that is the store. A run that is killed may leave a probe, or
    /// a file that is not whole under another name.
    pub(crate) fn objects(&self) -> Vec<Vec<u8>> {
        let (files, store) = (files_in(&self.path("store")), self.path("store"));
        let is_segment = |path: &&PathBuf| {
            let name = path.strip_prefix(&store).unwrap().to_str().unwrap();
            name.parse::<SegmentName>().is_ok()
        };
        files.iter().filter(is_segment).map(|path| std::fs::read(path).unwrap()).collect()
    }
}

/// What a run of the command said.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// All files below a directory, by name.
pub(crate) fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_in(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Adds to the number of the session in each block.
pub(crate) fn renumber(stream: &mut [u8], add: u64) {
    let mut at = 0;
    while at < stream.len() {
        let mut header = telemetry_format::Header::decode(&stream[at..], crc32c::crc32c).unwrap();
        header.session += add;
        stream[at..at + telemetry_format::HEADER_LEN].copy_from_slice(&header.encode(crc32c::crc32c));
        at += header.block_len() as usize;
    }
}

#[test]
fn every_event_is_in_the_store_once() {
    let host = Host::new();
    let first = host.ship(&host.store());
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""), "{}", first.stdout);
    assert!(
        first.stdout.ends_with(" bytes\n") && first.stdout.contains("; 40000 events, "),
        "{}",
        first.stdout
    );
    let objects = host.objects();
    assert!(objects.len() > 4, "several segments of a session");
    host.check(&objects);

    // The same files again are the same segments.
    let second = host.ship(&host.store());
    assert_eq!((second.code, second.stderr.as_str()), (Some(0), ""));
    assert!(second.stdout.starts_with("shipped 0 segments; "), "{}", second.stdout);
    assert!(
        second.stdout.ends_with(&format!("; {} in the store before\n", objects.len())),
        "{}",
        second.stdout
    );
    host.check(&host.objects());
}

#[test]
fn killed_at_any_moment() {
    let host = Host::new();
    let (mut early, mut late) = (0, 0);
    for number in 0..24 {
        let mut child = host.command("spool", &host.store()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(number * 7));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        if ended.success() {
            late += 1
        } else {
            early += 1
        }
        if number % 6 == 5 {
            assert_eq!(host.ship(&host.store()).code, Some(0));
            host.check(&host.objects());
            std::fs::remove_dir_all(host.path("store")).unwrap();
        }
    }
    assert!(early > 0, "none of {late} runs was killed");
}

#[test]
fn two_at_once_store_each_segment_once() {
    let host = Host::new();
    let two = ["spool", "other"].map(|spool| host.command(spool, &host.store()).spawn().unwrap());
    for child in two {
        assert_eq!(said(&child.wait_with_output().unwrap()).code, Some(0));
    }
    host.check(&host.objects());
}

#[test]
fn one_at_a_time_uses_a_spool() {
    let host = Host::new();
    let spool = Spool::open(host.path("spool")).unwrap();
    let run = host.ship(&host.store());
    let error = format!("error: {}: the spool is in use\n", host.path("spool").display());
    assert_eq!((run.code, run.stderr), (Some(2), error));
    drop(spool);
    assert_eq!(host.ship(&host.store()).code, Some(0));
}

#[test]
fn a_segment_with_another_content_is_kept() {
    let host = Host::new();
    assert_eq!(host.ship(&host.store()).code, Some(0));
    let object = files_in(&host.path("store")).remove(0);
    let bytes = std::fs::read(&object).unwrap();
    for other in [b"other".to_vec(), {
        let mut same_len = bytes.clone();
        same_len[200] ^= 1;
        same_len
    }] {
        std::fs::write(&object, &other).unwrap();
        let run = host.ship(&host.store());
        assert_eq!(run.code, Some(1));
        assert!(run.stderr.starts_with("error: segment segments/day=2023-11-14/host=h7/"), "{}", run.stderr);
        assert!(
            run.stderr.contains(" is refused: the store has another segment under this name; it is kept as ")
        );
        assert!(run.stderr.contains("\nerror: refused 1 segment; help: they are kept in "), "{}", run.stderr);
        assert!(run.stdout.ends_with("; 1 refused\n"), "{}", run.stdout);
        assert_eq!(std::fs::read(&object).unwrap(), other, "never overwritten");
        let kept = files_in(&host.path("spool/refused"));
        assert_eq!(
            kept.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>(),
            std::slice::from_ref(&bytes)
        );
    }
}

#[test]
fn damage_is_named_and_the_rest_is_shipped() {
    let mut host = Host::new();
    // 20 bytes in the middle, between two blocks.
    let at = {
        let header = telemetry_format::Header::decode(&host.stream, crc32c::crc32c).unwrap();
        header.block_len() as usize
    };
    let mut bytes = std::fs::read(&host.files[0]).unwrap();
    bytes.splice(at..at, [b'x'; 20]);
    std::fs::write(&host.files[0], bytes).unwrap();
    let run = host.ship(&host.store());
    let warning = format!("warning: {}: 20 damaged bytes at offset {at}\n", host.files[0].display());
    assert_eq!((run.code, run.stderr), (Some(1), warning));
    host.check(&host.objects());

    std::fs::write(&host.files[0], "a text").unwrap();
    host.files.truncate(1);
    let run = host.ship(&host.store());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.ends_with(
        "not a telemetry stream; help: a log of another system becomes one by `telemetry convert`\n"
    ));
}

#[test]
fn wrong_arguments_are_named() {
    let host = Host::new();
    let file = host.path("app.1.tel");
    for (to, error) in [
        (
            "store",
            "`store` is not a store: relative URL without a base; expected file:///DIR or s3://BUCKET/PREFIX",
        ),
        (
            "http://x/",
            "`http://x/` is not a store: the scheme `http` is unknown; expected file:///DIR or s3://BUCKET/PREFIX",
        ),
    ] {
        let run = host.ship(to);
        assert_eq!((run.code, run.stderr), (Some(2), format!("error: {error}\n")));
    }
    let inside = format!("file://{}/store", file.display());
    let run = host.ship(&inside);
    assert_eq!(run.code, Some(2), "a file in the way: {}", run.stderr);
    assert!(run.stderr.contains("app.1.tel/store: "), "{}", run.stderr);
}

/// The first command of the documentation. `.ci/lake` runs those of the guide after it.
#[test]
fn the_commands_of_the_documentation() {
    let host = Host::new();
    std::fs::rename(&host.files[0], host.path("app.tel")).unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md")).unwrap();
    let fences = page.split("```sh\n").skip(1).take(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<_> = fences.flat_map(str::lines).collect();
    assert_eq!(lines.len(), 1, "a command");
    for line in lines {
        let programs = Path::new(env!("CARGO_BIN_EXE_telemetry-fleet")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        let run =
            said(&shell.args(["-c", line]).current_dir(host.dir.path()).env("PATH", path).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}");
        assert!(run.stdout.contains("; 20000 events, "), "{}", run.stdout);
    }
    assert_eq!(rows(&host.objects().concat()).len(), 20_000);
}
