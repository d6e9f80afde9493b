//! The objects of a lake, and what they say.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use telemetry_fleet::store::{Store, StoreError};

use crate::layout::Layout;
use crate::selector::Selector;
use crate::state::SessionState;

/// Requests to the store at the same time. Syncs of a file system that come together are one.
pub(crate) const AT_ONCE: usize = 64;

/// A store with segments and tables.
#[derive(Debug)]
pub struct Lake {
    /// The store.
    pub store: Store,
    /// What was chosen when it was made.
    pub settings: Settings,
}

/// What is chosen when a lake is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The version of the objects' form.
    pub version: u32,
    /// Whether the tables have Delta's log.
    pub format: Format,
    /// The number of buckets of hosts; `None` if each host has partitions of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<NonZeroU32>,
}

/// The form of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Parquet files with Delta's log.
    Delta,
    /// Parquet files alone.
    Parquet,
}

/// What a batch is made of. It is written before anything else, and never changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The number of the batch, from 1.
    pub batch: u64,
    /// Names of segments.
    #[serde(default)]
    pub segments: Vec<String>,
    /// Their lengths. Plans of earlier versions have none.
    #[serde(default)]
    pub lengths: Vec<u64>,
    /// When the store got them, by its clock, in milliseconds since 1970. Plans of earlier versions
    /// have none.
    #[serde(default)]
    pub stored_ms: Vec<i64>,
    /// The rows that it deletes, instead of adding some.
    #[serde(default)]
    pub delete: Option<Selector>,
    /// Whether its rows have the values of sensitive parameters.
    #[serde(default)]
    pub shows_sensitive: bool,
    /// Whether it joins files, instead of adding rows.
    #[serde(default)]
    pub compact: bool,
}

/// What was there after a batch. It is written last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Done {
    /// The number of the batch.
    pub batch: u64,
    /// Rows of events that it added.
    pub rows: u64,
    /// Fingerprints of all registries so far, in the order in which they were seen.
    pub registries: Vec<String>,
    /// By name: the tables of the lake.
    pub tables: BTreeMap<String, TableState>,
    /// For each segment of the plan: when its events happened, in nanoseconds since 1970, if that
    /// is known.
    #[serde(default)]
    pub times: Vec<Option<(i64, i64)>>,
}

/// A table of the lake.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TableState {
    /// The latest version of its log that this lake wrote.
    pub version: u64,
    /// The columns, as Delta writes them.
    pub schema: String,
}

/// Why a command ends.
#[derive(Debug)]
pub enum LakeError {
    /// The store.
    Store(StoreError),
    /// Anything else: what was found and expected.
    Other(String),
}

impl fmt::Display for LakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LakeError::Store(error) => error.fmt(f),
            LakeError::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for LakeError {}

impl From<StoreError> for LakeError {
    fn from(error: StoreError) -> LakeError {
        LakeError::Store(error)
    }
}

/// The result of what a lake does.
pub type Result<T> = std::result::Result<T, LakeError>;

const SETTINGS: &str = "lake.json";

/// The version of a lake without buckets, and of one with them. Programs that know only the first
/// would write the rows to other places.
const VERSIONS: [u32; 2] = [1, 2];

impl Lake {
    /// Makes a lake in a store, which may have segments already. Making it again changes nothing.
    ///
    /// # Errors
    /// Those of the store, if it ignores conditions, and if a lake of another form is there.
    pub async fn init(address: &str, format: Format, buckets: Option<NonZeroU32>) -> Result<Lake> {
        let store = Store::open(address)?;
        store.probe().await?;
        let version = VERSIONS[usize::from(buckets.is_some())];
        let settings = Settings { version, format, buckets };
        if store.create(SETTINGS, json(&settings)).await? {
            return Ok(Lake { store, settings });
        }
        let lake = Lake::of(store, address).await?;
        match lake.settings == settings {
            true => Ok(lake),
            false => Err(LakeError::Other(format!(
                "{address}: there is a lake of the form {}; expected none, or one of the form {settings}",
                lake.settings
            ))),
        }
    }

    /// Opens a lake.
    ///
    /// # Errors
    /// Those of the store, and if there is no lake.
    pub async fn open(address: &str) -> Result<Lake> {
        Lake::of(Store::open(address)?, address).await
    }

    async fn of(store: Store, address: &str) -> Result<Lake> {
        let Some(bytes) = store.get(SETTINGS).await? else {
            let text =
                format!("{address}: there is no lake; help: make one by `telemetry-lake init {address}`");
            return Err(LakeError::Other(text));
        };
        let settings: Settings = parse(SETTINGS, &bytes)?;
        let expected = VERSIONS[usize::from(settings.buckets.is_some())];
        if settings.version != expected {
            let text = format!("{address}: the lake has version {}; expected {expected}", settings.version);
            return Err(LakeError::Other(text));
        }
        Ok(Lake { store, settings })
    }

    /// Returns the latest batch, which must be done.
    ///
    /// # Errors
    /// Those of the store, and if a batch was begun but is not done.
    pub async fn last_done(&self) -> Result<Done> {
        let done = self.done(self.last_batch().await?).await?;
        done.ok_or_else(|| {
            LakeError::Other("a batch is not done; help: run `telemetry-lake commit` first".to_owned())
        })
    }

    /// Returns the number of the latest plan, or 0.
    pub async fn last_batch(&self) -> Result<u64> {
        let plans = self.store.names("batches").await?;
        Ok(plans.iter().filter_map(|name| number(name)).max().unwrap_or_default())
    }

