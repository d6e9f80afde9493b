//! Sends the segments of the spool.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::daemon::queue::{Next, Queue};
use crate::destination::{Destination, MAX_SENDING};
use crate::failpoint::failpoint;
use crate::log;
use crate::store::{Put, StoreError};
use crate::wire::WINDOW;

/// The longest time between two tries.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Sends until `stop` has a time, and then until that time or until the spool is empty. `to` may
/// change while it runs.
pub(crate) async fn send(
    queue: Arc<Queue>,
    to: Arc<Mutex<Destination>>,
    mut stop: watch::Receiver<Option<Instant>>,
) {
    let (mut sending, mut on_the_way) = (JoinSet::new(), 0);
    let (mut wait, mut not_before) = (Duration::from_secs(1), None::<Instant>);
    let mut problem = String::new();
    loop {
        let end = *stop.borrow_and_update();
        if end.is_some_and(|end| Instant::now() >= end || queue.is_empty()) {
            return;
        }
        let destination = to.lock().unwrap_or_else(PoisonError::into_inner).clone();
        destination.set_status(queue.status());
        let may_send = not_before.is_none_or(|time| Instant::now() >= time);
        if may_send
            && sending.len() < MAX_SENDING
            && let Some(next) = queue.next(WINDOW.saturating_sub(on_the_way), on_the_way == 0)
        {
            on_the_way += next.len;
            sending.spawn(async move {
                let put = destination.put(&next.name, &next.path).await;
                (next, put)
            });
            continue;
        }
        let until = [end, not_before.filter(|_| !may_send)].into_iter().flatten().min();
        let sent = tokio::select! {
            Some(sent) = sending.join_next() => sent,
            () = queue.added.notified() => continue,
            _ = stop.changed() => continue,
            () = async { tokio::time::sleep_until(until.unwrap_or_else(Instant::now)).await }, if until.is_some() => continue,
        };
        let Ok((next, put)) = sent else { continue };
        on_the_way -= next.len;
        match done(&queue, next, put) {
            Ok(()) => {
                if !std::mem::take(&mut problem).is_empty() {
                    log::line("sending again");
                }
                (wait, not_before) = (Duration::from_secs(1), None);
            }
            Err(error) => {
                // The same problem may last for hours.
                if error != problem {
                    log::line(format_args!("warning: {error}; segments stay in the spool"));
                    problem = error;
                }
                if not_before.is_none_or(|time| Instant::now() >= time) {
                    not_before = Some(Instant::now() + wait);
                    wait = (wait * 2).min(MAX_WAIT);
                }
            }
        }
    }
}

/// Notes the outcome of a segment.
fn done(queue: &Queue, next: Next, put: Result<Put, StoreError>) -> Result<(), String> {
    let figures = &queue.figures;
    let put = match put {
        Ok(put) => put,
        Err(error) => {
            figures.errors.fetch_add(1, Ordering::Relaxed);
            queue.failed(next);
            return Err(error.to_string());
        }
    };
    let refused = match put {
        Put::Stored => {
            figures.stored.fetch_add(1, Ordering::Relaxed);
            figures.sent_bytes.fetch_add(next.len, Ordering::Relaxed);
            None
        }
        Put::WasThere => {
            figures.were_there.fetch_add(1, Ordering::Relaxed);
            None
        }
        Put::Differs => Some("the store has another segment under this name".to_owned()),
        Put::Refused(why) => Some(why),
    };
    failpoint("ship-before-remove");
    let removed = match refused {
        None => queue.spool.remove(&next.path),
        Some(why) => {
            figures.refused.fetch_add(1, Ordering::Relaxed);
            queue.spool.refuse(&next.name, &next.path).map(|kept| {
                log::line(format_args!(
                    "error: segment {} is refused: {why}; it is kept as {}",
                    next.name,
                    kept.display()
                ));
            })
        }
    };
    if let Err(error) = removed {
        figures.error(format_args!("warning: {}: {error}", next.path.display()));
    }
    queue.gone(&next);
    Ok(())
}
