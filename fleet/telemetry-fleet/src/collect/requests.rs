//! Requests of operators to programs of hosts.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::segment::Host;
use crate::wire::{Ask, Message, Reply, Request};

/// How long a host may take. It gives a program 60 s.
const ANSWER: Duration = Duration::from_secs(90);

/// The connections over which hosts take requests.
#[derive(Default)]
pub(crate) struct Requests {
    next: AtomicU32,
    links: Mutex<BTreeMap<Host, Vec<Arc<Link>>>>,
}

/// One connection.
struct Link {
    answers: mpsc::Sender<Message>,
    /// Requests that are not answered.
    waiting: Mutex<HashMap<u32, oneshot::Sender<Reply>>>,
}

/// The place of a connection among those that take requests, until it is dropped.
pub(crate) struct Joined {
    requests: Arc<Requests>,
    host: Host,
    link: Arc<Link>,
}

impl Requests {
    /// Adds a connection of a host.
    pub(crate) fn join(self: &Arc<Self>, host: &Host, answers: mpsc::Sender<Message>) -> Joined {
        let link = Arc::new(Link { answers, waiting: Mutex::default() });
        lock(&self.links).entry(host.clone()).or_default().push(link.clone());
        Joined { requests: self.clone(), host: host.clone(), link }
    }

    /// Asks a program of a host. Returns what it said.
    ///
    /// # Errors
    /// Why it was not done, as far as that is known.
    pub(crate) async fn ask(
        &self,
        host: &Host,
        ask: Ask,
        program: String,
        words: String,
    ) -> Result<String, String> {
        let latest = lock(&self.links).get(host).and_then(|links| links.last()).cloned();
        let link = latest.ok_or_else(|| {
            format!("host `{host}` is not connected, or takes no requests; help: see `allow` of its shipper")
        })?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        lock(&link.waiting).insert(number, reply);
        let request = Message::Request(Request { number, ask, program, words });
        let answered = async {
            // If the connection has ended, no answer comes.
            let _ = link.answers.send(request).await;
            answer.await
        };
        let answered = tokio::time::timeout(ANSWER, answered).await;
        lock(&link.waiting).remove(&number);
        match answered {
            Ok(Ok(Reply { is_done: true, text, .. })) => Ok(text),
            Ok(Ok(Reply { text, .. })) => Err(format!("host `{host}`: {text}")),
            Ok(Err(_)) => Err(format!("the connection of host `{host}` ended; it may be done or not")),
            Err(_) => Err(format!("host `{host}` did not answer for {} s", ANSWER.as_secs())),
        }
    }
}

impl Joined {
    /// Takes the answer of the host. One that comes too late is ignored.
    pub(crate) fn reply(&self, reply: Reply) {
        if let Some(waiting) = lock(&self.link.waiting).remove(&reply.number) {
            let _ = waiting.send(reply);
        }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut links = lock(&self.requests.links);
        if let Some(of_host) = links.get_mut(&self.host) {
            of_host.retain(|link| !Arc::ptr_eq(link, &self.link));
            if of_host.is_empty() {
                links.remove(&self.host);
            }
        }
        // Those who wait are told.
        lock(&self.link.waiting).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
