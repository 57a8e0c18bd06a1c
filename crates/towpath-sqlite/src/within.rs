//! Enqueues and signals inside an application's own transaction, on its own connection to this store's file.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use towpath_core::store::{Arrival, Enqueue, Enqueued, Signalled, StoreResult, Wake};
use towpath_core::{BlobName, Kind, Payload, StoreError, StoreErrorKind, limits};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::store::SqliteStore;
use crate::tx::{Memory, Rings, Sequence, Tx};
use crate::{blob, enqueue, hints, rows, signal};

impl SqliteStore {
    /// Enqueues in a transaction of the application's, on its connection to this store's file. Rolled back, nothing of it is
    /// there. Begin it with `BEGIN IMMEDIATE`: one that begins by reading may find the file busy when it comes to write.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`]: the connection is not in a transaction, or is one to another file, or the batch is too large.
    /// Whatever the error, nothing was written, and the transaction is as it was.
    pub fn enqueue_in(&self, conn: &Connection, batch: &Enqueue) -> StoreResult<(Enqueued, Wake)> {
        if let Err(refusal) = batch.check() {
            return Err(StoreError::new(StoreErrorKind::Invalid, "enqueue", refusal.to_string()));
        }
        self.ride("enqueue", conn, |tx| enqueue::enqueue(tx, batch))
    }

    /// Signals in a transaction of the application's, as [`enqueue_in`](Self::enqueue_in) enqueues.
    ///
    /// # Errors
    /// As [`enqueue_in`](Self::enqueue_in).
    pub fn signal_in(&self, conn: &Connection, arrivals: &[Arrival]) -> StoreResult<(Signalled, Wake)> {
        Arrival::check_batch(arrivals)?;
        self.ride("signal", conn, |tx| signal::signal(tx, arrivals))
    }

    /// Keeps a large payload in a transaction of the application's, as [`enqueue_in`](Self::enqueue_in) enqueues.
    ///
    /// # Errors
    /// As [`enqueue_in`](Self::enqueue_in).
    pub fn put_blob_in(&self, conn: &Connection, name: &BlobName, bytes: &[u8]) -> StoreResult<()> {
        self.ride("put a blob", conn, |tx| blob::put(tx, name, bytes)).map(|((), _)| ())
    }

    /// The inputs of the jobs of a kind that have not ended, as the application's connection sees them, in the order in which they were
    /// enqueued. The newest 1,000. For tests: it goes through all jobs.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`]: the connection is one to another file.
    pub fn enqueued_in(&self, conn: &Connection, kind: &Kind) -> StoreResult<Vec<Payload>> {
        if let Some(problem) = elsewhere(conn, self.shared().path()) {
            return Err(StoreError::new(StoreErrorKind::Invalid, "look", problem));
        }
        let read =
            |row: &rusqlite::Row<'_>| rows::payload(row, 0)?.ok_or_else(|| Fault::corrupt("a job without an input"));
        let which = rusqlite::params![kind.as_str(), limits::PAGE_MAX];
        let mut inputs = Db::new(conn).all(Query::EnqueuedIn, which, read).map_err(|fault| fault.during("look"))?;
        inputs.reverse();
        Ok(inputs)
    }

    fn ride<T>(
        &self,
        doing: &'static str,
        conn: &Connection,
        verb: impl FnOnce(&mut Tx<'_, '_>) -> Result<T, Fault>,
    ) -> StoreResult<(T, Wake)> {
        let core = self.shared();
        if let Some(problem) = misplaced(conn, core.path()) {
            return Err(StoreError::new(StoreErrorKind::Invalid, doing, problem));
        }
        let (mut memory, mut sequence) = (Memory::default(), Sequence::default());
        let mut rings = Rings { heard: core.hints.is_heard(), ..Rings::default() };
        let now = core.options().clock.now();
        let mut db = Db::new(conn);
        let carry = || -> Result<T, Fault> {
            db.run(Query::VerbBegin, [])?;
            let done = verb(&mut Tx::new(&mut db, now, &mut memory, &mut sequence, &mut rings))
                .and_then(|done| sequence.write(&mut db).map(|()| done));
            if done.is_err() && !conn.is_autocommit() {
                // SQLite may have rolled the whole back by itself; the first error is the one to tell.
                db.run(Query::VerbUndo, [])?;
            }
            if !conn.is_autocommit() {
                db.run(Query::VerbKeep, [])?;
            }
            done
        };
        let done = carry().map_err(|fault| fault.during(doing))?;
        let core = Arc::clone(core);
        Ok((done, Wake::new(move || hints::ring(&core.hints, rings))))
    }
}

/// Why an enqueue cannot ride on this connection.
fn misplaced(conn: &Connection, store: &Path) -> Option<String> {
    if conn.is_autocommit() {
        return Some("the connection is not in a transaction: begin one, with IMMEDIATE".into());
    }
    elsewhere(conn, store)
}

/// How the connection says that it is to another file.
fn elsewhere(conn: &Connection, store: &Path) -> Option<String> {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = conn.path().unwrap_or_default();
    (resolved(Path::new(file)) != resolved(store))
        .then(|| format!("the connection is one to {file:?}, the store is {}: use its file", store.display()))
}
