//! A store that a worker loses after one of its commits, as if its process had died: what it had written is there, and it hears
//! nothing more.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use towpath::Store;
use towpath::core::schedule::ScheduleWrite;
use towpath::core::store::*;
use towpath::core::tally::Record;
use towpath::core::{BlobStore, GraphId, JobId, NewGraph, Payload, RetryView, RunId, ScheduleName};

/// The store of a worker that dies.
pub(crate) struct Mortal {
    inner: Arc<dyn Store>,
    /// After this many commits.
    after: usize,
    commits: AtomicUsize,
    lists: AtomicUsize,
    is_dead: AtomicBool,
}

impl Mortal {
    pub(crate) fn new(inner: Arc<dyn Store>, after: usize) -> Arc<Self> {
        Arc::new(Self {
            inner,
            after,
            commits: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    /// How often it has listed what of a stopped graph can be settled.
    pub(crate) fn lists(&self) -> usize {
        self.lists.load(Ordering::SeqCst)
    }

    /// Asks while it lives.
    fn living<'a, T: Send + 'a>(&'a self, asked: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        Box::pin(async move {
            if self.is_dead() {
                return std::future::pending().await;
            }
            let answer = asked.await;
            // What comes after its death nobody hears.
            if self.is_dead() { std::future::pending().await } else { answer }
        })
    }

    /// The same for what writes to journals, or ends what has one.
    fn committing<'a, T: Send + 'a>(&'a self, counts: bool, asked: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        self.living(Box::pin(async move {
            let answer = asked.await;
            if counts && self.commits.fetch_add(1, Ordering::SeqCst) + 1 >= self.after {
                self.is_dead.store(true, Ordering::SeqCst);
            }
            answer
        }))
    }
}

macro_rules! passed_on {
    ($(fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $arg: $type)*) -> BoxFuture<'_, StoreResult<$answer>> {
            self.living(self.inner.$name($($arg),*))
        })*
    };
}

impl Store for Mortal {
    fn turn(&self, turn: Turn) -> BoxFuture<'_, StoreResult<TurnReply>> {
        self.committing(!turn.settle.is_empty(), self.inner.turn(turn))
    }

    fn transact(&self, work: Transact) -> BoxFuture<'_, StoreResult<Transacted>> {
        self.committing(true, self.inner.transact(work))
    }

    fn settleable(&self, graph: GraphId, limit: u32) -> BoxFuture<'_, StoreResult<Vec<JobId>>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.living(self.inner.settleable(graph, limit))
    }

    /// Its process is known to be gone from the beginning, so that whoever comes after it need not wait for its lease.
    fn extend(&self, mut beat: Beat) -> BoxFuture<'_, StoreResult<BeatReply>> {
        beat.identity.host.started += 1;
        self.living(self.inner.extend(beat))
    }

    passed_on! {
        fn enqueue(&self, batch: Enqueue) -> Enqueued;
        fn rescue(&self, ask: Rescue) -> RescueReply;
        fn signal(&self, arrivals: Vec<Arrival>) -> Signalled;
        fn note(&self, notes: Vec<Note>) -> Vec<Noted>;
        fn marks(&self, job: JobId) -> Vec<MarkLine>;
        fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> Vec<Entry>;
        fn inbox(&self, run: RunId, after: i64, limit: u32) -> Vec<InboxLine>;
        fn shown(&self, run: RunId, name: String) -> Option<Shown>;
        fn stream(&self, run: RunId, name: String, after: u64, limit: u32) -> Vec<StreamLine>;
        fn upstream(&self, job: JobId) -> Vec<Upstream>;
        fn ancestors(&self, job: JobId, wanted: Wanted, limit: u32) -> Vec<Ancestor>;
        fn graph_input(&self, graph: GraphId) -> Option<Payload>;
        fn retry_view(&self, graph: GraphId) -> Option<RetryView>;
        fn content(&self, graph: GraphId) -> Option<NewGraph>;
        fn retries(&self, limit: u32) -> DueRetries;
        fn stops(&self, limit: u32) -> DueStops;
        fn suspects(&self, after: Option<i64>, size_max: u32) -> Suspects;
        fn peers(&self) -> Vec<Peer>;
        fn ended(&self, jobs: Vec<JobId>) -> Vec<Option<Ended>>;
        fn apply(&self, order: Order) -> Applied;
        fn due_schedules(&self, limit: u32) -> DueSchedules;
        fn schedules(&self, after: Option<ScheduleName>, limit: u32) -> Schedules;
        fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> Vec<ScheduleWritten>;
        fn record(&self, records: Vec<Record>) -> ();
        fn prune(&self, limit: u32) -> Pruned;
        fn migrate(&self) -> Migration;
    }

    fn hints(&self) -> HintStream {
        self.inner.hints()
    }

    fn blobs(&self) -> &dyn BlobStore {
        self.inner.blobs()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.inner.as_any()
    }

    fn inspect(&self) -> &dyn Inspect {
        self.inner.inspect()
    }
}
