//! The client: enqueue, await, cancel.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::{Ended, Enqueue, Inspect, Item, Page, Placed, Refusal};
use towpath_core::{
    Conflict, Due, GraphEnd, GraphId, GraphLimits, Hold, Incarnation, InvalidGraph, JobId, JobRules, KeyHolder, Kind,
    NewAppend, NewGraph, NewJob, Payload, Queue, RetryPolicy, State, Store, StoreError, Timestamp, Unique, UniqueKey,
};
use tracing::Instrument;

use crate::blobs::Blobs;
use crate::branch;
use crate::error::{Error, OutputError};
use crate::graph::{Graph, GraphHandle, conditions};
use crate::host;
use crate::job::Job;
use crate::notifier::Notifier;
use crate::open;
use crate::outgoing::Hook;
use crate::random;
use crate::trace;
use crate::worker::peers;

mod orders;

/// A way into a store. Cheap to clone; all clones share one notifier.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    graph_limits: GraphLimits,
    pub(crate) blobs: Option<Blobs>,
    pub(crate) hooks: Vec<Hook>,
}

struct Inner {
    store: Arc<dyn Store>,
    notifier: Notifier,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// A job that was enqueued, by id; the type says what it leaves.
pub struct JobHandle<J> {
    id: JobId,
    placed: Placed,
    job: PhantomData<fn() -> J>,
}

impl<J> JobHandle<J> {
    /// A handle for an id that was kept elsewhere.
    pub fn from_id(id: JobId) -> Self {
        Self { id, placed: Placed::Existing, job: PhantomData }
    }

    /// The handle of a job that was to have this id; it stands for the one that has its key, if another has it.
    pub(crate) fn of(id: JobId, placed: Placed) -> Self {
        let id = match placed {
            Placed::Held(KeyHolder::Job(holder)) | Placed::Replaced(holder) | Placed::Run(holder) => holder,
            Placed::Inserted | Placed::Existing | Placed::Held(KeyHolder::Graph(_)) => id,
        };
        Self { id, placed, job: PhantomData }
    }

    /// The job.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Whether it was written now, or was there already.
    pub fn placed(&self) -> Placed {
        self.placed
    }
}

impl<J> Clone for JobHandle<J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J> Copy for JobHandle<J> {}

impl<J> fmt::Debug for JobHandle<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle").field("id", &self.id).field("placed", &self.placed).finish()
    }
}

impl Client {
    /// Opens the store at an address, such as `sqlite:app.db` or `postgres://ann@db/app`, and brings its schema up
    /// to date. On PostgreSQL the tables are in the schema `towpath`, or in another: `postgres://ann@db/app?schema=queue`.
    ///
    /// # Errors
    /// The address is not understood, or the store cannot be opened; the error says what to do.
    pub async fn open(url: &str) -> Result<Self, Error> {
        Ok(Self::new(open::open(url).await?))
    }

