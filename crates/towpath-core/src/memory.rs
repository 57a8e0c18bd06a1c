//! The store in memory: the specification of the store contract, and the store of users' tests.
//!
//! It keeps the tables of `docs/store.md` as ordered maps under one lock, and a verb is a plain
//! function on them, in the file that bears its name. A verb refuses before it writes anything and
//! cannot fail afterwards, so it is atomic by construction. Nothing here outlives the process.

mod append;
mod apply;
mod blob;
mod claim;
mod content;
mod corrupt;
mod edit;
mod enqueue;
mod extend;
mod inspect;
mod note;
mod pause;
mod place;
mod prune;
mod read;
mod recount;
mod release;
mod requeue;
mod rescue;
mod retry;
mod rewind;
mod schedule;
mod settle;
mod signal;
mod start;
mod tables;
mod tally;
#[cfg(test)]
mod tests;
mod tombstone;
mod transact;
mod turn;
mod undo;
mod unique;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use crate::blob::BlobStore;
use crate::clock::Clock;
use crate::graph::{NewGraph, RetryView};
use crate::id::{GraphId, Incarnation, JobId};
use crate::lifecycle::StopReason;
use crate::name::{Queue, RunId, ScheduleName};
use crate::payload::Payload;
use crate::schedule::ScheduleWrite;
use crate::store::{
    Ancestor, Applied, Arrival, Beat, BeatReply, BoxFuture, DueRetries, DueSchedules, DueStops, Ended, Enqueue,
    Enqueued, Entry, Hint, HintStream, Hints, InboxLine, Inspect, MarkLine, Migration, Note, Noted, Order, Peer,
    Pruned, Rescue, RescueReply, SCHEMA_VERSION, ScheduleWritten, Schedules, Shown, Signalled, Store, StoreError,
    StoreErrorKind, StoreResult, StreamLine, Suspects, Transact, Transacted, Turn, TurnReply, Upstream, Wanted,
};
use crate::tally::Record;
use crate::time::Timestamp;
use tables::Tables;

/// A store that forgets everything when it is dropped.
///
/// ```
/// use towpath_core::{ManualClock, MemoryStore, Store};
/// let clock = ManualClock::default();
/// let store: std::sync::Arc<dyn Store> = std::sync::Arc::new(MemoryStore::new(clock.clone()));
/// ```
pub struct MemoryStore {
    clock: Box<dyn Clock>,
    tables: Mutex<Tables>,
    hints: Hints,
}

