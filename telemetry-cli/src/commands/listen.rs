//! `telemetry listen`: streams received from programs, each session in a file of its own.
//!
//! Whoever can reach the address may send. Nothing of what is sent is trusted: all of it is checked, what
//! it may cost is limited, and none of its text is shown.

mod address;
mod connection;
mod limits;
mod receiver;
mod store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use address::Address;
use limits::{Limits, seconds};
use receiver::Receiver;
use store::Store;

use crate::exit::{Ended, Failure, Outcome, report};
use crate::interrupt;
use crate::output::Output;

const EXAMPLES: &str = "\
Each block is checked and then written to the file of its session, DIR/SESSION.tel, where SESSION is its id
in hexadecimal. A new connection of a session goes on in the same file; what is sent again, such as
registries, stands there once. Files never hold half a block. What is damaged or beyond a limit is refused
and counted, and the sender hears nothing of it; no file is ever removed to make room.

Whoever can reach the address may send, also in the name of a session that it is not: listen where only
programs that you trust can connect. A Unix socket is for your own user.

Examples:
  telemetry listen tcp:127.0.0.1:9000 -o streams
  telemetry listen unix:/run/user/1000/telemetry udp:127.0.0.1:9000 --max-disk 10G
  telemetry listen tcp:127.0.0.1:9000 --once && telemetry print *.tel

  TELEMETRY_FILENAME=tcp:127.0.0.1:9000 TELEMETRY_CONTROL=all ./program";

/// Receive streams over TCP, Unix sockets and UDP, and write a file per session
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to listen: tcp:HOST:PORT, unix:PATH or udp:HOST:PORT; with port 0 the system chooses one
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<Address>,

    /// Where the files go; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,

    #[command(flatten)]
    limits: Limits,

    /// Stop when at least one connection was made and all have ended; of datagrams, when a session ends
    #[arg(long)]
    once: bool,

    /// Stop after this time
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,

    /// What was received, as one JSON object
    #[arg(long)]
    json: bool,
}

/// How often it is looked whether to stop.
const TICK: Duration = Duration::from_millis(20);
/// How long connections may go on after that with what has arrived.
const GRACE: Duration = Duration::from_millis(1_500);

impl Args {
    pub(crate) fn run(&self) -> Ended {
        let store = Store::open(&self.output, &self.limits)
            .map_err(|error| Failure::new(format!("cannot write to `{}`: {error}", self.output.display())))?;
        let receiver = Arc::new(Receiver::new(self.limits.clone(), store));
        let stopped = receiver.clone();
        interrupt::stops(move || stopped.stop());
        // Files of sockets go away at the end, however that comes.
        let (mut bound, mut files) = (Vec::new(), Vec::new());
        for address in &self.addresses {
            let cannot = |error| Failure::new(format!("cannot listen on `{address}`: {error}"));
            let (listener, name) = address.bind().map_err(cannot)?;
            files.push(listener.file());
            bound.push(listener);
            report(format!("listening on `{name}`"));
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
        while receiver.connections() > 0 && since.elapsed() < GRACE {
            std::thread::sleep(TICK);
        }
        let received = receiver.finish();
        Output::stdout().show(self.json, &received, |out| received.append_text(out))?;
        report(received.verdict());
        Ok(Outcome::problems_if(received.refused.is_any()))
    }
}
