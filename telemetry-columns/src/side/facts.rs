//! Sessions, threads, labels, and names of addresses.

use telemetry_decode::{Facts, Session};

use crate::batch::table_batch::Batch;
use crate::model::sides::{LABELS, NAMES, SESSIONS, THREADS};
use crate::side::rows::Rows;

/// Returns the tables `session`, `thread`, `label` and `name`.
pub(crate) fn batches(sessions: &[Session]) -> Vec<Batch> {
    let mut batches = Vec::new();
    let [mut of_sessions, mut threads] = [SESSIONS, THREADS].map(|side| Rows::of_side(&side));
    let [mut labels, mut names] = [LABELS, NAMES].map(|side| Rows::of_side(&side));
    for session in sessions {
        let (id, clock) = (session.id, &session.clock);
        batches.extend(of_sessions.push([
            id.into(),
            session.facts.text("program").into(),
            (clock.start_wall() as i64).into(),
            (clock.start_wall() as i64).into(),
            clock.start_ticks().into(),
            clock.ticks_per_second().to_bits().into(),
            session.declared.into(),
            session.ended.into(),
            lines(&session.facts).as_str().into(),
        ]));
        for (thread, facts) in session.threads() {
            batches.extend(threads.push([
                id.into(),
                (*thread).into(),
                facts.text("name").into(),
                facts.number("tid").into(),
                lines(facts).as_str().into(),
            ]));
        }
        let mut all: Vec<_> = session.labels.labels().collect();
        all.sort_unstable();
        for (number, text) in all {
            batches.extend(labels.push([id.into(), number.into(), text.into()]));
        }
        for (role, value, ticks, name) in session.labels.address_names() {
            let ns = clock.ns(ticks);
            batches.extend(names.push([id.into(), value.into(), role.into(), ns.into(), name.into()]));
        }
    }
    batches.extend([of_sessions, threads, labels, names].iter_mut().filter_map(Rows::finish));
    batches
}

/// Returns facts as lines.
fn lines(facts: &Facts) -> String {
    facts.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}
