//! The store contract: what every store must do, and nothing that only one of them could.
//!
//! A batch is one transaction and answers come in the order of its items. Each item is accepted or
//! refused alone, unless it is one graph, which is all or nothing. A store filters, counts and
//! fences; it makes no policy. Every verb reads the store's clock once and says what it read.
//!
//! Every future may be dropped at any time: the verb then either happens whole or not at all, and
//! the caller does not know which. A repeated turn answers that question.

mod apply;
mod child;
mod commits;
mod edit;
mod enqueue;
mod error;
mod extend;
mod hint;
mod inspect;
mod migrate;
mod note;
mod prune;
mod read;
mod schedule;
mod served;
mod show;
mod signal;
mod start;
mod tombstone;
mod transact;
mod turn;
mod update;
mod wake;

pub use apply::{Applied, Change, Changed, Order, StopCounts, WhileRunning};
pub use child::{Child, ChildEnd, Parent, Telling};
pub use commits::{CommitCounts, Commits};
pub use edit::Edit;
pub use enqueue::{Enqueue, Enqueued, Item, Placed, Refusal};
pub use error::{StoreError, StoreErrorKind};
pub use extend::{Beat, BeatReply, HostId, Intent, Rescue, RescueReply, Rescued, Wish, WishLine, WorkerIdentity};
pub use hint::{Hint, HintStream, Hints};
pub use inspect::{
    AttemptLine, AuditLine, Census, EdgeLine, GraphDetail, GraphFilter, GraphLine, GraphStanding, Inspect, JobDetail,
    JobFilter, JobLine, JobShape, NodeLine, Page, PatchLine, PauseLine, QueueLine, RunLine, StateCounts, StopLine,
    TagLine, TagQuery, TallyLine, TallyQuery, VersionLine, WorkerLine,
};
pub use migrate::{MIN_BINARY, Migration, SCHEMA_VERSION, SchemaState};
pub use note::{Mark, MarkLine, Note, Noted, ProgressLine};
pub use prune::Pruned;
pub use read::{Ancestor, DueRetries, DueStop, DueStops, Ended, Entry, InboxLine, Peer, Suspects, Upstream, Wanted};
pub use schedule::{DueSchedules, ScheduleWritten, Schedules};
pub use served::{Served, Versions};
pub use show::{Showing, Shown, StreamHead, StreamLine};
pub use signal::{Arrival, CancelNote, Delivery, Signalled};
pub use start::{Fork, ForkedFrom, Start, Taken};
pub use tombstone::Tombstone;
pub use transact::{MemoryBody, Rows, Transact, Transacted, TxEnd};
pub use turn::{
    Appending, Assigned, AttemptOutcome, AttemptRecord, Claim, Claimed, Closing, Counters, Durability, Ending, Head,
    Lease, Move, NodeRef, QueueClaim, Renewal, RunHead, Settle, Settled, Turn, TurnReply, Undecided,
};
pub use update::{Asked, Asking};
pub use wake::Wake;

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use crate::blob::BlobStore;
use crate::graph::{NewGraph, RetryView};
use crate::id::{GraphId, JobId};
use crate::name::{RunId, ScheduleName};
use crate::payload::Payload;
use crate::schedule::ScheduleWrite;
use crate::tally::Record;

/// A boxed future, so that a store can be used as `Arc<dyn Store>`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a verb answers.
pub type StoreResult<T> = Result<T, StoreError>;

