//! The store itself: its connections, and each verb as a task of its own.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Config;
use towpath_core::schedule::ScheduleWrite;
use towpath_core::store::{
    Ancestor, Applied, Arrival, Beat, BeatReply, BoxFuture, CommitCounts, DueRetries, DueSchedules, DueStops, Ended,
    Enqueue, Enqueued, Entry, Hint, HintStream, Hints, InboxLine, Inspect, Item, MarkLine, Migration, Note, Noted,
    Order, Peer, Pruned, Rescue, RescueReply, ScheduleWritten, Schedules, Shown, Signalled, Store, StoreResult,
    StreamLine, Suspects, Transact, Transacted, Turn, TurnReply, Upstream, Wanted,
};
use towpath_core::tally::Record;
use towpath_core::{
    BlobStore, GraphId, Incarnation, JobId, NewGraph, Payload, Queue, RetryView, RunId, ScheduleName, StoreError,
    StoreErrorKind, Timestamp,
};
use uuid::Uuid;

use crate::address::Address;
use crate::care::{self, Care};
use crate::combine::{self, Combine};
use crate::error::{Fault, in_full};
use crate::hints::{self, Channel};
use crate::lanes::Lanes;
use crate::low_water::LowWater;
use crate::queries::{Queries, quoted};
use crate::session::{Link, Pause, Planned, Server, Session};
use crate::{
    apply, content, enqueue, extend, migrate, note, prune, read, rescue, retry, schedule, signal, tally, transact, turn,
};

/// How a store uses its database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema that holds its tables. It is made by [`Store::migrate`] if it is not there.
    pub schema: String,
}

impl Default for PostgresOptions {
    /// The schema `towpath`.
    fn default() -> Self {
        Self { schema: "towpath".into() }
    }
}

impl PostgresOptions {
    /// Sets the schema.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }
}

/// A store in PostgreSQL 14 or newer.
///
/// It makes at most four connections, each when it is first needed: for heartbeats, for clients, to listen, and for
/// transactional steps; and one for the turns of every worker that it serves.
/// It works through a transaction pooler. Whether there is one is seen on the first connection; `?pooler=transaction` or
/// `?pooler=none` in the URL says so instead. Without one, statements are prepared once a connection, which is faster.
///
/// # Cancel safety
/// Every verb runs in a task of its own: it happens whole even when its future is dropped.
pub struct PostgresStore {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) server: Arc<Server>,
    pub(crate) client: Link,
    /// By worker: the turns of one wait for nobody else's.
    turns: Mutex<HashMap<Incarnation, Arc<Link>>>,
    beat: Link,
    piece: Link,
    pub(crate) schema: String,
    pub(crate) lanes: Lanes,
    pub(crate) hints: Hints,
    pub(crate) channel: Channel,
    pub(crate) combine: Combine,
    marks: Mutex<LowWater>,
    /// Whether every batch goes by the function of the schema. For tests.
    pub(crate) by_function: AtomicBool,
    /// Rows of the hot tables that were deleted since they were vacuumed.
    gone: AtomicU64,
    vacuumed_at: Mutex<Instant>,
}

/// Dead rows that make a vacuum worth its while, and how long it may be put off.
const GONE_MIN: u64 = 5_000;
const VACUUM_EVERY: Duration = Duration::from_secs(4);

