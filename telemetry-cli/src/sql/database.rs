//! The database file: recognized, opened, and never left half written.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::interrupt;
use crate::term::ended::Failure;
use crate::term::output::{directory_of, make_new};
use crate::term::progress::Step;

/// `PRAGMA application_id` of our databases: `tele`.
const APPLICATION_ID: i32 = 0x7465_6c65;

/// The first bytes of an SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// `PRAGMA user_version`: the version of the tables that every database has.
const VERSION: i32 = 4;

/// How long to wait for another writer of the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Kibibytes of pages that SQLite keeps in memory. Each of its threads that sort an index takes as
/// much once more.
const CACHE: i64 = 32 << 10;

/// A database of ours, open for writing.
pub(crate) struct Database {
    connection: Option<Connection>,
    path: PathBuf,
    /// The temporary path of a new database. No other process knows it, so that it can be removed
    /// at any time. A database that others may have opened must never be removed.
    made: Option<PathBuf>,
}

impl Database {
    /// Opens a database of ours, or makes one if nothing is there.
    pub(crate) fn open(path: &Path) -> Result<Database, Failure> {
        let is_there = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(cannot("open", path, "is a directory")),
            Ok(metadata) if !metadata.is_file() => return Err(cannot("open", path, "is not a regular file")),
            Ok(metadata) if metadata.len() > 0 => {
                // SQLite takes a file that is too short for an empty database. An unfinished one
                // has a journal, by which SQLite empties it.
                let begins_as_one = || is_sqlite(path).map_err(|error| cannot("open", path, error));
                // Its writer may have finished between the two checks.
                if !begins_as_one()? && !interrupt::journal(path).exists() && !begins_as_one()? {
                    return Err(cannot(
                        "use",
                        path,
                        "it is not an SQLite database; help: name another file with -o",
                    ));
                }
                true
            }
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(cannot("open", path, error)),
        };
        // An absolute path is never taken for a URI or for the name of a database in memory.
        let absolute = std::path::absolute(path).map_err(|error| cannot("open", path, error))?;
        if !is_there && absolute.is_symlink() {
            return Err(cannot(
                "open",
                path,
                "it is a link to a missing file; help: name the file itself with -o",
            ));
        }
        let (made, absolute) = match is_there {
            true => (None, absolute),
            false => {
                let made = make_beside(&absolute).map_err(|error| cannot("open", path, error))?;
                (Some(made.clone()), made)
            }
        };
        let database = Database { connection: None, path: path.to_path_buf(), made };
        database.opened(&absolute)
    }

    fn opened(mut self, absolute: &Path) -> Result<Database, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(absolute, flags);
        let connection = connection.map_err(|error| self.failed("open", &error))?;
        interrupt::watch(connection.get_interrupt_handle());
        let database = &mut self;
        database.connection = Some(connection);
        database.connection().busy_timeout(BUSY_TIMEOUT).map_err(|error| database.failed("open", &error))?;
        database.check()?;
        database.set_up().map_err(|error| database.failed("open", &error))?;
        Ok(self)
    }

    /// Moves a new database to its place, if something was committed to it. A database that another
    /// process put there first stays.
    pub(crate) fn placed(mut self) -> Result<Database, Failure> {
        let Some(made) = self.made.take() else { return Ok(self) };
        let path = self.path.clone();
        // SQLite names its journal after the path that it opened.
        drop(self.connection.take());
        let absolute = std::path::absolute(&path).map_err(|error| cannot("write", &path, error))?;
        let placed = interrupt::finish(|| place(&made, &absolute));
        placed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => cannot(
                "write",
                &path,
                "another program has created it meanwhile; help: try again to add to it",
            ),
            _ => cannot("write", &path, error),
        })?;
        self.opened(&absolute)
    }

    /// Begins a transaction. Nothing changes until it is committed.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, Failure> {
        let connection = self.connection();
        let begin = || -> rusqlite::Result<()> {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            if number(connection, "application_id")? != i64::from(APPLICATION_ID) {
                connection.pragma_update(None, "application_id", APPLICATION_ID)?;
                connection.pragma_update(None, "user_version", VERSION)?;
                connection.execute_batch(super::tables::FIXED)?;
            }
            Ok(())
        };
        let transaction = Transaction { database: self, is_open: true };
        begin().map_err(|error| self.failed("write", &error))?;
        Ok(transaction)
    }

    /// Frees the space of deleted content if that is most of the file. If this fails, the file
    /// stays large.
    pub(crate) fn shrink(&self) {
        let connection = self.connection();
        let pages = |pragma| number(connection, pragma).unwrap_or(0);
        if pages("freelist_count") > pages("page_count") / 2 {
            let _step = Step::new("releasing the space of deleted events");
            let _ = connection.execute_batch("VACUUM");
        }
    }

    /// Explains that the database failed to do something.
    pub(crate) fn failed(&self, what: &str, error: &rusqlite::Error) -> Failure {
        failed(what, &self.path, error)
    }

    fn connection(&self) -> &Connection {
        // Only `drop` takes it out.
        self.connection.as_ref().expect("a database has a connection until it is dropped")
    }

    /// Refuses other databases.
    fn check(&self) -> Result<(), Failure> {
        let connection = self.connection();
        let read = || -> rusqlite::Result<(i64, i64, bool)> {
            let is_empty =
                connection.query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| row.get(0))?;
            Ok((number(connection, "application_id")?, number(connection, "user_version")?, is_empty))
        };
        let (application, version, is_empty) = read().map_err(|error| self.failed("open", &error))?;
        let is_ours = application == i64::from(APPLICATION_ID);
        if is_ours && version == i64::from(VERSION) || is_empty && application == 0 && version == 0 {
            return Ok(());
        }
        Err(cannot(
            "use",
            &self.path,
            match is_ours {
                true if version > i64::from(VERSION) => {
                    format!(
                        "a newer telemetry created it: found version {version} of the tables, expected {VERSION}"
                    )
                }
                true => format!(
                    "found version {version} of the tables, expected {VERSION}; help: load the streams again"
                ),
                false => "it is a database of another program; help: name another file with -o".to_string(),
            },
        ))
    }

    fn set_up(&self) -> rusqlite::Result<()> {
        let connection = self.connection();
        connection.pragma_update(None, "cache_size", -CACHE)?;
        // The tables declare foreign keys, like the MPS's. SQLite must not check them for each row.
        connection.pragma_update(None, "foreign_keys", false)?;
        // SQLite sorts indexes on another thread.
        connection.pragma_update(None, "threads", 2)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The connection must be closed before an unfinished file is removed.
        drop(self.connection.take());
        interrupt::remove_unfinished();
    }
}

