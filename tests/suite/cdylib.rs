//! A shared library with its own registry and runtime, loaded by a program that has both too.
//! Neither knows the other, and both may find the same settings.

use std::sync::OnceLock;

use telemetry_decode::Reader;

use crate::support::package::Workspace;
use crate::support::process::Process;
use crate::support::stream::{Owned, Stream};

/// How often each of the program's four threads uses both.
const ROUNDS: u64 = 20_000;

fn build() -> Workspace {
    let workspace = Workspace::new("cdylib", &["host", "plugin"]);
    workspace.package("host", "2024", "telemetry-events.workspace = true\nlibc.workspace = true");
    workspace.write("host/events.toml", include_str!("../packages/app.toml"));
    workspace.write("host/src/main.rs", include_str!("../packages/host.rs"));
    workspace.package(
        "plugin",
        "2024",
        "telemetry-events.workspace = true\n\n[lib]\ncrate-type = [\"cdylib\"]",
    );
    workspace.write("plugin/events.toml", include_str!("../packages/cache.toml"));
    workspace.write("plugin/src/lib.rs", include_str!("../packages/plugin.rs"));
    workspace.build(&[]);
    workspace
}

/// The program, with the library and the number of rounds as arguments.
fn host(rounds: u64) -> Process {
    static BUILT: OnceLock<Workspace> = OnceLock::new();
    let workspace = BUILT.get_or_init(build);
    let library = workspace.program("libplugin.so");
    Process::new(workspace.program("host")).arg(&library.display().to_string()).arg(&rounds.to_string())
}

/// One stream is the program's and one the library's. Each is complete, without events of the
/// other.
fn check(rounds: u64, mut streams: [Stream; 2]) {
    streams.sort_by(|a, b| a.versions.cmp(&b.versions));
    let [program, library] = streams;
    for (stream, registry, name, events) in
        [(&program, "app 1.0.0", "Started", 1 + 4 * rounds), (&library, "cache 1.0.0", "Hit", 4 * rounds)]
    {
        assert_eq!(stream.by_name().into_iter().collect::<Vec<_>>(), [(name, events)], "{registry}");
        assert!(stream.versions.contains(&registry.to_owned()), "{:?}", stream.versions);
        assert_eq!(stream.completeness.sessions.len(), 1, "{registry}");
    }
    let mut keys: Vec<_> = library.events.iter().map(|event| event.values[0].clone()).collect();
    keys.sort_by_key(|key| if let Owned::Number(key) = key { *key } else { -1 });
    assert!(keys.into_iter().eq((0..4 * rounds).map(|key| Owned::Number(key.into()))));
}

#[test]
fn is_used_beside_the_program() {
    // With one round, both write their streams at the end of the process, one after the other.
    for rounds in [ROUNDS, 1] {
        let run = host(rounds).env("TELEMETRY_BUFFER", "64M").run().succeeded();
        check(rounds, [run.stream(), Stream::read(run.path_of_child())]);
        // The second runtime says once where its stream is.
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains("telemetry: [file-in-use] "), "{}", run.stderr);
    }
}

/// The library's runtime continues after the program has closed the library.
#[test]
fn is_closed_before_the_end() {
    let run = host(ROUNDS).arg("close").env("TELEMETRY_BUFFER", "64M").run().succeeded();
    check(ROUNDS, [run.stream(), Stream::read(run.path_of_child())]);
}

/// The library is closed right after its first events, loaded again, and closed again, with events
/// on and off. Threads that used it end later, and the process forks.
#[test]
fn is_closed_at_once() {
    let run = host(ROUNDS).arg("again").env("TELEMETRY_FILENAME", "%s.tel").run().succeeded();
    let files = std::fs::read_dir(run.dir()).expect("a directory").map(|entry| entry.expect("a file").path());
    let streams = files.filter(|path| path.extension().is_some_and(|end| end == "tel")).map(Stream::read);
    let counts: Vec<_> = streams.filter_map(|stream| stream.by_name().get("Hit").copied()).collect();
    assert_eq!(counts, [5], "all that the library told, in one stream");
    let run = host(ROUNDS).arg("again").without("TELEMETRY_CONTROL").run().succeeded();
    assert_eq!(run.stderr, "");
}

/// Each runtime has a control socket and a ring file of its own.
#[test]
fn is_found_beside_the_program() {
    let process = host(ROUNDS).arg("wait").env("TELEMETRY_RING", "app.ring");
    let sockets = process.dir().join("sockets");
    let run = process.env("TELEMETRY_SOCKET", &sockets).killed_when("done");
    let mut found: Vec<_> = std::fs::read_dir(&sockets)
        .expect("a directory of sockets")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let pid = found[0].clone();
    assert_eq!(found, [pid.clone(), format!("{pid}-2"), format!("{pid}-2.ring"), format!("{pid}.ring")]);
    let beside = format!("app.ring.{pid}");
    assert!(
        run.stderr.contains(&format!(
            "telemetry: [ring-in-use] the ring file `app.ring` is in use; this ring is `{beside}`"
        )),
        "{}",
        run.stderr
    );
    // The ring files have what the drains had not written when they were killed.
    let images = ["app.ring", &beside].map(|name| run.dir().join(name));
    let files = std::fs::read_dir(run.dir()).expect("a directory").map(|entry| entry.expect("a file").path());
    let streams: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "tel")).collect();
    let whole = run.dir().join("whole.tel");
    let mut file = std::fs::File::create(&whole).expect("a file");
    let recovered = Reader::open_all(images.iter().chain(&streams)).expect("images").recover(&mut file);
    assert_eq!(recovered.expect("what is left").sessions.len(), 2);
    let events = Stream::read(&whole);
    let expected = [("Hit", 4 * ROUNDS), ("Started", 1 + 4 * ROUNDS)];
    assert_eq!(events.by_name().into_iter().collect::<Vec<_>>(), expected);
}
