//! Mutation tests: cargo-mutants changes the code, and tests have to notice it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{cargo, root};

/// A package whose code is changed, and the tests that have to notice it.
struct Subject {
    package: &'static str,
    /// Files that are left out.
    without: &'static [&'static str],
    /// Names of mutants that do the same as the code, as regular expressions.
    equal: &'static [&'static str],
    /// Each round tries what the rounds before it missed: packages, and words for `cargo test`.
    rounds: &'static [(&'static str, &'static [&'static str])],
}

const SUBJECTS: &[Subject] = &[
    Subject {
        package: "telemetry-format",
        without: &[],
        // Bits that these functions join do not overlap.
        equal: &[
            r"replace \| with \^ in (short_\w+|long_unsigned|pair|state::pack|\w+::decode|\w+::selector)",
        ],
        rounds: &[
            ("telemetry-format", &["--lib", "--tests"]),
            ("telemetry-decode", &["--test", "suite"]),
            ("telemetry-runtime", &["--lib"]),
        ],
    },
    Subject {
        package: "telemetry-schema",
        without: &[],
        equal: &[],
        rounds: &[
            // A few tests take longer than all others together.
            (
                "telemetry-schema",
                &[
                    "--lib",
                    "--tests",
                    "--",
                    "--skip=hostile::",
                    "--skip=version::locks::",
                    "--skip=the_version_is_enough_from_the_needed_one_on",
                    "--skip=what_is_written_is_read_again",
                    "--skip=slots_number_every_delta_once",
                    "--skip=additions_can_always_be_put_right",
                ],
            ),
            ("telemetry-schema", &["--lib", "--tests"]),
        ],
    },
    Subject {
        package: "telemetry-decode",
        without: &[],
        equal: &[],
        rounds: &[
            // These tests take four fifths of the time.
            (
                "telemetry-decode",
                &[
                    "--lib",
                    "--test",
                    "suite",
                    "--",
                    "--skip=filter::what_is_wanted_comes",
                    "--skip=account::emitted_is_read_and_lost_and_missing",
                    "--skip=pieces::long_events_of_many_lanes",
                    "--skip=ahead::any_number_of_threads_reads_the_same_in_order",
                    "--skip=round_trip::every_sort_in_every_way",
                    "--skip=round_trip::any_registry_in_every_way",
                    "--skip=damage::a_bit_flipped_in_every_byte",
                    "--skip=damage::cut_at_every_byte",
                    "--skip=recover::lies_take_no_time",
                    "--skip=shards::any_number_of_threads_reads_the_same",
                ],
            ),
            ("telemetry-decode", &["--lib", "--test", "suite"]),
            ("telemetry-columns,telemetry-foreign", &["--lib", "--tests"]),
        ],
    },
    Subject {
        package: "telemetry-runtime",
        // Other systems and features are not compiled here, and models try the orders of `sync`.
        without: &[
            "telemetry-runtime/src/sys/**",
            "telemetry-runtime/src/sync/**",
            "telemetry-runtime/src/emit/position.rs",
            "telemetry-runtime/src/own/stacks/unwind.rs",
        ],
        equal: &[],
        rounds: &[
            ("telemetry-runtime", &["--lib"]),
            ("telemetry-events", &["--test", "memory", "--test", "suite"]),
        ],
    },
];

/// The number of mutants of each package that are tried, if it has as many.
const SAMPLE: usize = 500;

/// Chooses them.
const SEED: u64 = 1;

/// The share of mutants that tests have to notice.
const GOAL: f64 = 0.9;

/// The same for changed lines. They are few, and some mutants of them differ in nothing that a test
/// could notice.
const GOAL_OF_CHANGES: f64 = 0.75;

/// What became known of mutants, by their names.
type Outcomes = BTreeMap<String, &'static str>;

const MISSED: &str = "missed";
const UNVIABLE: &str = "unviable";

/// The files of cargo-mutants, and what each says.
const FILES: [&str; 4] = ["caught", "timeout", MISSED, UNVIABLE];

/// Runs what the words choose.
pub(crate) fn mutants(words: &[&str]) -> Result<(), String> {
    has_tool()?;
    match words {
        ["--changed", commit] => changed(commit, None),
        ["--changed", commit, "--seconds", seconds] => {
            let seconds = seconds.parse().map_err(|_| format!("found `{seconds}`, expected seconds"))?;
            changed(commit, Some(Duration::from_secs(seconds)))
        }
        [word, ..] if word.starts_with('-') => {
            Err(format!("found `{word}`, expected packages or --changed COMMIT; help: cargo xtask help"))
        }
        names => {
            if let Some(name) = names.iter().find(|name| SUBJECTS.iter().all(|of| of.package != **name)) {
                let known: Vec<&str> = SUBJECTS.iter().map(|of| of.package).collect();
                return Err(format!("found `{name}`, expected {}", known.join(", ")));
            }
            let is_chosen = |of: &&Subject| names.is_empty() || names.contains(&of.package);
            SUBJECTS.iter().filter(is_chosen).try_for_each(sample)
        }
    }
}

