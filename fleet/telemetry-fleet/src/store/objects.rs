//! Other objects beside the segments, for a program that keeps its own in the store.

use futures_util::TryStreamExt;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};

use crate::store::error::StoreError;
use crate::store::segments::{Store, TRIES, create};

/// The bytes of an object, and the state of the store that they are of.
#[derive(Debug, Clone)]
pub struct Tagged {
    /// The bytes.
    pub bytes: Vec<u8>,
    version: UpdateVersion,
}

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970, by the clock of the store.
    pub modified_ms: i64,
}

impl Store {
    /// Returns an object; `None` if there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.get_tagged(name).await?.map(|found| found.bytes))
    }

    /// Returns an object for [`Store::swap`]; `None` if there is none.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn get_tagged(&self, name: &str) -> Result<Option<Tagged>, StoreError> {
        let wrong = |error: Error| self.wrong(&format!("cannot read `{name}`"), &error);
        let found = match self.store.get(&self.key(name)).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(wrong)?,
        };
        let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
        let bytes = found.bytes().await.map_err(wrong)?.to_vec();
        Ok(Some(Tagged { bytes, version }))
    }

    /// Returns the names of all objects below a folder, in order.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        Ok(self.listed(folder).await?.into_iter().map(|listed| listed.name).collect())
    }

    /// Returns all objects below a folder, in the order of their names.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn listed(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        let before = match self.prefix.as_ref() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        let listed = self.store.list(Some(&self.key(folder))).map_ok(|meta| Listed {
            name: meta.location.as_ref()[before..].to_owned(),
            bytes: meta.size,
            modified_ms: meta.last_modified.timestamp_millis(),
        });
        let mut listed: Vec<_> = listed
            .try_collect()
            .await
            .map_err(|error| self.wrong(&format!("cannot list `{folder}`"), &error))?;
        listed.sort();
        Ok(listed)
    }

    /// Writes an object unless there is one of this name. Returns false if there is.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let (key, bytes) = (self.key(name), PutPayload::from(bytes));
        for _ in 0..TRIES {
            match self.store.put_opts(&key, bytes.clone(), create()).await {
                Ok(_) => return Ok(true),
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(self.wrong(&format!("cannot write `{name}`"), &error)),
            }
            // S3 also answers so to two writes at once, of which none has succeeded yet.
            match self.store.head(&key).await {
                Ok(_) => return Ok(false),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(self.wrong(&format!("cannot read `{name}`"), &error)),
            }
        }
        Err(StoreError::new(format!("{}: `{name}` is refused, but there is no such object", self.url)))
    }

    /// Replaces an object that has not changed since it was read. Returns false if it has.
    ///
    /// # Errors
    /// Those of the store. A directory cannot do this.
    pub async fn swap(&self, name: &str, old: &Tagged, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let options = PutOptions::from(PutMode::Update(old.version.clone()));
        match self.store.put_opts(&self.key(name), bytes.into(), options).await {
            Ok(_) => Ok(true),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) => {
                Ok(false)
            }
            Err(error) => Err(self.wrong(&format!("cannot write `{name}`"), &error)),
        }
    }

    /// Deletes an object, if there is one.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.store.delete(&self.key(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.wrong(&format!("cannot delete `{name}`"), &error)),
        }
    }
}
