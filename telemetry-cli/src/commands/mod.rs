//! The subcommands: each a file with its options and a `run`.

mod check;
mod cnv;
#[cfg(unix)]
mod control;
#[cfg(unix)]
mod doctor;
mod history;
mod info;
#[cfg(unix)]
mod list;
mod listen;
mod print;
mod py;
mod recover;
mod release;
mod replay;
mod sql;
mod stats;
#[cfg(unix)]
mod tail;
mod txt;

use telemetry_decode::{Event, Events};

use crate::exit::{Ended, Failure};
use crate::input::cannot_read;
use crate::output::Output;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Print(print::Args),
    Cnv(cnv::Args),
    Txt(txt::Args),
    Sql(sql::Args),
    Info(info::Args),
    Stats(stats::Args),
    Recover(recover::Args),
    Replay(replay::Args),
    Check(check::Args),
    Release(release::Args),
    History(history::Args),
    Py(py::Args),
    Listen(listen::Args),
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
            Command::Cnv(args) => args.run(),
            Command::Txt(args) => args.run(),
            Command::Sql(args) => args.run(),
            Command::Info(args) => args.run(),
            Command::Stats(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Replay(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Release(args) => args.run(),
            Command::History(args) => args.run(),
            Command::Py(args) => args.run(),
            Command::Listen(args) => args.run(),
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

/// Writes all events as text. If the input fails on the way, what came before is written.
fn write_lines(
    events: &mut Events<'_>,
    mut output: Output,
    mut append_line: impl FnMut(&mut Vec<u8>, &Event<'_>),
) -> Result<(), Failure> {
    loop {
        match events.next() {
            Ok(Some(event)) => append_line(output.buffer(), &event),
            Ok(None) => return output.finish(),
            Err(error) => {
                output.flush()?;
                return Err(cannot_read(error));
            }
        }
        output.relieve()?;
    }
}