    /// Takes a store that is open already.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let inner = Arc::new(Inner { store, notifier: Notifier::default() });
        Self { inner, graph_limits: GraphLimits::default(), blobs: None, hooks: Vec::new() }
    }

    /// The same client with other limits of graphs: of those that it enqueues, and of what its workers' handlers append and
    /// start. What is stored already is not judged again.
    ///
    /// ```
    /// # use towpath::{Client, GraphLimits};
    /// # async fn f() -> Result<(), towpath::Error> {
    /// let client = Client::open("sqlite:app.db").await?.with_graph_limits(GraphLimits::default().nodes(50_000))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A limit is 0, or higher than [`GraphLimits::HIGHEST`]; the error names each that is.
    pub fn with_graph_limits(self, limits: GraphLimits) -> Result<Self, Error> {
        match limits.check() {
            Ok(()) => Ok(Self { graph_limits: limits, ..self }),
            Err(problem) => Err(Refusal::Invalid { problem: problem.to_string() }.into()),
        }
    }

    /// The limits of its graphs.
    pub fn graph_limits(&self) -> &GraphLimits {
        &self.graph_limits
    }

    /// An item within the limits of graphs.
    pub(crate) fn within_limits(&self, item: Item) -> Result<Item, InvalidGraph> {
        Ok(match item {
            Item::Graph(graph) => Item::Graph(Box::new(graph.within(&self.graph_limits)?)),
            Item::Append(append) => Item::Append(Box::new(append.within(&self.graph_limits)?)),
            other => other,
        })
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Views for people.
    pub fn inspect(&self) -> &dyn Inspect {
        self.inner.store.inspect()
    }

    /// The workers on this host whose process is known to be gone, though their lease may not have ended yet. None where
    /// that cannot be seen: it can on Linux.
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn workers_gone(&self) -> Result<Vec<Incarnation>, StoreError> {
        let (nobody, here) = (random::incarnation(), host::this_process());
        Ok(peers::look(&self.inner.store, nobody, &here, Timestamp::ZERO).await?.gone)
    }

    // ---- enqueue ------------------------------------------------------------------------------

    /// Enqueues a job with its kind's defaults. When this returns, the job is on disk.
    ///
    /// # Errors
    /// [`Error::Refused`] when it breaks a limit; [`Error::Store`] when the store could not do it.
    ///
    /// # Cancel safety
    /// Dropped, the job was enqueued or was not. Draw the id first ([`JobBuilder::id`]) and enqueue again to be sure.
    pub async fn enqueue<J: Job>(&self, job: &J) -> Result<JobHandle<J>, Error> {
        self.job(job).await
    }

    /// Enqueues a job with settings of its own; await the builder to enqueue.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Client, Job};
    /// # #[derive(Serialize, Deserialize, Job)]
    /// # #[job(kind = "greet")]
    /// # struct Greet;
    /// # async fn f(client: Client) -> Result<(), towpath::Error> {
    /// use std::time::Duration;
    /// client.job(&Greet).queue("mail").delay(Duration::from_secs(60)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn job<J: Job>(&self, job: &J) -> JobBuilder<'_, J> {
        JobBuilder { client: self, job: new_job(job), handle: PhantomData }
    }

    /// Enqueues many jobs of one kind in one transaction: all of them are written, or none is.
    ///
    /// # Errors
    /// The first refusal, or the store's error. More than 16 MiB at once is refused: split the batch.
    pub async fn enqueue_all<'a, J: Job>(
        &self,
        jobs: impl IntoIterator<Item = &'a J>,
    ) -> Result<Vec<JobHandle<J>>, Error> {
        let jobs = jobs.into_iter().map(new_job).collect::<Result<Vec<_>, _>>()?;
        // What is large is put away first, and judged as what is stored of it.
        for job in jobs.iter().filter(|_| self.blobs.is_none()) {
            job.check()?;
        }
        let ids: Vec<JobId> = jobs.iter().map(|j| j.id).collect();
        let placed = self.enqueue_items(jobs.into_iter().map(Item::job).collect()).await?;
        Ok(ids.into_iter().zip(placed).map(|(id, placed)| JobHandle::of(id, placed)).collect())
    }

    /// Enqueues a job that was put together by hand.
    ///
    /// # Errors
    /// As [`Client::enqueue`].
    pub async fn enqueue_new(&self, job: NewJob) -> Result<Placed, Error> {
        self.enqueue_item(Item::job(job)).await
    }

    /// Enqueues a whole graph in one transaction.
    ///
    /// # Errors
    /// [`Error::Graph`] with everything that is wrong with it; nothing was written then.
    pub async fn enqueue_graph(&self, graph: NewGraph) -> Result<Placed, Error> {
        let prepared = conditions::prepare(graph, &self.graph_limits)?;
        self.enqueue_item(Item::Graph(Box::new(prepared))).await
    }

    /// Enqueues many graphs in one transaction: all of them are written, or none is. A graph whose unique key another one has is
    /// not written, and its handle stands for that one.
    ///
    /// # Errors
    /// The first refusal, or the store's error. More than 16 MiB at once is refused: split the batch.
    ///
    /// # Cancel safety
    /// Dropped, the graphs were enqueued or were not. Enqueue clones again to be sure: each is written once.
    pub async fn enqueue_graphs(&self, graphs: impl IntoIterator<Item = Graph>) -> Result<Vec<GraphHandle>, Error> {
        let (ids, items): (Vec<GraphId>, Vec<Item>) =
            graphs.into_iter().map(|graph| (graph.id(), graph.into_item())).unzip();
        let placed = self.enqueue_items(items).await?;
        Ok(ids.into_iter().zip(placed).map(|(id, placed)| GraphHandle::of(id, placed)).collect())
    }

    /// Enqueues a graph that is written as JSON ([`Graph::from_json`]) in one transaction. One that names its id is written
    /// once, however often it is enqueued.
    ///
    /// # Errors
    /// [`Error::Graph`] with everything that is wrong with it; nothing was written then.
    ///
    /// # Cancel safety
    /// Dropped, the graph was enqueued or was not. Name its id in the text and enqueue again to be sure.
    pub async fn enqueue_graph_json(&self, text: &str) -> Result<GraphHandle, Error> {
        Graph::from_json_within(text, &self.graph_limits)?.enqueue(self).await
    }

    /// Adds nodes to a stored graph, in one transaction.
    ///
    /// # Errors
    /// [`Error::Graph`] for what is wrong by itself, [`Error::Refused`] for what the store refuses.
    pub async fn append(&self, append: NewAppend) -> Result<Placed, Error> {
        let prepared = conditions::prepare_append(append, &self.graph_limits)?;
        self.enqueue_item(Item::Append(Box::new(prepared))).await
    }

    pub(crate) async fn enqueue_item(&self, item: Item) -> Result<Placed, Error> {
        let placed = self.enqueue_items(vec![item]).await?;
        Ok(placed.first().copied().unwrap_or(Placed::Existing))
    }

    async fn enqueue_items(&self, items: Vec<Item>) -> Result<Vec<Placed>, Error> {
        self.enqueue_judged(items.into_iter().map(|item| self.within_limits(item)).collect::<Result<_, _>>()?).await
    }

    /// Enqueues what the limits of graphs are not to be held against.
    pub(crate) async fn enqueue_judged(&self, items: Vec<Item>) -> Result<Vec<Placed>, Error> {
        let mut batch = Enqueue { items };
        self.run_hooks(&mut batch.items)?;
        self.put_inputs_away(&mut batch.items).await?;
        let span = trace::enqueue(&mut batch.items);
        batch.check()?;
        let answer = self.inner.store.enqueue(batch).instrument(span).await?;
        answer.items.into_iter().map(|item| item.map_err(Error::from)).collect()
    }

    /// A fresh id for a job.
    pub fn new_job_id() -> JobId {
        random::job_id()
    }

    /// A fresh id for a graph.
    pub fn new_graph_id() -> GraphId {
        random::graph_id()
    }

    // ---- await --------------------------------------------------------------------------------

    /// Waits until a job has ended and reads its output.
    ///
    /// # Errors
    /// [`OutputError::Ended`] when it did not succeed, with the cause and its last failure.
    ///
    /// # Cancel safety
    /// Safe: waiting changes nothing.
    pub async fn output<J: Job>(&self, handle: &JobHandle<J>) -> Result<J::Output, OutputError> {
        let ended = self.wait(handle.id).await?;
        if ended.state != State::Ended(towpath_core::End::Succeeded) {
            return Err(OutputError::Ended {
                id: ended.id,
                state: ended.state,
                cause: ended.cause,
                error: ended.error,
            });
        }
        let payload = ended.output.unwrap_or_else(|| Payload::json_bytes(&b"null"[..]));
        let payload = self.fetch(payload).await?;
        payload.decode().map_err(|e| OutputError::Decode { id: ended.id, problem: e.problem })
    }

    /// Waits until a job has ended, however. For a limit put it into `tokio::time::timeout`.
    ///
    /// # Errors
    /// [`OutputError::Unknown`] when it is not stored.
    pub async fn wait(&self, job: JobId) -> Result<Ended, OutputError> {
        let ended = self.inner.notifier.ended(&self.inner.store, job);
        tokio::pin!(ended);
        // Most are stored, and many end soon: whether there is such a job at all is asked only of those that do not.
        if let Ok(ended) = tokio::time::timeout(SOON, &mut ended).await {
            return ended.ok_or(OutputError::Unknown { id: job });
        }
        if self.inspect().job(job).await?.is_none() {
            return Err(OutputError::Unknown { id: job });
        }
        ended.await.ok_or(OutputError::Unknown { id: job })
    }

    /// Waits until a graph has ended.
    ///
    /// # Errors
    /// [`OutputError::Unknown`] when it is not stored.
    pub async fn wait_graph(&self, graph: GraphId) -> Result<GraphEnd, OutputError> {
        loop {
            self.wait(JobId::end_of(graph)).await?;
            match self.inspect().graph_line(graph).await?.map(|line| line.end) {
                Some(Some(end)) => return Ok(end),
                // An append has opened it again.
                Some(None) => tokio::time::sleep(Duration::from_millis(10)).await,
                None => return Err(OutputError::Unknown { id: JobId::end_of(graph) }),
            }
        }
    }

    /// The first page of a list.
    pub fn first_page(limit: u32) -> Page {
        Page { after: None, limit }
    }
}

