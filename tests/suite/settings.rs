//! The settings of a program: environment and configuration, and what is said of wrong ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use telemetry::Config;

use crate::control::connect;
use crate::support::process::child;
use crate::support::stream::Stream;
use crate::work;

/// The events that are on at the first event, by the words of the environment and of the
/// configuration.
fn check_first_event(environment: Option<&str>, configured: Option<&str>, expected: &str) {
    let run = child(
        "settings::the_environment_wins",
        |process| {
            let variables = [
                ("TELEMETRY_CONTROL", environment),
                ("CONFIGURED", configured),
                ("EXPECTED", Some(expected)),
            ];
            let process = process.without("TELEMETRY_CONTROL");
            let set = variables.into_iter().filter_map(|(name, words)| Some((name, words?)));
            set.fold(process, |process, (name, words)| process.env(name, words))
        },
        || {
            if let Ok(words) = std::env::var("CONFIGURED") {
                Config::new().control(words).start().unwrap();
                assert!(Config::new().control("all").start().is_err(), "it runs already");
            }
            for number in 0..3_u64 {
                work::alloc!(number, 0_u64, 0_u64, 0);
                work::named!(number, 0_u64, 0_u64, 0, "");
            }
            assert_eq!(telemetry::control::enabled(), std::env::var("EXPECTED").expect("what is on"));
            vec![]
        },
    );
    let emitted = ["work:Alloc", "work:Named"].iter().filter(|name| expected.contains(*name)).count();
    match emitted {
        0 => assert!(!run.path().exists(), "a stream of nothing"),
        kinds => assert_eq!(run.stream().events.len(), 3 * kinds),
    }
}

#[test]
fn the_environment_wins() {
    check_first_event(None, None, "");
    check_first_event(None, Some("Named"), "work:Named");
    check_first_event(Some("Alloc"), Some("Named"), "work:Alloc");
    check_first_event(Some(""), Some("Named"), "");
    check_first_event(Some("1 -Named"), None, "work:Alloc");
}

/// The file of the environment wins, then that of the configuration, then the default in the
/// working directory. A flush before the configuration changes nothing.
fn check_filename(environment: Option<&str>, configured: Option<&str>, expected: &str) {
    let run = child(
        "settings::the_stream_goes_where_it_is_told",
        |process| {
            let process = process.without("TELEMETRY_FILENAME");
            let process =
                environment.iter().fold(process, |process, name| process.env("TELEMETRY_FILENAME", name));
            configured.iter().fold(process, |process, name| process.env("CONFIGURED", name))
        },
        || {
            telemetry::flush();
            if let Ok(name) = std::env::var("CONFIGURED") {
                Config::new().output(name).start().unwrap();
            }
            work::tick!();
            vec![]
        },
    );
    assert_eq!(Stream::read(run.dir().join(expected)).events.len(), 1);
    let streams = std::fs::read_dir(run.dir()).expect("a directory").flatten();
    let streams = streams.filter(|entry| entry.path().extension().is_some_and(|end| end == "tel"));
    assert_eq!(streams.count(), 1);
}

#[test]
fn the_stream_goes_where_it_is_told() {
    check_filename(None, None, "telemetry.tel");
    check_filename(None, Some("configured.tel"), "configured.tel");
    check_filename(Some("environment.tel"), Some("configured.tel"), "environment.tel");
    check_filename(Some(""), Some("configured.tel"), "configured.tel");
}

