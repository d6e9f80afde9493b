//! Files of a table that are replaced: small ones joined to larger ones, and those from which some
//! rows go.

use std::collections::BTreeMap;

use bytes::Bytes;
use parquet::errors::ParquetError;
use telemetry_fleet::failpoint::failpoint;
use telemetry_fleet::store::Store;

use crate::delta::Added;
use crate::groups::{self, Copied};
use crate::lake::{LakeError, Result};
use crate::layout::{self, Layout, Partition, Place};
use crate::lease::Lease;
use crate::selector::{Selected, Selector};

/// Files of this length are not joined any more.
const LARGE: u64 = 512 << 20;

/// A table whose files are replaced by a batch.
#[derive(Clone, Copy)]
pub(crate) struct Table<'l> {
    pub(crate) store: &'l Store,
    /// Renewed before each file, because a table may have many.
    pub(crate) lease: &'l Lease,
    pub(crate) layout: Layout,
    pub(crate) folder: &'l str,
    pub(crate) batch: u64,
}

/// Names of files that go, and the files that come.
pub(crate) type Replaced = (Vec<String>, Vec<Added>);

impl Table<'_> {
    /// Joins the small files of each session and day, or of each bucket and day.
    pub(crate) async fn join_all(&self, files: &BTreeMap<String, u64>) -> Result<Replaced> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let mut of_places = BTreeMap::<_, Vec<_>>::new();
        for (path, bytes) in files.iter().filter(|(_, bytes)| **bytes < LARGE) {
            // The names of other programs do not tell the session, and their groups may mix hosts.
            if layout::batch(path).is_none() {
                continue;
            }
            if let Some(Place { partition, owner, .. }) = Place::of(path) {
                let owner = owner.filter(|_| !self.layout.joins_sessions());
                of_places.entry((partition, owner)).or_default().push((path, *bytes));
            }
        }
        for ((partition, owner), paths) in of_places {
            let (mut number, mut at) = (0, 0);
            while at < paths.len() {
                let (mut together, mut bytes) = (Vec::new(), 0);
                while let Some((path, len)) =
                    paths.get(at).filter(|(_, len)| bytes == 0 || bytes + len <= LARGE)
                {
                    together.push((*path).clone());
                    bytes += len;
                    at += 1;
                }
                for (of, joined) in self.join(&together).await? {
                    added.push(self.add(&partition, owner, &mut number, joined).await?);
                    removed.extend(of);
                }
            }
        }
        Ok((removed, added))
    }

    /// Removes rows from files: their rows that stay come in other files.
    pub(crate) async fn remove(
        &self,
        selector: &Selector,
        files: impl Iterator<Item = &String>,
    ) -> Result<Replaced> {
        let (mut removed, mut added, mut number) = (Vec::new(), Vec::new(), 0);
        for path in files {
            match selector.selects_file(path, self.layout) {
                Selected::Nothing => continue,
                Selected::All => removed.push(path.clone()),
                Selected::Some(place) => {
                    let Some(rest) = self.rest(path, selector, &place).await? else { continue };
                    removed.push(path.clone());
                    if rest.rows > 0 {
                        added.push(self.add(&place.partition, None, &mut number, rest).await?);
                    }
                }
            }
        }
        Ok((removed, added))
    }

    /// Says whether a file has rows that are selected.
    pub(crate) async fn has_selected(&self, path: &str, selector: &Selector) -> Result<bool> {
        match selector.selects_file(path, self.layout) {
            Selected::Nothing => Ok(false),
            Selected::All => Ok(true),
            Selected::Some(place) => Ok(self.rest(path, selector, &place).await?.is_some()),
        }
    }

    /// Returns what stays of a file with rows of several sessions; `None` if that is all of it.
    async fn rest(&self, path: &str, selector: &Selector, place: &Place<'_>) -> Result<Option<Copied>> {
        let (bytes, day) = (self.get(path).await?, &place.partition.day);
        let stays = |(host, session): &groups::Owner| !selector.selects(day, host, *session);
        let rest = groups::copy_sorted(&[bytes], stays).map_err(|error| damaged(path, &error))?;
        Ok(Some(rest).filter(|rest| rest.left_out > 0))
    }

    /// Writes a file. Its name has the next number.
    async fn add(
        &self,
        partition: &Partition,
        owner: Option<(&str, u64)>,
        number: &mut usize,
        copied: Copied,
    ) -> Result<Added> {
        let (bytes, rows) = (copied.bytes.len() as u64, copied.rows);
        loop {
            let path = partition.joined(owner, self.batch, *number);
            *number += 1;
            let name = format!("{}/{path}", self.folder);
            // An earlier try of the batch may have written it, and another program may have changed
            // the table since then. So it is taken only if it has the same rows.
            if self.store.create(&name, copied.bytes.clone()).await?
                || self.store.get(&name).await?.is_some_and(|found| found == copied.bytes)
            {
                failpoint("file");
                return Ok(Added { path, partition: Some(partition.clone()), bytes, rows, time: None });
            }
        }
    }

    async fn get(&self, path: &str) -> Result<Bytes> {
        self.lease.renew(self.store).await?;
        let name = format!("{}/{path}", self.folder);
        let missing = || LakeError::Other(format!("`{name}` is missing, but the table has it"));
        Ok(Bytes::from(self.store.get(&name).await?.ok_or_else(missing)?))
    }

    /// Joins files of the same columns. One that has no others stays as it is.
    async fn join(&self, paths: &[String]) -> Result<Vec<(Vec<String>, Copied)>> {
        let mut same = BTreeMap::<String, (Vec<String>, Vec<Bytes>)>::new();
        for path in paths.iter().filter(|_| paths.len() > 1) {
            let bytes = self.get(path).await?;
            let columns = groups::columns(&bytes).map_err(|error| damaged(path, &error))?;
            let (names, files) = same.entry(columns).or_default();
            names.push(path.clone());
            files.push(bytes);
        }
        let several = same.into_values().filter(|(names, _)| names.len() > 1);
        let joined = several.map(|(names, files)| {
            let copied = match self.layout.joins_sessions() {
                true => groups::copy_sorted(&files, |_| true),
                false => groups::copy(&files),
            };
            Ok((names, copied.map_err(|error| damaged(self.folder, &error))?))
        });
        joined.collect()
    }
}

fn damaged(name: &str, error: &ParquetError) -> LakeError {
    LakeError::Other(format!("`{name}` cannot be copied: {error}"))
}
