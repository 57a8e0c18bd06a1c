//! A client's part of durable functions: start, signal, await, cancel.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{Entry, OpKind};
use towpath_core::store::{
    Arrival, CancelNote, Change, Changed, Child, Delivery, Ended, Enqueue, Fork, Item, Placed, Refusal, Showing, Start,
    Taken,
};
use towpath_core::{
    Cause, End, GraphId, JobId, JobRules, Kind, Label, NewJob, Payload, Queue, RunId, State, StoreError, Timestamp,
};
use towpath_core::{builtin, defaults};
use tracing::Instrument;

use super::function::Durable;
use super::signal::Signal;
use crate::client::Client;
use crate::error::{Error, OutputError};
use crate::held::Holds;
use crate::random;
use crate::trace;

/// A run that was started, by id; the types say how it ends.
pub struct RunHandle<O, E> {
    id: RunId,
    job: JobId,
    placed: Placed,
    types: PhantomData<fn() -> (O, E)>,
}

impl<O, E> RunHandle<O, E> {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The job that it is.
    pub fn job(&self) -> JobId {
        self.job
    }

    /// Whether it was started now, or was there already.
    pub fn placed(&self) -> Placed {
        self.placed
    }
}

impl<O, E> RunHandle<O, E> {
    pub(crate) fn new(id: RunId, job: JobId, placed: Placed) -> Self {
        Self { id, job, placed, types: PhantomData }
    }
}

impl<O, E> Clone for RunHandle<O, E> {
    fn clone(&self) -> Self {
        Self { id: self.id.clone(), job: self.job, placed: self.placed, types: PhantomData }
    }
}

impl<O, E> fmt::Debug for RunHandle<O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("id", &self.id).field("job", &self.job).finish_non_exhaustive()
    }
}

/// Why a run has no result to give.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The function returned this error.
    Failed(E),
    /// It was cancelled.
    Cancelled {
        /// By whom, and why.
        cause: Option<Cause>,
    },
    /// It took longer than it may.
    TimedOut,
    /// It has ended, and its retention is over: what it left is gone, and its id is taken still.
    Pruned {
        /// Its id.
        run: RunId,
        /// How it ended.
        end: End,
        /// When it ended.
        ended_at: Timestamp,
    },
    /// It ended otherwise.
    Ended {
        /// Its end.
        state: State,
        /// Why.
        cause: Option<Cause>,
        /// Its last error.
        error: Option<String>,
    },
    /// It could not be asked or read.
    Output(OutputError),
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Cancelled { cause: Some(cause) } => write!(f, "the run was cancelled: {cause}"),
            Self::Cancelled { cause: None } => f.write_str("the run was cancelled"),
            Self::TimedOut => f.write_str("the run took longer than its function allows"),
            Self::Pruned { run, end, .. } => {
                let state = State::Ended(*end);
                write!(f, "the run {run} was {state} and has been pruned after its retention: its result is gone")
            }
            Self::Ended { state, error: Some(error), .. } => write!(f, "the run is {state}: {error}"),
            Self::Ended { state, .. } => write!(f, "the run is {state}"),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> StdError for RunError<E> {}

impl<E> From<OutputError> for RunError<E> {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

impl<E> From<StoreError> for RunError<E> {
    fn from(error: StoreError) -> Self {
        Self::Output(error.into())
    }
}

impl Client {
    /// Starts a durable function under an id of the caller's: at most one run has it, and starting it again answers the
    /// run that is there.
    pub fn start<I, O, E>(&self, function: Durable<I, O, E>, id: &str, input: &I) -> StartBuilder<'_, O, E>
    where
        I: Serialize,
    {
        let job = new_run(function, id, input);
        let (taken, types) = (Taken::Join, PhantomData);
        StartBuilder { client: self, job, taken, signal: None, fork: None, types }
    }

    /// Sends a signal to a run, which need not wait for it or exist yet: it is kept until a wait takes it.
    pub fn signal<T: Serialize>(&self, run: &str, signal: Signal<T>, payload: &T) -> SignalBuilder<'_> {
        let encode = || arrival(RunId::new(run)?, signal, payload);
        SignalBuilder { client: self, arrival: encode() }
    }

