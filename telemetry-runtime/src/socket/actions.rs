//! What can be asked of a process.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;

use crate::counters::Counters;
use crate::facts::{self, Quoted};
use crate::own::ControlMask;
use crate::registry::{self, Registry};
use crate::relation::Relation;
use crate::sinks::{Socket, Writer};
use crate::{clock, control, counters, drain, image, start};

/// Keys and values of an answer.
pub(crate) type Numbers = Vec<(&'static str, u64)>;

/// What can be asked of a process; its tests have one of their own.
pub(crate) trait Actions {
    /// What a mask has switched on, in words.
    fn get(&self, mask: ControlMask) -> String;
    /// Switches words of a mask on or off.
    fn change(&self, mask: ControlMask, on: bool, words: &str);
    /// A message for each word that names nothing.
    fn unknown(&self, words: &str) -> Vec<String>;
    /// Has everything written to the sinks.
    fn flush(&self);
    /// What became of the events.
    fn counters(&self) -> Numbers;
    /// The same by registry and kind.
    fn kinds(&self) -> Vec<(&'static str, &'static str, Numbers)>;
    /// The sinks: name, what went wrong first, and what became of the events on the way there.
    fn sinks(&self) -> Vec<(String, Option<String>, Numbers)>;
    /// Lines of TOML about the process.
    fn facts(&self) -> String;
    /// The registries in use.
    fn relations(&self) -> Vec<&'static Relation>;
    /// Writes all that is in memory to a file.
    fn snapshot(&self, to: File) -> io::Result<()>;
    /// Gives what is recorded from now on to a connection: the kinds that the words name, or those that
    /// are output.
    fn tail(&self, words: Option<&str>, to: UnixStream);
}

/// This process.
pub(crate) struct Process;

impl Actions for Process {
    fn get(&self, mask: ControlMask) -> String {
        match mask {
            ControlMask::Output => control::get(),
            ControlMask::Record => control::get_record(),
        }
    }

    fn change(&self, mask: ControlMask, on: bool, words: &str) {
        match (mask, on) {
            (ControlMask::Output, true) => control::set(words),
            (ControlMask::Output, false) => control::reset(words),
            (ControlMask::Record, true) => control::set_record(words),
            (ControlMask::Record, false) => control::reset_record(words),
        }
    }

    fn unknown(&self, words: &str) -> Vec<String> {
        let message = |(word, nearest): (String, Option<String>)| match nearest {
            Some(name) => format!("`{word}` names no kind and no event; help: did you mean `{name}`?"),
            None => format!("`{word}` names no kind and no event"),
        };
        control::unknown(words).into_iter().map(message).collect()
    }

    fn flush(&self) {
        drain::flush();
    }

    fn counters(&self) -> Numbers {
        numbers(&counters::counters())
    }

    fn kinds(&self) -> Vec<(&'static str, &'static str, Numbers)> {
        let kinds = counters::kind_counters().into_iter();
        kinds.map(|kind| (kind.registry, kind.kind, numbers(&kind.counters))).collect()
    }

    fn sinks(&self) -> Vec<(String, Option<String>, Numbers)> {
        let sinks = drain::sink_counters().into_iter();
        sinks
            .map(|sink| (sink.name, sink.failure, vec![("written", sink.written), ("lost", sink.lost)]))
            .collect()
    }

    fn facts(&self) -> String {
        let mut text = String::new();
        // Into a string, nothing fails.
        let _ = facts::session(&mut text, Some(facts::ticks_per_second()));
        let filename = start::filename();
        for (key, value) in [
            ("session", format!("{:016x}", start::session())),
            ("filename", filename.to_string_lossy().into_owned()),
            ("ring", image::ring().unwrap_or_default().to_string_lossy().into_owned()),
            ("policy", format!("{:?}", start::policy())),
        ] {
            text += &format!("{key} = {}\n", Quoted(value.as_bytes()));
        }
        text += &format!("latency = {:?}\n", start::latency().as_secs_f64());
        text += &format!("started_ns = {}\nnow_ns = {}\n", start::moment().wall, clock::now().wall);
        text
    }

    fn relations(&self) -> Vec<&'static Relation> {
        registry::all().filter(|registry| !registry.is_own()).map(Registry::relation).collect()
    }

    fn snapshot(&self, to: File) -> io::Result<()> {
        drain::snapshot_to(Writer::new(to))
    }

    fn tail(&self, words: Option<&str>, to: UnixStream) {
        // Whoever cannot be written to without waiting is not followed by.
        if let Ok(socket) = Socket::from_unix(to) {
            drain::add_sink(words, socket);
        }
    }
}

fn numbers(counters: &Counters) -> Numbers {
    let Counters { written, held, recycled, lost_pool, lost_nested, lost_sink, cut } = *counters;
    vec![
        ("emitted", counters.emitted()),
        ("written", written),
        ("held", held),
        ("recycled", recycled),
        ("lost_pool", lost_pool),
        ("lost_nested", lost_nested),
        ("lost_sink", lost_sink),
        ("cut", cut),
    ]
}
