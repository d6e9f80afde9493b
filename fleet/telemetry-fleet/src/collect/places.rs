//! How many connections there may be at a time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::segment::Host;

/// The most connections of one host.
const MAX_OF_HOST: usize = 8;

/// The places for connections: some for those that have not said who they are, and more for hosts.
#[derive(Debug)]
pub(crate) struct Places {
    max_unknown: usize,
    max_hosts: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// The oldest first.
    unknown: VecDeque<Arc<Notify>>,
    hosts: BTreeMap<Host, usize>,
    of_hosts: usize,
}

/// The place of a connection that has not said who it is.
#[derive(Debug)]
pub(crate) struct Unknown {
    places: Arc<Places>,
    replaced: Arc<Notify>,
}

/// The place of a host's connection.
#[derive(Debug)]
pub(crate) struct Known {
    places: Arc<Places>,
    host: Host,
}

impl Places {
    pub(crate) fn new(max_unknown: usize, max_hosts: usize) -> Arc<Places> {
        Arc::new(Places { max_unknown, max_hosts, taken: Mutex::default() })
    }

    /// Takes a place for a new connection. If there is none, the oldest connection that has not
    /// said who it is loses its place.
    pub(crate) fn unknown(self: &Arc<Self>) -> Unknown {
        let replaced = Arc::new(Notify::new());
        let mut taken = self.taken();
        if taken.unknown.len() >= self.max_unknown
            && let Some(oldest) = taken.unknown.pop_front()
        {
            oldest.notify_one();
        }
        taken.unknown.push_back(replaced.clone());
        Unknown { places: self.clone(), replaced }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unknown {
    /// Waits until the place is lost.
    pub(crate) async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// Takes a place of a host, beside this one.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn known(&self, host: &Host) -> Result<Known, String> {
        let mut taken = self.places.taken();
        if taken.of_hosts >= self.places.max_hosts {
            return Err(format!("the collector has {} connections, its most", self.places.max_hosts));
        }
        let of_host = taken.hosts.entry(host.clone()).or_default();
        if *of_host >= MAX_OF_HOST {
            return Err(format!("this host has {MAX_OF_HOST} connections already"));
        }
        *of_host += 1;
        taken.of_hosts += 1;
        drop(taken);
        Ok(Known { places: self.places.clone(), host: host.clone() })
    }
}

impl Drop for Unknown {
    fn drop(&mut self) {
        self.places.taken().unknown.retain(|one| !Arc::ptr_eq(one, &self.replaced));
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.of_hosts -= 1;
        if let Some(count) = taken.hosts.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                taken.hosts.remove(&self.host);
            }
        }
    }
}