/// The verbs of a store.
pub trait Store: Send + Sync + 'static {
    /// Writes jobs, graphs and appends. Atomic; each item is accepted or refused alone.
    ///
    /// A job whose id is there already with the same content answers [`Placed::Existing`].
    fn enqueue(&self, batch: Enqueue) -> BoxFuture<'_, StoreResult<Enqueued>>;

    /// A worker's turn: settles outcomes, releases children, claims. Atomic, and idempotent by its
    /// number: the same number again answers what the first did, claims included.
    ///
    /// A worker that the store does not know is answered with [`StoreErrorKind::UnknownWorker`]:
    /// what it held is lost, and it must [`extend`](Self::extend) before it claims again.
    fn turn(&self, turn: Turn) -> BoxFuture<'_, StoreResult<TurnReply>>;

    /// Renews a worker's lease, or registers it; answers what it has lost and what is to be
    /// cancelled. With [`Intent::Leave`] everything it holds goes back and the worker is forgotten.
    fn extend(&self, beat: Beat) -> BoxFuture<'_, StoreResult<BeatReply>>;

    /// Leases to the asker jobs of workers whose lease has ended, or which it knows to be gone.
    fn rescue(&self, ask: Rescue) -> BoxFuture<'_, StoreResult<RescueReply>>;

    /// Puts signals into the inboxes of runs and wakes those that are parked. Atomic; each signal is
    /// accepted or refused alone.
    ///
    /// A run need not exist yet: what has come is there when it starts.
    fn signal(&self, arrivals: Vec<Arrival>) -> BoxFuture<'_, StoreResult<Signalled>>;

    /// Does a piece of a run in the store's own database, under its claim: the application's rows and lines of its journal
    /// are committed together.
    ///
    /// If the answer is lost, the journal tells what happened.
    fn transact(&self, work: Transact) -> BoxFuture<'_, StoreResult<Transacted>>;

    /// Writes what handlers say of their jobs while they work: how far they are, tags, and what the next attempt is to find.
    /// Atomic; each is written, stale or over a limit alone, and answered in order.
    ///
    /// To say the same again changes nothing. How far a job is may be lost with the power; tags and marks are on disk when they
    /// are answered.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`]: a note is over its limits; nothing is written.
    fn note(&self, notes: Vec<Note>) -> BoxFuture<'_, StoreResult<Vec<Noted>>>;

    /// What a job keeps across its attempts, by name. Empty if there is nothing, or no such job.
    fn marks(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<MarkLine>>>;

    /// A run's journal in one of its chapters, from a place on, in order; at most `limit` entries, and
    /// at most 1,000.
    fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Entry>>>;

    /// What has arrived for a run, after a number, by number; at most `limit` lines, and at most 1,000.
    ///
    /// Numbers are drawn before the commit, so a line may appear before one that was read already. A
    /// worker goes by how many there are (see [`Settle::read`]): if it is told of more than it finds
    /// after the last one, it reads from the start.
    fn inbox(&self, run: RunId, after: i64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<InboxLine>>>;

    /// What a run has shown last under a name ([`Showing::PUBLISHED`] for what it publishes); `None` if there is nothing, or no
    /// such run.
    fn shown(&self, run: RunId, name: String) -> BoxFuture<'_, StoreResult<Option<Shown>>>;

    /// The lines of a stream of a run after a number, in their order; at most `limit`, and at most 1,000. Empty if there are none, or
    /// no such run.
    fn stream(&self, run: RunId, name: String, after: u64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<StreamLine>>>;

    /// How the direct parents of a node ended, in the order of its edges. Empty for a lone job.
    fn upstream(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<Upstream>>>;

    /// The ancestors of a node that are wanted: those among its direct parents, or, if none of them is, among all
    /// that lie above it. In the order of their enqueue, at most `limit`. Empty for a lone job.
    fn ancestors(&self, job: JobId, wanted: Wanted, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Ancestor>>>;

    /// What a graph was given, for its nodes to read. `None` if it was given nothing, or is unknown or marked.
    fn graph_input(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<Payload>>>;

    /// Nodes of a graph that could be settled now: all parents ended, not running, not ended, and none that its stop spares (undos).
    /// Where a failure has stopped it neither what handles the failure is listed nor what is kept for a decision, which says more of
    /// it than the stop. Where some are kept for a decision
    /// only these, so that who settles one after the other does not go through the whole graph for each.
    fn settleable(&self, graph: GraphId, limit: u32) -> BoxFuture<'_, StoreResult<Vec<JobId>>>;

    /// A graph as the plan of its retry sees it. `None` if it is unknown or marked.
    fn retry_view(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<RetryView>>>;

    /// A graph as it would be enqueued once more: what appends have added and what edits have changed included, deadlines that
    /// have passed left out. `None` if it is unknown or marked.
    fn content(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<NewGraph>>>;

    /// Graphs whose retry nobody has carried to its end within its grace, or whose own rules had it wait until now; those
    /// that are due first, at most `limit`. And when the next one is due.
    fn retries(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueRetries>>;

    /// Graphs that are stopped to cancel them or by a failure, and of which nodes may stand about that nobody has settled: the one
    /// that is due first comes first, at most `limit`. And when the next one is due.
    fn stops(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueStops>>;

    /// Looks at open graphs, the oldest first, behind one that was looked at before: so many that their nodes and edges
    /// come to `size_max` (one at least), and no more than [`SWEEP_GRAPHS_MAX`](crate::limits::SWEEP_GRAPHS_MAX). Nothing is
    /// locked or changed; what it finds is for a [`Change::Recount`]. A graph that is being retried is left out, since it is
    /// counted anew when that is over.
    fn suspects(&self, after: Option<i64>, size_max: u32) -> BoxFuture<'_, StoreResult<Suspects>>;

    /// The workers that hold a lease, or held one that was not taken over yet.
    fn peers(&self) -> BoxFuture<'_, StoreResult<Vec<Peer>>>;

    /// How these jobs ended, in the order asked; `None` where one has not ended or is unknown.
    fn ended(&self, jobs: Vec<JobId>) -> BoxFuture<'_, StoreResult<Vec<Option<Ended>>>>;

    /// Carries out an operator's order and records it, in one transaction.
    fn apply(&self, order: Order) -> BoxFuture<'_, StoreResult<Applied>>;

    /// The schedules that are due by the store's clock, at most `limit`, by when they were.
    fn due_schedules(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueSchedules>>;

    /// Schedules by name, after a name, at most `limit`.
    fn schedules(&self, after: Option<ScheduleName>, limit: u32) -> BoxFuture<'_, StoreResult<Schedules>>;

    /// Changes schedules, each if its revision is still the one that was read, and enqueues what it mints; an answer for each,
    /// in order. One transaction; each is written or stale alone.
    fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> BoxFuture<'_, StoreResult<Vec<ScheduleWritten>>>;

    /// Adds what a worker has counted to what is there, by the minute and by the quarter of an hour, and deletes what is too old to
    /// be kept. Atomic. Not idempotent: one whose answer is lost is not to be asked again, or it counts twice.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`]: more than [`RECORDS_MAX`](crate::limits::RECORDS_MAX) records.
    fn record(&self, records: Vec<Record>) -> BoxFuture<'_, StoreResult<()>>;

    /// Deletes up to `limit` rows of lone jobs past their retention, or of one graph, or arrivals of runs that are not there: a graph is
    /// first marked, which makes it invisible, then deleted in bounded batches.
    fn prune(&self, limit: u32) -> BoxFuture<'_, StoreResult<Pruned>>;

    /// The table of blobs in this store: a home of large payloads that needs nothing else.
    fn blobs(&self) -> &dyn BlobStore;

    /// Wake-ups from this process and, where the store can, from others. Never needed for
    /// correctness.
    fn hints(&self) -> HintStream;

    /// Brings the schema to this binary's version.
    ///
    /// # Errors
    /// [`StoreErrorKind::SchemaTooNew`] when the schema no longer serves this binary.
    fn migrate(&self) -> BoxFuture<'_, StoreResult<Migration>>;

    /// The store itself, for what only one of them can do, such as to enqueue inside an application's own transaction.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Questions of people.
    fn inspect(&self) -> &dyn Inspect;
}