pub(crate) fn new_job<J: Job>(job: &J) -> Result<NewJob, Error> {
    new_job_of::<J>(Payload::json(job).map_err(|source| Error::Encode { kind: J::KIND.into(), source })?)
}

/// How soon a job that is awaited may end before it is asked whether it is there.
const SOON: Duration = Duration::from_millis(30);

/// A job of a type with this input.
pub(crate) fn new_job_of<J: Job>(input: Payload) -> Result<NewJob, Error> {
    let defaults = J::defaults();
    let queue = defaults.queue.as_deref().map(Queue::new).transpose()?.unwrap_or_default();
    let rules = JobRules { labels: branch::labels::<J>()?, ..defaults.rules };
    Ok(NewJob {
        version: J::VERSION,
        queue,
        priority: defaults.priority,
        input,
        rules,
        tags: defaults.tags,
        headers: BTreeMap::new(),
        ..NewJob::new(random::job_id(), Kind::new(J::KIND)?)
    })
}

/// What stands for a job that could not be made, until what is wrong is said.
pub(crate) fn unknown_job(kind: &str) -> NewJob {
    NewJob::new(random::job_id(), Kind::from_stored(kind))
}

/// A job about to be enqueued. Await it.
#[must_use = "a job is enqueued when its builder is awaited"]
pub struct JobBuilder<'c, J> {
    client: &'c Client,
    job: Result<NewJob, Error>,
    handle: PhantomData<fn() -> J>,
}

