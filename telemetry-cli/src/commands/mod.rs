//! The subcommands: each a file with its options and a `run`.

mod check;
mod cnv;
mod completions;
#[cfg(unix)]
mod control;
mod convert;
mod csv;
#[cfg(unix)]
mod doctor;
mod history;
mod info;
#[cfg(unix)]
mod list;
mod listen;
mod man;
mod mono;
mod print;
mod py;
mod recover;
mod release;
mod replay;
mod show;
mod spans;
mod sql;
mod stats;
#[cfg(unix)]
mod tail;
mod txt;
mod validate;

use crate::exit::Ended;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Print(print::Args),
    Csv(csv::Args),
    Convert(convert::Args),
    Cnv(cnv::Args),
    Txt(txt::Args),
    Show(show::Args),
    Sql(sql::Args),
    MonoDebug(mono::debug::Args),
    MonoReport(mono::tables::Args),
    Info(info::Args),
    Stats(stats::Args),
    Spans(spans::Args),
    Validate(validate::Args),
    Recover(recover::Args),
    Replay(replay::Args),
    Check(check::Args),
    Release(release::Args),
    History(history::Args),
    Py(py::Args),
    Listen(listen::Args),
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
}

impl Command {
    pub(crate) fn run(&self) -> Ended {
        match self {
            Command::Print(args) => args.run(),
            Command::Csv(args) => args.run(),
            Command::Convert(args) => args.run(),
            Command::Cnv(args) => args.run(),
            Command::Txt(args) => args.run(),
            Command::Show(args) => args.run(),
            Command::Sql(args) => args.run(),
            Command::MonoDebug(args) => args.run(),
            Command::MonoReport(args) => args.run(),
            Command::Info(args) => args.run(),
            Command::Stats(args) => args.run(),
            Command::Spans(args) => args.run(),
            Command::Validate(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Replay(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::History(args) => args.run(),
            Command::Py(args) => args.run(),
            Command::Listen(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
            #[cfg(unix)]
            Command::Doctor(args) => args.run(),
            #[cfg(unix)]
            Command::List(args) => args.run(),
            #[cfg(unix)]
            Command::Control(args) => args.run(),
            #[cfg(unix)]
            Command::Tail(args) => args.run(),
        }
    }
}