impl PostgresStore {
    /// Takes a URL such as `postgres://user@host/database` or a list of `key=value`. Two options are ours: `schema=NAME`, which goes
    /// before that of the options, and `pooler=transaction` or `pooler=none`, where it cannot be seen whether there is one. Connects
    /// with the first verb.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for a URL or a schema that cannot be: correct it.
    pub fn connect(url: &str, options: PostgresOptions) -> StoreResult<Self> {
        let invalid = |message: String| StoreError::new(StoreErrorKind::Invalid, "connect", message);
        let Address { url, pooler, schema } = Address::of(url);
        let schema = schema.unwrap_or(options.schema);
        if schema.is_empty()
            || schema.len() > 63
            || schema.contains(['\'', '"', '\\', '.'])
            || schema.contains(char::is_control)
        {
            return Err(invalid(format!(
                "{schema:?} cannot be a schema: use 1 to 63 bytes without quotes, backslashes or dots"
            )));
        }
        let mut config: Config = url
            .parse()
            .map_err(|e| invalid(format!("the URL of PostgreSQL cannot be read: {}", in_full(&e))).because(e))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_application_name().is_none() {
            config.application_name("towpath");
        }
        let server = Arc::new(Server::new(config, Queries::new(&schema), pooler));
        let link = || Link::new(Arc::clone(&server));
        let inner = Inner {
            client: link(),
            turns: Mutex::default(),
            beat: link(),
            piece: link(),
            lanes: Lanes::default(),
            hints: Hints::new(),
            channel: Channel::new(&schema, random()),
            combine: Combine::default(),
            marks: Mutex::new(LowWater::new(Instant::now())),
            by_function: AtomicBool::new(false),
            gone: AtomicU64::new(0),
            vacuumed_at: Mutex::new(Instant::now()),
            server,
            schema,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// How many transactions it has committed. The time is that of a `COMMIT` as it is seen from here, the way to the server
    /// and back included; a batch of nothing but jobs commits with its only statement: it is counted, without a time.
    pub fn commits(&self) -> CommitCounts {
        self.inner.server.commits.counts()
    }

    /// Reads in a task of its own, on the client's connection.
    pub(crate) fn read<T, W, F>(&self, doing: &'static str, verb: W) -> BoxFuture<'static, StoreResult<T>>
    where
        T: Send + 'static,
        W: Fn(Session) -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        task(doing, async move { inner.client.work(doing, verb).await })
    }

    /// Answers a question about what has a key, or one whose plan is long, from one snapshot.
    pub(crate) fn look<T, W, F>(&self, doing: &'static str, verb: W) -> BoxFuture<'static, StoreResult<T>>
    where
        T: Send + 'static,
        W: Fn(Session) -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.question(doing, Planned::Once, verb)
    }

    /// Answers a question about whatever fits it, from one snapshot.
    pub(crate) fn list<T, W, F>(&self, doing: &'static str, verb: W) -> BoxFuture<'static, StoreResult<T>>
    where
        T: Send + 'static,
        W: Fn(Session) -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.question(doing, Planned::EachTime, verb)
    }

    fn question<T, W, F>(&self, doing: &'static str, planned: Planned, verb: W) -> BoxFuture<'static, StoreResult<T>>
    where
        T: Send + 'static,
        W: Fn(Session) -> F + Send + Sync + 'static,
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        self.read(doing, move |session| {
            let asked = verb(session.clone());
            async move {
                // Sent together: the question does not wait until the transaction has begun.
                let ((), answer) = futures_util::future::try_join(session.begin_look(planned), asked).await?;
                session.end_look().await?;
                Ok(answer)
            }
        })
    }

    /// Writes in a task of its own, replayed as need be, and rings after it.
    fn verb<A, T, F>(
        &self,
        doing: &'static str,
        link: fn(&Inner) -> &Link,
        with: A,
        verb: impl Fn(Arc<Inner>, Session, Arc<A>) -> F + Send + Sync + 'static,
    ) -> BoxFuture<'static, StoreResult<T>>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
        F: Future<Output = Result<(T, News), Fault>> + Send + 'static,
    {
        let (inner, with) = (Arc::clone(&self.inner), Arc::new(with));
        task(doing, async move {
            let replayed = |session| verb(Arc::clone(&inner), session, Arc::clone(&with));
            let (done, news) = link(&inner).work(doing, replayed).await?;
            news.ring(&inner);
            Ok(done)
        })
    }

    /// Replaces the store's clock by one that stands still at this instant. For tests.
    #[doc(hidden)]
    pub async fn set_test_clock(&self, now: Timestamp) -> StoreResult<()> {
        let (name, now) = (quoted(&self.inner.schema), now.as_micros());
        let text = format!(
            "create table if not exists {name}.test_clock (now bigint not null); delete from {name}.test_clock; \
             insert into {name}.test_clock values ({now}); create or replace function {name}.clock() returns bigint \
             language sql volatile as $$ select now from {name}.test_clock $$"
        );
        self.batch(text).await
    }

    /// Adds to a node's counters of parents what was never counted. For tests.
    #[doc(hidden)]
    pub async fn corrupt(&self, job: JobId, left: i32, ok: i32) -> StoreResult<()> {
        let name = quoted(&self.inner.schema);
        let text = format!(
            "update {name}.node set \"left\" = \"left\" + {left}, ok = ok + {ok} \
             where job = (select key from {name}.job where id = '{job}')"
        );
        self.batch(text).await
    }

    /// Sends every batch of jobs and graphs by the function that an application's transactions use. For tests.
    #[doc(hidden)]
    pub fn enqueue_by_function(&self) {
        self.inner.by_function.store(true, Ordering::Relaxed);
    }

    /// Drops the schema with everything in it. For tests.
    #[doc(hidden)]
    pub async fn drop_schema(&self) -> StoreResult<()> {
        self.batch(format!("drop schema if exists {} cascade", quoted(&self.inner.schema))).await
    }

    /// Calls this around every statement from now on, which are then sent one by one. For tests; the first call counts.
    #[doc(hidden)]
    pub fn pause_with(&self, pause: Pause) {
        let _ = self.inner.server.pause.set(pause);
    }

    /// The first value that a text answers. For tests.
    #[doc(hidden)]
    pub async fn ask(&self, text: impl Into<String>) -> StoreResult<Option<String>> {
        let text = Arc::new(text.into());
        let run = move |session: Session| {
            let text = Arc::clone(&text);
            async move { session.ask(&text).await }
        };
        self.read("look at the server", run).await
    }

    async fn batch(&self, text: String) -> StoreResult<()> {
        let text = Arc::new(text);
        let run = move |session: Session| {
            let text = Arc::clone(&text);
            async move { session.batch(&text).await }
        };
        self.read("prepare a test", run).await
    }
}

fn random() -> Uuid {
    use std::hash::{BuildHasher, RandomState};
    Uuid::from_u64_pair(RandomState::new().hash_one(1), RandomState::new().hash_one(2))
}

/// Runs a verb so that it comes to its end even if nobody waits for it.
fn task<T: Send + 'static>(
    doing: &'static str,
    verb: impl Future<Output = StoreResult<T>> + Send + 'static,
) -> BoxFuture<'static, StoreResult<T>> {
    Box::pin(async move {
        let stopped =
            |error| StoreError::new(StoreErrorKind::Unavailable, doing, "its task was stopped").because(error);
        tokio::spawn(verb).await.map_err(stopped)?
    })
}

