//! What a handler knows of its attempt.

mod kept;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use tokio::sync::{OnceCell, watch};
use towpath_core::dispatch::CancelWhy;
use towpath_core::store::{Claimed, Head, NodeRef, Note, Refusal, Upstream};
use towpath_core::{JobId, Kind, NewAppend, Payload, PreparedAppend, Progress, Queue, Role, StoreError, Timestamp};

use crate::client::Client;
use crate::error::{Error, OutputError};
use crate::failure::Failure;
use crate::graph::{Existing, GraphAppend};
use crate::log::Log;
use crate::notes::Notes;
use crate::states::{State, States};
use crate::trace;

pub use kept::Cursor;

/// A handler's attempt: who it is, whether it should stop, what its graph was given and its parents left.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    head: Head,
    headers: BTreeMap<String, String>,
    enqueued_at: Timestamp,
    cancel: watch::Receiver<Option<CancelWhy>>,
    draining: watch::Receiver<bool>,
    client: Client,
    states: States,
    log: Mutex<Log>,
    append: Mutex<Option<NewAppend>>,
    notes: Notes,
    kept: OnceCell<kept::Kept>,
}

/// What a worker tells its handlers while they work.
pub(crate) struct Signs {
    /// Why this attempt should stop.
    pub(crate) cancel: watch::Receiver<Option<CancelWhy>>,
    /// Whether the worker shuts down.
    pub(crate) draining: watch::Receiver<bool>,
    /// Where it writes what the handler says of its job.
    pub(crate) notes: Notes,
}

/// Why an attempt should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancellation {
    /// Somebody asked to cancel the job or its graph.
    Asked,
    /// The attempt takes longer than its timeout.
    Timeout,
    /// The job's deadline has passed.
    Deadline,
    /// The worker shuts down; the job will run again elsewhere.
    Shutdown,
    /// The job is somebody else's now; what this attempt reports will not count.
    Lost,
}

impl Context {
    pub(crate) fn new(claimed: &Claimed, signs: Signs, client: Client, states: States) -> Self {
        Self {
            inner: Arc::new(Inner {
                head: claimed.head.clone(),
                headers: claimed.headers.clone(),
                enqueued_at: claimed.enqueued_at,
                cancel: signs.cancel,
                draining: signs.draining,
                client,
                states,
                log: Mutex::default(),
                append: Mutex::default(),
                notes: signs.notes,
                kept: OnceCell::new(),
            }),
        }
    }

    /// The job.
    pub fn job(&self) -> JobId {
        self.inner.head.id
    }

    /// The version of its stored input, which may be older than the handler's.
    pub(crate) fn version(&self) -> u16 {
        self.inner.head.version
    }

    /// Its kind, as it was enqueued: a handler may serve older names of its kind too.
    pub fn kind(&self) -> &Kind {
        &self.inner.head.kind
    }

    /// The queue in which it stood.
    pub fn queue(&self) -> &Queue {
        &self.inner.head.queue
    }

