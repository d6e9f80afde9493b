//! The program's configuration, and the stream's destination that follows from it.

use core::ffi::CStr;
use core::fmt::{self, Debug, Formatter};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telemetry_format::Notice;

use crate::run::state::Policy;
use crate::sinks::address::{open_or_refuse, refuse};
use crate::sinks::file::File;
use crate::sinks::sink::Sink;
use crate::sys;

/// The program's configuration, for settings that the environment does not contain.
///
/// ```
/// use telemetry_runtime::Config;
///
/// # let path = std::env::temp_dir().join("telemetry-doc.tel");
/// Config::new().output(path).control("all").start()?;
/// # Ok::<(), telemetry_runtime::AlreadyStarted>(())
/// ```
///
/// Every setting has an environment variable, which overrides it, so that the user who runs a
/// program decides. A program with raised privileges ignores the variables. They are read once, at
/// the start, and an invalid value counts as none. One variable has no method here:
/// `TELEMETRY_CLOCK`. Its value `os` selects the system's clock instead of the cycle counter.
#[derive(Default)]
#[must_use = "a configuration has no effect until `start`"]
pub struct Config {
    pub(crate) output: Option<OsString>,
    pub(crate) sink: Option<Box<dyn Sink>>,
    pub(crate) control: Option<String>,
    pub(crate) record: Option<String>,
    pub(crate) buffer: Option<usize>,
    pub(crate) latency: Option<Duration>,
    pub(crate) policy: Option<Policy>,
    pub(crate) sample: Option<Duration>,
    pub(crate) ring: Option<PathBuf>,
    pub(crate) socket: Option<bool>,
    pub(crate) back_channel: Option<bool>,
    pub(crate) traceback: Option<usize>,
    pub(crate) facts: Option<String>,
    pub(crate) summary: Option<bool>,
    pub(crate) signals: Option<bool>,
    pub(crate) triggers: String,
    pub(crate) sampling: Option<String>,
    pub(crate) sensitive: Option<bool>,
}

impl Config {
    /// Creates a configuration with all defaults.
    pub fn new() -> Self {
        Config::default()
    }

    /// Sets where the stream goes: a file, which the first block overwrites, or any other address
    /// that [`sinks::open`](crate::sinks::open) accepts. `TELEMETRY_FILENAME`; `telemetry.tel` in
    /// the working directory by default, where the last stream is kept as `telemetry.tel.old`.
    pub fn output(mut self, address: impl Into<OsString>) -> Self {
        self.output = Some(address.into());
        self
    }

