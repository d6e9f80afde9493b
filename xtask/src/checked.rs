//! Tests under miri and the sanitizers, which need the nightly toolchain.

use std::process::Command;

use crate::run;

const HOST: &str = "x86_64-unknown-linux-gnu";

/// What a tool is given, and which tests it runs.
struct Check {
    name: &'static str,
    /// Variables of the environment.
    variables: &'static [(&'static str, &'static str)],
    /// The words of each run after `cargo +nightly`.
    runs: &'static [&'static [&'static str]],
}

/// Leaks are no mistakes: the runtime never frees its memory, and its thread ends with the process.
const CHECKS: &[Check] = &[
    Check {
        name: "miri",
        variables: &[("MIRIFLAGS", "-Zmiri-strict-provenance -Zmiri-disable-isolation -Zmiri-ignore-leaks")],
        runs: &[
            &["miri", "test", "--quiet", "--locked", "--target-dir", "target/miri", "--test", "memory"],
            &[
                "miri",
                "test",
                "--quiet",
                "--locked",
                "--target-dir",
                "target/miri",
                "-p",
                "telemetry-format",
                "--test",
                "suite",
                "--",
                "--skip",
                "every_",
            ],
        ],
    },
    Check {
        name: "tsan",
        variables: &[
            ("RUSTFLAGS", "-Zsanitizer=thread"),
            ("TSAN_OPTIONS", "exitcode=66 die_after_fork=0 report_thread_leaks=0"),
        ],
        // The two that are left out limit the memory of the process. The sanitizer needs more.
        runs: &[&[
            "test",
            "-Zbuild-std",
            "--locked",
            "--target",
            HOST,
            "--target-dir",
            "target/tsan",
            "--test",
            "memory",
            "--test",
            "suite",
            "--",
            "--test-threads",
            "2",
            "every_event",
            "loss::",
            "flight::",
            "outputs::",
            "latency::",
            "labels::",
            "--skip",
            "no_memory_for_a_pool",
            "--skip",
            "threads_that_come_and_go",
        ]],
    },
    Check {
        name: "asan",
        variables: &[("RUSTFLAGS", "-Zsanitizer=address"), ("ASAN_OPTIONS", "detect_leaks=0")],
        runs: &[
            &["test", "--locked", "--target", HOST, "--target-dir", "target/asan", "--test", "memory"],
            &[
                "test",
                "--locked",
                "--target",
                HOST,
                "--target-dir",
                "target/asan",
                "-p",
                "telemetry-format",
                "-p",
                "telemetry-schema",
                "-p",
                "telemetry-decode",
                "-p",
                "telemetry-foreign",
                "--lib",
                "--tests",
            ],
        ],
    },
];

/// The names of the tools.
pub(crate) fn is_check(name: &str) -> bool {
    CHECKS.iter().any(|check| check.name == name)
}

/// Runs the tests of a tool.
pub(crate) fn run_check(name: &str) -> Result<(), String> {
    let check = CHECKS.iter().find(|check| check.name == name).ok_or("no such tool")?;
    for words in check.runs {
        // rustup's `cargo` chooses the toolchain, not the one that runs this.
        let mut command = Command::new("cargo");
        command.env_remove("RUSTUP_TOOLCHAIN").env("PROPTEST_CASES", "2").arg("+nightly").args(*words);
        run(command.envs(check.variables.iter().copied()))?;
    }
    Ok(())
}