impl MemoryStore {
    /// An empty store with this clock.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), tables: Mutex::new(Tables::default()), hints: Hints::new() }
    }

    /// Carries out a verb that writes, then tells the news.
    fn write<T>(
        &self,
        doing: &'static str,
        verb: impl FnOnce(&mut Transaction<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let mut tables = self.lock(doing)?;
        let mut transaction = Transaction {
            now: self.clock.now(),
            tables: &mut tables,
            news: News::default(),
            stops: Vec::new(),
            tells: Vec::new(),
        };
        // Whatever it does, it is one step further.
        transaction.tables.writes += 1;
        let answer = verb(&mut transaction)?;
        let news = transaction.news;
        drop(tables);
        news.ring(&self.hints);
        Ok(answer)
    }

    /// Carries out a verb that only reads.
    fn read<T>(&self, doing: &'static str, verb: impl FnOnce(&Tables) -> T) -> StoreResult<T> {
        Ok(verb(&*self.lock(doing)?))
    }

    fn lock(&self, doing: &'static str) -> StoreResult<MutexGuard<'_, Tables>> {
        self.tables.lock().map_err(|_| {
            StoreError::new(StoreErrorKind::Corrupt, doing, "a verb panicked half way: make a new store and report it")
        })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn enqueue(&self, batch: Enqueue) -> BoxFuture<'_, StoreResult<Enqueued>> {
        Box::pin(async move { self.write("enqueue", |tx| tx.enqueue(batch)) })
    }

    fn turn(&self, turn: Turn) -> BoxFuture<'_, StoreResult<TurnReply>> {
        Box::pin(async move { self.write("take a turn", |tx| tx.turn(turn)) })
    }

    fn extend(&self, beat: Beat) -> BoxFuture<'_, StoreResult<BeatReply>> {
        Box::pin(async move { self.write("renew a lease", |tx| Ok(tx.extend(beat))) })
    }

    fn rescue(&self, ask: Rescue) -> BoxFuture<'_, StoreResult<RescueReply>> {
        Box::pin(async move { self.write("rescue", |tx| tx.rescue(ask)) })
    }

    fn transact(&self, work: Transact) -> BoxFuture<'_, StoreResult<Transacted>> {
        Box::pin(async move { self.write("do a transactional step", |tx| tx.transact(work)) })
    }

    fn signal(&self, arrivals: Vec<Arrival>) -> BoxFuture<'_, StoreResult<Signalled>> {
        Box::pin(async move { self.write("signal", |tx| tx.signal(arrivals)) })
    }

    fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Entry>>> {
        Box::pin(async move { self.read("read a journal", |tables| tables.entries(job, chapter, from, limit)) })
    }

    fn inbox(&self, run: RunId, after: i64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<InboxLine>>> {
        Box::pin(async move { self.read("read an inbox", |tables| tables.inbox(&run, after, limit)) })
    }

    fn shown(&self, run: RunId, name: String) -> BoxFuture<'_, StoreResult<Option<Shown>>> {
        Box::pin(async move { self.read("read what a run shows", |tables| tables.shown(&run, name)) })
    }

    fn stream(&self, run: RunId, name: String, after: u64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<StreamLine>>> {
        Box::pin(async move { self.read("read a stream", |tables| tables.stream(&run, name, after, limit)) })
    }

    fn upstream(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<Upstream>>> {
        Box::pin(async move { self.read("read the parents of a node", |tables| tables.upstream(job)) })
    }

    fn ancestors(&self, job: JobId, wanted: Wanted, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Ancestor>>> {
        Box::pin(async move { self.read("read above a node", |tables| tables.ancestors(job, &wanted, limit)) })
    }

    fn graph_input(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<Payload>>> {
        Box::pin(async move { self.read("read a graph", |tables| tables.graph_input(graph)) })
    }

    fn settleable(&self, graph: GraphId, limit: u32) -> BoxFuture<'_, StoreResult<Vec<JobId>>> {
        Box::pin(async move { self.read("read a graph", |tables| tables.settleable(graph, limit)) })
    }

    fn stops(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueStops>> {
        let now = self.clock.now();
        Box::pin(async move { self.read("look for stopped graphs", |tables| tables.stops(now, limit)) })
    }

    fn retry_view(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<RetryView>>> {
        Box::pin(async move { self.read("read a graph", |tables| tables.retry_view(graph)) })
    }

    fn content(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<NewGraph>>> {
        let now = self.clock.now();
        Box::pin(async move { self.read("read a graph", |tables| tables.content(graph, now)) })
    }

    fn retries(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueRetries>> {
        let now = self.clock.now();
        Box::pin(async move { self.read("look for retries", |tables| tables.retries(now, limit)) })
    }

    fn suspects(&self, after: Option<i64>, size_max: u32) -> BoxFuture<'_, StoreResult<Suspects>> {
        let most = crate::limits::SWEEP_GRAPHS_MAX;
        Box::pin(async move { self.read("count graphs again", |tables| tables.suspects(after, size_max, most)) })
    }

    fn peers(&self) -> BoxFuture<'_, StoreResult<Vec<Peer>>> {
        Box::pin(async move { self.read("read the workers", |tables| tables.peers()) })
    }

    fn ended(&self, jobs: Vec<JobId>) -> BoxFuture<'_, StoreResult<Vec<Option<Ended>>>> {
        Box::pin(async move {
            self.read("read how jobs ended", |tables| jobs.into_iter().map(|id| tables.how_ended(id)).collect())
        })
    }

    fn apply(&self, order: Order) -> BoxFuture<'_, StoreResult<Applied>> {
        Box::pin(async move {
            self.write("carry out an order", |tx| {
                order.check()?;
                Ok(tx.apply(order))
            })
        })
    }

    fn prune(&self, limit: u32) -> BoxFuture<'_, StoreResult<Pruned>> {
        Box::pin(async move { self.write("prune", |tx| Ok(tx.prune(limit))) })
    }

    fn due_schedules(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueSchedules>> {
        Box::pin(async move { self.read("read schedules", |tables| tables.due_schedules(self.clock.now(), limit)) })
    }

    fn schedules(&self, after: Option<ScheduleName>, limit: u32) -> BoxFuture<'_, StoreResult<Schedules>> {
        let list = move |tables: &Tables| tables.schedules(self.clock.now(), after.as_ref(), limit);
        Box::pin(async move { self.read("list schedules", list) })
    }

    fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> BoxFuture<'_, StoreResult<Vec<ScheduleWritten>>> {
        Box::pin(async move { self.write("write schedules", |tx| Ok(tx.write_schedules(writes))) })
    }

    fn record(&self, records: Vec<Record>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move { self.write("record", |tx| tx.record(&records)) })
    }

    fn note(&self, notes: Vec<Note>) -> BoxFuture<'_, StoreResult<Vec<Noted>>> {
        Box::pin(async move { self.write("note", |tx| tx.note(notes)) })
    }

    fn marks(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<MarkLine>>> {
        Box::pin(async move { self.read("read marks", |tables| tables.marks(job)) })
    }

    fn blobs(&self) -> &dyn BlobStore {
        self
    }

    fn hints(&self) -> HintStream {
        self.hints.listen()
    }

    fn migrate(&self) -> BoxFuture<'_, StoreResult<Migration>> {
        Box::pin(std::future::ready(Ok(Migration { from: SCHEMA_VERSION, to: SCHEMA_VERSION })))
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

/// One verb under way: the tables, the time, and what there will be to tell.
struct Transaction<'a> {
    tables: &'a mut Tables,
    now: Timestamp,
    news: News,
    /// Stops that ends bring, for graphs. They hold once all that the verb settles is judged.
    stops: Vec<(tables::Key, StopReason)>,
    /// What ends tell to runs. It is written once all that the verb settles is judged.
    tells: Vec<Arrival>,
}

/// Hints, collected while a verb writes and rung after it, each once.
#[derive(Default)]
struct News {
    ready: BTreeSet<Queue>,
    /// The worker whose turn did it, if that turn has claimed besides.
    claimed_by: Option<Incarnation>,
    ended: Vec<JobId>,
    graphs_ended: Vec<GraphId>,
    signalled: Vec<RunId>,
    cancel: bool,
    undecided: bool,
}

impl News {
    fn ring(self, hints: &Hints) {
        for queue in self.ready {
            hints.ring(match self.claimed_by {
                Some(by) => Hint::Released { queue, by },
                None => Hint::Ready(queue),
            });
        }
        self.ended.into_iter().for_each(|job| hints.ring(Hint::Ended(job)));
        self.graphs_ended.into_iter().for_each(|graph| hints.ring(Hint::GraphEnded(graph)));
        self.signalled.into_iter().for_each(|run| hints.ring(Hint::Signalled(run)));
        if self.cancel {
            hints.ring(Hint::Cancel);
        }
        if self.undecided {
            hints.ring(Hint::Anything);
        }
    }
}