    /// Sets where the stream goes instead of a file. [`crate::add_sink`] adds further sinks. If
    /// `TELEMETRY_FILENAME` is set, the stream goes there all the same.
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        self.sink = Some(Box::new(sink));
        self
    }

    /// Sets what is output at first, see [`crate::set`]. `TELEMETRY_CONTROL`, at most 4 kB of
    /// words; nothing by default.
    pub fn control(mut self, words: impl Into<String>) -> Self {
        self.control = Some(words.into());
        self
    }

    /// Sets what is recorded at first whether or not it is output, see [`crate::set_record`].
    /// `TELEMETRY_RECORD`; nothing by default.
    pub fn record(mut self, words: impl Into<String>) -> Self {
        self.record = Some(words.into());
        self
    }

    /// Sets the length of the pool that all blocks come from, rounded up to 64 KiB.
    /// `TELEMETRY_BUFFER`, a number of bytes or with the suffix `k`, `M` or `G`; 16 MiB by default.
    /// Pages that are never needed cost nothing. A thread takes at least 4 KiB for each kind that
    /// it records events of.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = Some(bytes);
        self
    }

    /// Sets how long an event that is output may stay in memory before it is written, from 1 ms to
    /// an hour. `TELEMETRY_LATENCY`, in seconds; 1 s by default.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = Some(latency);
        self
    }

    /// Sets what happens to events while the pool is full. `TELEMETRY_POLICY`: `drop`, the default,
    /// `overwrite`, `wait` for a second, or `wait:` and a number of seconds.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets how often counters that are on are sampled, from 1 ms to an hour. `Duration::ZERO`
    /// leaves only the samples at changes of the control, before snapshots, and at the end.
    /// `TELEMETRY_SAMPLE`, in seconds, or `off`; 1 s by default.
    pub fn sample(mut self, interval: Duration) -> Self {
        self.sample = Some(interval);
        self
    }

    /// Makes the pool a shared mapping of a file, so that nothing that was recorded is lost if the
    /// process is killed. `telemetry recover` reads the file. `%p` in the path is the number of the
    /// process. The path has at most 1,023 bytes. `TELEMETRY_RING`; none by default. Unix only.
    ///
    /// Space for the pool, and 64 KiB for session and registries, is reserved in the file at the
    /// start. If there is not enough, standard error reports it, and the process continues without
    /// a ring file. If another process uses the file, this ring file is `NAME.PID`, which is
    /// reported, too. A shared library with its own copy of the runtime counts as another process.
    ///
    /// The process creates the file, and only its owner may open it. The ring file of an earlier
    /// run that was killed is renamed, with `.old` after its name. A file of another user, a
    /// symbolic link, and any other file is left alone, and the process continues without a ring
    /// file. At the end of the process the file is removed, unless it contains events that no sink
    /// has taken.
    pub fn ring(mut self, path: impl Into<PathBuf>) -> Self {
        self.ring = Some(path.into());
        self
    }

    /// Sets whether the process has a control socket. With true it opens the socket now, and not
    /// ten milliseconds after its first emitter. `TELEMETRY_SOCKET`: `on`, `off`, or a path with a
    /// `/`. Such a path is `on` with that directory in place of `/tmp/telemetry-UID`. Unix only.
    pub fn socket(mut self, on: bool) -> Self {
        self.socket = Some(on);
        self
    }

    /// Sets whether the peer of a sink `unix:PATH` may ask and switch this process, as clients of
    /// the control socket may. It must be of the same user, or of root. Such a sink connects at the
    /// start, before there is an event. `TELEMETRY_BACK_CHANNEL`: `on`, or `off`, the default. Unix
    /// only.
    pub fn back_channel(mut self, on: bool) -> Self {
        self.back_channel = Some(on);
        self
    }

    /// Sets how many of its last events a panicking thread prints to standard error, after the
    /// message of the panic. The maximum is
    /// [`Traceback::MAX_EVENTS`](crate::Traceback::MAX_EVENTS). `TELEMETRY_TRACEBACK`; none by
    /// default.
    pub fn traceback(mut self, events: usize) -> Self {
        self.traceback = Some(events);
        self
    }

    /// Sets which facts streams contain besides those that they always contain. The words have
    /// spaces or commas between them. `args` is the program's arguments, `cwd` the working
    /// directory at the start, and `env:NAME` a variable of the environment. `TELEMETRY_FACTS`;
    /// none by default, since any of them may be a secret. Arguments are known on Linux and
    /// Windows.
    pub fn facts(mut self, words: impl Into<String>) -> Self {
        self.facts = Some(words.into());
        self
    }

    /// Sets whether a process that has lost events says so at its end, in one line on standard
    /// error. `TELEMETRY_SUMMARY`: `on`, the default, or `off`.
    pub fn summary(mut self, on: bool) -> Self {
        self.summary = Some(on);
        self
    }

    /// Sets whether a fatal signal is an event: `SIGSEGV`, `SIGBUS`, `SIGILL`, `SIGFPE`, `SIGABRT`,
    /// `SIGTRAP` and `SIGSYS`. The thread that got it then waits for the sinks, a second at most,
    /// and the signal does what it did before. `TELEMETRY_SIGNALS`: `1`, or `0`, the default. Linux
    /// only, and not for a runtime in a shared library.
    pub fn signals(mut self, on: bool) -> Self {
        self.signals = Some(on);
        self
    }

    /// Adds triggers, as [`crate::add_trigger`] does, separated by semicolons. A text that is no
    /// trigger is reported on standard error at the start. `TELEMETRY_TRIGGER`, which replaces all
    /// of them; none by default.
    pub fn trigger(mut self, text: &str) -> Self {
        self.triggers.push_str(text);
        self.triggers.push(';');
        self
    }

    /// Has threads sampled from their first event on. The first word is `cpu:RATE` or `wall:RATE`:
    /// what the timer of each thread measures, and how many samples there are in a second, at most
    /// 10,000. `stacks` adds call stacks. `signal:NUMBER` is the signal of the timers, `SIGPROF` by
    /// default. The words have spaces or commas between them. `TELEMETRY_SAMPLING`; `off` by
    /// default. Linux on x86-64 and aarch64 only.
    pub fn sampling(mut self, words: impl Into<String>) -> Self {
        self.sampling = Some(words.into());
        self
    }

    /// Sets whether sinks that leave the host, such as `tcp:`, get kinds with sensitive parameters
    /// that the registry does not allow them. `TELEMETRY_SENSITIVE`: `allow`, or `refuse`, the
    /// default.
    pub fn send_sensitive(mut self, allow: bool) -> Self {
        self.sensitive = Some(allow);
        self
    }
}