/// Hints, collected while a verb writes and rung after it, each once.
#[derive(Default)]
pub(crate) struct News {
    pub(crate) ready: BTreeSet<Queue>,
    /// The worker whose turn did it, if that turn has claimed besides: it needs no telling.
    pub(crate) claimed_by: Option<Incarnation>,
    pub(crate) ended: Vec<JobId>,
    pub(crate) graphs_ended: Vec<GraphId>,
    pub(crate) signalled: BTreeSet<RunId>,
    pub(crate) cancel: bool,
    pub(crate) undecided: bool,
}

impl News {
    /// Adds the queues of lanes that have more.
    pub(crate) async fn ready(&mut self, inner: &Inner, session: &Session, mut lanes: Vec<i32>) -> Result<(), Fault> {
        lanes.sort_unstable();
        lanes.dedup();
        inner.lanes.meet(session, lanes.iter().copied()).await?;
        for lane in lanes {
            self.ready.insert(inner.lanes.lane(lane)?.queue);
        }
        Ok(())
    }

    /// Adds what another part of the verb has to say.
    pub(crate) fn append(&mut self, other: Self) {
        self.ready.extend(other.ready);
        self.ended.extend(other.ended);
        self.graphs_ended.extend(other.graphs_ended);
        self.signalled.extend(other.signalled);
        self.cancel |= other.cancel;
        self.undecided |= other.undecided;
    }