    /// Returns a plan.
    pub async fn plan(&self, batch: u64) -> Result<Plan> {
        Ok(self.read(&plan_name(batch)).await?.unwrap_or_default())
    }

    /// Writes a plan, unless there is one of its number. Returns whether it was written.
    pub async fn add_plan(&self, plan: &Plan) -> Result<bool> {
        Ok(self.store.create(&plan_name(plan.batch), json(plan)).await?)
    }

    /// Returns what was there after a batch; `None` if it is not done.
    pub async fn done(&self, batch: u64) -> Result<Option<Done>> {
        match batch {
            0 => Ok(Some(Done::default())),
            _ => self.read(&done_name(batch)).await,
        }
    }

    /// Notes that a batch is done.
    pub async fn add_done(&self, done: &Done) -> Result<bool> {
        Ok(self.store.create(&done_name(done.batch), json(done)).await?)
    }

    /// Returns a session as it was before a batch.
    ///
    /// # Errors
    /// Those of the store, and if another process has gone on so far that the state is gone.
    /// Without it, rows of earlier batches would be written again.
    pub async fn state_before(&self, host: &str, session: u64, batch: u64) -> Result<SessionState> {
        let names = self.store.names(&state_folder(host, session)).await?;
        let latest = names.iter().filter(|name| number(name).is_some_and(|number| number < batch)).max();
        let is_first = || !names.iter().any(|name| number(name).is_some_and(|number| number > batch));
        let state = match latest {
            Some(name) => self.read(name).await?,
            None if is_first() => {
                Some(SessionState { host: host.to_owned(), session, ..SessionState::default() })
            }
            None => None,
        };
        let mut state = state.ok_or_else(|| {
            LakeError::Other("another process has gone on to later batches of this lake".to_owned())
        })?;
        // An earlier version left the ranges of rows that it deleted.
        if state.is_deleted {
            state.delete_rows();
        }
        Ok(state)
    }

    /// Writes a session as it is after a batch. There is only one such state.
    pub async fn add_state(&self, state: &SessionState) -> Result<bool> {
        Ok(self.store.create(&state_name(state), json(state)).await?)
    }

    /// Deletes the states of a session that no batch needs: all but the latest two. A committer
    /// that was overtaken may still read the one before the latest.
    pub async fn drop_states(&self, host: &str, session: u64) -> Result<()> {
        let names = self.store.names(&state_folder(host, session)).await?;
        for name in names.iter().rev().skip(2) {
            self.store.delete(name).await?;
        }
        Ok(())
    }

    /// Deletes the states of a session before a batch that deleted it, which have its facts. The
    /// batch has written another state. So an overtaken committer finds that it has to end.
    pub async fn drop_states_before(&self, host: &str, session: u64, batch: u64) -> Result<()> {
        for name in self.store.names(&state_folder(host, session)).await? {
            if number(&name).is_some_and(|number| number < batch) {
                self.store.delete(&name).await?;
            }
        }
        Ok(())
    }

    /// Returns the latest states of all sessions, of one host if it is given.
    pub async fn states(&self, host: Option<&str>) -> Result<Vec<SessionState>> {
        let folder = host.map_or_else(|| "state".to_owned(), |host| format!("state/host={host}"));
        let mut latest = BTreeMap::new();
        // They are in order, so the last one of a session is its latest.
        for name in self.store.names(&folder).await? {
            if let Some((session, _)) = name.rsplit_once('/') {
                latest.insert(session.to_owned(), name);
            }
        }
        let states = stream::iter(latest.values()).map(|name| self.read(name)).buffered(AT_ONCE);
        states.try_filter_map(async |state| Ok(state)).try_collect().await
    }

    async fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let found = self.store.get(name).await?;
        found.map(|bytes| parse(name, &bytes)).transpose()
    }
}

impl Settings {
    /// Returns how the tables are partitioned.
    pub fn layout(&self) -> Layout {
        self.buckets.map_or(Layout::Hosts, Layout::Buckets)
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.format.word())?;
        match self.buckets {
            Some(buckets) => write!(f, " with {buckets} buckets"),
            None => Ok(()),
        }
    }
}

impl Format {
    /// Returns the word in arguments.
    pub fn word(self) -> &'static str {
        match self {
            Format::Delta => "delta",
            Format::Parquet => "parquet",
        }
    }
}

/// Returns the name of the text of a registry.
pub fn registry_name(fingerprint: &str) -> String {
    format!("registries/{fingerprint}.toml")
}

/// Returns the folder of a table.
pub fn table_folder(name: &str) -> String {
    format!("tables/{name}")
}

/// Returns the number in the name of an object: `batches/0000000007.json`.
pub fn number(name: &str) -> Option<u64> {
    name.rsplit('/').next()?.strip_suffix(".json")?.parse().ok()
}

/// Returns the folder of a session's states.
pub fn state_folder(host: &str, session: u64) -> String {
    format!("state/host={host}/{session:016x}")
}

/// Returns the name of a state.
pub fn state_name(state: &SessionState) -> String {
    format!("{}/{:010}.json", state_folder(&state.host, state.session), state.batch)
}

fn plan_name(batch: u64) -> String {
    format!("batches/{batch:010}.json")
}

fn done_name(batch: u64) -> String {
    format!("done/{batch:010}.json")
}

/// Returns a value as JSON.
pub fn json(value: &impl Serialize) -> Vec<u8> {
    // Only maps with other keys than texts, and failing implementations, cannot be written.
    serde_json::to_vec(value).unwrap_or_default()
}

fn parse<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| LakeError::Other(format!("`{name}` is damaged: {error}")))
}