    /// Sends a signal to a node that waits for it ([`GraphBuilder::wait_for`](crate::GraphBuilder::wait_for)), or will.
    pub fn signal_node<T: Serialize>(
        &self,
        graph: GraphId,
        node: &str,
        signal: Signal<T>,
        payload: &T,
    ) -> SignalBuilder<'_> {
        self.signal(&format!("{graph}/{node}"), signal, payload)
    }

    /// Asks a run to cancel: its function is dropped where it waits, its undos run, and it ends as cancelled. One that has
    /// not begun ends at once, one that has ended stays as it is, and one that does not exist yet finds it when it starts.
    ///
    /// # Errors
    /// The name is no id, or the store could not do it.
    pub async fn cancel_run(&self, run: &str, actor: &str, reason: &str) -> Result<Changed, Error> {
        let run = RunId::new(run)?;
        if let Some(job) = self.inspect().run(run.clone()).await? {
            let changed = self.cancel(job, actor, reason).await?;
            return self.left_by(changed, run).await;
        }
        let note = CancelNote { actor: actor.into(), reason: reason.into() };
        self.send(Arrival::cancel(run, &note)).await?;
        Ok(Changed::Asked)
    }

    /// Ends a run at once, whatever it does. Its worker's hold on it is over, and its undos do not run: cancel it rather,
    /// unless it cannot go on. Children that it waits for are asked to cancel.
    ///
    /// # Errors
    /// The name is no id, or the store could not do it.
    pub async fn terminate_run(&self, run: &str, actor: &str, reason: &str) -> Result<Changed, Error> {
        let Some(job) = self.inspect().run(RunId::new(run)?).await? else { return Ok(Changed::Unknown) };
        let changed = self.terminate(job, actor, reason).await?;
        if changed == Changed::Unknown {
            return self.left_by(changed, RunId::new(run)?).await;
        }
        for child in self.awaited_children(run, job).await? {
            match child {
                Child::Job(job) => self.cancel(job, actor, reason).await.map(|_| ())?,
                Child::Graph(graph) => self.cancel_graph(graph, actor, reason).await.map(|_| ())?,
            }
        }
        Ok(changed)
    }

    /// Pauses a run: nobody enters it until it is resumed. A worker that has it brings to an end the steps that have begun, and
    /// records what they came to. Signals are kept meanwhile, and time goes on: a timer that has passed, or `max_duration`, is
    /// seen when it is resumed. A cancel lifts the pause.
    ///
    /// It answers [`Changed::Paused`]; [`Changed::Left`] for a run that has ended, [`Changed::Unknown`] if there is none. Who has
    /// paused it, and why, is kept in the audit and shown with the run.
    ///
    /// # Errors
    /// The name is no id, or the store could not do it.
    pub async fn pause_run(&self, run: &str, actor: &str, reason: &str) -> Result<Changed, Error> {
        let run = RunId::new(run)?;
        Ok(self.change(Change::PauseRun { run }, actor, reason).await?)
    }

    /// Lets a paused run go on, at once. One that is not paused stays as it is.
    ///
    /// # Errors
    /// The name is no id, or the store could not do it.
    pub async fn resume_run(&self, run: &str, actor: &str, reason: &str) -> Result<Changed, Error> {
        let run = RunId::new(run)?;
        Ok(self.change(Change::ResumeRun { run }, actor, reason).await?)
    }

    /// What an order came to, of a run that may have been pruned: it has ended then.
    async fn left_by(&self, changed: Changed, run: RunId) -> Result<Changed, Error> {
        let pruned = match changed {
            Changed::Unknown => self.inspect().tombstone(run).await?,
            _ => None,
        };
        Ok(pruned.map_or(changed, |left| Changed::Left(State::Ended(left.end))))
    }

    /// The children that a run has started and waits for, by its journal.
    async fn awaited_children(&self, run: &str, job: JobId) -> Result<Vec<Child>, Error> {
        let Some(history) = self.history(run).await? else { return Ok(Vec::new()) };
        let Some(detail) = self.inspect().job(job).await? else { return Ok(Vec::new()) };
        let (kind, chapter) = (detail.line.kind, detail.run.map_or(1, |run| run.chapter));
        let map = (kind.as_str() == builtin::MAP).then(|| history.header.input.decode::<builtin::Map>().ok()).flatten();
        let mut open = BTreeMap::new();
        for entry in history.entries {
            match entry {
                Entry::Opened { pos, op, .. } if op.kind == OpKind::Child && map.is_some() => {
                    let child = map.as_ref().and_then(|map| builtin::held_by(job, chapter, map, &op));
                    open.extend(child.map(|child| (pos, child)));
                }
                Entry::Opened { pos, op, .. } if op.kind == OpKind::Child && kind.as_str() == builtin::GRAPH => {
                    let graph = match self.holds(job).await? {
                        Some(Holds::Graph(graph)) => graph,
                        _ => builtin::inner_graph(job, chapter),
                    };
                    open.insert(pos, Child::Graph(graph));
                }
                Entry::Opened { pos, op, .. } if op.kind == OpKind::Child => {
                    // A graph has no version.
                    let child = match op.version {
                        0 => Child::Graph(GraphId::child_of(job, chapter, pos.0)),
                        _ => Child::Job(JobId::child_of(job, chapter, pos.0, 0)),
                    };
                    open.insert(pos, child);
                }
                Entry::Done { pos, .. } => {
                    open.remove(&pos);
                }
                _ => {}
            }
        }
        let mut all: Vec<Child> = open.into_values().collect();
        // What a chapter before has left at work it may not have asked for yet.
        all.extend(map.iter().flat_map(|map| map.left_at_work(job)));
        Ok(all)
    }

    /// A run that was started before, by its id; `None` if there is none, or it was pruned and its id is free again. Its types are those of its function.
    ///
    /// # Errors
    /// The name is no id, or the store could not be asked.
    pub async fn run<O, E>(&self, run: &str) -> Result<Option<RunHandle<O, E>>, Error> {
        let id = RunId::new(run)?;
        let job = self.inspect().run(id.clone()).await?;
        Ok(job.map(|job| RunHandle { id, job, placed: Placed::Existing, types: PhantomData }))
    }

    /// What a run has published last ([`Cx::publish`](crate::Cx::publish)), as the type that the function gives it; `None` if
    /// it has published nothing, or there is no such run. Asking costs the run nothing.
    ///
    /// ```
    /// # async fn look(client: towpath::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// if let Some((done, of)) = client.published::<(u32, u32)>("import-7").await? {
    ///     println!("{done} of {of}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Decode`] if it is of another type. The name is no id, or the store could not be asked.
    pub async fn published<T: DeserializeOwned>(&self, run: &str) -> Result<Option<T>, Error> {
        let Some(shown) = self.store().shown(RunId::new(run)?, Showing::PUBLISHED.into()).await? else {
            return Ok(None);
        };
        let read = shown.payload.decode();
        read.map(Some).map_err(|e| Error::Decode { what: format!("what run {run} has published"), problem: e.problem })
    }

    /// Waits for a run's result.
    ///
    /// # Errors
    /// How it ended, if it did not succeed.
    pub async fn result<O, E>(&self, run: &RunHandle<O, E>) -> Result<O, RunError<E>>
    where
        O: DeserializeOwned,
        E: DeserializeOwned,
    {
        let ended = match self.wait(run.job).await {
            Err(unknown @ OutputError::Unknown { .. }) => {
                return Err(self.pruned(run).await?.unwrap_or(unknown.into()));
            }
            waited => waited?,
        };
        let Ended { state, cause, error, .. } = ended;
        match (state, &cause) {
            (State::Ended(End::Succeeded), _) => {
                let payload = ended.output.unwrap_or_else(|| Payload::json_bytes(&b"null"[..]));
                payload.decode().map_err(|e| OutputError::Decode { id: ended.id, problem: e.problem }.into())
            }
            (State::Ended(End::Cancelled), _) => Err(RunError::Cancelled { cause }),
            (State::Ended(End::Dead), Some(Cause::Deadline)) => Err(RunError::TimedOut),
            (State::Ended(End::Dead), _) => match self.returned_error(run.job).await? {
                Some(error) => Err(RunError::Failed(error)),
                None => Err(RunError::Ended { state, cause, error }),
            },
            _ => Err(RunError::Ended { state, cause, error }),
        }
    }

    /// What is told of a run that is not stored, if it was pruned.
    async fn pruned<O, E>(&self, run: &RunHandle<O, E>) -> Result<Option<RunError<E>>, OutputError> {
        let left = self.inspect().tombstone(run.id.clone()).await?.filter(|left| left.job == run.job);
        Ok(left.map(|left| RunError::Pruned { run: left.run, end: left.end, ended_at: left.ended_at }))
    }

    /// The error that a function returned is the last line of its journal.
    async fn returned_error<E: DeserializeOwned>(&self, job: JobId) -> Result<Option<E>, OutputError> {
        let Some(run) = self.inspect().job(job).await?.and_then(|detail| detail.run) else { return Ok(None) };
        let (mut from, chapter) = (0, run.chapter);
        loop {
            let page = self.store().entries(job, chapter, from, 1_000).await?;
            let Some(last) = page.last() else { return Ok(None) };
            from = last.seq + 1;
            if let Ok(Entry::Ended { error: Some(error), .. }) = Entry::decode(&last.payload) {
                return match error.decode() {
                    Ok(error) => Ok(Some(error)),
                    Err(e) => Err(OutputError::Decode { id: job, problem: e.problem }),
                };
            }
        }
    }

    pub(super) async fn send(&self, arrival: Arrival) -> Result<Delivery, Error> {
        let signalled = self.store().signal(vec![arrival]).await?;
        match signalled.items.into_iter().next() {
            Some(Ok(delivery)) => Ok(delivery),
            Some(Err(refusal)) => Err(refusal.into()),
            None => Ok(Delivery::Duplicate),
        }
    }
}

