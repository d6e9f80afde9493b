//! Where the rows of a host and a day are in a table of events.
//!
//! All that knows the folders and the names of such files is here.

use std::num::NonZeroU32;

/// How tables of events, and that of spans, are partitioned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// By day and host.
    #[default]
    Hosts,
    /// By day and bucket, of which there are this many. Each host is in one of them, and is a
    /// column of the rows. With many hosts, partitions stay few and files large.
    Buckets(NonZeroU32),
}

/// The partition of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partition {
    /// The day in UTC: `2026-11-22`.
    pub day: String,
    /// The column beside `day`.
    pub column: &'static str,
    /// Its value.
    pub value: String,
}

/// A file of a partition, by its name in the folder of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'p> {
    /// The partition.
    pub partition: Partition,
    /// The folder of the partition.
    pub folder: &'p str,
    /// Host and session of its rows; `None` if it has the rows of several. The session is 0 if
    /// another program wrote the file.
    pub owner: Option<(&'p str, u64)>,
}

/// Stands for the session in names of files with the rows of several.
const SEVERAL: &str = "several";

/// A column of a partition: its name, its type in Delta's log, and its meaning.
pub type PartitionColumn = (&'static str, &'static str, &'static str);

impl Layout {
    /// Returns the columns of partitions in their order.
    pub fn columns(self) -> Vec<PartitionColumn> {
        let second = match self {
            Layout::Hosts => ("host", "string", "the host"),
            Layout::Buckets(_) => ("bucket", "integer", "CRC-32C of the host, modulo the number of buckets"),
        };
        vec![("day", "date", "the day in UTC"), second]
    }

    /// Says whether the host is a column of the rows.
    pub fn has_host_in_rows(self) -> bool {
        self != Layout::Hosts
    }

    /// Says whether files of several hosts and sessions are joined.
    pub fn joins_sessions(self) -> bool {
        self != Layout::Hosts
    }

    /// Returns the partition of the rows of a host and a day.
    pub fn partition(self, day: &str, host: &str) -> Partition {
        let (column, value) = match self {
            Layout::Hosts => ("host", host.to_owned()),
            Layout::Buckets(count) => ("bucket", (crc32c::crc32c(host.as_bytes()) % count).to_string()),
        };
        Partition { day: day.to_owned(), column, value }
    }

    /// Returns the partition and the name of a file with rows of one session.
    pub fn file(
        self,
        day: &str,
        (host, session): (&str, u64),
        batch: u64,
        number: usize,
    ) -> (Partition, String) {
        let partition = self.partition(day, host);
        let name = match self {
            Layout::Hosts => format!("{batch:010}-{session:016x}-{number:04}"),
            Layout::Buckets(_) => format!("{batch:010}-{session:016x}-{number:04}-{host}"),
        };
        let path = format!("{}/{name}.parquet", partition.folder());
        (partition, path)
    }
}

impl Partition {
    fn folder(&self) -> String {
        let Partition { day, column, value } = self;
        format!("day={day}/{column}={value}")
    }

    /// Returns the name of a file that other files of the partition are joined to. Without an owner
    /// it has rows of several hosts and sessions.
    pub fn joined(&self, owner: Option<(&str, u64)>, batch: u64, number: usize) -> String {
        let session = owner.map_or_else(|| SEVERAL.to_owned(), |(_, session)| format!("{session:016x}"));
        format!("{}/{batch:010}-{session}-{number:04}.parquet", self.folder())
    }
}

impl<'p> Place<'p> {
    /// Returns the place of a file; `None` if it is in no partition.
    pub fn of(path: &'p str) -> Option<Place<'p>> {
        let (folder, file) = path.rsplit_once('/')?;
        let (day, second) = folder.strip_prefix("day=")?.split_once('/')?;
        let (column, value) = second.split_once('=')?;
        let mut parts = file.strip_suffix(".parquet")?.splitn(4, '-').skip(1);
        let session = parts.next().unwrap_or_default();
        let (column, host) = match column {
            "host" => ("host", Some(value)),
            "bucket" => ("bucket", parts.nth(1)),
            _ => return None,
        };
        let owner = match session {
            // The name tells no session, and in a bucket no host.
            _ if batch(path).is_none() => (column == "host").then_some((value, 0)),
            SEVERAL => None,
            session => Some((host?, u64::from_str_radix(session, 16).ok()?)),
        };
        let partition = Partition { day: day.to_owned(), column, value: value.to_owned() };
        Some(Place { partition, folder, owner })
    }
}

/// Returns the batch that wrote a file, by its name; `None` for a file of another program, such as
/// Spark.
pub fn batch(path: &str) -> Option<u64> {
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    let number = name.split(['-', '.']).next()?;
    let is_own = number.len() == 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that existing lakes have, and those with buckets.
    #[test]
    fn places_are_found_again() {
        let buckets = Layout::Buckets(NonZeroU32::new(64).unwrap());
        for (layout, wanted) in [
            (Layout::Hosts, "day=2026-11-22/host=a-1.x/0000000007-00000000000000ff-0003.parquet"),
            (buckets, "day=2026-11-22/bucket=44/0000000007-00000000000000ff-0003-a-1.x.parquet"),
        ] {
            let (partition, path) = layout.file("2026-11-22", ("a-1.x", 255), 7, 3);
            assert_eq!(path, wanted);
            let place = Place::of(&path).unwrap();
            assert_eq!((&place.partition, place.owner), (&partition, Some(("a-1.x", 255))));
            assert_eq!(batch(&path), Some(7));
            let joined = partition.joined(place.owner.filter(|_| layout == Layout::Hosts), 8, 0);
            let of_joined = Place::of(&joined).unwrap();
            assert_eq!(
                (of_joined.partition, of_joined.owner.is_some()),
                (partition, layout == Layout::Hosts)
            );
        }
        for other in ["0000000007.parquet", "_delta_log/0.json", "day=2026-11-22/0000000007-ff-0003.parquet"]
        {
            assert_eq!(Place::of(other), None, "{other}");
        }
    }

    #[test]
    fn files_of_other_programs_have_no_batch() {
        assert_eq!(batch("0000000012.parquet"), Some(12));
        for other in [
            "part-00000-1b4e28ba.c000.snappy.parquet",
            "day=2026-11-22/bucket=2/part-0-ab.parquet",
            // A UUID may begin with eight digits.
            "day=2026-11-22/host=a/12345678-2fa1-11d2-883f-0016d3cca427.parquet",
            "+123456789-00000000000000ff-0003.parquet",
        ] {
            assert_eq!(batch(other), None, "{other}");
        }
        for (folder, host) in [("host=h7", Some("h7")), ("bucket=2", None)] {
            for name in ["part-00000-1b4e28ba-2fa1-11d2.c000.snappy.parquet", "other.parquet"] {
                let path = format!("day=2026-11-22/{folder}/{name}");
                assert_eq!(Place::of(&path).unwrap().owner, host.map(|host| (host, 0)), "{path}");
            }
        }
    }

    /// The bucket of a host never changes: it is in the names of files.
    #[test]
    fn buckets_are_those_of_crc32c() {
        // The check value of CRC-32C is that of the text `123456789`.
        let bucket =
            |count| Layout::Buckets(NonZeroU32::new(count).unwrap()).partition("", "123456789").value;
        assert_eq!(bucket(u32::MAX), 0xe306_9283_u32.to_string());
        assert_eq!(bucket(64), (0xe306_9283_u32 % 64).to_string());
    }
}