impl Debug for Config {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Config {
            output,
            sink,
            control,
            record,
            buffer,
            latency,
            policy,
            sample,
            ring,
            socket,
            back_channel,
            traceback,
            facts,
            summary,
            signals,
            triggers,
            sampling,
            sensitive,
        } = self;
        f.debug_struct("Config")
            .field("output", output)
            .field("sink", &sink.as_ref().map(|sink| sink.name()))
            .field("control", control)
            .field("record", record)
            .field("buffer", buffer)
            .field("latency", latency)
            .field("policy", policy)
            .field("sample", sample)
            .field("ring", ring)
            .field("socket", socket)
            .field("back_channel", back_channel)
            .field("traceback", traceback)
            .field("facts", facts)
            .field("summary", summary)
            .field("signals", signals)
            .field("triggers", triggers)
            .field("sampling", sampling)
            .field("sensitive", sensitive)
            .finish()
    }
}

/// The configuration, if the program has set one.
pub(crate) static CONFIG: Mutex<Option<Config>> = Mutex::new(None);

const FILENAME: &CStr = c"TELEMETRY_FILENAME";
/// The default file of the stream.
const DEFAULT_FILENAME: &str = "telemetry.tel";

/// Returns the sink of the stream: that of the configuration, unless the environment names a file.
pub(crate) fn sink() -> Box<dyn Sink> {
    let named = sys::env(FILENAME).is_some();
    let configured =
        CONFIG.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|config| config.sink.take());
    configured.filter(|_| !named).unwrap_or_else(|| {
        let chosen = sys::env(FILENAME).or_else(|| config(|config| config.output.clone()));
        match chosen {
            Some(address) => open_or_refuse(address),
            None if sys::is_privileged() => refuse(DEFAULT_FILENAME, Notice::SinkPrivileged, PRIVILEGED),
            None => Box::new(File::by_default(DEFAULT_FILENAME)),
        }
    })
}

/// Why a program with raised privileges has no stream by default.
const PRIVILEGED: &str = "the user who starts a program with raised privileges chooses its directory; \
                          help: name a path from the root on in `Config::output`";

/// Returns the address of the stream, unless [`Config::sink`] replaces it.
#[must_use]
pub fn output() -> PathBuf {
    let address = sys::env(FILENAME).or_else(|| config(|config| config.output.clone()));
    address.map_or_else(|| DEFAULT_FILENAME.into(), PathBuf::from)
}

fn config<T>(get: impl Fn(&Config) -> Option<T>) -> Option<T> {
    CONFIG.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(get)
}

/// Takes the lock of the configuration, before a fork. A child could not wait for another thread's
/// lock.
pub(crate) fn hold() -> Option<MutexGuard<'static, Option<Config>>> {
    let mut held = None;
    sys::wait(Duration::from_millis(100), || {
        held = CONFIG.try_lock().ok();
        held.is_some()
    });
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinks::Memory;

    #[test]
    fn a_configuration_has_what_was_set() {
        let config = Config::new()
            .output("a.tel")
            .sink(Memory::new(1))
            .control("b")
            .record("c")
            .buffer(1)
            .latency(Duration::from_millis(2))
            .policy(Policy::OverwriteOldest)
            .sample(Duration::from_millis(3))
            .ring("d")
            .socket(false)
            .back_channel(true)
            .traceback(4)
            .facts("e")
            .summary(false)
            .signals(true)
            .trigger("f")
            .trigger("g")
            .sampling("h")
            .send_sensitive(true);
        let expected = "Config { output: Some(\"a.tel\"), sink: Some(\"memory\"), control: Some(\"b\"), \
                        record: Some(\"c\"), buffer: Some(1), latency: Some(2ms), \
                        policy: Some(OverwriteOldest), sample: Some(3ms), ring: Some(\"d\"), \
                        socket: Some(false), back_channel: Some(true), traceback: Some(4), \
                        facts: Some(\"e\"), summary: Some(false), signals: Some(true), \
                        triggers: \"f;g;\", sampling: Some(\"h\"), sensitive: Some(true) }";
        assert_eq!(format!("{config:?}"), expected);
    }
}
