//! `py`, and its modules in Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Folder, Run};
use crate::streams::{GC, blocks, future, gc, gc_without_registry, labeled, lossy, two_registries};
use telemetry_testing::mps as mps_made;

#[test]
fn modules_are_made_and_checked() {
    let folder = Folder::new()
        .with("events.toml", GC)
        .with("gc.tel", gc())
        .with("two.tel", two_registries())
        .with("none.tel", gc_without_registry())
        .with("later.tel", future(&gc()))
        .with("mpsio.log", mps_made::small())
        .with("old_events.py", "\"\"\"Registry")
        .with("broken.toml", GC.replace("sort = \"P\"", "sort = \"Q\""));
    folder.check(
        "py",
        &[
            "py -o gc_events.py",
            "py --check -o gc_events.py",
            "py --check gc.tel -o gc_events.py",
            "py gc.tel -o of_stream.py",
            "py --check -o of_stream.py",
            "py --check -o old_events.py",
            "py --package -o short_events.py",
            "py --package --check -o short_events.py",
            "py --package --check -o gc_events.py",
            "py --check -o missing.py",
            "py --check -o .",
            "py --check",
            "py two.tel",
            "py two.tel --registry-name app -o app_events.py",
            "py two.tel --registry-name other",
            "py events.toml --registry-name other",
            "py none.tel",
            "py broken.toml -o gc_events.py",
            "py missing.toml",
            "py .",
            "py - -o of_stdin.py < events.toml",
            "py --check -o of_stdin.py",
            "py - -o of_piped.py < gc.tel",
            "py --check -o of_piped.py",
            "py later.tel",
            "py mpsio.log",
        ],
    );
    let module = std::fs::read_to_string(folder.path("gc_events.py")).unwrap();
    assert!(module.contains("class PoolInit(Event):"));
    assert_eq!(folder.run("py").stdout, module.as_bytes());
    assert_eq!(folder.run("py -o -").stdout, module.as_bytes());
    assert!(!folder.path("-").exists());
}

/// Finds a Python of 3.9 or later. If there is none, prints a notice.
pub(crate) fn python() -> Option<String> {
    let names = std::env::var("TELEMETRY_PYTHON").unwrap_or("python3".to_string());
    let name = names.split_whitespace().next().unwrap_or_default().to_string();
    let check = "import sys; sys.exit(sys.version_info < (3, 9))";
    let works = Command::new(&name).args(["-c", check]).status().is_ok_and(|status| status.success());
    if !works {
        eprintln!("SKIPPED: `{name}` is not Python 3.9 or later; set TELEMETRY_PYTHON");
    }
    works.then_some(name)
}

fn module_command(python: &str, folder: &Folder, args: &str) -> Run {
    let mut command = Command::new(python);
    command.args(["-B", "-m"]).args(args.split_whitespace()).current_dir(folder.path(""));
    crate::run::run(&mut command, &[])
}

#[test]
fn the_module_as_a_command() {
    let Some(python) = python() else { return };
    let mut damaged = gc();
    let at = blocks(&damaged)[..6].concat().len() + 150;
    damaged[at] ^= 1;
    let folder = Folder::new().with("events.toml", GC);
    assert_eq!(folder.run("py -o gc_events.py").code, Some(0));
    let streams =
        [("whole", gc(), 0), ("damaged", damaged, 1), ("lossy", lossy(), 0), ("labeled", labeled(), 0)];
    for (name, stream, code) in streams {
        let folder_of = &folder;
        std::fs::write(folder_of.path("some.tel"), stream).unwrap();
        let found = module_command(&python, folder_of, "gc_events --cnv some.tel");
        let expected = folder.run("cnv --registry-name gc some.tel");
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{name}"
        );
        assert_eq!((found.code, expected.code), (Some(code), Some(code)), "{name}: {}", found.stderr);
    }
    std::fs::write(folder.path("gc.tel"), gc()).unwrap();
    let print = module_command(&python, &folder, "gc_events gc.tel");
    insta::assert_snapshot!("py_print", String::from_utf8(print.stdout).unwrap() + &print.stderr);
    for (args, code, message) in [
        ("gc_events missing.tel", 2, "No such file or directory"),
        ("gc_events .", 2, "is not a telemetry stream: found a directory"),
        (
            "gc_events events.toml",
            2,
            "gc: `events.toml` is not a telemetry stream: found a registry file, expected",
        ),
        ("gc_events", 2, "usage"),
    ] {
        let run = module_command(&python, &folder, args);
        assert_eq!(run.code, Some(code), "{args}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{args}: {}", run.stderr);
    }
}

