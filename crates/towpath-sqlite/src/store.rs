//! The store that users open: each verb is handed to the writer or answered by a reader.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use towpath_core::schedule::ScheduleWrite;
use towpath_core::store::{
    Ancestor, Applied, Arrival, Beat, BeatReply, BoxFuture, CommitCounts, DueRetries, DueSchedules, DueStops, Ended,
    Enqueue, Enqueued, Entry, HintStream, InboxLine, MarkLine, Migration, Note, Noted, Order, Peer, Pruned, Rescue,
    RescueReply, ScheduleWritten, Schedules, Shown, Signalled, StoreResult, StreamLine, Suspects, Transact, Transacted,
    Turn, TurnReply, Upstream, Wanted,
};
use towpath_core::tally::{Record, check};
use towpath_core::{
    BlobStore, GraphId, Inspect, JobId, NewGraph, Payload, RetryView, RunId, ScheduleName, Store, StoreError,
    StoreErrorKind,
};

use crate::care::Care;
use crate::combine::{Commit, Core};
use crate::db::Db;
use crate::error::Fault;
use crate::open::{self, SqliteOptions};
use crate::queries::Query;
use crate::tx::Tx;
use crate::{
    apply, content, enqueue, extend, migrate, note, prune, read, recount, rescue, retry, schedule, signal, tally,
    transact, turn,
};

/// A store in one SQLite file. Clones share it.
#[derive(Clone)]
pub struct SqliteStore {
    /// Before the writer, which closes last and then empties the log into the file.
    readers: Arc<Mutex<Vec<Connection>>>,
    /// Sees what others commit, which for it is everybody; and what it has seen.
    watcher: Arc<Mutex<Option<Connection>>>,
    core: Arc<Core>,
}

/// Connections that are kept for the next reader.
const READERS_KEPT: usize = 4;