/// Invalid values for each variable, in one of two runs not UTF-8; how those are shown; and the
/// expected notices, in the order in which the variables are read.
type Setting = (&'static str, &'static [u8], &'static str, &'static str);
const SETTINGS: [&[Setting]; 2] = [
    &[
        ("TELEMETRY_CLOCK", b"sundial", "sundial", "`os`"),
        ("TELEMETRY_POLICY", b"sometimes", "sometimes", "`drop`, `overwrite`, `wait` or `wait:SECONDS`"),
        ("TELEMETRY_LATENCY", b" -3 ", "-3", "a number of seconds, 0.001 to 3600"),
        ("TELEMETRY_TRACEBACK", b"many", "many", "a number of events"),
        ("TELEMETRY_BUFFER", b"lots", "lots", "a number of bytes, such as `65536`, `64k` or `16M`"),
    ],
    &[
        ("TELEMETRY_CLOCK", b"o\xffs", "o\\xffs", "`os`"),
        ("TELEMETRY_POLICY", b"\xc3", "\\xc3", "`drop`, `overwrite`, `wait` or `wait:SECONDS`"),
        ("TELEMETRY_LATENCY", b"1\xfe\xff ", "1\\xfe\\xff", "a number of seconds, 0.001 to 3600"),
        ("TELEMETRY_TRACEBACK", b"\xe2\x825", "\\xe2\\x825", "a number of events"),
        ("TELEMETRY_BUFFER", b"64\xb5", "64\\xb5", "a number of bytes, such as `65536`, `64k` or `16M`"),
        ("TELEMETRY_CONTROL", b"\xff none", "\\xff none", "words that name kinds and events"),
        ("TELEMETRY_RECORD", b"all\xff", "all\\xff", "words that name kinds and events"),
    ],
];

/// An invalid value counts as absent and is reported once; the program's settings apply. The
/// latency of a configuration, like all of it, applies only if the environment has none.
#[test]
fn settings_that_cannot_be_understood() {
    for (number, settings) in SETTINGS.iter().enumerate() {
        let run = child(
            "settings::settings_that_cannot_be_understood",
            |process| {
                settings
                    .iter()
                    .fold(process, |process, (name, value, ..)| process.env(name, OsStr::from_bytes(value)))
            },
            || {
                let config = Config::new().latency(Duration::ZERO).buffer(0).control("all").record("Precise");
                config.start().unwrap();
                for number in 0..100_u64 {
                    work::alloc!(number, number, number, 1);
                }
                assert_eq!(telemetry::recorder::enabled(), "work:Precise");
                vec![]
            },
        );
        let said: Vec<&str> = run.stderr.lines().collect();
        let expected: Vec<String> = settings
            .iter()
            .map(|(name, _, shown, expected)| {
                format!("telemetry: [invalid-setting] {name} is `{shown}`, expected {expected}")
            })
            .collect();
        assert_eq!(said, expected, "run {number}");
        assert_eq!(run.stream().events.len(), 100, "run {number}");
    }
}

/// Space around the value of `TELEMETRY_SOCKET` is ignored, and a directory may have any name. The
/// socket is there from the start.
#[test]
fn what_is_said_of_the_socket() {
    let check = |set: &[u8], directory: Option<&[u8]>, emits: bool, complaint: &str| {
        let run = child(
            "settings::what_is_said_of_the_socket",
            |process| {
                let process = process.env("TELEMETRY_CONTROL", if emits { "all" } else { "" });
                let process = process.env("TELEMETRY_SOCKET", OsStr::from_bytes(set));
                directory
                    .into_iter()
                    .fold(process, |process, name| process.env("DIRECTORY", OsStr::from_bytes(name)))
            },
            || {
                Config::new().start().unwrap();
                // The invalid setting has been reported by now, whatever other threads do.
                work::tick!();
                if let Some(directory) = std::env::var_os("DIRECTORY") {
                    drop(connect(Path::new(&directory)));
                }
                vec![]
            },
        );
        assert_eq!(run.stderr, complaint, "{}", set.escape_ascii());
    };
    check(b" ", None, true, "");
    check(b" off\t", None, true, "");
    check(b"./s\xff", Some(b"s\xff"), false, "");
    let complaint = "telemetry: [socket-failed] no control socket: TELEMETRY_SOCKET is `so\\xff`, expected `on`, `off` or a path; \
                     help: set TELEMETRY_SOCKET=off to do without it\n";
    check(b"so\xff", None, false, complaint);
    check(b"so\xff", None, true, complaint);
}
