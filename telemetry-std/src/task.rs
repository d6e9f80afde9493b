//! Tasks whose lives and polls are spans. They work in any executor, tokio's included.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::events;

/// Runs a future in a span `Task`, from its first poll to its end. It ends, too, if the future is
/// dropped before it is done. Each poll is a span `Poll` on the thread that polls.
///
/// ```ignore
/// tokio::spawn(telemetry_std::task::watch("request", serve(stream)));
/// ```
pub async fn watch<F: Future>(name: &'static str, future: F) -> F::Output {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed) + 1;
    let _task = events::task_scope!(number, telemetry::intern(name));
    let mut future = pin!(future);
    poll_fn(|context| {
        let _poll = events::poll_scope!(number);
        future.as_mut().poll(context)
    })
    .await
}
