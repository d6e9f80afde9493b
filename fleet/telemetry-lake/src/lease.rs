//! The lease: one committer at a time works on a lake.
//!
//! It saves work. That each event is a row once does not depend on it.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use telemetry_fleet::store::Store;

use crate::lake::{LakeError, Result, json};

/// The right to commit, for some time.
#[derive(Debug)]
pub struct Lease {
    owner: String,
    seconds: u64,
    /// When it was taken last.
    taken: Cell<Option<Instant>>,
    /// In a directory: a locked file, which the system unlocks when the process ends.
    _lock: Option<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    owner: String,
    /// In seconds since 1970.
    until: u64,
}

const NAME: &str = "lease.json";

impl Lease {
    /// Takes the lease for this many seconds.
    ///
    /// # Errors
    /// Those of the store, and if another process has it.
    pub async fn take(store: &Store, seconds: u64) -> Result<Lease> {
        let owner = format!("{}-{}", std::process::id(), now().as_nanos());
        if let Some(dir) = store.dir() {
            let path = dir.join("lease.lock");
            let wrong = |error| LakeError::Other(format!("{}: {error}", path.display()));
            let lock = File::options().create(true).append(true).open(&path).map_err(wrong)?;
            return match lock.try_lock() {
                Ok(()) => Ok(Lease { owner, seconds, taken: Cell::new(None), _lock: Some(lock) }),
                Err(TryLockError::WouldBlock) => {
                    Err(LakeError::Other("another process commits to this lake".to_owned()))
                }
                Err(TryLockError::Error(error)) => Err(wrong(error)),
            };
        }
        let lease = Lease { owner, seconds, taken: Cell::new(None), _lock: None };
        lease.renew(store).await?;
        Ok(lease)
    }

    /// Takes the lease again if a third of it is over.
    ///
    /// # Errors
    /// Those of the store, and if another process has it meanwhile.
    pub async fn renew(&self, store: &Store) -> Result<()> {
        let is_fresh = self.taken.get().is_some_and(|taken| taken.elapsed().as_secs() < self.seconds / 3);
        if self._lock.is_some() || is_fresh {
            return Ok(());
        }
        self.take_again(store).await?;
        self.taken.set(Some(Instant::now()));
        Ok(())
    }

    async fn take_again(&self, store: &Store) -> Result<()> {
        let holder = Holder { owner: self.owner.clone(), until: now().as_secs() + self.seconds };
        let Some(old) = store.get_tagged(NAME).await? else {
            let is_taken = store.create(NAME, json(&holder)).await? || self.is_holder(store, &holder).await?;
            return if is_taken { Ok(()) } else { Err(taken()) };
        };
        match serde_json::from_slice::<Holder>(&old.bytes) {
            // Another process has worked meanwhile, and what this one has read may have changed.
            Ok(found) if found.owner != self.owner && self.taken.get().is_some() => Err(taken()),
            Ok(found) if found.owner != self.owner && found.until > now().as_secs() => {
                let seconds = found.until - now().as_secs();
                let text = format!("another process commits to this lake; its lease ends in {seconds} s");
                Err(LakeError::Other(text))
            }
            _ if store.swap(NAME, &old, json(&holder)).await? => Ok(()),
            _ if self.is_holder(store, &holder).await? => Ok(()),
            _ => Err(taken()),
        }
    }

    /// Says whether a write succeeded after all. Its answer may have been lost, and then a second
    /// try was refused.
    async fn is_holder(&self, store: &Store, wanted: &Holder) -> Result<bool> {
        let found = store.get(NAME).await?;
        let found = found.and_then(|bytes| serde_json::from_slice::<Holder>(&bytes).ok());
        Ok(found.is_some_and(|found| found.owner == self.owner && found.until == wanted.until))
    }

    /// Gives the lease back.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn give_back(self, store: &Store) -> Result<()> {
        if self._lock.is_none()
            && let Some(old) = store.get_tagged(NAME).await?
            && serde_json::from_slice::<Holder>(&old.bytes).is_ok_and(|found| found.owner == self.owner)
        {
            store.swap(NAME, &old, json(&Holder { owner: self.owner, until: 0 })).await?;
        }
        Ok(())
    }
}

fn taken() -> LakeError {
    LakeError::Other("another process has just begun to commit to this lake".to_owned())
}

fn now() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
