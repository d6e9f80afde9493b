//! Compares reading with that of another commit: `cargo bench --bench against -- COMMIT [STREAM]`.
//!
//! Both versions are built in the target directory, the other one from a worktree of git. Then each
//! of them reads the same streams on one thread, in turn. The ratios are of processor time, or of
//! instructions with `--instructions`, which takes far longer for each event. `STREAM` is one of
//! `gcbench`; without it, a short one is made. `--only NAME` measures the row with this name.
//!
//! `git worktree prune` forgets the worktree when the target directory is gone.

#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: usize = 7;

/// What is measured: its name, the stream, how it is read, and the goal of the ratio.
const ROWS: [(&str, Stream, Way, f64); 13] = [
    ("next", Stream::Gc, Way::Driver("next"), 1.4),
    ("next, every value read", Stream::Gc, Way::Driver("values"), f64::NAN),
    ("next_batch, relative to next", Stream::Gc, Way::Driver("batch"), f64::NAN),
    ("typed", Stream::Gc, Way::Driver("gc"), 1.1),
    ("stats", Stream::Gc, Way::Command("stats"), 5.0),
    ("spans", Stream::Gc, Way::Command("spans"), 3.0),
    ("cnv", Stream::Gc, Way::Command("cnv"), 2.0),
    ("print", Stream::Gc, Way::Command("print"), 1.5),
    ("csv", Stream::Gc, Way::Command("csv"), 1.5),
    ("next, W", Stream::Work, Way::Driver("next"), f64::NAN),
    ("typed, W", Stream::Work, Way::Driver("work"), 1.1),
    ("stats, W", Stream::Work, Way::Command("stats"), f64::NAN),
    ("cnv, W", Stream::Work, Way::Command("cnv"), f64::NAN),
];

#[derive(Clone, Copy)]
enum Stream {
    /// Of `gcbench`.
    Gc,
    /// Events W.
    Work,
}

#[derive(Clone, Copy)]
enum Way {
    /// The program `against/driver.rs`.
    Driver(&'static str),
    /// `telemetry`, on one thread.
    Command(&'static str),
}

/// A version that was built.
struct Version {
    driver: PathBuf,
    telemetry: PathBuf,
    has_threads: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut given, mut only, mut counts_instructions) = (Vec::new(), None, false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--instructions" => counts_instructions = true,
            "--only" => only = args.next(),
            _ => given.push(arg),
        }
    }
    let Some(commit) = given.first() else {
        println!("SKIPPED: no commit to compare with; run `cargo bench --bench against -- COMMIT`");
        return Ok(());
    };
    let dir = target().join("against");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let before = version(&worktree(root, &dir, commit)?, &dir.join(commit))?;
    let now = version(root, &dir.join("now"))?;
    let gc = match given.get(1) {
        Some(path) => PathBuf::from(path),
        None => gc_stream(root, &dir)?,
    };
    let work = dir.join("work.tel");
    run(Command::new(&now.driver).arg("emit").arg(&work))?;
    let rows = ROWS.iter().filter(|(name, ..)| only.as_deref().is_none_or(|only| *name == only));
    println!("{:<32} {:>9} {:>9} {:>7} {:>7}  goal", "", "before", "now", "best", "median");
    for (name, stream, way, goal) in rows {
        let stream = match stream {
            Stream::Gc => &gc,
            Stream::Work => &work,
        };
        let cost = |version: &Version| match counts_instructions {
            true => instructions(version.command(*way, stream)),
            false => version.seconds(*way, stream),
        };
        let rounds = if counts_instructions { 1 } else { ROUNDS };
        let pairs = (0..rounds).map(|_| Ok([cost(&before)?, cost(&now)?]));
        let pairs: Vec<[f64; 2]> = pairs.collect::<Result<_, Box<dyn Error>>>()?;
        let best = |of: usize| pairs.iter().map(|pair| pair[of]).fold(f64::INFINITY, f64::min);
        let mut ratios: Vec<f64> = pairs.iter().map(|[before, now]| before / now).collect();
        ratios.sort_by(f64::total_cmp);
        let (ratio, median) = (best(0) / best(1), ratios[ratios.len() / 2]);
        let verdict = match goal.is_nan() {
            true => String::new(),
            false => format!("{goal:.1} {}", if ratio >= *goal { "reached" } else { "MISSED" }),
        };
        println!("{name:<32} {:>9.3} {:>9.3} {ratio:>7.2} {median:>7.2}  {verdict}", best(0), best(1));
    }
    println!("\nSeconds of processor time, or 10^9 instructions. The ratios say how many times as fast.");
    Ok(())
}

