//! Opening the file: options, connections, pragmas, and what is refused with its remedy.
//!
//! The database file is never opened by anything but SQLite: closing any handle to it would drop the
//! locks that SQLite holds on it for this whole process (POSIX advisory locks).

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use towpath_core::{Clock, StoreErrorKind, Timestamp};

use crate::error::Fault;
use crate::{filesystem, migrate};

/// How a store is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// When a commit is on disk.
    pub synchronous: Synchronous,
    /// Most memory for pages that the writer keeps, in bytes.
    pub cache_bytes: usize,
    /// Where the store reads the time.
    pub clock: Arc<dyn Clock>,
}

/// When a commit is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Before it is answered, except for what would only be decided or claimed again.
    #[default]
    Full,
    /// At a checkpoint. A power cut may lose the latest commits; a crash of the process loses none.
    Normal,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { synchronous: Synchronous::Full, cache_bytes: 16 << 20, clock: Arc::new(system_clock) }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("synchronous", &self.synchronous)
            .field("cache_bytes", &self.cache_bytes)
            .finish_non_exhaustive()
    }
}

fn system_clock() -> Timestamp {
    // A clock before 1970 or after the year 290,000 reads as those bounds.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::ZERO + since
}

/// Opens the writer, creating folder and file, and brings the schema up to date.
///
/// The first to open a fresh file turns its journal into a log, and SQLite answers those who come in that moment that
/// it is busy, without asking the busy handler: they try again.
pub(crate) fn writer(path: &Path, options: &SqliteOptions) -> Result<Connection, Fault> {
    let mut tries = 0;
    loop {
        match open_writer(path, options) {
            Err(fault) if fault.is_busy() && tries < OPEN_TRIES => {
                tries += 1;
                thread::sleep(OPEN_SLEEP);
            }
            opened => return opened,
        }
    }
}

fn open_writer(path: &Path, options: &SqliteOptions) -> Result<Connection, Fault> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| folder_fault(folder, &e))?;
    filesystem::check(folder)?;
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // Of a file that can only be read, this is what refuses; the mode of its journal would only be told.
    conn.execute_batch(sql!("begin"))?;
    conn.execute_batch(sql!("rollback"))?;
    let mode: String = conn.query_row(sql!("journal_mode"), [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Refused(
            StoreErrorKind::Unsupported,
            format!("{} cannot keep a write-ahead log ({mode} instead): move it to a local disk", path.display()),
        ));
    }
    // Checkpoints are made beside the writer (checkpoint.rs), never in a commit.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    cache(&conn, options.cache_bytes)?;
    migrated(&conn)?;
    Ok(conn)
}

/// Migrates. Of several processes that race, one does it and the others find it done.
fn migrated(conn: &Connection) -> Result<(), Fault> {
    conn.execute_batch(sql!("begin"))?;
    let done = migrate::migrate(conn);
    if done.is_ok() {
        conn.execute_batch(sql!("commit"))?;
    } else if !conn.is_autocommit() {
        conn.execute_batch(sql!("rollback"))?;
    }
    done.map(|_| ())
}

/// Opens a connection that only reads.
pub(crate) fn reader(path: &Path) -> Result<Connection, Fault> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    cache(&conn, READER_CACHE_BYTES)?;
    Ok(conn)
}

/// Opens a connection that only moves pages from the log to the file.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection, Fault> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // What is checkpointed must be in the log on disk first, also what was committed without waiting.
    conn.pragma_update(None, "synchronous", "normal")?;
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(conn)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_handler(Some(wait_a_little))?;
    conn.pragma_update(None, "foreign_keys", false)?;
    // A plan does not depend on what is bound. Otherwise a statement with a bound limit is compiled anew whenever it runs:
    // SQLite would know the limit as it plans.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    Ok(conn)
}

fn cache(conn: &Connection, bytes: usize) -> Result<(), Fault> {
    // A negative size is in KiB.
    let kib = i64::try_from(bytes >> 10).unwrap_or(i64::MAX).max(256);
    conn.pragma_update(None, "cache_size", -kib)?;
    Ok(())
}

fn folder_fault(folder: &Path, error: &std::io::Error) -> Fault {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        std::io::ErrorKind::StorageFull => StoreErrorKind::Full,
        _ => StoreErrorKind::Unavailable,
    };
    Fault::Refused(kind, format!("the folder {} cannot be made: {error}", folder.display()))
}

/// Waits for another process's transaction. SQLite's own back-off sleeps up to 100 ms and starves one
/// of two busy processes; short and even sleeps share the file fairly.
fn wait_a_little(tries: i32) -> bool {
    thread::sleep(BUSY_SLEEP);
    tries < BUSY_TRIES
}

const OPEN_SLEEP: Duration = Duration::from_millis(5);
const OPEN_TRIES: u32 = 200;
const BUSY_SLEEP: Duration = Duration::from_micros(150);
/// With what the sleep itself adds, about five seconds: a transaction of ours takes milliseconds.
const BUSY_TRIES: i32 = 25_000;
/// More than there are statements.
const STATEMENTS_CACHED: usize = 256;
const READER_CACHE_BYTES: usize = 4 << 20;
