//! The command line: the subcommands, and how each is run.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches, Parser};
use telemetry_format::FORMAT_VERSION;

#[cfg(feature = "sql")]
use super::sql;
use super::{
    address, c, census, check, cnv, completions, convert, csv, diff, flame, fleet, gdb, history, info, init,
    leaks, listen, man, mono, parquet, print, py, query, recover, registry, release, replay, report, scrub,
    show, spans, stats, txt, validate,
};
#[cfg(unix)]
use super::{control, doctor, list, tail, top};
use crate::term::ended::{Context, Ended, Run};
use crate::term::exit;

/// The version of the package and of the streams that it reads, and the commit of a release build.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit =
        option_env!("TELEMETRY_COMMIT").map_or_else(String::new, |commit| format!(", commit {commit}"));
    format!("{} (stream format {FORMAT_VERSION}{commit})", env!("CARGO_PKG_VERSION"))
});

/// Read telemetry streams, and check the registries that they are made from
#[derive(Parser)]
#[command(name = "telemetry", version = VERSION.as_str(), after_help = exit::HELP)]
pub(crate) struct Cli {
    /// Print only errors: no warnings, progress or verdict; the exit code stays the same
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands as `--help` shows them. Some are not in every build.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Look",
        &[
            "print", "info", "stats", "spans", "address", "census", "flame", "leaks", "diff", "report",
            "validate", "doctor",
        ],
    ),
    ("Query", &["query", "sql", "csv", "parquet"]),
    ("Convert and replay", &["convert", "scrub", "recover", "replay"]),
    ("Live", &["list", "control", "tail", "top", "listen", "gdb"]),
    ("Many hosts", &["ship", "collect", "lake"]),
    ("Registry", &["init", "check", "release", "history", "registry", "c", "py"]),
    ("MPS, GHC and Mono compatible", &["cnv", "txt", "show", "mono-debug", "mono-report"]),
    ("Shell", &["completions", "man"]),
];

impl Cli {
    /// Reads the command line. Ends the process after `--help`, `--version`, or wrong usage.
    pub(crate) fn read() -> Cli {
        let root = Cli::grouped();
        let matches = root.clone().get_matches_from(with_info(&root, std::env::args_os().collect()));
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Defines the command line, with the commands in groups.
    pub(crate) fn grouped() -> clap::Command {
        let command = Cli::command();
        let header = Styles::styled().get_header().to_owned();
        let name = Styles::styled().get_literal().to_owned();
        let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
        for (title, names) in GROUPS {
            // Writing to a string cannot fail.
            let _ = write!(template, "\n{header}{title}:{header:#}\n");
            for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                let _ = writeln!(template, "  {name}{:<11}{name:#}  {about}", command.get_name());
            }
        }
        template += "\n`telemetry help COMMAND` shows the options and examples of a command. `telemetry FILE` is\n\
                     `telemetry info FILE`.\n\n";
        let _ = write!(template, "{header}Options:{header:#}\n{{options}}{{after-help}}");
        command.help_template(template)
    }
}

/// Puts `info` before a file that stands in the place of a command. A command's name is no file.
fn with_info(root: &clap::Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_option = |argument: &OsString| argument == "-q" || argument == "--quiet";
    let Some(at) = (1..arguments.len()).find(|at| !is_option(&arguments[*at])) else { return arguments };
    let first = &arguments[at];
    let is_command = || first == "help" || root.find_subcommand(first).is_some();
    if !is_command() && is_file(Path::new(first)) {
        arguments.insert(at, "info".into());
    }
    arguments
}

/// Returns true for a file, and for what can only be meant as one.
fn is_file(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    match text {
        b"-" => true,
        [b'-', ..] => false,
        _ => path.extension().is_some() || text.contains(&b'/') || path.exists(),
    }
}

/// The commands by the types of their arguments.
macro_rules! commands {
    ($($(#[$cfg:meta])? $name:ident($args:ty),)*) => {
        #[derive(clap::Subcommand)]
        pub(crate) enum Command {
            $($(#[$cfg])? $name($args),)*
        }

        impl Run for Command {
            fn run(&self, context: &mut Context) -> Ended {
                match self {
                    $($(#[$cfg])? Command::$name(args) => args.run(context),)*
                }
            }
        }
    };
}

commands! {
    Print(print::Args),
    Csv(csv::Args),
    Parquet(parquet::Args),
    Query(query::Args),
    Ship(fleet::Ship),
    Collect(fleet::Collect),
    Lake(fleet::Lake),
    Convert(convert::Args),
    Scrub(scrub::Args),
    Cnv(cnv::Args),
    Txt(txt::Args),
    Show(show::Args),
    #[cfg(feature = "sql")]
    Sql(sql::Args),
    MonoDebug(mono::debug::Args),
    MonoReport(mono::tables::Args),
    Info(info::Args),
    Stats(stats::Args),
    Spans(spans::Args),
    Address(address::Args),
    Census(census::Args),
    Flame(flame::Args),
    Leaks(leaks::Args),
    Diff(diff::Args),
    Report(report::Args),
    Validate(validate::Args),
    Recover(recover::Args),
    Replay(replay::Args),
    Init(init::Args),
    Check(check::Args),
    Release(release::Args),
    Registry(registry::Args),
    History(history::Args),
    C(c::Args),
    Py(py::Args),
    Listen(listen::Args),
    Gdb(gdb::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[cfg(unix)]
    Doctor(doctor::Args),
    #[cfg(unix)]
    List(list::Args),
    #[cfg(unix)]
    Control(control::Args),
    #[cfg(unix)]
    Tail(tail::Args),
    #[cfg(unix)]
    Top(top::Args),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_command_is_for_info() {
        let root = Cli::grouped();
        let table = [
            ("telemetry", "telemetry"),
            ("telemetry gc.tel", "telemetry info gc.tel"),
            ("telemetry -q dir/gc --json", "telemetry -q info dir/gc --json"),
            ("telemetry -", "telemetry info -"),
            ("telemetry Cargo.toml a.tel", "telemetry info Cargo.toml a.tel"),
            ("telemetry src", "telemetry info src"),
            ("telemetry print gc.tel", "telemetry print gc.tel"),
            ("telemetry help print", "telemetry help print"),
            ("telemetry --version", "telemetry --version"),
            ("telemetry dance", "telemetry dance"),
        ];
        for (given, expected) in table {
            let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_info(&root, words(given)), words(expected));
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut defined: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.retain(|name| defined.contains(name));
        grouped.sort_unstable();
        defined.sort_unstable();
        assert_eq!(grouped, defined);
    }
}