impl<J: Job> JobBuilder<'_, J> {
    /// Uses an id drawn before ([`Client::new_job_id`]): enqueued twice with the same content, it is one job.
    pub fn id(self, id: JobId) -> Self {
        self.with(|job| job.id = id)
    }

    /// Puts it in this queue.
    pub fn queue(mut self, queue: &str) -> Self {
        match Queue::new(queue) {
            Ok(queue) => self.with(|job| job.queue = queue),
            Err(e) => {
                self.job = Err(e.into());
                self
            }
        }
    }

    /// Higher first; ties by the order of arrival.
    pub fn priority(self, priority: i16) -> Self {
        self.with(|job| job.priority = priority)
    }

    /// Not before this long from now.
    pub fn delay(self, delay: Duration) -> Self {
        self.with(|job| job.due = Due::After(delay))
    }

    /// Not before this instant.
    pub fn at(self, at: Timestamp) -> Self {
        self.with(|job| job.due = Due::At(at))
    }

    /// A key that one live job of its kind may have. Held until the job has ended and answered with the job that has it
    /// ([`Placed::Held`]), unless [`unique_hold`](Self::unique_hold) and [`unique_conflict`](Self::unique_conflict) say
    /// otherwise. The handle then stands for the job that has the key.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Client, Job};
    /// # #[derive(Serialize, Deserialize, Job)]
    /// # #[job(kind = "reindex")]
    /// # struct Reindex(u32);
    /// # async fn f(client: Client) -> Result<(), towpath::Error> {
    /// use std::time::Duration;
    /// use towpath::Conflict;
    /// // Ten saves in a minute are one reindex, two seconds after the last of them.
    /// let debounce = Conflict::Debounce { at_most: Some(Duration::from_secs(30)) };
    /// client.job(&Reindex(7)).unique("shop-7").unique_conflict(debounce).delay(Duration::from_secs(2)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn unique(mut self, key: &str) -> Self {
        match UniqueKey::new(key) {
            Ok(key) => self.with(|job| job.unique = Some(Box::new(Unique::new(key)))),
            Err(e) => {
                self.job = Err(e.into());
                self
            }
        }
    }

    /// For how long it holds its key. After [`unique`](Self::unique).
    pub fn unique_hold(self, hold: Hold) -> Self {
        self.with(|job| {
            if let Some(unique) = &mut job.unique {
                unique.hold = hold;
            }
        })
    }

    /// What becomes of it if another job has its key. After [`unique`](Self::unique).
    pub fn unique_conflict(self, conflict: Conflict) -> Self {
        self.with(|job| {
            if let Some(unique) = &mut job.unique {
                unique.conflict = conflict;
            }
        })
    }

    /// Dead if it has not succeeded by this instant.
    pub fn deadline(self, at: Timestamp) -> Self {
        self.with(|job| job.deadline = Some(at))
    }

    /// Replaces the retry policy.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        self.with(|job| job.rules.retry = retry)
    }

    /// Replaces the timeout of an attempt. When it is over the handler is told by [`Context::cancelled`]; one that does
    /// not listen is dropped after the worker's abort grace (10 s). A success within that grace stands.
    ///
    /// [`Context::cancelled`]: crate::Context::cancelled
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|job| job.rules.timeout_us = u64::try_from(timeout.as_micros()).ok())
    }

    /// How long it stays stored once it has succeeded or was skipped (24 h); a node stays as long as its graph. Whoever awaits
    /// its output later finds nothing.
    pub fn keep(self, keep: Duration) -> Self {
        self.with(|job| job.rules.keep_us = u64::try_from(keep.as_micros()).ok())
    }

    /// How long it stays stored once it has ended otherwise (30 days).
    pub fn keep_failed(self, keep: Duration) -> Self {
        self.with(|job| job.rules.keep_failed_us = u64::try_from(keep.as_micros()).ok())
    }

    /// Adds a tag: a label by which people find it. Those of the kind stay.
    pub fn tag(self, tag: &str) -> Self {
        self.with(|job| job.tags.push(tag.to_owned()))
    }

    /// Adds the tag `key=value`.
    pub fn tag_value(self, key: &str, value: impl std::fmt::Display) -> Self {
        self.with(|job| job.tags.push(towpath_core::tag::pair(key, value)))
    }

    /// Adds a header, which travels with the job to its handler.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.with(|job| {
            job.headers.insert(name.to_owned(), value.to_owned());
        })
    }

    /// The job as it would be enqueued, for instance as a node of a graph.
    ///
    /// # Errors
    /// Its input cannot be written, or a name is invalid.
    pub fn build(self) -> Result<NewJob, Error> {
        self.job
    }

    fn with(mut self, change: impl FnOnce(&mut NewJob)) -> Self {
        if let Ok(job) = &mut self.job {
            change(job);
        }
        self
    }
}

impl<'c, J: Job> IntoFuture for JobBuilder<'c, J> {
    type Output = Result<JobHandle<J>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let job = self.job?;
            let id = job.id;
            Ok(JobHandle::of(id, self.client.enqueue_new(job).await?))
        })
    }
}