    pub(crate) fn ring(self, inner: &Arc<Inner>) {
        hints::notify(inner, &self);
        self.signalled.into_iter().for_each(|run| inner.hints.ring(Hint::Signalled(run)));
        for queue in self.ready {
            inner.hints.ring(match self.claimed_by {
                Some(by) => Hint::Released { queue, by },
                None => Hint::Ready(queue),
            });
        }
        self.ended.into_iter().for_each(|job| inner.hints.ring(Hint::Ended(job)));
        self.graphs_ended.into_iter().for_each(|graph| inner.hints.ring(Hint::GraphEnded(graph)));
        if self.cancel {
            inner.hints.ring(Hint::Cancel);
        }
        if self.undecided {
            inner.hints.ring(Hint::Anything);
        }
    }
}

impl Inner {
    /// Uses the marks of where to claim from.
    pub(crate) fn low_water<T>(&self, with: impl FnOnce(&mut LowWater) -> T) -> T {
        with(&mut self.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// This process has inserted rows into these lanes, from this seq on.
    pub(crate) fn inserted(&self, lanes: impl Iterator<Item = i32>, first: Option<i64>) {
        if let Some(first) = first {
            self.low_water(|marks| lanes.for_each(|lane| marks.inserted(lane, first)));
        }
    }

    pub(crate) fn claimed(&self, rows: usize) {
        self.gone.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Enqueues, in one transaction, what has been gathered.
    pub(crate) async fn enqueue(self: &Arc<Self>, items: Arc<Vec<Item>>) -> StoreResult<Enqueued> {
        let verb = |session| {
            let (inner, items) = (Arc::clone(self), Arc::clone(&items));
            async move { enqueue::enqueue(&inner, session, items).await }
        };
        let (enqueued, news) = self.client.work("enqueue", verb).await?;
        news.ring(self);
        Ok(enqueued)
    }

    async fn turn(self: Arc<Self>, turn: Turn) -> StoreResult<TurnReply> {
        turn.check()?;
        let turn = Arc::new(turn);
        let taken = match self.take(&turn, Care::None).await {
            // One job must not cost the others their outcomes, nor the worker its claim.
            Err(error) if matches!(error.kind, StoreErrorKind::Corrupt | StoreErrorKind::Invalid) => {
                tracing::error!(%error, "a turn is carried out again, job by job");
                self.take(&turn, Care::EachJob).await
            }
            taken => taken,
        };
        let (reply, news) = taken?;
        news.ring(&self);
        self.vacuum();
        Ok(reply)
    }

    async fn take(self: &Arc<Self>, turn: &Arc<Turn>, care: Care) -> StoreResult<(TurnReply, News)> {
        let verb = |session| {
            let (inner, turn) = (Arc::clone(self), Arc::clone(turn));
            // Boxed: they are large, and a caller's stack may be small.
            let taken: BoxFuture<'static, _> = match care {
                Care::None => Box::pin(async move { turn::turn(&inner, session, turn).await }),
                Care::EachJob => Box::pin(async move { care::turn(&inner, session, turn).await }),
            };
            taken
        };
        self.turns_of(turn.worker).work("take a turn", verb).await
    }

    fn turns_of(&self, worker: Incarnation) -> Arc<Link> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(worker).or_insert_with(|| Arc::new(Link::new(Arc::clone(&self.server)))))
    }

    /// A worker that leaves needs no connection for its turns any more; one that is under way keeps it.
    pub(crate) fn forget_turns_of(&self, worker: Incarnation) {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
    }

    async fn rescue(self: Arc<Self>, ask: Rescue) -> StoreResult<RescueReply> {
        let ask = Arc::new(ask);
        let verb = |session| rescue::rescue(Arc::clone(&self), session, Arc::clone(&ask));
        let (reply, news) = self.turns_of(ask.worker).work("rescue", verb).await?;
        news.ring(&self);
        Ok(reply)
    }

    /// Vacuums the hot tables now and then, on the heartbeat's connection: a client would feel the wait, a beat has time.
    fn vacuum(self: &Arc<Self>) {
        if self.gone.load(Ordering::Relaxed) < GONE_MIN {
            return;
        }
        let mut at = self.vacuumed_at.lock().unwrap_or_else(PoisonError::into_inner);
        if at.elapsed() < VACUUM_EVERY {
            return;
        }
        *at = Instant::now();
        self.gone.store(0, Ordering::Relaxed);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            let name = quoted(&inner.schema);
            let text = Arc::new(format!("vacuum (skip_locked) {name}.ready, {name}.running, {name}.worker"));
            let verb = |session: Session| {
                let text = Arc::clone(&text);
                async move { session.batch(&text).await }
            };
            if let Err(error) = inner.beat.work("vacuum", verb).await {
                tracing::debug!(%error, "the hot tables are left to autovacuum");
            }
        });
    }
}