fn has_tool() -> Result<(), String> {
    let found = cargo().args(["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err("no cargo-mutants; help: cargo install cargo-mutants --locked".into()),
    }
}

/// Tries a random sample of a package's mutants, the same one each time. Goes on where the last run
/// stopped, as long as the sources stay as they are.
fn sample(subject: &Subject) -> Result<(), String> {
    let all = list(subject)?;
    let mut names: Vec<&String> = all.iter().collect();
    names.sort_by_key(|name| number(name));
    names.truncate(SAMPLE);
    let names: BTreeSet<&String> = names.into_iter().collect();
    let chosen = names.iter().flat_map(|name| ["--re".to_owned(), format!("^{}$", literal(name))]);
    let chosen: Vec<String> = chosen.collect();
    let folder = folder(subject.package)?;
    forget_other_sources(&folder, subject)?;
    let record = folder.join("record.txt");
    let mut outcomes = read_record(&record);
    // A run that was interrupted has not written its record.
    collect(&folder, &mut outcomes);
    outcomes.retain(|name, _| names.contains(name));
    for (tests, words) in subject.rounds {
        let mut command = command(subject, &folder, tests);
        command.arg("--iterate").args(&chosen);
        let ended = wait(command.arg("--").args(*words), None);
        collect(&folder, &mut outcomes);
        write_record(&record, &outcomes)?;
        ended?;
    }
    let (share, _) =
        tell(&format!("{}, {} of {} mutants", subject.package, names.len(), all.len()), &outcomes);
    expect(share, GOAL)
}

/// Returns the names of all mutants of a package.
fn list(subject: &Subject) -> Result<BTreeSet<String>, String> {
    let listed = base(subject).arg("--list").current_dir(root()).output();
    let listed = listed.map_err(|error| format!("cargo mutants --list: {error}"))?;
    if !listed.status.success() {
        return Err(format!("cargo mutants --list: {}", String::from_utf8_lossy(&listed.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
}

/// Returns a number that follows from the seed and a name (FNV-1a). The lowest are the sample.
fn number(name: &str) -> u64 {
    let seeded = name.bytes().chain(SEED.to_le_bytes());
    seeded.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns a regular expression that matches a name alone.
fn literal(name: &str) -> String {
    let escaped = |of: char| match r"\.+*?()|[]{}^$#&-~".contains(of) {
        true => format!("\\{of}"),
        false => of.to_string(),
    };
    name.chars().map(escaped).collect()
}

/// Removes what is known if the package, or one whose tests run, was another one then.
fn forget_other_sources(folder: &Path, subject: &Subject) -> Result<(), String> {
    let of = |words: &[&str]| {
        let run = Command::new("git").args(words).current_dir(root()).output();
        run.map(|run| String::from_utf8_lossy(&run.stdout).into_owned())
            .map_err(|error| format!("git: {error}"))
    };
    let tests = subject.rounds.iter().flat_map(|(packages, _)| packages.split(','));
    let mut sources = String::new();
    for package in tests.chain([subject.package]).collect::<BTreeSet<_>>() {
        // The folder of the root package has all others.
        let tree = if package == "telemetry-events" { "tests" } else { package };
        sources += &of(&["rev-parse", &format!("HEAD:{tree}")])?;
        sources += &of(&["diff", "HEAD", "--", tree])?;
    }
    let file = folder.join("sources.txt");
    if fs::read_to_string(&file).is_ok_and(|known| known == sources) {
        return Ok(());
    }
    let failed = |error| format!("{}: {error}", folder.display());
    fs::remove_dir_all(folder).and_then(|()| fs::create_dir_all(folder)).map_err(failed)?;
    fs::write(&file, sources).map_err(failed)
}

/// Reads what is known of mutants. A later run of cargo-mutants does not say again what it skips.
fn read_record(file: &Path) -> Outcomes {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| {
        let (outcome, name) = line.split_once(' ')?;
        Some((name.to_owned(), *FILES.iter().find(|known| **known == outcome)?))
    };
    text.lines().filter_map(line).collect()
}

fn write_record(file: &Path, outcomes: &Outcomes) -> Result<(), String> {
    let lines: String = outcomes.iter().map(|(name, outcome)| format!("{outcome} {name}\n")).collect();
    fs::write(file, lines).map_err(|error| format!("{}: {error}", file.display()))
}

/// Tries mutants of the lines that changed since a commit, in any order, for some time. The runtime
/// is left out: what notices most of its mutants takes minutes.
fn changed(commit: &str, time: Option<Duration>) -> Result<(), String> {
    let began = Instant::now();
    let mut outcomes = Outcomes::new();
    let mut changes = Vec::new();
    for subject in SUBJECTS.iter().filter(|of| of.package != "telemetry-runtime") {
        let diff =
            Command::new("git").args(["diff", commit, "--", subject.package]).current_dir(root()).output();
        let diff = diff.map_err(|error| format!("git diff: {error}"))?;
        if !diff.status.success() {
            return Err(format!("git diff {commit}: {}", String::from_utf8_lossy(&diff.stderr).trim()));
        }
        if !diff.stdout.is_empty() {
            changes.push((subject, diff.stdout));
        }
    }
    // Time may end with the first one, so each commit begins with another.
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    let head = head.map_err(|error| format!("git rev-parse: {error}"))?;
    let first = number(&String::from_utf8_lossy(&head.stdout)) as usize % changes.len().max(1);
    changes.rotate_left(first);
    for (subject, diff) in &changes {
        let left = time.map(|time| time.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            break;
        }
        let folder = folder(&format!("changed-{}", subject.package))?;
        let file = folder.join("changes.diff");
        fs::write(&file, diff).map_err(|error| format!("{}: {error}", file.display()))?;
        // What is there is of another commit.
        match fs::remove_dir_all(folder.join("mutants.out")) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("{}: {error}", folder.display()));
            }
            _ => {}
        }
        // All tests of the package itself: no round follows.
        let own = subject.rounds.iter().rfind(|(tests, _)| *tests == subject.package);
        let (tests, words) = own.unwrap_or(&subject.rounds[0]);
        let mut command = command(subject, &folder, tests);
        command.args(["--baseline", "skip", "--timeout", "60", "--shuffle", "--in-diff"]).arg(&file);
        wait(command.arg("--").args(*words), left)?;
        collect(&folder, &mut outcomes);
    }
    // Time decides how many are tried, so only what is no accident fails.
    let (_, high) = tell(&format!("lines changed since {commit}"), &outcomes);
    expect(high, GOAL_OF_CHANGES)
}

fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/mutants").join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn base(subject: &Subject) -> Command {
    let mut command = cargo();
    command.args(["mutants", "-p", subject.package]);
    for files in subject.without {
        command.args(["--exclude", files]);
    }
    for names in subject.equal {
        command.args(["--exclude-re", names]);
    }
    command
}

fn command(subject: &Subject, folder: &Path, tests: &str) -> Command {
    let mut command = base(subject);
    command.args(["--no-times", "--colors", "never", "--minimum-test-timeout", "60"]);
    command.arg("--output").arg(folder).args(["--test-package", tests]);
    // Without backtraces, because an interrupt of cargo-mutants is none of its mistakes.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("RUST_BACKTRACE", "0");
    // A mutant changes one function, and packages that depend on its own are built again.
    command.env("CARGO_INCREMENTAL", "1");
    command
}

/// Waits until cargo-mutants ends. After the time, interrupts it, so that it keeps what it knows.
fn wait(command: &mut Command, time: Option<Duration>) -> Result<(), String> {
    let began = Instant::now();
    let mut child = command.current_dir(root()).spawn().map_err(|error| format!("cargo mutants: {error}"))?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("cargo mutants: {error}"))? {
            // 2: some were missed; 3: some took too long.
            return match status.code() {
                Some(0 | 2 | 3) => Ok(()),
                _ => Err(format!("cargo mutants: {status}")),
            };
        }
        if time.is_some_and(|time| began.elapsed() > time) {
            return interrupt(&mut child);
        }
        thread::sleep(Duration::from_millis(200));
    }
}

