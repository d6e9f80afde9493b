//! The Python package `telemetry_events`: built by pip, installed into an environment of its own,
//! and compared with the command. Also the examples of docs/python.md.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Facts, Value};
use telemetry_schema::{Count, Event, Registry, Sort};
use telemetry_testing::mps as mps_made;
use tempfile::TempDir;

use crate::py::python;
use crate::run::{Folder, Run};
use crate::streams::{GC, gc, labeled, lossy};

/// The folder of the package's sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen-python/python")
}

/// Returns the interpreter of an environment in which the wheel is installed. Where that cannot be
/// had, prints why.
fn installed() -> Option<&'static Path> {
    static MADE: OnceLock<Result<(TempDir, PathBuf), String>> = OnceLock::new();
    let made = MADE.get_or_init(|| install(&python().ok_or("no Python")?));
    match made {
        Ok((_, interpreter)) => Some(interpreter),
        Err(why) => {
            eprintln!("SKIPPED: the Python package is not installed: {why}");
            None
        }
    }
}

fn install(python: &str) -> Result<(TempDir, PathBuf), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // A build writes to the folder.
    let copied = Command::new("cp").arg("-r").arg(sources()).arg(path("python")).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy of the sources");
    let mut command = Command::new(python);
    // NumPy is that of the system.
    command.args(["-m", "venv", "--system-site-packages", "env"]).current_dir(folder.path());
    let made = crate::run::run(&mut command, &[]);
    if made.code != Some(0) {
        let text = String::from_utf8_lossy(&made.stdout) + &*made.stderr;
        return Err(format!("`{python}` has no venv; help: apt-get install python3-venv\n{text}"));
    }
    let interpreter = path(if cfg!(windows) { "env/Scripts/python" } else { "env/bin/python" });
    let pip = |args: &[&str]| {
        let mut command = Command::new(&interpreter);
        command.args(["-m", "pip", "--disable-pip-version-check"]).args(args).current_dir(folder.path());
        crate::run::run(&mut command, &[])
    };
    let built = pip(&["wheel", "--no-deps", "--wheel-dir", "wheels", "./python"]);
    if built.code != Some(0) {
        let offline =
            ["No matching distribution found for setuptools", "Failed to establish a new connection"];
        let is_offline = offline.iter().any(|sign| built.stderr.contains(sign));
        assert!(is_offline, "the wheel cannot be built:\n{}", built.stderr);
        return Err("pip cannot get setuptools 77 or later".to_string());
    }
    let wheel = std::fs::read_dir(path("wheels")).unwrap().next().expect("a wheel").unwrap().path();
    let name = wheel.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(name, format!("telemetry_events-{}-py3-none-any.whl", env!("CARGO_PKG_VERSION")));
    let done = pip(&["install", "--no-index", "--no-deps", wheel.to_str().unwrap()]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    Ok((folder, interpreter))
}

fn run(interpreter: &Path, folder: &Folder, args: &str) -> Run {
    let mut command = Command::new(interpreter);
    command.args(["-B", "-X", "utf8"]).args(args.split_whitespace()).current_dir(folder.path(""));
    crate::run::run(&mut command, &[])
}

/// Reads a stream and the lines of `telemetry print --json`, and compares them.
const COMPARE: &str = include_str!("../data/compare_json.py");

#[test]
fn the_installed_package_reads_what_the_command_prints() {
    let Some(interpreter) = installed() else { return };
    let folder = Folder::new().with("compare.py", COMPARE).with("events.toml", GC);
    for (name, stream) in [("whole", gc()), ("lossy", lossy()), ("labeled", labeled())] {
        std::fs::write(folder.path("some.tel"), stream).unwrap();
        let printed = folder.run("print --json some.tel");
        std::fs::write(folder.path("some.json"), &printed.stdout).unwrap();
        let found = run(interpreter, &folder, "compare.py some.tel some.json");
        let lines = printed.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(found.code, Some(0), "{name}: {}", found.stderr);
        let text = String::from_utf8_lossy(&found.stdout);
        assert!(lines > 0 && text.starts_with(&format!("{lines} events are the same\n")), "{name}: {text}");
        if text.contains("no NumPy") {
            eprintln!("SKIPPED: columns: {interpreter:?} has no NumPy");
        }
    }
}

