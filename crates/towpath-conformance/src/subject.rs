//! What a script runs on: a store whose clock can be set.

mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use memory::MemorySubject;
#[cfg(feature = "postgres")]
pub use postgres::PostgresSubject;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteSubject;

use std::time::Duration;

use towpath_core::store::BoxFuture;
use towpath_core::{JobId, Store, Timestamp};

use crate::error::ScriptError;

/// What a subject's own operations answer.
pub type SubjectResult<T> = Result<T, ScriptError>;

/// A store under test with what a script needs beside the contract.
pub trait Subject: Send {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// The store.
    fn store(&self) -> &dyn Store;

    /// Sets the store's clock. It may go back, as clocks do.
    fn set_clock(&mut self, now: Timestamp) -> BoxFuture<'_, SubjectResult<()>>;

    /// Spoils a counter of a node, as a fault of the store would.
    ///
    /// # Errors
    /// There is no such node, or the store has no way to do it.
    fn corrupt(&mut self, job: JobId, what: Corruption) -> BoxFuture<'_, SubjectResult<()>>;

    /// Drops the store without a farewell and opens it again, if it outlives its process.
    fn crash(&mut self) -> BoxFuture<'_, SubjectResult<()>>;

    /// Deletes what would outlive the process, if anything does.
    fn remove(&mut self) -> BoxFuture<'_, SubjectResult<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// A counter, and by how much it is to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// Parents that have not ended.
    Left(i32),
    /// Parents that ended as their edges ask.
    Ok(i32),
}

impl Corruption {
    /// What is added to the two counters, `left` and `ok`.
    pub(crate) fn parts(self) -> (i32, i32) {
        match self {
            Self::Left(by) => (by, 0),
            Self::Ok(by) => (0, by),
        }
    }
}

/// When every script starts: 2023-11-14T22:13:20Z.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// The lease of a worker that a script gives none.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
