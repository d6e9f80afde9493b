//! What a client can ask of a process.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::seat::Seat;
use super::usage::{PoolUsage, pool_usage};
use telemetry_format::NoticeTag;

use crate::control::switches::Mask;
use crate::drain::config;
use crate::drain::passes as drain;
use crate::memory::block::PAGE;
use crate::memory::facts::{self, Quoted};
use crate::memory::mapping;
use crate::memory::registry::{self, Registry};
use crate::model::registry_def::RegistryDef;
use crate::own::marks;
use crate::own::requests::{self, Answer};
use crate::own::switches as control;
use crate::run::clock;
use crate::run::state;
use crate::sinks::sink::{Batch, Sink, Start};
use crate::sinks::{Socket, Writer};
use crate::store::counters::{self, Counters, KindCounters};

/// Keys and values of an answer.
pub(crate) type Numbers = Vec<(&'static str, u64)>;
/// Registry, kind, and counts of its events.
pub(crate) type OfKind = (&'static str, &'static str, Numbers);
/// The first error of a sink: for programs, and as text.
pub(crate) type Failure = (NoticeTag, String);

/// The operations that a client can ask for. Tests have their own implementation.
pub(crate) trait Actions {
    /// Returns what is on in a mask, as words.
    fn get(&self, mask: Mask) -> String;
    /// Switches words of a mask on or off.
    fn change(&self, mask: Mask, on: bool, words: &str);
    /// Switches words on for a time.
    fn set_for(&self, words: &str, time: Duration);
    /// Returns a message for each word that matches nothing.
    fn unknown(&self, words: &str) -> Vec<String>;
    /// Writes everything to the sinks.
    fn flush(&self);
    /// Marks this moment with a text.
    fn mark(&self, text: &str);
    /// Returns what answers a request of this name, or why nothing does.
    fn answer_of(&self, name: &str) -> Result<Arc<Answer>, String>;
    /// Returns the counts of events.
    fn counters(&self) -> Numbers;
    /// Returns what the pool's memory is used for, in bytes.
    fn pool(&self) -> Numbers;
    /// Returns the same, and counts of events by registry and kind from the same reading. Those
    /// have how many bytes of each kind the flight recorder retains.
    fn counters_and_kinds(&self) -> (Numbers, Vec<OfKind>);
    /// Returns the sinks: name, first error, and counts of events.
    fn sinks(&self) -> Vec<(String, Option<Failure>, Numbers)>;
    /// Returns lines of TOML about the process.
    fn facts(&self) -> String;
    /// Returns the registries in use.
    fn defs(&self) -> Vec<&'static RegistryDef>;
    /// Writes everything in memory to a file.
    fn snapshot(&self, to: File) -> io::Result<()>;
    /// Sends what is recorded from now on to a connection: the kinds that the words name, or those
    /// that are output. The connection has the seat as long as it is open.
    fn tail(&self, words: Option<&str>, to: UnixStream, seat: Seat);
}

/// This process.
pub(crate) struct Process;

impl Actions for Process {
    fn get(&self, mask: Mask) -> String {
        control::shown(mask)
    }

    fn change(&self, mask: Mask, on: bool, words: &str) {
        match (mask, on) {
            (Mask::Output, true) => control::set(words),
            (Mask::Output, false) => control::reset(words),
            (Mask::Record, true) => control::set_record(words),
            (Mask::Record, false) => control::reset_record(words),
        }
    }

    fn set_for(&self, words: &str, time: Duration) {
        control::set_for(words, time);
    }

    fn unknown(&self, words: &str) -> Vec<String> {
        control::unknown(words)
    }

    fn flush(&self) {
        drain::flush();
    }

    fn mark(&self, text: &str) {
        marks::mark(text);
    }

    fn answer_of(&self, name: &str) -> Result<Arc<Answer>, String> {
        requests::answer_of(name)
    }

    fn counters(&self) -> Numbers {
        numbers(&counters::counters())
    }

    fn counters_and_kinds(&self) -> (Numbers, Vec<OfKind>) {
        let (all, kinds) = counters::counters_and_kinds();
        let retained = registry::all().flat_map(|registry| {
            let kinds = registry.def().kinds.iter();
            kinds.map(|kind| registry.kind(kind.bit).kept.pages() * PAGE)
        });
        let numbers_of = |(kind, retained): (KindCounters, usize)| {
            let mut numbers = numbers(&kind.counters);
            numbers.push(("retained_bytes", retained as u64));
            (kind.registry, kind.kind, numbers)
        };
        (numbers(&all), kinds.into_iter().zip(retained).map(numbers_of).collect())
    }

    fn pool(&self) -> Numbers {
        let PoolUsage { size, free, open, waiting, retained, lanes, labels } = pool_usage();
        let numbers = [
            ("size", size),
            ("free", free),
            ("open", open),
            ("waiting", waiting),
            ("retained", retained),
            ("lanes", lanes),
            ("labels", labels),
        ];
        numbers.map(|(key, number)| (key, number as u64)).into()
    }

    fn sinks(&self) -> Vec<(String, Option<Failure>, Numbers)> {
        let sinks = drain::sink_counters().into_iter();
        sinks
            .map(|sink| {
                let numbers = vec![("written", sink.written), ("lost", sink.lost)];
                (sink.name, sink.notice.zip(sink.failure), numbers)
            })
            .collect()
    }

    fn facts(&self) -> String {
        let mut text = String::new();
        // Writing to a string never fails.
        let _ = facts::session(&mut text, Some(facts::ticks_per_second()));
        let filename = config::output();
        for (key, value) in [
            ("session", format!("{:016x}", state::session())),
            ("filename", filename.to_string_lossy().into_owned()),
            ("ring", mapping::ring().unwrap_or_default().to_string_lossy().into_owned()),
            ("policy", format!("{:?}", state::policy())),
        ] {
            text += &format!("{key} = {}\n", Quoted(value.as_bytes()));
        }
        text += &format!("latency = {:?}\n", state::latency().as_secs_f64());
        text += &format!("started_ns = {}\nnow_ns = {}\n", state::moment().wall, clock::now().wall);
        text
    }

    fn defs(&self) -> Vec<&'static RegistryDef> {
        registry::all().filter(|registry| !registry.is_own()).map(Registry::def).collect()
    }

    fn snapshot(&self, to: File) -> io::Result<()> {
        drain::snapshot_to(Writer::new(to))
    }

    fn tail(&self, words: Option<&str>, to: UnixStream, seat: Seat) {
        // A connection that cannot be made non-blocking is closed.
        if let Ok(socket) = Socket::of_client(to) {
            drain::add_client(words, Client { socket, _seat: seat });
        }
    }
}

/// A client that follows the process.
struct Client {
    socket: Socket,
    _seat: Seat,
}

impl Sink for Client {
    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        self.socket.write(blocks)
    }

    fn begin(&mut self, bytes: usize) -> io::Result<Start> {
        self.socket.begin(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }

    fn is_behind(&self) -> bool {
        self.socket.is_behind()
    }

    fn unsent(&self) -> usize {
        self.socket.unsent()
    }

    fn forgotten(&mut self) -> usize {
        self.socket.forgotten()
    }

    fn is_closed(&self) -> bool {
        self.socket.is_closed()
    }

    fn after_fork(&mut self) -> bool {
        self.socket.after_fork()
    }

    fn name(&self) -> String {
        self.socket.name()
    }
}

fn numbers(counters: &Counters) -> Numbers {
    let Counters { written, retained, evicted, lost_pool, lost_reentrant, lost_sink, truncated } = *counters;
    vec![
        ("emitted", counters.emitted()),
        ("written", written),
        ("retained", retained),
        ("evicted", evicted),
        ("lost_pool", lost_pool),
        ("lost_reentrant", lost_reentrant),
        ("lost_sink", lost_sink),
        ("truncated", truncated),
    ]
}
