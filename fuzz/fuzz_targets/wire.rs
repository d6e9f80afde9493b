//! Reads arbitrary bytes as what a peer of `ship` and `collect` sends: frames and their messages.
//! What is understood is written as it was.
#![no_main]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;

#[path = "../../fleet/telemetry-fleet/src/wire/mod.rs"]
#[allow(dead_code, unused_imports, unfulfilled_lint_expectations, reason = "this needs a part of it")]
mod wire;

use wire::{DATA_LEN, Kind, MAX_CONTROL, Message};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok((kind, len)) = now(wire::read_header(&mut rest)) {
        assert!(len <= if kind == Kind::Data { DATA_LEN } else { MAX_CONTROL });
        let mut payload = Vec::new();
        if now(wire::data(&mut rest, len, &mut payload)).is_err() {
            return;
        }
        match Message::parse(kind, &payload) {
            Ok(message) => {
                // Longer texts are cut, and a newer version may have more bytes.
                let frame = message.frame();
                let again = Message::parse(kind, &frame[8..]).unwrap();
                assert_eq!(again.frame(), frame);
                let _ = format!("{message:?}");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
});

/// Returns what a future gives that waits for nothing.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("bytes in memory are there"),
    }
}