fn interrupt(child: &mut Child) -> Result<(), String> {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    kill.and_then(|_| child.wait())
        .map(drop)
        .map_err(|error| format!("cannot interrupt cargo mutants: {error}"))
}

/// Adds what the last run of cargo-mutants found. A later round only knows better.
fn collect(folder: &Path, outcomes: &mut Outcomes) {
    for outcome in FILES {
        let file = folder.join("mutants.out").join(outcome).with_extension("txt");
        let names = fs::read_to_string(&file).unwrap_or_default();
        outcomes.extend(names.lines().map(|name| (name.to_owned(), outcome)));
    }
}

/// Prints what tests missed, and the share that they noticed. Returns it, and the upper end of its
/// interval.
fn tell(subject: &str, outcomes: &Outcomes) -> (f64, f64) {
    let count = |of: &str| outcomes.values().filter(|outcome| **outcome == of).count();
    let (missed, unviable) = (count(MISSED), count(UNVIABLE));
    let viable = outcomes.len() - unviable;
    for (name, _) in outcomes.iter().filter(|(_, outcome)| **outcome == MISSED) {
        eprintln!("missed: {name}");
    }
    if viable == 0 {
        eprintln!("{subject}: no mutants");
        return (1.0, 1.0);
    }
    let share = (viable - missed) as f64 / viable as f64;
    let (low, high) = interval(share, viable as f64);
    eprintln!(
        "{subject}: {} of {viable} viable mutants caught, {:.1} % ({:.1} to {:.1} %); {unviable} not viable",
        viable - missed,
        share * 100.0,
        low * 100.0,
        high * 100.0,
    );
    (share, high)
}

fn expect(share: f64, goal: f64) -> Result<(), String> {
    if share < goal {
        return Err(format!("tests caught too few mutants, expected {:.0} %", goal * 100.0));
    }
    Ok(())
}

/// Wilson's interval of a share, with 95 % confidence.
fn interval(share: f64, count: f64) -> (f64, f64) {
    let z = 1.96_f64;
    let middle = share + z * z / (2.0 * count);
    let spread = z * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
    let whole = 1.0 + z * z / count;
    ((middle - spread) / whole, (middle + spread) / whole)
}
