//! The SQLite store as a subject: a file of its own, deleted with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::BoxFuture;
use towpath_core::{Clock, JobId, ManualClock, Store, Timestamp};
use towpath_sqlite::{SqliteOptions, SqliteStore, Synchronous};

use super::{Corruption, START, Subject, SubjectResult};
use crate::error::ScriptError;

/// The store in one SQLite file.
pub struct SqliteSubject {
    /// `None` only while it is being opened again.
    store: Option<SqliteStore>,
    clock: ManualClock,
    /// Holds the file; it goes when the subject does.
    folder: tempfile::TempDir,
}

impl SqliteSubject {
    /// A store in a new file.
    ///
    /// # Errors
    /// There is no place for temporary files, or the store cannot be opened there.
    pub async fn new() -> SubjectResult<Self> {
        let folder = tempfile::tempdir().map_err(|e| ScriptError::new(format!("failed to make a folder: {e}")))?;
        let mut subject = Self { store: None, clock: ManualClock::at(START), folder };
        subject.open().await?;
        Ok(subject)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("work.db")
    }

    async fn open(&mut self) -> SubjectResult<()> {
        let clock = self.clock.clone();
        // What is tested here is what the store says, not what the disk keeps in a power cut.
        let mut options = SqliteOptions::default();
        options.clock = Arc::new(move || clock.now());
        options.synchronous = Synchronous::Normal;
        let store = SqliteStore::open(self.path(), options).map_err(failed)?;
        store.migrate().await.map_err(failed)?;
        self.store = Some(store);
        Ok(())
    }

    fn spoil(&self, job: JobId, what: Corruption) -> Result<usize, rusqlite::Error> {
        let (left, ok) = what.parts();
        let db = rusqlite::Connection::open(self.path())?;
        db.busy_timeout(Duration::from_secs(5))?;
        db.execute(
            "UPDATE node SET left = left + ?1, ok = ok + ?2 WHERE job = (SELECT key FROM job WHERE id = ?3)",
            (left, ok, job.as_bytes()),
        )
    }
}

impl Subject for SqliteSubject {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn store(&self) -> &dyn Store {
        match &self.store {
            Some(store) => store,
            // Only a crash that failed leaves none, and its error has ended the script.
            None => unreachable!("the store was not opened again"),
        }
    }

    fn set_clock(&mut self, now: Timestamp) -> BoxFuture<'_, SubjectResult<()>> {
        self.clock.set(now);
        Box::pin(async { Ok(()) })
    }

    fn corrupt(&mut self, job: JobId, what: Corruption) -> BoxFuture<'_, SubjectResult<()>> {
        let spoiled = match self.spoil(job, what) {
            Ok(1) => Ok(()),
            Ok(rows) => Err(ScriptError::new(format!("{rows} nodes have the id {job}"))),
            Err(error) => Err(failed(error)),
        };
        Box::pin(async move { spoiled })
    }

    fn crash(&mut self) -> BoxFuture<'_, SubjectResult<()>> {
        Box::pin(async move {
            self.store = None;
            self.open().await
        })
    }
}

fn failed(error: impl std::fmt::Display) -> ScriptError {
    ScriptError::new(error.to_string())
}
