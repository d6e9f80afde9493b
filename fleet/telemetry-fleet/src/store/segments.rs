//! Writing of segments, each once.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use url::Url;

use crate::segment::SegmentName;
use crate::store::error::StoreError;
use crate::store::open::{Opened, open};
use crate::store::secrets;

/// A directory or a bucket, in which an object is written once and never changes.
#[derive(Debug)]
pub struct Store {
    pub(super) store: Box<dyn ObjectStore>,
    /// What the names of objects begin with.
    pub(super) prefix: Key,
    pub(super) url: Url,
    /// The directory that it is.
    dir: Option<PathBuf>,
    /// Set when the store has shown that it refuses to overwrite.
    probed: tokio::sync::OnceCell<()>,
}

/// What the store did with a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// It has the segment now.
    Stored,
    /// It had the same bytes before.
    WasThere,
    /// It holds other bytes under this name.
    Differs,
    /// The collector does not take it as a segment: why.
    Refused(String),
}

/// How often a write is tried that the store refuses although it has no such object.
pub(super) const TRIES: u32 = 5;

impl Store {
    /// Opens the store at `file:///DIR` or `s3://BUCKET/PREFIX`; with the features `azure` and `gcs`,
    /// also at `az://CONTAINER/PREFIX` and `gs://BUCKET/PREFIX`. The environment has settings and
    /// keys: `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and so on.
    ///
    /// # Errors
    /// For other addresses, those with a key, and a directory that cannot be created.
    pub fn open(address: &str) -> Result<Store, StoreError> {
        // Another part of the process may have installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Opened { store, prefix, url, dir } = open(address)?;
        Ok(Store { store, prefix, url, dir, probed: Default::default() })
    }

    /// Writes an object twice, to see that the store refuses the second. Some stores ignore that a
    /// write is conditional: two shippers would then overwrite each other's segments.
    ///
    /// # Errors
    /// Those of the store, and if it does not refuse.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let key = self.key(&format!("probe/{:08x}-{}", std::process::id(), nanos()));
        let put = || self.store.put_opts(&key, PutPayload::from_static(b"probe"), create());
        let is_written = match put().await {
            Ok(_) => true,
            // The answer to a first try was lost, and this is that to the second. Or S3 has seen
            // both at once, and none of them has succeeded.
            Err(Error::AlreadyExists { .. }) => false,
            Err(error) => return Err(self.wrong("cannot write to it", &error)),
        };
        let mut second = put().await;
        if !is_written && second.is_ok() {
            second = put().await;
        }
        let removed = self.store.delete(&key).await;
        match second {
            Err(Error::AlreadyExists { .. }) => {
                removed.map_err(|error| self.wrong("cannot delete in it", &error))
            }
            Err(error) => Err(self.wrong("cannot write to it", &error)),
            Ok(_) => Err(StoreError::new(format!(
                "{}: the store overwrites objects although it is told not to, so segments could be lost; \
                 expected a store with conditional writes (If-None-Match)",
                self.url
            ))),
        }
    }

    /// Does the same, once.
    ///
    /// # Errors
    /// The same; it is tried again then.
    pub async fn probe_once(&self) -> Result<(), StoreError> {
        self.probed.get_or_try_init(|| self.probe()).await.copied()
    }

    /// Writes a segment unless there is an object of its name.
    ///
    /// # Errors
    /// Those of the store and of the file.
    pub async fn put(&self, name: &SegmentName, path: &Path) -> Result<Put, StoreError> {
        let bytes =
            std::fs::read(path).map_err(|error| StoreError::new(format!("{}: {error}", path.display())))?;
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
        Err(StoreError::new(format!("{}: `{name}` is refused, but there is no such object", self.url)))
    }

    /// Returns the directory that is the store, if it is one.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Gives a directory a segment in a file of the same file system, unless there is one of its
    /// name. The file is on disk, and stays. No byte is copied.
    ///
    /// # Errors
    /// Those of the file system.
    pub async fn take(&self, name: &SegmentName, file: &Path) -> Result<Put, StoreError> {
        let Some(dir) = &self.dir else { return self.put(name, file).await };
        let (to, file, root) = (dir.join(name.to_string()), file.to_owned(), dir.clone());
        let linked = tokio::task::spawn_blocking(move || link(&root, &to, &file)).await;
        let linked = linked.unwrap_or_else(|error| Err(io::Error::other(error)));
        linked.map_err(|error| StoreError::new(format!("{}: cannot write to it: {error}", self.url)))
    }

    /// Says whether there is an object, and whether it has these bytes.
    async fn has(&self, key: &Key, bytes: &PutPayload) -> Result<Option<bool>, Error> {
        match self.store.head(key).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            Ok(found) if found.size != bytes.content_length() as u64 => return Ok(Some(false)),
            found => found?,
        };
        // Piece by piece: a collector may compare many segments at once.
        let (mut stored, mut wanted) = (self.store.get(key).await?.into_stream(), bytes.iter().flatten());
        while let Some(piece) = stored.try_next().await? {
            if !piece.iter().eq(wanted.by_ref().take(piece.len())) {
                return Ok(Some(false));
            }
        }
        Ok(Some(wanted.next().is_none()))
    }

    pub(super) fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), |key, part| key.join(part))
    }

    pub(super) fn wrong(&self, what: &str, error: &Error) -> StoreError {
        StoreError::new(secrets::hide(&format!("{}: {what}: {error}", self.url)))
    }
}

/// Gives a file a second name, for good, in a folder below `root`.
fn link(root: &Path, to: &Path, file: &Path) -> io::Result<Put> {
    let folder = to.parent().unwrap_or(root);
    std::fs::create_dir_all(folder)?;
    let put = match std::fs::hard_link(file, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_same = have_same_bytes(file, to)?;
            if is_same { Put::WasThere } else { Put::Differs }
        }
        linked => linked.map(|()| Put::Stored)?,
    };
    // The names must survive a crash of the machine, too: that of the file, and those of new
    // folders.
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        File::open(folder)?.sync_all()?;
    }
    Ok(put)
}

fn have_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut here, mut there) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut here)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut there[..read])?;
        if here[..read] != there[..read] {
            return Ok(false);
        }
    }
}

/// A write that fails if there is an object of this name.
pub(super) fn create() -> PutOptions {
    PutOptions::from(PutMode::Create)
}

/// Makes names of two runs differ.
fn nanos() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos())
}
