//! `telemetry listen`: receives streams from programs, and writes each session to its own file.
//!
//! Any program that can reach the address may send. The command trusts nothing: it checks all
//! bytes, limits their cost, and shows no text of senders.

mod accept;
mod address;
mod connection;
#[cfg(unix)]
mod control;
mod limits;
mod places;
mod receiver;
mod store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use address::Address;
use limits::Limits;
use receiver::Receiver;
use store::Store;

use crate::term::ended::{Context, Ended, Failure, Run};
use crate::term::interrupt;
use crate::term::json::JsonArgs;
use crate::term::message::note;
use crate::term::output::Output;
use crate::text::quantity::duration;

const EXAMPLES: &str = "\
Each block is checked and then written to DIR/SESSION.tel, where SESSION is the session's id in hexadecimal.
A new connection of a session continues its file; repeated blocks, such as registries, are written once. A
file has only complete blocks. Blocks that are damaged or exceed a limit are refused and counted; the sender
is not told. The command never removes a file.

Any program that can reach the address can send, even under another session's id. Listen only where you
trust all programs that can connect. A Unix socket accepts only your own user.

Examples:
  telemetry listen tcp:127.0.0.1:9000 -d streams
  telemetry listen unix:/run/user/1000/telemetry udp:127.0.0.1:9000 --max-disk 10G
  telemetry listen tcp:127.0.0.1:9000 --once && telemetry print *.tel

  TELEMETRY_FILENAME=tcp:127.0.0.1:9000 TELEMETRY_CONTROL=all ./program

With --control, `telemetry control`, `tail` and `top` reach a program that does not share /tmp, by the path of
its socket. The program must be started with TELEMETRY_BACK_CHANNEL=on:
  telemetry listen unix:/shared/telemetry -d streams --control
  telemetry control streams/0123456789abcdef.control Trace -TraceTick";

/// Receive streams over TCP, Unix sockets and UDP; write a file per session
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address: tcp:HOST:PORT, unix:PATH or udp:HOST:PORT; port 0 lets the system choose
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<Address>,

    /// Write the files to this directory, created if missing
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Make a socket DIR/SESSION.control for each program on a Unix socket, for `telemetry control`
    #[cfg(unix)]
    #[arg(long)]
    control: bool,

    #[command(flatten)]
    limits: Limits,

    /// Stop when all connections have ended, after at least one; for datagrams, when a session ends
    #[arg(long)]
    once: bool,

    /// Stop after this time: `30s`, `1m`, `1.5h`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    duration: Option<Duration>,

    #[command(flatten)]
    json: JsonArgs,
}

/// The interval between checks whether to stop.
const TICK: Duration = Duration::from_millis(20);
/// After a stop, connections may read for this long what has arrived.
const STOP_TIMEOUT: Duration = Duration::from_millis(1_500);

impl Run for Args {
    fn run(&self, context: &mut Context) -> Ended {
        let store = Store::open(&self.directory, &self.limits).map_err(|error| {
            Failure::new(format!("cannot write to `{}`: {error}", self.directory.display()))
        })?;
        let receiver = Receiver::new(self.limits.clone(), store);
        #[cfg(unix)]
        let receiver = receiver.with_control(self.control);
        let receiver = Arc::new(receiver);
        let stopped = receiver.clone();
        interrupt::stops(move || stopped.stop());
        // The files of sockets are removed at the end in any case.
        let (mut bound, mut files) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            let cannot = |error| Failure::new(format!("cannot listen on `{address}`: {error}"));
            let (listener, name) = address.bind().map_err(cannot)?;
            files.push(listener.file());
            bound.push(listener);
            note(format!("listening on `{name}`"));
        }
        for listener in bound {
            receiver
                .start(listener)
                .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
        }

        let since = Instant::now();
        let is_time = || self.duration.is_some_and(|duration| since.elapsed() >= duration);
        while !(receiver.is_stopping() || is_time() || self.once && receiver.is_done()) {
            std::thread::sleep(TICK);
        }
        receiver.stop();
        let since = Instant::now();
        while receiver.connections() > 0 && since.elapsed() < STOP_TIMEOUT {
            std::thread::sleep(TICK);
        }
        let received = receiver.finish();
        Output::stdout().show(self.json.is_on(), &received, |out| received.append_text(out))?;
        note(received.verdict());
        context.problem_if(received.refused.is_any());
        Ok(())
    }
}