/// The module dies of an interrupt, without a message.
#[test]
#[cfg(unix)]
fn an_interrupted_module() {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    let Some(python) = python() else { return };
    let folder = Folder::new().with("events.toml", GC);
    assert_eq!(folder.run("py -o gc_events.py").code, Some(0));
    // It prints that it has begun, and then waits for more input.
    let script =
        "import sys, gc_events; sys.stdout.write('x'); sys.stdout.flush(); sys.exit(gc_events.main(['-']))";
    let mut command = Command::new(&python);
    command.args(["-B", "-c", script]).current_dir(folder.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = crate::run::by_default(&mut command).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&gc()[..100]).unwrap();
    let mut begun = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut begun).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.signal(), String::from_utf8_lossy(&ended.stderr).as_ref()),
        (Some(libc::SIGINT), "")
    );
}

/// Every stream of the archive, read by the module of its own registry.
#[test]
fn golden_streams() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let streams = streams_in(&golden);
    if streams.is_empty() {
        eprintln!("SKIPPED: no streams in `{}`", golden.display());
    }
    let Some(python) = python() else { return };
    let folder = Folder::new();
    for stream in streams {
        let path = stream.display();
        let made = folder.run(&format!("py {path} -o golden_events.py"));
        assert_eq!(made.code, Some(0), "{path}: {}", made.stderr);
        let module = std::fs::read_to_string(folder.path("golden_events.py")).unwrap();
        let name = module.split(' ').nth(1).unwrap();
        let found = module_command(&python, &folder, &format!("golden_events --cnv {path}"));
        let expected = folder.run(&format!("cnv --registry-name {name} {path}"));
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            String::from_utf8_lossy(&expected.stdout),
            "{path}"
        );
        assert_eq!(found.code, expected.code, "{path}: {}", found.stderr);
    }
}

/// The names of an address and a pointer, which the MPS reports by its own events, as in `txt`.
const NAMES: &str = r#"
import sys, mps_events
for event in mps_events.read(sys.argv[1]):
    session = event.session
    if isinstance(event, mps_events.PoolFree):
        print(session.name_of_pointer(event.pool, event.ticks), session.name_of(event.old, event.ticks))
        print(session.name_of(event.pool, event.ticks), session.name_of_pointer(event.old, event.ticks))
    if isinstance(event, mps_events.PoolAlloc):
        print(session.name_of(event.p_return, event.ticks))
"#;

#[test]
fn names_in_a_stream_of_a_log_of_the_mps() {
    let Some(python) = python() else { return };
    let folder = Folder::new().with("mpsio.log", mps_made::small()).with("names.py", NAMES);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry-foreign/registries/mps.toml");
    assert_eq!(folder.run(&format!("py {} -o mps_events.py", path.display())).code, Some(0));
    for more in ["", "--compress"] {
        let run = folder.run(&format!("convert --to telemetry {more} -o some.tel mpsio.log"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let found = module_command(&python, &folder, "names some.tel");
        let name = r#"a "pool" \ of mine"#;
        let expected = format!("None\nNone\nNone\n{name} {name}\nNone None\n");
        assert_eq!((found.code, String::from_utf8(found.stdout).unwrap()), (Some(0), expected), "{more}");
    }
}

fn streams_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut all: Vec<PathBuf> = entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => streams_in(&path),
            path if path.extension().is_some_and(|extension| extension == "tel") => vec![path],
            _ => Vec::new(),
        })
        .collect();
    all.sort();
    all
}
