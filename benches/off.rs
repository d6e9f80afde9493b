//! The cost of events that are off, in a real program: `cargo bench --bench off`.
//!
//! Every build places loops at other addresses, and that alone changes the time of a program by
//! more than the test of a bit. So `gcbench` is linked several times with its functions in random
//! order, both with all events compiled out and with all events off. The means are compared.

#![allow(missing_docs, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Number of function orders, and number of runs of each.
const LAYOUTS: usize = 16;
const ROUNDS: usize = 11;

/// The varieties that are compared; `rash` is the base.
const VARIETIES: [&str; 3] = ["rash", "hot", "cool"];

fn main() {
    let target = target();
    let mut programs = Vec::new();
    for variety in VARIETIES {
        match build(&target, variety) {
            Ok(layouts) => programs.extend(layouts),
            Err(why) => return println!("SKIPPED: cannot link functions in random order: {why}"),
        }
    }
    // The minimum of several runs: other load on the machine only adds time.
    let mut best = vec![f64::INFINITY; programs.len()];
    for round in 0..ROUNDS {
        for at in 0..programs.len() {
            // Run all varieties of a layout in turn, so that slow phases affect all of them;
            // alternate the order.
            let (layout, variety) = (at / VARIETIES.len(), at % VARIETIES.len());
            let variety = if round % 2 == 0 { variety } else { VARIETIES.len() - 1 - variety };
            let at = variety * LAYOUTS + layout;
            best[at] = best[at].min(run(&programs[at]));
        }
    }
    println!("{:<12} {:>9} {:>9}   layouts", "", "mean", "of rash");
    let base = mean(&best[..LAYOUTS]);
    for (variety, times) in VARIETIES.iter().zip(best.chunks(LAYOUTS)) {
        let ratios: Vec<String> = times.iter().map(|time| format!("{:.3}", time / base)).collect();
        let error =
            (spread(times).powi(2) + spread(&best[..LAYOUTS]).powi(2)).sqrt() / (LAYOUTS as f64).sqrt();
        println!("{variety:<12} {:>7.4} s {:>9.3}   {}", mean(times), mean(times) / base, ratios.join(" "));
        if *variety != "rash" {
            println!("{:<12} {:>9} {:>9.3}   standard error of the ratio", "", "+-", error / base);
        }
    }
    println!("layouts of rash differ by +-{:.1} %", 100.0 * spread(&best[..LAYOUTS]) / base);
}

/// The target directory of the builds.
fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    std::path::absolute(target.join("off")).unwrap_or(target)
}

/// Builds `gcbench`, and links it several times, each time with its functions in another order.
fn build(target: &Path, variety: &str) -> Result<Vec<PathBuf>, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "--release", "--example", "gcbench", "--target-dir"]);
    cargo.arg(target.join(variety)).current_dir(env!("CARGO_MANIFEST_DIR")).env("TELEMETRY_VARIETY", variety);
    // Keep the object files and print the link command. Cargo prints it only if the options are
    // new.
    let once = format!("run_{}", std::process::id());
    let printed = stdout_of(cargo.args(["--", "-C", "save-temps", "--print", "link-args", "--cfg", &once]))?;
    let link =
        printed.lines().find(|line| line.contains("-o")).ok_or("the compiler printed no link command")?;
    let layouts = (1..=LAYOUTS).map(|layout| {
        let program = target.join(format!("gcbench-{variety}-{layout}"));
        let order = format!("-Wl,--shuffle-sections=.text*={layout}");
        let command = format!("{link} '{order}' -o '{}'", program.display());
        stdout_of(Command::new("sh").args(["-c", &command])).map(|_| program)
    });
    layouts.collect()
}

/// Standard output of a command that succeeds.
fn stdout_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if output.status.success() { Ok(stdout) } else { Err(stderr) }
}

/// Seconds of processor time of a run with all events off.
fn run(program: &Path) -> f64 {
    let before = children();
    let ran = Command::new(program)
        .args(["--threads", "1", "--iterations", "0.5"])
        .env("TELEMETRY_CONTROL", "0")
        .stdout(std::process::Stdio::null())
        .status();
    if ran.is_ok_and(|status| status.success()) { children() - before } else { f64::NAN }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// The standard deviation.
fn spread(times: &[f64]) -> f64 {
    let mean = mean(times);
    let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
    (squares / (times.len() - 1) as f64).sqrt()
}

/// User time of all ended child processes, in seconds.
#[cfg(unix)]
#[allow(unsafe_code)]
fn children() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
}

#[cfg(not(unix))]
fn children() -> f64 {
    f64::NAN
}