fn arrival<T: Serialize>(run: RunId, signal: Signal<T>, payload: &T) -> Result<Arrival, Error> {
    let payload =
        Payload::json(payload).map_err(|source| Error::Encode { kind: format!("signal {}", signal.name), source })?;
    Ok(Arrival::new(run, Label::new(signal.name)?, payload))
}

pub(super) fn new_run<I: Serialize, O, E>(function: Durable<I, O, E>, id: &str, input: &I) -> Result<NewJob, Error> {
    let run = RunId::new(id)?;
    let input = Payload::json(input).map_err(|source| Error::Encode { kind: function.name().into(), source })?;
    let job = NewJob::new(random::job_id(), Kind::new(function.name())?).run(run);
    let rules = JobRules { keep_us: Some(defaults::KEEP_RUN.as_micros() as u64), ..JobRules::default() };
    Ok(NewJob { version: function.version(), input, rules, keep_id: Some(defaults::KEEP_ID), ..job })
}

/// A run about to be started. Await it.
#[must_use = "a run is started when its builder is awaited"]
pub struct StartBuilder<'c, O, E> {
    client: &'c Client,
    job: Result<NewJob, Error>,
    taken: Taken,
    signal: Option<Result<Arrival, Error>>,
    fork: Option<Box<Fork>>,
    types: PhantomData<fn() -> (O, E)>,
}