    /// What the application gave its worker, by type ([`WorkerBuilder::state`](crate::WorkerBuilder::state)).
    ///
    /// Name the type at the worker too ([`WorkerBuilder::needs`](crate::WorkerBuilder::needs)), and one that is missing is told
    /// before anything starts.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// # struct Pool;
    /// # impl Pool { async fn count(&self) -> u64 { 7 } }
    /// async fn count(cx: Context) -> Result<u64, Failure> {
    ///     Ok(cx.state::<Pool>()?.count().await)
    /// }
    /// ```
    ///
    /// # Errors
    /// The worker was not given one. Returned as it is, the job is blocked until a worker of another build starts: it spends no
    /// attempt.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, Failure> {
        let missing = || {
            let state = std::any::type_name::<T>();
            Failure::unfit(format!("this worker was not given the state {state}: add .state(…) where it is built"))
        };
        self.inner.states.get::<T>().ok_or_else(missing)
    }

    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.inner.head.counters.attempt
    }

    /// How many attempts have failed before.
    pub fn failures(&self) -> u32 {
        self.inner.head.counters.failures
    }

    /// When the job was enqueued, on the store's clock.
    pub fn enqueued_at(&self) -> Timestamp {
        self.inner.enqueued_at
    }

    /// Its place in a graph.
    pub fn node(&self) -> Option<&NodeRef> {
        self.inner.head.node.as_ref()
    }

    /// What travels with the job.
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.inner.headers
    }

    /// Says how far the job is, for people: a fraction, so many of so many, or words. Costs next to nothing: the newest is
    /// written about once a second, and what a handler says in its last second before it succeeds is not shown any more. What was
    /// said last stays with the job until it is pruned.
    ///
    /// ```
    /// # use towpath::{Context, Failure, Progress};
    /// async fn import(cx: Context) -> Result<(), Failure> {
    ///     cx.progress(Progress::said("downloads orders.csv"));
    ///     let rows = 3_000;
    ///     for row in 0..rows {
    ///         cx.progress((row, rows));
    ///     }
    ///     cx.progress(0.99);
    ///     Ok(())
    /// }
    /// ```
    pub fn progress(&self, progress: impl Into<Progress>) {
        self.inner.notes.progress(progress.into());
    }

    /// Gives the job a tag besides those that it has: a label, or `key=value`. On disk when it is answered; twice the same is
    /// once.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// async fn import(cx: Context) -> Result<(), Failure> {
    ///     cx.tag("needs-a-look").await?;
    ///     cx.tag_value("customer", 7).await
    /// }
    /// ```
    ///
    /// # Errors
    /// The store cannot be asked, the claim is lost, the tag is empty or longer than 128 bytes, or the job has 32 tags already.
    ///
    /// # Cancel safety
    /// Dropped, the job has the tag or has not.
    pub async fn tag(&self, tag: &str) -> Result<(), Failure> {
        let tags = vec![tag.to_owned()];
        towpath_core::tag::check(&tags)
            .map_err(|problem| Failure::permanent(format!("the handler gives its job {problem}")))?;
        let notes = &self.inner.notes;
        notes.write(&**self.inner.client.store(), Note { tags, ..Note::new(notes.fence()) }).await
    }

    /// Gives the job the tag `key=value`, as [`tag`](Self::tag) does.
    ///
    /// # Errors
    /// As [`tag`](Self::tag).
    pub async fn tag_value(&self, key: &str, value: impl std::fmt::Display) -> Result<(), Failure> {
        self.tag(&towpath_core::tag::pair(key, value)).await
    }

    /// What the handler has said and nobody has written, and where it goes.
    pub(crate) fn notes(&self) -> &Notes {
        &self.inner.notes
    }

    /// Keeps a line with the attempt, to be read in its history. Of more than 64 KiB the head and the tail stay.
    pub fn log(&self, line: &str) {
        self.inner.log.lock().unwrap_or_else(PoisonError::into_inner).line(line);
    }

    /// Adds nodes to the job's own graph, with its success: they are written in the commit that ends it, or not at all. What
    /// is given is the nodes in the making, and this node as a parent of them.
    ///
    /// May be called several times; everything is added together. If the attempt fails, nothing is. If the graph has been
    /// stopped or undone by then, the success stands, and the refusal is recorded with the attempt; any other refusal of the
    /// store (a name that is taken, a parent that is not there) makes the node dead.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Context, Failure, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "page")] struct Page(u32);
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "bind")] struct Bind;
    /// async fn split(cx: Context) -> Result<(), Failure> {
    ///     cx.append(|more, this| {
    ///         let pages: Vec<_> = (1..=3).map(|n| this.then(format!("page-{n}"), &Page(n))).collect();
    ///         more.node("bind", &Bind).after(pages);
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Graph`] with everything that is wrong with the nodes so far; [`Error::Refused`] outside a graph. Nothing of
    /// this call is added then.
    pub fn append<T>(&self, add: impl for<'g> FnOnce(&'g GraphAppend, Existing<'g>) -> T) -> Result<T, Error> {
        let Some(node) = &self.inner.head.node else {
            let problem = format!("job {} is no node of a graph: there is nothing to add to", self.inner.head.id);
            return Err(Error::Refused(Refusal::Invalid { problem }));
        };
        let more = GraphAppend::new(node.graph);
        let done = add(&more, more.existing(&node.name));
        let new = more.into_new()?;
        let mut held = self.inner.append.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = held.clone().unwrap_or(NewAppend { graph: node.graph, nodes: Vec::new(), edges: Vec::new() });
        all.nodes.extend(new.nodes);
        all.edges.extend(new.edges);
        GraphAppend::check(all.clone(), self.inner.client.graph_limits())?;
        *held = Some(all);
        Ok(done)
    }

    /// What the node adds to its graph, if it does.
    pub(crate) fn take_append(&self) -> Option<PreparedAppend> {
        let held = self.inner.append.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It was checked when it was put there.
        let mut append = held.and_then(|new| GraphAppend::check(new, self.inner.client.graph_limits()).ok());
        append.iter_mut().for_each(trace::appended);
        append
    }

    pub(crate) fn take_log(&self) -> Option<String> {
        std::mem::take(&mut *self.inner.log.lock().unwrap_or_else(PoisonError::into_inner)).into_text()
    }

    /// A client on the same store.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// How the node's direct parents ended, in the order of its edges. Empty for a job outside a graph.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// async fn sum(cx: Context) -> Result<u64, Failure> {
    ///     let mut sum = 0;
    ///     for parent in cx.upstream().await? {
    ///         sum += parent.output::<u64>()?.unwrap_or(0);
    ///     }
    ///     Ok(sum)
    /// }
    /// ```
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn upstream(&self) -> Result<Vec<Upstream>, StoreError> {
        if self.inner.head.node.is_none() {
            return Ok(Vec::new());
        }
        let client = &self.inner.client;
        client.fetch_outputs(client.store().upstream(self.inner.head.id).await?).await
    }

    /// The node that this one undoes: how it ended, what it left, and its last error. `None` if this is no undo.
    ///
    /// ```
    /// # use towpath::{Context, Failure};
    /// async fn refund(cx: Context) -> Result<(), Failure> {
    ///     let Some(charge) = cx.guarded().await? else { return Ok(()) };
    ///     match charge.output::<u64>()? {
    ///         Some(receipt) => cancel(receipt).await,
    ///         // It failed or was cancelled on its way: ask the bank whether anything was charged.
    ///         None => look_for(cx.graph_input::<u64>().await?).await,
    ///     }
    /// }
    /// # async fn cancel(_: u64) -> Result<(), Failure> { Ok(()) }
    /// # async fn look_for(_: Option<u64>) -> Result<(), Failure> { Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn guarded(&self) -> Result<Option<Upstream>, StoreError> {
        let is_undo = self.inner.head.role.has(Role::UNDO);
        if is_undo { Ok(self.upstream().await?.into_iter().next()) } else { Ok(None) }
    }

    /// What the graph was given ([`NewGraph::input`](crate::NewGraph::input)). `None` for a job outside a graph, and for a
    /// graph that was given nothing.
    ///
    /// # Errors
    /// The store could not be asked, or the input is of another shape.
    pub async fn graph_input<T: DeserializeOwned>(&self) -> Result<Option<T>, OutputError> {
        let Some(node) = &self.inner.head.node else { return Ok(None) };
        let input = self.inner.client.store().graph_input(node.graph).await?;
        let read = input.as_ref().map(Payload::decode).transpose();
        read.map_err(|e| OutputError::GraphInput { graph: node.graph, problem: e.problem })
    }

    /// Whether the worker shuts down. The attempt may go on, up to the worker's drain limit (25 s), and is then told to stop
    /// ([`cancelled`](Self::cancelled)).
    ///
    /// A handler that works in steps looks here between two of them, and leaves with
    /// [`Failure::stopped`](crate::Failure::stopped): the job goes back at no cost and runs elsewhere.
    pub fn is_shutting_down(&self) -> bool {
        *self.inner.draining.borrow()
    }

    /// Waits until the worker shuts down: at once, not when the drain limit is over.
    ///
    /// # Cancel safety
    /// Safe: a later call answers at once.
    pub async fn shutting_down(&self) {
        // An error says that the worker is gone.
        let _ = self.inner.draining.clone().wait_for(|draining| *draining).await;
    }

    /// Why the attempt should stop, if it should.
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.inner.cancel.borrow().as_ref().map(cancellation)
    }

    /// Waits until the attempt should stop, and says why.
    ///
    /// After that the handler has a grace (10 s unless the worker says otherwise) to clean up; then it is dropped.
    ///
    /// # Cancel safety
    /// Safe: a later call answers at once.
    pub async fn cancelled(&self) -> Cancellation {
        let mut cancel = self.inner.cancel.clone();
        match cancel.wait_for(Option::is_some).await {
            Ok(why) => why.as_ref().map_or(Cancellation::Lost, cancellation),
            // The worker is gone, and with it the claim.
            Err(_) => Cancellation::Lost,
        }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("job", &self.inner.head.id).finish_non_exhaustive()
    }
}

fn cancellation(why: &CancelWhy) -> Cancellation {
    match why {
        CancelWhy::Asked(_) => Cancellation::Asked,
        CancelWhy::Timeout => Cancellation::Timeout,
        CancelWhy::Deadline => Cancellation::Deadline,
        CancelWhy::Shutdown => Cancellation::Shutdown,
        CancelWhy::Lost => Cancellation::Lost,
    }
}