/// The short module imports the package, and is the same for the rest.
#[test]
fn short_modules_import_the_package() {
    let Some(interpreter) = installed() else { return };
    let folder = Folder::new().with("events.toml", GC).with("some.tel", lossy());
    assert_eq!(folder.run("py --package -o short_events.py").code, Some(0));
    assert_eq!(folder.run("py -o gc_events.py").code, Some(0));
    let size = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
    assert!(size("short_events.py") * 3 < size("gc_events.py"));
    for more in ["--cnv some.tel", "some.tel"] {
        let found = run(interpreter, &folder, &format!("-m short_events {more}"));
        let expected = run(interpreter, &folder, &format!("-m gc_events {more}"));
        assert_eq!(found.stdout, expected.stdout, "{more}: {}", found.stderr);
        assert_eq!(
            (found.code, found.stderr),
            (expected.code, expected.stderr.replace("gc_events", "short_events"))
        );
    }
}

/// Returns a stream of the registry of gcbench, with some events of each type without arrays.
fn gcbench(registry: &Registry) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("program", "gcbench");
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 1_700_000_000_000_000_000).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, registry).unwrap() };
    let mut ticks = 0;
    for number in 1..4_u64 {
        let has_values =
            |event: &&Event| event.used && event.params.iter().all(|param| param.count == Count::One);
        for event in registry.events.iter().filter(has_values) {
            let values: Vec<_> = event.params.iter().map(|param| value(param.sort, number)).collect();
            ticks += 100;
            writer.event(lane, event.code, ticks, &values).unwrap();
        }
    }
    writer.end(1, ticks).unwrap();
    writer.finish().unwrap()
}

fn value(sort: Sort, number: u64) -> Value<'static> {
    match sort {
        Sort::Pointer => Value::Pointer(number * 64),
        Sort::Addr => Value::Addr(number * 64),
        Sort::Word => Value::Word(number),
        Sort::F32 => Value::F32(0.5),
        Sort::F64 => Value::F64(0.5),
        Sort::Bool => Value::Bool(true),
        Sort::String => Value::String("text".into()),
        Sort::Bytes => Value::Bytes(b"raw"),
        Sort::Label => Value::Label(number),
        Sort::Named(_) => Value::Named(EnumValue::new(number.into())),
        Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Value::Unsigned(number),
        Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 => Value::Signed(number as i64),
    }
}

/// Every example in Python of the book's chapter runs, in the order of the chapter. Examples that
/// need the compiled reader run in its own tests.
#[test]
fn examples_of_the_chapter_run() {
    let Some(python) = python() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let registry = std::fs::read_to_string(root.join("events.toml")).unwrap();
    let parsed = telemetry_schema::parse(&registry).unwrap();
    let folder = Folder::new().with("gcbench.tel", gcbench(&parsed)).with("mpsio.log", mps_made::small());
    let mps = root.join("telemetry-foreign/registries/mps.toml");
    for args in
        ["py gcbench.tel -o gc_events.py".to_string(), format!("py {} -o mps_events.py", mps.display())]
    {
        assert_eq!(folder.run(&args).code, Some(0), "{args}");
    }
    let chapter = std::fs::read_to_string(root.join("docs/python.md")).unwrap();
    let blocks: Vec<_> =
        chapter.split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "{blocks:?}");
    let has_numpy = Command::new(&python)
        .args(["-c", "import numpy"])
        .output()
        .is_ok_and(|output| output.status.success());
    let is_compiled = |block: &str| block.contains("import polars") || block.contains("where=");
    for block in blocks.into_iter().filter(|block| !is_compiled(block)) {
        if block.contains("columns") && !has_numpy {
            eprintln!("SKIPPED: {python} has no NumPy for this example:\n{block}");
            continue;
        }
        std::fs::write(folder.path("example.py"), block).unwrap();
        let mut command = Command::new(&python);
        command.args(["-B", "-W", "error", "example.py"]).current_dir(folder.path(""));
        command.env("PYTHONPATH", sources());
        let found = crate::run::run(&mut command, &[]);
        assert_eq!((found.code, &*found.stderr), (Some(0), ""), "{block}");
    }
}
