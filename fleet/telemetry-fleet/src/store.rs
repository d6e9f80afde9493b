//! The store that segments are shipped to.

use std::fmt;
use std::path::Path;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use url::Url;

use crate::segment::SegmentName;

/// A directory or an S3 bucket, in which an object is written once and never changes.
#[derive(Debug)]
pub struct Store {
    store: Box<dyn ObjectStore>,
    /// What the names of objects begin with.
    prefix: Key,
    url: Url,
}

/// What the store did with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It has the segment now.
    Stored,
    /// It had the same bytes before.
    WasThere,
    /// It holds other bytes under this name.
    Differs,
}

/// Why a store cannot be used.
#[derive(Debug)]
pub struct StoreError(String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// How often a write is tried that the store refuses although it has no such object.
const TRIES: u32 = 5;

impl Store {
    /// Opens the store at `file:///DIR` or `s3://BUCKET/PREFIX`. S3 takes its region, endpoint and
    /// credentials from the environment: `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and
    /// so on.
    ///
    /// # Errors
    /// For other addresses, and for a directory that cannot be created.
    pub fn open(address: &str) -> Result<Store, StoreError> {
        let invalid = |why: &dyn fmt::Display| {
            StoreError(format!(
                "`{address}` is not a store: {why}; expected file:///DIR or s3://BUCKET/PREFIX"
            ))
        };
        let url = Url::parse(address).map_err(|error| invalid(&error))?;
        match url.scheme() {
            "file" => {
                let dir = url.to_file_path().map_err(|()| invalid(&"the path is not absolute"))?;
                let wrong = |error: &dyn fmt::Display| StoreError(format!("{}: {error}", dir.display()));
                std::fs::create_dir_all(&dir).map_err(|error| wrong(&error))?;
                let store = LocalFileSystem::new_with_prefix(&dir).map_err(|error| wrong(&error))?;
                Ok(Store { store: Box::new(store.with_fsync(true)), prefix: Key::default(), url })
            }
            "s3" => {
                // Another part of the process may have installed one.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let builder = AmazonS3Builder::from_env().with_url(address);
                let store = builder.build().map_err(|error| invalid(&error))?;
                let prefix = Key::from_url_path(url.path()).map_err(|error| invalid(&error))?;
                Ok(Store { store: Box::new(store), prefix, url })
            }
            other => Err(invalid(&format!("the scheme `{other}` is unknown"))),
        }
    }

    /// Writes an object twice, to see that the store refuses the second. Some stores ignore that a
    /// write is conditional: two shippers would then overwrite each other's segments.
    ///
    /// # Errors
    /// Those of the store, and if it does not refuse.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let key = self.key(&format!("probe/{:08x}-{}", std::process::id(), nanos()));
        let put = || self.store.put_opts(&key, PutPayload::from_static(b"probe"), create());
        put().await.map_err(|error| self.wrong("cannot write to it", &error))?;
        let second = put().await;
        let removed = self.store.delete(&key).await;
        match second {
            Err(Error::AlreadyExists { .. }) => {
                removed.map_err(|error| self.wrong("cannot delete in it", &error))
            }
            Err(error) => Err(self.wrong("cannot write to it", &error)),
            Ok(_) => Err(StoreError(format!(
                "{}: the store overwrites objects although it is told not to, so segments could be lost; \
                 expected a store with conditional writes (If-None-Match)",
                self.url
            ))),
        }
    }

    /// Writes a segment unless there is an object of its name.
    ///
    /// # Errors
    /// Those of the store and of the file.
    pub async fn put(&self, name: &SegmentName, path: &Path) -> Result<Put, StoreError> {
        let bytes =
            std::fs::read(path).map_err(|error| StoreError(format!("{}: {error}", path.display())))?;
        let bytes = object_store::PutPayload::from(bytes);
        let key = self.key(&name.to_string());
        for _ in 0..TRIES {
            match self.store.put_opts(&key, bytes.clone(), create()).await {
                Ok(_) => return Ok(Put::Stored),
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(self.wrong("cannot write to it", &error)),
            }
            // S3 also answers so to two writes at once, of which none has succeeded yet.
            match self.has(&key, &bytes).await {
                Ok(Some(true)) => return Ok(Put::WasThere),
                Ok(Some(false)) => return Ok(Put::Differs),
                Ok(None) => {}
                Err(error) => return Err(self.wrong("cannot read in it", &error)),
            }
        }
        Err(StoreError(format!("{}: `{name}` is refused, but there is no such object", self.url)))
    }

    /// Says whether there is an object, and whether it has these bytes.
    async fn has(&self, key: &Key, bytes: &PutPayload) -> Result<Option<bool>, Error> {
        match self.store.head(key).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            Ok(found) if found.size != bytes.content_length() as u64 => return Ok(Some(false)),
            found => found?,
        };
        let stored = self.store.get(key).await?.bytes().await?;
        Ok(Some(bytes.iter().flatten().eq(stored.iter())))
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), |key, part| key.join(part))
    }

    fn wrong(&self, what: &str, error: &Error) -> StoreError {
        StoreError(format!("{}: {what}: {error}", self.url))
    }
}

/// A write that fails if there is an object of this name.
fn create() -> PutOptions {
    PutOptions::from(PutMode::Create)
}

/// Makes names of two runs differ.
fn nanos() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos())
}