impl<'c, O, E> StartBuilder<'c, O, E> {
    /// A run that goes on from the journal of another one.
    pub(super) fn fork(client: &'c Client, job: NewJob, fork: Fork) -> Self {
        let fork = Some(Box::new(fork));
        Self { client, job: Ok(job), taken: Taken::Refuse, signal: None, fork, types: PhantomData }
    }
}

impl<O, E> StartBuilder<'_, O, E> {
    /// Puts it in this queue.
    pub fn queue(mut self, queue: &str) -> Self {
        self.job = self.job.and_then(|job| Ok(NewJob { queue: Queue::new(queue)?, ..job }));
        self
    }

    /// Not before this instant.
    pub fn at(self, at: Timestamp) -> Self {
        self.with(|job| job.due = towpath_core::Due::At(at))
    }

    /// Higher first; ties by the order of arrival.
    pub fn priority(self, priority: i16) -> Self {
        self.with(|job| job.priority = priority)
    }

    /// How many workers in a row may die under it before it is set aside (3).
    pub fn crash_limit(self, limit: u32) -> Self {
        self.with(|job| job.rules.crash_limit = limit)
    }

    /// How long it stays stored once it has succeeded, with its journal and its result (7 days).
    pub fn keep(self, keep: Duration) -> Self {
        self.with(|job| job.rules.keep_us = u64::try_from(keep.as_micros()).ok())
    }

    /// How long it stays stored if it ends otherwise (30 days).
    pub fn keep_failed(self, keep: Duration) -> Self {
        self.with(|job| job.rules.keep_failed_us = u64::try_from(keep.as_micros()).ok())
    }

    /// How long its id stays taken after its end (30 days), though the run itself may be pruned before: whoever starts it again is told that
    /// it has run, and [`Client::result`] that what it left is gone ([`RunError::Pruned`]). Zero frees the id with the prune. At most
    /// ten years.
    pub fn keep_id(self, keep: Duration) -> Self {
        self.with(|job| job.keep_id = Some(keep).filter(|keep| !keep.is_zero()))
    }

    /// Adds a tag: a label by which people find it. Those of the kind stay.
    pub fn tag(self, tag: &str) -> Self {
        self.with(|job| job.tags.push(tag.to_owned()))
    }

    /// Adds the tag `key=value`.
    pub fn tag_value(self, key: &str, value: impl std::fmt::Display) -> Self {
        self.with(|job| job.tags.push(towpath_core::tag::pair(key, value)))
    }

    /// Refuses to start if a run of this id is there, instead of answering it. Nothing is sent to that either.
    pub fn reject_existing(mut self) -> Self {
        self.taken = Taken::Refuse;
        self
    }

    /// Begins anew if the run of this id has ended, pruned since or not: that one goes, with its journal, its result and what it has
    /// published, as if its retention were over. One that has not ended is the answer, as without this. A run that is a node of a graph stays.
    /// It takes the place of [`reject_existing`](Self::reject_existing).
    pub fn replace_ended(mut self) -> Self {
        self.taken = Taken::ReplaceEnded;
        self
    }

    /// Sends a signal to the run in the same transaction, whether it is started now or was there: both happen, or neither. If a
    /// run of this id has ended, and is not replaced, nothing is sent, and the start is refused
    /// ([`Refusal::RunTaken`](crate::core::store::Refusal::RunTaken)).
    pub fn signal<T: Serialize>(mut self, signal: Signal<T>, payload: &T) -> Self {
        let run = self.job.as_ref().ok().and_then(|job| job.run.clone());
        self.signal = run.map(|run| arrival(run, signal, payload));
        self
    }

    /// A second signal to the same run with this key is none.
    pub fn dedup(mut self, key: &str) -> Self {
        self.signal = self.signal.map(|signal| signal.map(|arrival| arrival.dedup(key)));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut NewJob)) -> Self {
        if let Ok(job) = &mut self.job {
            change(job);
        }
        self
    }
}

