//! Logs as our own streams.

use telemetry_decode::foreign::Log;
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Order, Reader, Value};
use telemetry_schema::Registry;

/// Returns the events of a log, by time, with all facts of its sessions, without compression.
pub(crate) fn of_log(log: &[u8], format: impl Log + 'static) -> Vec<u8> {
    of_log_with(log, format, |_| {})
}

/// Returns the same, with registries that were changed when it was made.
pub(crate) fn of_log_with(log: &[u8], format: impl Log + 'static, change: impl Fn(&mut Registry)) -> Vec<u8> {
    let mut events = Reader::from_log(log, format).order(Order::Time).events().expect("readable");
    let mut writer = Writer::new(Vec::new()).long_runs();
    let mut ends = Vec::new();
    for session in events.sessions() {
        let (ticks, wall) = (session.clock.start_ticks(), session.clock.start_wall());
        writer.session(session.id, &session.facts, ticks, wall).expect("a session");
        for (thread, facts) in session.threads() {
            writer.thread(session.id, *thread, facts).expect("a thread");
        }
        for known in events.registries() {
            let mut registry = known.registry.clone();
            change(&mut registry);
            writer.registry(session.id, &registry).expect("a registry");
        }
        ends.push((session.id, ticks));
    }
    while let Some(event) = events.next().expect("readable") {
        let (session, registry) = (event.session().id, event.known_registry().fingerprint);
        let lane = Lane { session, thread: event.thread(), registry };
        let values: Vec<Value<'_>> = event.values().collect();
        writer.event(lane, event.schema().code, event.ticks(), &values).expect("an event");
        ends.iter_mut().filter(|(id, _)| *id == session).for_each(|(_, end)| *end = event.ticks());
    }
    for (session, end) in ends {
        writer.end(session, end).expect("an end");
    }
    writer.finish().expect("memory takes it")
}