/// Changes that all happen at once, or not at all.
pub(crate) struct Transaction<'d> {
    database: &'d Database,
    is_open: bool,
}

impl<'d> Transaction<'d> {
    pub(crate) fn connection(&self) -> &'d Connection {
        self.database.connection()
    }

    /// Commits all changes.
    pub(crate) fn commit(mut self) -> Result<(), Failure> {
        let committed = self.connection().execute_batch("COMMIT");
        self.is_open = committed.is_err();
        committed.map_err(|error| self.failed(&error))
    }

    /// Explains that something was not written.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> Failure {
        self.database.failed("write", error)
    }

    /// Removes everything.
    pub(crate) fn clear(&self) -> rusqlite::Result<()> {
        let connection = self.connection();
        let mut names = connection.prepare(
            "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?;
        let names = names.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        for (what, name) in names.collect::<rusqlite::Result<Vec<_>>>()? {
            connection.execute_batch(&format!("DROP {what} {}", super::tables::quoted(&name)))?;
        }
        connection.execute_batch("DELETE FROM sqlite_sequence")?;
        connection.execute_batch(super::tables::FIXED)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // If even this fails, the journal remains, and the next program that opens the file
            // rolls back.
            let _ = self.connection().execute_batch("ROLLBACK");
        }
    }
}

/// Explains that SQLite failed to do something.
fn failed(what: &str, path: &Path, error: &rusqlite::Error) -> Failure {
    let code = error.sqlite_error_code();
    if code == Some(ErrorCode::OperationInterrupted) {
        return Failure::Interrupted;
    }
    let why = match code {
        Some(ErrorCode::DiskFull) => "the disk is full".to_string(),
        Some(ErrorCode::ReadOnly) => "it is read-only".to_string(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program is using it; help: try again later".to_string()
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            "it is damaged; help: move it away and load the streams again".to_string()
        }
        Some(ErrorCode::NotADatabase) => "it is not an SQLite database".to_string(),
        Some(ErrorCode::CannotOpen) => fs::OpenOptions::new()
            .write(true)
            .open(path)
            .err()
            .map_or_else(|| error.to_string(), |error| error.to_string()),
        _ => error.to_string(),
    };
    cannot(what, path, why)
}

/// Makes an empty file in a directory beside the place of a database. An interrupt removes both.
/// The directory is our own, because SQLite makes and finds files beside the database whose names
/// others could guess.
fn make_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut directory = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut directory, 0o700);
    let made = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .make_in(directory_of(path), |path| directory.create(path))?;
    let (_, made) = made.keep().map_err(|error| error.error)?;
    let file = made.join("database");
    interrupt::unfinished(&file);
    make_new(&file)?;
    Ok(file)
}

/// Moves a file to a free path, and removes its directory.
fn place(made: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(made, path) {
        Ok(()) => fs::remove_file(made)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // On some file systems a file can have only one name.
        Err(_) if path.exists() => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(made, path)?,
    }
    let _ = fs::remove_dir(directory_of(made));
    Ok(())
}

/// Returns true if a file begins like those of SQLite.
fn is_sqlite(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == MAGIC)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn cannot(what: &str, path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot {what} `{}`: {why}", path.display()))
}