impl<O, E> StartBuilder<'_, O, E> {
    /// What to enqueue, and how its answer is read.
    pub(crate) fn into_parts(self) -> Result<(Item, Started), Error> {
        let job = self.job?;
        let id = job.run.clone().ok_or_else(|| Refusal::Invalid { problem: "a run needs an id".into() })?;
        let has_signal = self.signal.is_some();
        // Without a signal, to join a run is to be told of it: the plain way does that.
        let is_plain = !has_signal && self.taken != Taken::ReplaceEnded && self.fork.is_none();
        let is_told = !has_signal && self.taken != Taken::Refuse;
        let started = Started { id, job: job.id, is_told };
        let signal = self.signal.transpose()?;
        let Self { taken, fork, .. } = self;
        let item = if is_plain { Item::job(job) } else { Item::Start(Box::new(Start { job, taken, signal, fork })) };
        Ok((item, started))
    }
}

/// A run that was sent to a store.
pub(crate) struct Started {
    id: RunId,
    job: JobId,
    /// Whether a run that is there is an answer, however it stands.
    is_told: bool,
}

impl Started {
    /// The handle that the store's answer makes.
    pub(crate) fn handle<O, E>(self, answer: Option<Result<Placed, Refusal>>) -> Result<RunHandle<O, E>, Error> {
        let Self { id, job: new, is_told } = self;
        match answer {
            Some(Ok(Placed::Run(job))) => Ok(RunHandle::new(id, job, Placed::Existing)),
            Some(Ok(placed)) => Ok(RunHandle::new(id, new, placed)),
            Some(Err(Refusal::RunTaken { job, .. })) if is_told => Ok(RunHandle::new(id, job, Placed::Existing)),
            Some(Err(refusal)) => Err(refusal.into()),
            None => Err(Refusal::Invalid { problem: "the store answered nothing".into() }.into()),
        }
    }
}

impl<'c, O: 'static, E: 'static> IntoFuture for StartBuilder<'c, O, E> {
    type Output = Result<RunHandle<O, E>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let client = self.client;
            let (item, started) = self.into_parts()?;
            let mut batch = Enqueue::one(item);
            client.run_hooks(&mut batch.items)?;
            let span = trace::enqueue(&mut batch.items);
            let placed = client.store().enqueue(batch).instrument(span).await?;
            started.handle(placed.items.into_iter().next())
        })
    }
}

/// A signal about to be sent. Await it.
#[must_use = "a signal is sent when its builder is awaited"]
pub struct SignalBuilder<'c> {
    client: &'c Client,
    arrival: Result<Arrival, Error>,
}

impl SignalBuilder<'_> {
    /// The signal as stores take it.
    pub(crate) fn into_arrival(self) -> Result<Arrival, Error> {
        self.arrival
    }

    /// A second signal to the same run with this key is none.
    pub fn dedup(mut self, key: &str) -> Self {
        self.arrival = self.arrival.map(|arrival| arrival.dedup(key));
        self
    }
}

impl<'c> IntoFuture for SignalBuilder<'c> {
    type Output = Result<Delivery, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.client.send(self.arrival?).await })
    }
}
