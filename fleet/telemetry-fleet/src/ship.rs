//! From streams to the store.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use telemetry_decode::blocks::{Blocks, Piece};

use tokio::task::JoinSet;

use crate::destination::{Destination, MAX_SENDING};
use crate::failpoint::failpoint;
use crate::log;
use crate::segment::{Host, Segment, SegmentName};
use crate::spool::Spool;
use crate::store::{Put, StoreError};
use crate::wire::WINDOW;

/// Ships streams: cuts them into segments, and keeps each in the spool until the store has it.
pub struct Shipper {
    host: Host,
    spool: Spool,
    to: Destination,
    max_len: u64,
    sum: Sum,
    /// Segments on the way, and their bytes.
    sending: JoinSet<Sent>,
    on_the_way: u64,
}

/// A segment that was sent, with its length.
type Sent = (SegmentName, PathBuf, u64, Result<Put, StoreError>);

/// What has been shipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sum {
    /// Segments that the store has from this run.
    pub stored: u64,
    /// Segments that the store had before.
    pub were_there: u64,
    /// Segments that the store holds with another content. They stay in the spool.
    pub refused: u64,
    /// Bytes of the segments of this run.
    pub bytes: u64,
    /// Events of the streams that were cut.
    pub events: u64,
    /// Bytes of the streams that are in no block.
    pub damaged: u64,
}

/// Why a stream is not shipped.
#[derive(Debug)]
pub enum ShipError {
    /// The stream or the spool cannot be read or written: what, and why.
    Io(String, io::Error),
    /// The file has no block.
    NotAStream(String),
    /// The store.
    Store(StoreError),
}

impl fmt::Display for ShipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShipError::Io(what, error) => write!(f, "{what}: {error}"),
            ShipError::NotAStream(what) => write!(
                f,
                "{what}: not a telemetry stream; help: a log of another system becomes one by `telemetry convert`"
            ),
            ShipError::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShipError {}

impl From<StoreError> for ShipError {
    fn from(error: StoreError) -> ShipError {
        ShipError::Store(error)
    }
}

impl Shipper {
    /// Ships to `to` in segments of about `max_len` bytes.
    pub fn new(host: Host, spool: Spool, to: Destination, max_len: u64) -> Shipper {
        Shipper { host, spool, to, max_len, sum: Sum::default(), sending: JoinSet::new(), on_the_way: 0 }
    }

    /// Returns what has been shipped so far.
    pub fn sum(&self) -> &Sum {
        &self.sum
    }

    /// Ships what an earlier run left in the spool.
    ///
    /// # Errors
    /// Those of the spool and the store. The segments stay in the spool.
    pub async fn rest(&mut self) -> Result<(), ShipError> {
        let wrong = |error| ShipError::Io("the spool".to_owned(), error);
        self.spool.recover(&self.host, self.max_len).map_err(wrong)?;
        for (name, path, _) in self.spool.ready().map_err(wrong)? {
            self.put(name, path).await?;
        }
        self.finish().await
    }

    /// Ships a stream to its end. Damaged bytes are left out, and told to `damage`.
    ///
    /// # Errors
    /// Those of the stream, the spool and the store. Segments that were cut stay in the spool.
    pub async fn stream(&mut self, path: &Path, mut damage: impl FnMut(Range<u64>)) -> Result<(), ShipError> {
        let what = || path.display().to_string();
        let wrong = |error| ShipError::Io(what(), error);
        let mut blocks = Blocks::new(File::open(path).map_err(wrong)?);
        let mut cutter = self.spool.cutter(self.spool.open_dir(), &self.host, self.max_len);
        let (mut has_block, mut has_damage) = (false, false);
        loop {
            let segments = match blocks.next().map_err(wrong)? {
                None => break,
                Some(Piece::Block(block)) => {
                    has_block = true;
                    cutter.push(&block).map_err(|error| ShipError::Io("the spool".to_owned(), error))?
                }
                Some(Piece::Damage(found, _)) => {
                    has_damage = true;
                    self.sum.damaged += found.range.end - found.range.start;
                    damage(found.range);
                    continue;
                }
            };
            self.add(segments).await?;
        }
        if has_damage && !has_block {
            return Err(ShipError::NotAStream(what()));
        }
        let last = cutter.finish().map_err(|error| ShipError::Io("the spool".to_owned(), error))?;
        self.add(last).await?;
        self.finish().await
    }

    async fn add(&mut self, segments: Vec<Segment>) -> Result<(), ShipError> {
        for segment in segments {
            let path =
                self.spool.add(&segment).map_err(|error| ShipError::Io("the spool".to_owned(), error))?;
            self.sum.events += segment.events;
            failpoint("ship-spooled");
            self.put(segment.name, path).await?;
        }
        Ok(())
    }

    /// Sends a segment. Waits until no more than a window, and not too many, are on the way.
    async fn put(&mut self, name: SegmentName, path: PathBuf) -> Result<(), ShipError> {
        let len = path.metadata().map_err(|error| ShipError::Io(path.display().to_string(), error))?.len();
        let is_full = |own: &Shipper| {
            own.sending.len() >= MAX_SENDING || own.on_the_way > 0 && own.on_the_way + len > WINDOW
        };
        while is_full(self) {
            self.one().await?;
        }
        let to = self.to.clone();
        self.on_the_way += len;
        self.sending.spawn(async move {
            let put = to.put(&name, &path).await;
            (name, path, len, put)
        });
        Ok(())
    }

    /// Waits until everything is sent.
    async fn finish(&mut self) -> Result<(), ShipError> {
        while !self.sending.is_empty() {
            self.one().await?;
        }
        Ok(())
    }

    /// Waits until one segment is sent.
    async fn one(&mut self) -> Result<(), ShipError> {
        let Some(Ok((name, path, len, put))) = self.sending.join_next().await else { return Ok(()) };
        let wrong = |error| ShipError::Io(path.display().to_string(), error);
        self.on_the_way -= len;
        self.sum.bytes += len;
        match put? {
            Put::Stored => self.sum.stored += 1,
            Put::WasThere => self.sum.were_there += 1,
            put @ (Put::Differs | Put::Refused(_)) => {
                self.sum.refused += 1;
                let kept = self.spool.refuse(&name, &path).map_err(wrong)?;
                let why = match put {
                    Put::Refused(why) => why,
                    _ => "the store has another segment under this name".to_owned(),
                };
                log::line(format_args!(
                    "error: segment {name} is refused: {why}; it is kept as {}",
                    kept.display()
                ));
                return Ok(());
            }
        }
        failpoint("ship-before-remove");
        self.spool.remove(&path).map_err(wrong)
    }
}
