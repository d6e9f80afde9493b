//! A value that is made from files, and made again when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// A value that is made from files.
pub(crate) struct FromFiles<T> {
    paths: Vec<PathBuf>,
    make: Box<dyn Fn() -> Result<T, String> + Send + Sync>,
    state: Mutex<State<T>>,
}

struct State<T> {
    stamps: Vec<Stamp>,
    value: Arc<T>,
}

/// Tells versions of a file apart: when it was changed, its length, and its number.
type Stamp = Option<(SystemTime, u64, u64)>;

/// The value now.
pub(crate) struct Current<T> {
    pub(crate) value: Arc<T>,
    /// Why files that changed could not be used. The value is the one before.
    pub(crate) problem: Option<String>,
}

impl<T> FromFiles<T> {
    pub(crate) fn new(
        paths: impl IntoIterator<Item = PathBuf>,
        make: impl Fn() -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<FromFiles<T>, String> {
        let paths: Vec<_> = paths.into_iter().collect();
        let stamps = stamps(&paths);
        let value = Arc::new(make()?);
        Ok(FromFiles { paths, make: Box::new(make), state: Mutex::new(State { stamps, value }) })
    }

    /// Returns the value, made again if a file has changed. Files that are half written, or that do
    /// not belong together yet, are a problem until they change again.
    pub(crate) fn get(&self) -> Current<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamps(&self.paths);
        let mut problem = None;
        if now != state.stamps {
            match (self.make)() {
                Ok(value) => state.value = Arc::new(value),
                Err(error) => problem = Some(error),
            }
            state.stamps = now;
        }
        Current { value: state.value.clone(), problem }
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    paths.iter().map(|path| stamp(path)).collect()
}

fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((metadata.modified().ok()?, metadata.len(), number))
}