impl Version {
    fn command(&self, way: Way, stream: &Path) -> Command {
        let mut command = match way {
            Way::Driver(way) => {
                let mut command = Command::new(&self.driver);
                command.arg(way);
                command
            }
            Way::Command(name) => {
                let mut command = Command::new(&self.telemetry);
                command.arg(name);
                if self.has_threads {
                    command.args(["--threads", "1"]);
                }
                command
            }
        };
        command.arg(stream).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns the processor time of a run: of the decoding alone, or of the command as a whole.
    fn seconds(&self, way: Way, stream: &Path) -> Result<f64, Box<dyn Error>> {
        let mut command = self.command(way, stream);
        match way {
            Way::Driver(_) => {
                let text = output(&mut command)?;
                Ok(text.split(' ').next().unwrap_or_default().parse()?)
            }
            Way::Command(_) => {
                let before = children();
                run(&mut command)?;
                Ok(children() - before)
            }
        }
    }
}

/// Returns the instructions of a run, in billions.
fn instructions(command: Command) -> Result<f64, Box<dyn Error>> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(command.get_program()).args(command.get_args());
    let output = valgrind.output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected :")).ok_or("valgrind counted nothing")?;
    Ok(line.split_whitespace().last().unwrap_or_default().parse::<f64>()? / 1e9)
}

/// The target directory of the builds.
fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    std::path::absolute(&target).unwrap_or(target)
}

/// Makes a worktree of a commit, unless there is one already.
fn worktree(root: &Path, dir: &Path, commit: &str) -> Result<PathBuf, Box<dyn Error>> {
    let tree = dir.join(commit).join("tree");
    if !tree.join("Cargo.toml").exists() {
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(["worktree", "add", "--force", "--detach"]).arg(&tree).arg(commit);
        run(git.stdout(Stdio::null()))?;
    }
    Ok(tree)
}

/// Builds the driver and the command of a version.
fn version(tree: &Path, dir: &Path) -> Result<Version, Box<dyn Error>> {
    let package = dir.join("driver");
    let has_batches = tree.join("telemetry-decode/src/decode/event_batch.rs").exists();
    let features = if has_batches { "" } else { "default = [\"without-batches\"]" };
    let tree_text = tree.display();
    let manifest = format!(
        "[package]\nname = \"driver\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [features]\n{features}\nwithout-batches = []\n\n\
         [dependencies]\nlibc = \"0.2\"\ntelemetry-events = {{ path = \"{tree_text}\", features = [\"decode\"] }}\n\n\
         [profile.release]\nlto = \"fat\"\ncodegen-units = 1\n\n[workspace]\n"
    );
    let work = "tests/registries/work.toml";
    for (path, text) in [
        ("Cargo.toml", manifest.as_str()),
        ("src/main.rs", include_str!("against/driver.rs")),
        ("common/mod.rs", include_str!("common/mod.rs")),
        ("events.toml", &std::fs::read_to_string(tree.join("events.toml"))?),
        (work, &std::fs::read_to_string(tree.join(work))?),
    ] {
        let path = package.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&package))?;
        write_changed(&path, text)?;
    }
    let builds = dir.join("target");
    let build = |args: &[&str], at: &Path| {
        run(Command::new(env!("CARGO")).args(args).arg("--target-dir").arg(&builds).current_dir(at))
    };
    build(&["build", "--release"], &package)?;
    // Without SQLite, which takes long to build and is not measured.
    build(&["build", "--release", "-p", "telemetry-cli", "--no-default-features"], tree)?;
    let telemetry = builds.join("release/telemetry");
    let has_threads = output(Command::new(&telemetry).args(["stats", "--help"]))?.contains("--threads");
    Ok(Version { driver: builds.join("release/driver"), telemetry, has_threads })
}

/// Writes a file, unless it has this text already. So cargo builds nothing again.
fn write_changed(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|known| known == text) {
        return Ok(());
    }
    std::fs::write(path, text)
}

/// Makes a short stream of `gcbench`, unless there is one.
fn gc_stream(root: &Path, dir: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let stream = dir.join("gc.tel");
    if !stream.exists() {
        let mut gcbench = Command::new(env!("CARGO"));
        gcbench
            .args(["run", "--release", "--example", "gcbench", "--target-dir"])
            .arg(dir.join("now/target"));
        gcbench.args(["--", "--iterations", "0.4"]).current_dir(root);
        run(gcbench
            .env("TELEMETRY_CONTROL", "all")
            .env("TELEMETRY_FILENAME", &stream)
            .stdout(Stdio::null()))?;
    }
    Ok(stream)
}

/// Runs a command that succeeds.
fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Returns the standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.stdout(Stdio::piped()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{command:?}: {}", output.status).into()),
    }
}

/// Returns the processor time of all ended child processes, in seconds.
#[cfg(unix)]
#[allow(unsafe_code)]
fn children() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(not(unix))]
fn children() -> f64 {
    f64::NAN
}
