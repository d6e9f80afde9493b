//! Reads arbitrary bytes as requests to the control socket, one a line. A request is the same again
//! if it is written from what was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;

use control::switches::Mask;
use request::Request;

#[path = "../../telemetry-runtime/src/socket/request.rs"]
#[expect(dead_code, reason = "this needs a part of it")]
mod request;

/// What the requests of the runtime need of its other files.
mod control {
    pub(crate) mod switches {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Mask {
            Output,
            Record,
        }
    }
}

mod own {
    pub(crate) mod switches {
        use std::time::Duration;

        pub(crate) const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);
    }
}

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        match Request::parse(line) {
            Ok(request) => {
                let line = written(&request);
                assert_eq!(Request::parse(line.as_bytes()).as_ref(), Ok(&request), "{line}");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
});

fn written(request: &Request<'_>) -> String {
    match request {
        Request::Get => "get".to_string(),
        Request::Flush => "flush".to_string(),
        Request::Counters => "counters".to_string(),
        Request::Snapshot => "snapshot".to_string(),
        Request::Info => "info".to_string(),
        Request::Change { mask, on, words } => {
            let mask = if *mask == Mask::Record { "record " } else { "" };
            format!("{mask}{} {words}", if *on { "set" } else { "reset" })
        }
        Request::For { time, words } => {
            assert!(*time <= own::switches::MAX_TIME);
            format!("for {} {words}", time.as_millis())
        }
        Request::Unknown(words) => format!("unknown {words}"),
        Request::Tail(words) => format!("tail {}", words.unwrap_or_default()),
        Request::Mark(text) => format!("mark {text}"),
        Request::Ask(name, text) => format!("ask {name} {text}"),
    }
}