impl SqliteStore {
    /// Opens the file, creates it and its folder if need be, and brings its schema up to date.
    ///
    /// # Errors
    /// - [`StoreErrorKind::Corrupt`]: it is no store, or damaged.
    /// - [`StoreErrorKind::SchemaTooNew`]: a newer release has changed it.
    /// - [`StoreErrorKind::ReadOnly`], [`StoreErrorKind::Full`], [`StoreErrorKind::Unavailable`]: make it
    ///   writable, make room, try again.
    /// - [`StoreErrorKind::Unsupported`]: it lies on a network file system.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> StoreResult<Self> {
        let path = path.as_ref();
        let core = Core::open(path, options).map_err(|fault| {
            let mut error = fault.during("open the store");
            error.message = format!("{}: {}", path.display(), error.message);
            error
        })?;
        Ok(Self { core, readers: Arc::default(), watcher: Arc::default() })
    }

    /// How many transactions have written.
    pub fn commits(&self) -> CommitCounts {
        self.core.commits.counts()
    }

    pub(crate) fn shared(&self) -> &Arc<Core> {
        &self.core
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// A number that changes on this one connection when any other has committed, as all that write are.
    pub(crate) fn look_for_changes(&self) -> StoreResult<u64> {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = (|| {
            let conn = match watcher.take() {
                Some(conn) => conn,
                None => open::reader(self.core.path())?,
            };
            let version: i64 = Db::new(&conn).one(Query::DataVersion, [], |row| Ok(row.get(0)?))?;
            // On an error the connection is dropped; another one counts from elsewhere, which is a change too.
            *watcher = Some(conn);
            Ok(version.unsigned_abs())
        })();
        looked.map_err(|fault: Fault| fault.during("look for changes"))
    }

    /// Answers a question from one snapshot, beside the writer.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        question: impl FnOnce(&mut Db<'_>) -> Result<T, Fault>,
    ) -> StoreResult<T> {
        let kept = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let answered = (|| {
            let conn = match kept {
                Some(conn) => conn,
                None => open::reader(self.core.path())?,
            };
            let mut db = Db::new(&conn);
            db.run(Query::ReadBegin, [])?;
            // On an error the connection is dropped, and its transaction with it.
            let answer = question(&mut db)?;
            db.run(Query::Commit, [])?;
            drop(db);
            Ok((conn, answer))
        })();
        let (conn, answer) = answered.map_err(|fault: Fault| fault.during(doing))?;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS_KEPT {
            readers.push(conn);
        }
        Ok(answer)
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.core.path())
            .field("options", self.core.options())
            .finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn enqueue(&self, batch: Enqueue) -> BoxFuture<'_, StoreResult<Enqueued>> {
        Box::pin(async move {
            if let Err(refusal) = batch.check() {
                return Err(StoreError::new(StoreErrorKind::Invalid, "enqueue", refusal.to_string()));
            }
            self.core.submit("enqueue", Commit::Durable, move |tx| enqueue::enqueue(tx, &batch)).await
        })
    }

    /// A turn that settles nothing and is given nothing writes nothing, so that an idle worker costs no
    /// disk. Its number is kept in memory: when the process dies, it may be used again.
    fn turn(&self, turn: Turn) -> BoxFuture<'_, StoreResult<TurnReply>> {
        Box::pin(async move {
            turn.check()?;
            let commit = if turn.is_durable() { Commit::Durable } else { Commit::Lazy };
            let turn = Arc::new(turn);
            let take = |care| {
                let turn = Arc::clone(&turn);
                self.core.submit("take a turn", commit, move |tx| turn::turn(tx, &turn, care))
            };
            match take(Care::None).await {
                // One job must not cost the others their outcomes, nor the worker its claim.
                Err(error) if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::Invalid) => {
                    take(Care::EachJob).await
                }
                answer => answer,
            }
        })
    }

    fn extend(&self, beat: Beat) -> BoxFuture<'_, StoreResult<BeatReply>> {
        Box::pin(self.core.submit("extend the lease", Commit::Lazy, move |tx| extend::extend(tx, &beat)))
    }

    fn rescue(&self, ask: Rescue) -> BoxFuture<'_, StoreResult<RescueReply>> {
        Box::pin(self.core.submit("rescue", Commit::Lazy, move |tx| rescue::rescue(tx, &ask)))
    }

    fn transact(&self, work: Transact) -> BoxFuture<'_, StoreResult<Transacted>> {
        Box::pin(self.core.submit("do a transactional step", Commit::Durable, move |tx| transact::transact(tx, work)))
    }

    fn signal(&self, arrivals: Vec<Arrival>) -> BoxFuture<'_, StoreResult<Signalled>> {
        Box::pin(async move {
            Arrival::check_batch(&arrivals)?;
            self.core.submit("signal", Commit::Durable, move |tx| signal::signal(tx, &arrivals)).await
        })
    }

    fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Entry>>> {
        Box::pin(async move { self.read("read a journal", |db| read::entries(db, job, chapter, from, limit)) })
    }

    fn inbox(&self, run: RunId, after: i64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<InboxLine>>> {
        Box::pin(async move { self.read("read an inbox", |db| read::inbox(db, &run, after, limit)) })
    }

    fn shown(&self, run: RunId, name: String) -> BoxFuture<'_, StoreResult<Option<Shown>>> {
        Box::pin(async move { self.read("read what a run shows", |db| read::shown(db, &run, &name)) })
    }

    fn stream(&self, run: RunId, name: String, after: u64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<StreamLine>>> {
        Box::pin(async move { self.read("read a stream", |db| read::stream(db, &run, &name, after, limit)) })
    }

    fn upstream(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<Upstream>>> {
        Box::pin(async move { self.read("read the parents", |db| read::upstream(db, job)) })
    }

    fn ancestors(&self, job: JobId, wanted: Wanted, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Ancestor>>> {
        Box::pin(async move { self.read("read above a node", |db| read::ancestors(db, job, &wanted, limit)) })
    }

    fn graph_input(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<Payload>>> {
        Box::pin(async move { self.read("read the graph", |db| read::graph_input(db, graph)) })
    }

    fn settleable(&self, graph: GraphId, limit: u32) -> BoxFuture<'_, StoreResult<Vec<JobId>>> {
        Box::pin(async move { self.read("read the graph", |db| read::settleable(db, graph, limit)) })
    }

    fn retry_view(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<RetryView>>> {
        Box::pin(async move { self.read("read the graph", |db| retry::retry_view(db, graph)) })
    }

    fn content(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<NewGraph>>> {
        Box::pin(async move {
            let now = self.core.options().clock.now();
            self.read("read the graph", |db| content::content(db, graph, now))
        })
    }

    fn retries(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueRetries>> {
        Box::pin(async move {
            let now = self.core.options().clock.now();
            self.read("look for retries", |db| retry::retries(db, now, limit))
        })
    }

    fn stops(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueStops>> {
        Box::pin(async move {
            let now = self.core.options().clock.now();
            self.read("look for stopped graphs", |db| read::stops(db, now, limit))
        })
    }

    fn suspects(&self, after: Option<i64>, size_max: u32) -> BoxFuture<'_, StoreResult<Suspects>> {
        Box::pin(async move { self.read("count graphs again", |db| recount::suspects(db, after, size_max)) })
    }

    fn peers(&self) -> BoxFuture<'_, StoreResult<Vec<Peer>>> {
        Box::pin(async move { self.read("read the workers", read::peers) })
    }

    fn ended(&self, jobs: Vec<JobId>) -> BoxFuture<'_, StoreResult<Vec<Option<Ended>>>> {
        Box::pin(async move { self.read("read the ends", |db| read::ended(db, &jobs)) })
    }

    fn apply(&self, order: Order) -> BoxFuture<'_, StoreResult<Applied>> {
        Box::pin(async move {
            order.check()?;
            self.core.submit("apply the order", Commit::Durable, move |tx| apply::apply(tx, &order)).await
        })
    }

    fn prune(&self, limit: u32) -> BoxFuture<'_, StoreResult<Pruned>> {
        Box::pin(self.core.submit("prune", Commit::Lazy, move |tx| prune::prune(tx, limit)))
    }

    fn due_schedules(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueSchedules>> {
        let now = self.core.options().clock.now();
        Box::pin(async move { self.read("read schedules", |db| schedule::due(db, now, limit)) })
    }

    fn schedules(&self, after: Option<ScheduleName>, limit: u32) -> BoxFuture<'_, StoreResult<Schedules>> {
        let now = self.core.options().clock.now();
        Box::pin(async move { self.read("list schedules", |db| schedule::list(db, now, after.as_ref(), limit)) })
    }

    fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> BoxFuture<'_, StoreResult<Vec<ScheduleWritten>>> {
        let write = move |tx: &mut Tx<'_, '_>| schedule::write(tx, &writes);
        Box::pin(self.core.submit("write schedules", Commit::Durable, write))
    }

    fn record(&self, records: Vec<Record>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            check(&records)?;
            let write = move |tx: &mut Tx<'_, '_>| tally::record(tx, &records);
            // Figures for charts: they may be lost with the power.
            self.core.submit("record", Commit::Lazy, write).await
        })
    }

    fn note(&self, notes: Vec<Note>) -> BoxFuture<'_, StoreResult<Vec<Noted>>> {
        Box::pin(async move {
            Note::check_batch(&notes)?;
            let commit = if notes.iter().any(Note::is_durable) { Commit::Durable } else { Commit::Lazy };
            self.core.submit("note", commit, move |tx| note::note(tx, &notes)).await
        })
    }

    fn marks(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<MarkLine>>> {
        Box::pin(async move { self.read("read marks", |db| note::marks(db, job)) })
    }

    fn blobs(&self) -> &dyn BlobStore {
        self
    }

    fn hints(&self) -> HintStream {
        let stream = self.core.hints.listen();
        self.core.listen();
        stream
    }

    fn migrate(&self) -> BoxFuture<'_, StoreResult<Migration>> {
        Box::pin(self.core.submit("migrate", Commit::Durable, |tx| migrate::migrate(tx.db.conn)))
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}
