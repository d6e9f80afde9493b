//! How an argument names a process: by its number, or by the name of its program.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use telemetry_schema::nearest;

use super::answer::Info;
use super::pid::Pid;
use super::place::{CONTROL, Place, Process};
use super::talk::NotTalking;
use crate::term::ended::Failure;
use crate::text::escaped_text;
use crate::text::hint::did_you_mean;

/// The maximum of processes that are asked at once.
const MAX_ASKED: usize = 64;

/// A process as an argument names it.
#[derive(Clone)]
pub(crate) enum ProcessName {
    Number(Pid),
    Program(String),
    /// A socket that `telemetry listen --control` has made.
    Socket(PathBuf),
}

impl FromStr for ProcessName {
    type Err = String;

    fn from_str(text: &str) -> Result<ProcessName, String> {
        match text.parse() {
            Ok(pid) => Ok(ProcessName::Number(pid)),
            // A number that is misspelled, or an option.
            Err(error) if text.is_empty() || !text.contains(|c: char| c.is_alphabetic()) => Err(error),
            Err(error) if text.starts_with('-') => Err(error),
            Err(_) if Path::new(text).extension().is_some_and(|end| end == CONTROL) => {
                Ok(ProcessName::Socket(text.into()))
            }
            Err(_) => Ok(ProcessName::Program(text.into())),
        }
    }
}

impl ProcessName {
    /// Returns true for the name of a program that at least one process runs.
    pub(crate) fn is_running(&self) -> bool {
        let ProcessName::Program(name) = self else { return true };
        running().is_ok_and(|all| all.iter().any(|(_, info)| info.program == *name))
    }

    /// Finds the process. A name of a program must be that of one process.
    pub(crate) fn find(&self) -> Result<Process, Failure> {
        let name = match self {
            ProcessName::Number(pid) => return Process::find(*pid),
            ProcessName::Socket(path) => return Process::via(path.clone()),
            ProcessName::Program(name) => name,
        };
        let (mut called, mut others) = (Vec::new(), Vec::new());
        for (process, info) in running()? {
            // Further runtimes of a process have the same name; they have numbers of their own.
            match info.program == *name {
                true if process.pid.copy == 1 => called.push(process),
                _ => others.push(info.program),
            }
        }
        let name = escaped_text(name);
        if called.len() > 1 {
            let numbers: Vec<_> = called.iter().map(|process| process.pid.to_string()).collect();
            return Err(Failure::new(format!(
                "{} processes are called `{name}`; help: name one by its number: {}",
                called.len(),
                numbers.join(", ")
            )));
        }
        called.pop().ok_or_else(|| {
            let help = match nearest(&name, others.iter().map(String::as_str)) {
                Some(near) => did_you_mean(near),
                None => "`telemetry list` shows the processes".to_string(),
            };
            Failure::new(format!("no running process is called `{name}`; help: {help}"))
        })
    }
}

/// Returns the processes that answer, with their answers.
fn running() -> Result<Vec<(Process, Info)>, Failure> {
    let processes: Vec<_> = Place::all()?.iter().flat_map(|place| place.find().processes).collect();
    let answers = ask_all(&processes);
    Ok(processes
        .into_iter()
        .zip(answers)
        .filter_map(|(process, info)| Some((process, info.ok()??)))
        .collect())
}

/// Asks many processes at once, since each may be slow. A process that has ended has no answer.
pub(crate) fn ask_all(processes: &[Process]) -> Vec<Result<Option<Info>, Failure>> {
    let ask = |process: &Process| match process.info() {
        Ok(info) => Ok(Some(info)),
        Err(NotTalking::Stale(_)) => {
            process.remove_stale();
            Ok(None)
        }
        Err(NotTalking::Silent(failure)) => Err(failure),
    };
    let together = |processes: &[Process]| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = processes.iter().map(|process| scope.spawn(move || ask(process))).collect();
            let panicked = |_| Err(Failure::new("a request panicked"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect::<Vec<_>>()
        })
    };
    processes.chunks(MAX_ASKED).flat_map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::ProcessName;

    #[test]
    fn sockets_have_an_end_of_their_own() {
        for (text, is_socket) in
            [("dir/01.control", true), ("01.control", true), ("control", false), ("a.b", false)]
        {
            assert_eq!(matches!(text.parse(), Ok(ProcessName::Socket(_))), is_socket, "{text}");
        }
    }

    #[test]
    fn names_are_not_numbers() {
        for text in ["app", "app-2", "4711x", "größe", "a b"] {
            assert!(matches!(text.parse(), Ok(ProcessName::Program(name)) if name == text), "{text}");
        }
        assert!(matches!("4711-2".parse(), Ok(ProcessName::Number(pid)) if pid.copy == 2));
        for text in ["", "-app", "01", "+1", "4711-0", "-"] {
            assert!(text.parse::<ProcessName>().is_err(), "{text}");
        }
    }
}
