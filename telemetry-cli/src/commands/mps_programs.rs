//! The MPS's four programs. Under one of their names, the command has that program's options,
//! defaults, text and exit codes.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use super::cli::Cli;
use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::{exit, message};

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Cnv,
    Txt,
    Sql,
    Py,
}

/// The meaning of the arguments.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// A command of ours, with these arguments.
    Command(Vec<OsString>),
    /// The Python module.
    Module,
    Usage,
    /// The built-in tests of the program, which are not implemented.
    Tests,
}

impl Program {
    const ALL: [Program; 4] = [Program::Cnv, Program::Txt, Program::Sql, Program::Py];

    /// Returns the program of a name, which may have folders before it and `.exe` after it.
    pub(crate) fn of(called: &OsStr) -> Option<Program> {
        let stem = Path::new(called).file_stem()?;
        Program::ALL.into_iter().find(|program| stem == program.name())
    }

    const fn name(self) -> &'static str {
        match self {
            Program::Cnv => "mpseventcnv",
            Program::Txt => "mpseventtxt",
            Program::Sql => "mpseventsql",
            Program::Py => "mpseventpy",
        }
    }

    const fn usage(self) -> &'static str {
        match self {
            Program::Cnv => "[-f logfile] [-h]",
            Program::Txt => "[-l textlog] [-h]",
            Program::Sql => "[-i textlog] [-o database] [-dfprtv] [-h]",
            Program::Py => "[-h]",
        }
    }

    /// Returns the letters of options with a file, and of those without one.
    const fn options(self) -> (&'static str, &'static str) {
        match self {
            Program::Cnv => ("f", ""),
            Program::Txt => ("l", ""),
            Program::Sql => ("io", "dfprtv"),
            Program::Py => ("", ""),
        }
    }

    /// Runs the program with its arguments, which do not contain its name.
    pub(crate) fn run(self, arguments: impl Iterator<Item = OsString>) -> ExitCode {
        message::set_program(self.name());
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut context = Context::new(Cli::grouped);
        let ended = match self.asked(arguments, variable) {
            Ok(Asked::Command(arguments)) => match Cli::try_parse_from(&arguments) {
                Ok(cli) => cli.command.run(&mut context),
                Err(error) => Err(Failure::new(error)),
            },
            Ok(Asked::Module) => print(&telemetry_foreign::mps::python_module()),
            Ok(Asked::Tests) => Ok(()),
            Ok(Asked::Usage) => print(&self.usage_line()),
            Err(why) => {
                // If standard error is closed, there is no other place for it.
                let _ = std::io::stderr().write_all(self.usage_line().as_bytes());
                Err(Failure::new(why))
            }
        };
        // These programs have no other code for failures.
        match exit::code(ended, &context) {
            ExitCode::SUCCESS => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn usage_line(self) -> String {
        format!("Usage: {} {}\n", self.name(), self.usage())
    }

    fn asked(
        self,
        mut arguments: impl Iterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Asked, String> {
        let (with_file, without) = self.options();
        let (mut files, mut flags) = (Vec::new(), String::new());
        while let Some(argument) = arguments.next() {
            let bytes = argument.as_encoded_bytes();
            let [b'-', letter, rest @ ..] = bytes else {
                return Err(format!("`{}`, expected an option", argument.display()));
            };
            let letter = char::from(*letter);
            if with_file.contains(letter) {
                let file = match rest {
                    [] => arguments.next().ok_or_else(|| format!("-{letter} without a file"))?,
                    // The text follows the letter, which is ASCII.
                    _ => argument.to_string_lossy().chars().skip(2).collect::<String>().into(),
                };
                files.push((letter, file));
            } else if matches!(letter, 'h' | '?') {
                return Ok(Asked::Usage);
            } else if let Some(letter) =
                bytes[1..].iter().find(|letter| !without.contains(char::from(**letter)))
            {
                return Err(format!("unknown option -{}", char::from(*letter)));
            } else {
                flags.extend(bytes[1..].iter().map(|letter| char::from(*letter)));
            }
        }
        if flags.contains('t') {
            return Ok(Asked::Tests);
        }
        let file =
            |letter: char| files.iter().rev().find(|(of, _)| *of == letter).map(|(_, file)| file.clone());
        let mut command: Vec<OsString> = vec!["telemetry".into()];
        let mut add = |more: &[&OsStr]| command.extend(more.iter().map(OsString::from));
        match self {
            Program::Cnv => {
                let log = file('f').or_else(|| variable("MPS_TELEMETRY_FILENAME"));
                let log = log.unwrap_or_else(|| "mpsio.log".into());
                // The program warns of another version, and continues.
                add(&["cnv", "--input-format", "mps", "--lenient", "-f"].map(OsStr::new));
                add(&[&log]);
            }
            Program::Txt => {
                add(&["txt", "-l"].map(OsStr::new));
                add(&[&file('l').unwrap_or_else(|| "-".into())]);
            }
            Program::Sql => {
                let database = file('o').or_else(|| variable("MPS_TELEMETRY_DATABASE"));
                let database = database.unwrap_or_else(|| "mpsevent.db".into());
                add(&["sql", "-i"].map(OsStr::new));
                add(&[&file('i').unwrap_or_else(|| "-".into()), OsStr::new("-o"), &database]);
                for flag in flags.chars() {
                    // The command has these letters for other things, or not at all.
                    let flag = match flag {
                        'd' => "--delete".to_string(),
                        'f' => "--force".to_string(),
                        flag => format!("-{flag}"),
                    };
                    add(&[OsStr::new(&flag)]);
                }
            }
            Program::Py => return Ok(Asked::Module),
        }
        Ok(Asked::Command(command))
    }
}

fn print(text: &str) -> Ended {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::OutputClosed),
        Err(error) => Err(Failure::new(format!("cannot write to standard output: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_names() {
        for program in Program::ALL {
            for called in ["", "./", "/usr/local/bin/"] {
                assert_eq!(Program::of(OsStr::new(&format!("{called}{}", program.name()))), Some(program));
            }
        }
        for called in ["telemetry", "", "/", "mpsevent", "mpseventcnvs", "mpseventcnv/telemetry"] {
            assert_eq!(Program::of(OsStr::new(called)), None, "{called}");
        }
    }

    fn asked(program: Program, arguments: &str) -> Result<Asked, String> {
        let variable = |name: &str| (name == "MPS_TELEMETRY_FILENAME").then(|| "named.log".into());
        program.asked(arguments.split_whitespace().map(OsString::from), variable)
    }

    #[test]
    fn arguments_are_those_of_the_command() {
        let cases = [
            (Program::Cnv, "", "cnv --input-format mps --lenient -f named.log"),
            (Program::Cnv, "-f a.log", "cnv --input-format mps --lenient -f a.log"),
            (Program::Cnv, "-f-", "cnv --input-format mps --lenient -f -"),
            (Program::Txt, "", "txt -l -"),
            (Program::Txt, "-l a.txt", "txt -l a.txt"),
            (Program::Sql, "", "sql -i - -o mpsevent.db"),
            (Program::Sql, "-fp", "sql -i - -o mpsevent.db --force -p"),
            (Program::Sql, "-dv -i a.txt -r -o a.db -v", "sql -i a.txt -o a.db --delete -v -r -v"),
        ];
        for (program, arguments, expected) in cases {
            let expected = format!("telemetry {expected}");
            let expected = expected.split(' ').map(OsString::from).collect();
            assert_eq!(asked(program, arguments), Ok(Asked::Command(expected)));
        }
        let wrong = [
            (Program::Cnv, "a.log", "`a.log`, expected an option"),
            (Program::Cnv, "-f", "-f without a file"),
            (Program::Cnv, "-x", "unknown option -x"),
            (Program::Sql, "-dx", "unknown option -x"),
            (Program::Py, "-o a.py", "unknown option -o"),
            (Program::Txt, "-", "`-`, expected an option"),
        ];
        for (program, arguments, why) in wrong {
            assert_eq!(asked(program, arguments), Err(why.to_string()));
        }
        for program in Program::ALL {
            assert_eq!(asked(program, "-h"), Ok(Asked::Usage));
            assert_eq!(asked(program, "-?"), Ok(Asked::Usage));
        }
        assert_eq!(asked(Program::Py, ""), Ok(Asked::Module));
        assert_eq!(asked(Program::Sql, "-t"), Ok(Asked::Tests));
    }
}
