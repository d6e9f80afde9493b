//! Spans, their relations, and what is on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tracing::{Event, Level, Subscriber, info, info_span, span, warn_span};
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

use crate::recorded::{check, events, record};

#[test]
fn a_span_in_a_span() {
    let run = || {
        let _outer = info_span!("outer").entered();
        let inner = span!(target: "elsewhere", Level::TRACE, "inner").entered();
        drop(inner);
    };
    check(
        run,
        &[
            "SpanNew span:1 parent:none name:outer target:suite::spans level:Info site:spans",
            "SpanEnter span:1 name:outer",
            "SpanNew span:2 parent:1 name:inner target:elsewhere level:Trace site:spans",
            "SpanEnter span:2 name:inner",
            "SpanExit span:2",
            "SpanClose span:2",
            "SpanExit span:1",
            "SpanClose span:1",
        ],
    );
}

#[test]
fn a_span_on_two_threads() {
    let run = || {
        let span = info_span!("moved");
        span.in_scope(|| ());
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        thread::scope(|scope| {
            scope.spawn(|| tracing::dispatcher::with_default(&dispatch, || drop(span.entered())));
        });
    };
    check(
        run,
        &[
            "SpanNew span:1 parent:none name:moved target:suite::spans level:Info site:spans",
            "SpanEnter span:1 name:moved",
            "SpanExit span:1",
            "SpanEnter span:1 name:moved",
            "SpanExit span:1",
            "SpanClose span:1",
        ],
    );
}

#[test]
fn declared_parents_and_predecessors() {
    let run = || {
        let first = info_span!("first");
        let _around = info_span!("around").entered();
        let second = info_span!(parent: &first, "second");
        second.follows_from(&first);
        let third = warn_span!(parent: None, "third");
        info!(parent: &third, "of the third");
    };
    check(
        run,
        &[
            "SpanNew span:1 parent:none name:first target:suite::spans level:Info site:spans",
            "SpanNew span:2 parent:none name:around target:suite::spans level:Info site:spans",
            "SpanEnter span:2 name:around",
            "SpanNew span:3 parent:1 name:second target:suite::spans level:Info site:spans",
            "SpanFollows span:3 follows:1",
            "SpanNew span:4 parent:none name:third target:suite::spans level:Warn site:spans",
            "LogEvent number:none span:4 level:Info target:suite::spans site:spans message:of the third",
            "SpanClose span:4",
            "SpanClose span:3",
            "SpanExit span:2",
            "SpanClose span:2",
            "SpanClose span:1",
        ],
    );
}

/// The ids of `tracing` come again; numbers do not.
#[test]
fn no_number_comes_twice() {
    let lines = record("tracing:SpanNew", || (0..1000).for_each(|_| drop(info_span!("short"))));
    let last = "SpanNew span:1000 parent:none name:short target:suite::spans level:Info site:spans";
    assert_eq!(lines.last().map(String::as_str), Some(last));
}

/// A kind alone, and nothing.
#[test]
fn what_is_on() {
    let run = || {
        let _span = info_span!("around", number = 1).entered();
        info!("inside");
    };
    assert_eq!(record("tracing:SpanExit", run), ["SpanExit span:1"]);
    let log = "LogEvent number:none span:1 level:Info target:suite::spans site:spans message:inside";
    assert_eq!(record("tracing:Log", run), [log]);
    assert_eq!(record("", run), [""; 0]);
}

/// A span that was made while all was off stays unknown. Its children have no parent.
#[test]
fn switched_on_inside_a_span() {
    let run = || {
        telemetry::reset("tracing:all");
        let _unknown = info_span!("unknown").entered();
        telemetry::set("tracing:all");
        drop(info_span!("known"));
    };
    check(
        run,
        &[
            "SpanNew span:1 parent:none name:known target:suite::spans level:Info site:spans",
            "SpanClose span:1",
        ],
    );
}

/// Hears every event.
struct Other(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Other {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The layer asks for nothing while its events are off. Other layers get theirs.
#[test]
fn beside_other_layers() {
    let heard = Arc::new(AtomicUsize::new(0));
    let subscriber = Registry::default().with(telemetry_tracing::layer()).with(Other(heard.clone()));
    let run = || tracing::subscriber::with_default(subscriber, || info!("for the other"));
    events("", run, |event| panic!("{}", event.name()));
    assert_eq!(heard.load(Ordering::Relaxed), 1);
}
