//! Programs as whole processes, and their costs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The argument that makes this program read the bare bytes.
pub(crate) const PASS: &str = "--pass";

/// The cost of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Of user and system.
    pub(crate) cpu: Duration,
    pub(crate) passed: Duration,
    /// At its peak.
    pub(crate) megabytes: f64,
}

impl Cost {
    /// More than any run costs.
    pub(crate) const MOST: Cost = Cost { cpu: Duration::MAX, passed: Duration::MAX, megabytes: 0.0 };

    /// Returns the lesser times of two runs, and the larger memory.
    pub(crate) fn better_of(&self, other: &Cost) -> Cost {
        Cost {
            cpu: self.cpu.min(other.cpu),
            passed: self.passed.min(other.passed),
            megabytes: self.megabytes.max(other.megabytes),
        }
    }
}

/// A program and its arguments.
pub(crate) struct Program {
    pub(crate) name: String,
    program: OsString,
    args: Vec<OsString>,
    /// A file that it makes, and that must not exist before.
    makes: Option<PathBuf>,
}

impl Program {
    /// Returns the command.
    pub(crate) fn telemetry(args: &[&str], files: &[&Path]) -> Program {
        let program = std::env::var_os("TELEMETRY").unwrap_or_else(|| env!("CARGO_BIN_EXE_telemetry").into());
        let args = args.iter().map(OsString::from).chain(files.iter().map(OsString::from));
        let args: Vec<OsString> = args.collect();
        let name = format!("telemetry {}", args[0].display());
        Program { name, program, args, makes: None }
    }

    /// Returns a program of another system, if it is installed.
    pub(crate) fn installed(program: &str, args: &[&str], log: &Path) -> Option<Program> {
        let found = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            println!("{program} is not installed: nothing to compare with");
            return None;
        }
        let name = [&[program], args].concat().join(" ");
        let args = args.iter().map(OsString::from).chain([log.into()]).collect();
        Some(Program { name, program: program.into(), args, makes: None })
    }

    /// Returns this program, reading the bare bytes of a log.
    pub(crate) fn bare_pass(log: &Path) -> Program {
        let program = std::env::current_exe().unwrap_or_default().into();
        Program {
            name: "bare pass over bytes".into(),
            program,
            args: vec![PASS.into(), log.into()],
            makes: None,
        }
    }

    /// Sets the file that it makes.
    pub(crate) fn makes(self, file: PathBuf) -> Program {
        Program { makes: Some(file), ..self }
    }

    /// Runs it.
    pub(crate) fn run(&self) -> io::Result<Cost> {
        if let Some(file) = self.makes.as_ref().filter(|file| file.exists()) {
            std::fs::remove_file(file)?;
        }
        let start = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut complaint = String::new();
        if let Some(stderr) = &mut child.stderr {
            stderr.read_to_string(&mut complaint)?;
        }
        let (usage, status) = wait(child.id())?;
        let passed = start.elapsed();
        if status != 0 {
            return Err(io::Error::other(format!("{} ended with {status:#x}: {complaint}", self.name)));
        }
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
        };
        let cpu = time(usage.ru_utime) + time(usage.ru_stime);
        Ok(Cost { cpu, passed, megabytes: usage.ru_maxrss as f64 * 1024.0 / 1e6 })
    }
}

/// Waits for a child. Returns the resources that this child alone used.
fn wait(pid: u32) -> io::Result<(libc::rusage, i32)> {
    // SAFETY: all its fields are numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both places are ours, and the child was not waited for.
    match unsafe { libc::wait4(pid as i32, &mut status, 0, &mut usage) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok((usage, status)),
    }
}

/// Reads a log in pieces of 64 KiB, and uses each byte.
pub(crate) fn pass(log: &Path) -> io::Result<()> {
    let mut file = File::open(log)?;
    let mut piece = vec![0; 64 << 10];
    let mut sum = 0_u64;
    loop {
        match file.read(&mut piece)? {
            0 => break,
            len => sum = piece[..len].iter().fold(sum, |sum, byte| sum.wrapping_add((*byte).into())),
        }
    }
    println!("{sum}");
    Ok(())
}