impl Store for PostgresStore {
    fn enqueue(&self, batch: Enqueue) -> BoxFuture<'_, StoreResult<Enqueued>> {
        // Its leader is a task already.
        Box::pin(combine::enqueue(Arc::clone(&self.inner), batch))
    }

    fn turn(&self, turn: Turn) -> BoxFuture<'_, StoreResult<TurnReply>> {
        task("take a turn", Arc::clone(&self.inner).turn(turn))
    }

    fn extend(&self, beat: Beat) -> BoxFuture<'_, StoreResult<BeatReply>> {
        self.verb("renew a lease", |inner| &inner.beat, beat, extend::extend)
    }

    fn rescue(&self, ask: Rescue) -> BoxFuture<'_, StoreResult<RescueReply>> {
        task("rescue", Arc::clone(&self.inner).rescue(ask))
    }

    /// On a connection of its own, so that an application's statements hold up no turn, one after the other.
    fn transact(&self, work: Transact) -> BoxFuture<'_, StoreResult<Transacted>> {
        let inner = Arc::clone(&self.inner);
        task("do a transactional step", async move {
            let Some(piece) = transact::Piece::new(work) else { return Ok(Transacted::WrongDatabase) };
            let piece = Arc::new(piece);
            let done = |session: Session| {
                let piece = Arc::clone(&piece);
                async move { transact::transact(&session, &piece).await }
            };
            inner.piece.work("do a transactional step", done).await
        })
    }

    fn signal(&self, arrivals: Vec<Arrival>) -> BoxFuture<'_, StoreResult<Signalled>> {
        match Arrival::check_batch(&arrivals) {
            Ok(()) => self.verb("signal", |inner| &inner.client, arrivals, signal::signal),
            Err(invalid) => Box::pin(std::future::ready(Err(invalid))),
        }
    }

    fn entries(&self, job: JobId, chapter: u32, from: u32, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Entry>>> {
        self.read("read a journal", move |session| read::entries(session, (job, chapter, from), limit))
    }

    fn inbox(&self, run: RunId, after: i64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<InboxLine>>> {
        let run = Arc::new(run);
        self.read("read an inbox", move |session| read::inbox(session, Arc::clone(&run), after, limit))
    }

    fn shown(&self, run: RunId, name: String) -> BoxFuture<'_, StoreResult<Option<Shown>>> {
        let which = Arc::new((run, name));
        self.read("read what a run shows", move |session| read::shown(session, Arc::clone(&which)))
    }

    fn stream(&self, run: RunId, name: String, after: u64, limit: u32) -> BoxFuture<'_, StoreResult<Vec<StreamLine>>> {
        let which = Arc::new((run, name));
        self.read("read a stream", move |session| read::stream(session, Arc::clone(&which), after, limit))
    }

    fn upstream(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<Upstream>>> {
        self.read("read the parents of a node", move |session| read::upstream(session, job))
    }

    fn ancestors(&self, job: JobId, wanted: Wanted, limit: u32) -> BoxFuture<'_, StoreResult<Vec<Ancestor>>> {
        let wanted = Arc::new(wanted);
        self.look("read above a node", move |session| {
            let wanted = Arc::clone(&wanted);
            async move { read::ancestors(session, job, &wanted, limit).await }
        })
    }

    fn graph_input(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<Payload>>> {
        self.read("read a graph", move |session| read::graph_input(session, graph))
    }

    fn settleable(&self, graph: GraphId, limit: u32) -> BoxFuture<'_, StoreResult<Vec<JobId>>> {
        self.read("read a graph", move |session| read::settleable(session, graph, limit))
    }

    fn peers(&self) -> BoxFuture<'_, StoreResult<Vec<Peer>>> {
        self.read("read the workers", read::peers)
    }

    fn retry_view(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<RetryView>>> {
        self.read("read a graph", move |session| retry::retry_view(session, graph))
    }

    fn content(&self, graph: GraphId) -> BoxFuture<'_, StoreResult<Option<NewGraph>>> {
        self.read("read a graph", move |session| content::content(session, graph))
    }

    fn retries(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueRetries>> {
        self.read("look for retries", move |session| retry::retries(session, limit))
    }

    fn stops(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueStops>> {
        self.read("look for stopped graphs", move |session| read::stops(session, limit))
    }

    fn suspects(&self, after: Option<i64>, size_max: u32) -> BoxFuture<'_, StoreResult<Suspects>> {
        self.read("count graphs again", move |session| read::suspects(session, after, size_max))
    }

    fn ended(&self, jobs: Vec<JobId>) -> BoxFuture<'_, StoreResult<Vec<Option<Ended>>>> {
        let jobs = Arc::new(jobs);
        self.read("read how jobs ended", move |session| read::ended(session, Arc::clone(&jobs)))
    }

    fn apply(&self, order: Order) -> BoxFuture<'_, StoreResult<Applied>> {
        self.verb("carry out an order", |inner| &inner.client, order, apply::apply)
    }

    fn prune(&self, limit: u32) -> BoxFuture<'_, StoreResult<Pruned>> {
        self.read("prune", move |session| prune::prune(session, limit))
    }

    fn due_schedules(&self, limit: u32) -> BoxFuture<'_, StoreResult<DueSchedules>> {
        self.read("read schedules", move |session| schedule::due(session, limit))
    }

    fn schedules(&self, after: Option<ScheduleName>, limit: u32) -> BoxFuture<'_, StoreResult<Schedules>> {
        self.read("list schedules", move |session| schedule::list(session, after.clone(), limit))
    }

    fn write_schedules(&self, writes: Vec<ScheduleWrite>) -> BoxFuture<'_, StoreResult<Vec<ScheduleWritten>>> {
        self.verb("write schedules", |inner| &inner.client, writes, schedule::write)
    }

    fn record(&self, records: Vec<Record>) -> BoxFuture<'_, StoreResult<()>> {
        self.verb("record", |inner| &inner.client, records, tally::record)
    }

    fn note(&self, notes: Vec<Note>) -> BoxFuture<'_, StoreResult<Vec<Noted>>> {
        match Note::check_batch(&notes) {
            Ok(()) => self.verb("note", |inner| &inner.client, notes, note::note),
            Err(invalid) => Box::pin(std::future::ready(Err(invalid))),
        }
    }

    fn marks(&self, job: JobId) -> BoxFuture<'_, StoreResult<Vec<MarkLine>>> {
        self.read("read marks", move |session| note::marks(session, job))
    }

    fn blobs(&self) -> &dyn BlobStore {
        self
    }

    fn hints(&self) -> HintStream {
        let stream = self.inner.hints.listen();
        hints::listen(&self.inner);
        stream
    }

    fn migrate(&self) -> BoxFuture<'_, StoreResult<Migration>> {
        let inner = Arc::clone(&self.inner);
        self.read("migrate", move |session| {
            let inner = Arc::clone(&inner);
            async move { migrate::migrate(session, &inner.schema).await }
        })
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("schema", &self.inner.schema).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn statements_that_another_session_has_taken_away_are_done_without() {
        let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
            println!("LEFT OUT: vanished statements need TOWPATH_TEST_POSTGRES, the URL of a PostgreSQL server");
            return;
        };
        let schema = format!("test vanished {}", std::process::id());
        let store = PostgresStore::connect(&url, PostgresOptions::default().schema(schema)).unwrap();
        store.drop_schema().await.unwrap();
        store.migrate().await.unwrap();
        store.inspect().census().await.unwrap();
        store.batch("deallocate all".into()).await.unwrap();
        assert_eq!(store.inspect().census().await.unwrap().jobs, 0);
        assert!(store.inner.server.unnamed.load(Ordering::Relaxed), "for good");
        store.drop_schema().await.unwrap();
    }
}
