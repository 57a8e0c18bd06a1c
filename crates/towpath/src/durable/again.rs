//! Lets runs go on from what their journals have: one that failed, where it failed, and another one, from any place.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;

use towpath_core::builtin;
use towpath_core::replay::{Cut, CutFrom, CutRefusal, Pos, Rewind};
use towpath_core::store::{Change, Changed, Fork, ForkedFrom, JobDetail, Order};
use towpath_core::{End, JobId, JobRules, NewJob, Requeue, RunId, State, StoreError, StoreErrorKind, defaults};

use super::client::{RunHandle, StartBuilder};
use crate::client::Client;
use crate::error::{Error, ForkError, RetryError};
use crate::random;

/// So often a run may end once more while it is looked at.
const LOOKS_MAX: usize = 5;

impl Client {
    /// Lets a run that has ended go on in its next chapter, on the code that workers have by then. What had succeeded stays
    /// recorded; the steps and children of which the function was told last that they had failed are tried again, their
    /// attempts counted anew, steps under the same idempotency keys. What the function made of its failure is forgotten.
    ///
    /// A run whose undos have run begins at its beginning. `max_duration` counts from now. Await the builder to do it.
    ///
    /// ```
    /// # async fn f(client: towpath::Client) -> Result<(), towpath::RetryError> {
    /// client.retry_run("order-7").by("ann", "the bank is back").await?;
    /// client.retry_run("order-8").at(3).await?; // operation 3 and all behind it once more
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry_run(&self, run: &str) -> RetryRunBuilder<'_> {
        let (actor, reason) = ("client".to_owned(), String::new());
        RetryRunBuilder { client: self, run: run.into(), from: Rewind::Failed, which: Requeue::Failed, actor, reason }
    }

    /// Starts a run that takes over what another one has recorded before an operation of its function, counted from 1, and
    /// goes its own way from there. The other one, which may have ended or not, stays as it is. It is of the same function,
    /// version and input. Await the builder to do it.
    ///
    /// Nothing of what is taken over is done again. What was at work there is: timers keep their instants, children are started
    /// anew, as the fork's own. Signals that the other one was sent and has not taken stay with it, and so does what it has
    /// published. The fork's undos undo what was taken over too.
    ///
    /// ```
    /// # async fn f(client: towpath::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let fork = client.fork::<u32, towpath::Failure>("order-7", 3, "order-7-again").await?;
    /// println!("{:?}", client.result(&fork).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn fork<O, E>(&self, run: &str, at: u32, id: &str) -> ForkBuilder<'_, O, E> {
        ForkBuilder { client: self, run: run.into(), at, id: id.into(), types: PhantomData }
    }
}

/// A run about to be retried. Await it.
#[must_use = "a run is retried when its builder is awaited"]
pub struct RetryRunBuilder<'c> {
    client: &'c Client,
    run: String,
    from: Rewind,
    which: Requeue,
    actor: String,
    reason: String,
}

impl RetryRunBuilder<'_> {
    /// Goes on where this operation of the function was to be built, counted from 1: it and all behind it are done once more.
    pub fn at(mut self, operation: u32) -> Self {
        self.from = Rewind::At(Pos(operation.saturating_add(1)));
        self
    }

    /// Begins at its beginning: every step is carried out again, under another idempotency key.
    pub fn from_beginning(mut self) -> Self {
        self.from = Rewind::Beginning;
        self
    }

    /// Retries it even if it has succeeded; say from where.
    pub fn even_succeeded(mut self) -> Self {
        self.which = Requeue::EvenSucceeded;
        self
    }

    /// Says who does it and why, for the audit.
    pub fn by(mut self, actor: &str, reason: &str) -> Self {
        (self.actor, self.reason) = (actor.into(), reason.into());
        self
    }

    async fn retry(self) -> Result<(), RetryError> {
        let unknown = || RetryError::UnknownRun { run: self.run.clone() };
        let id = RunId::new(&self.run).map_err(|_| unknown())?;
        let job = self.client.inspect().run(id.clone()).await?.ok_or_else(unknown)?;
        if matches!(self.from, Rewind::At(pos) if pos < Pos::FIRST) {
            return Err(RetryError::NoOperation { run: id });
        }
        for _ in 0..LOOKS_MAX {
            let detail = self.client.inspect().job(job).await?.ok_or_else(unknown)?;
            let Some(line) = &detail.run else { return Err(unknown()) };
            let from = match (detail.line.state, &detail.line.node) {
                (State::Ended(End::Succeeded), _) if self.which == Requeue::Failed => {
                    return Err(RetryError::Left { id: job, state: detail.line.state });
                }
                (State::Ended(_), Some(_)) if self.from == Rewind::Failed => return self.put_back(job).await,
                (State::Ended(_), Some(node)) => return Err(RetryError::RunOfGraph { run: id, graph: node.graph }),
                // What it made of its success is all there is to do again.
                (State::Ended(End::Succeeded), None) if self.from == Rewind::Failed => Rewind::Beginning,
                (State::Ended(_), None) => self.from,
                (State::Blocked, _) if self.from == Rewind::Failed => return self.put_back(job).await,
                (state, _) => return Err(RetryError::Left { id: job, state }),
            };
            let entries = self.client.journal(job, line).await?;
            let cut = match (CutFrom { entries: &entries, job, chapter: line.chapter }).retry(from) {
                // One that never began is put back like any job.
                Err(CutRefusal::Unbegun) => return self.put_back(job).await,
                cut => cut.map_err(|why| RetryError::Run { run: id.clone(), why })?,
            };
            match self.apply(job, line.chapter, cut).await? {
                Some(Changed::Requeued) => return Ok(()),
                // It has been retried and has ended once more since the look.
                Some(Changed::Left(State::Ended(_))) => {}
                Some(Changed::Left(state)) => return Err(RetryError::Left { id: job, state }),
                Some(Changed::Unknown) => return Err(unknown()),
                other => {
                    let problem = format!("the store answered {other:?} to the retry of a run");
                    return Err(StoreError::new(StoreErrorKind::Corrupt, "retry a run", problem).into());
                }
            }
        }
        Err(RetryError::Left { id: job, state: State::Running })
    }

    async fn apply(&self, job: JobId, chapter: u32, cut: Cut) -> Result<Option<Changed>, RetryError> {
        let first = cut.first.encode().map_err(|source| RetryError::Input { id: job, source })?;
        let ends = End::ALL.into_iter();
        let from = ends.filter(|end| self.which == Requeue::EvenSucceeded || *end != End::Succeeded).collect();
        let changes = vec![Change::RetryRun { job, from, chapter, first, kept: cut.kept }];
        let order = Order { actor: self.actor.clone(), reason: self.reason.clone(), changes };
        Ok(self.client.store().apply(order).await?.changes.into_iter().next())
    }

    /// Puts it back as a job.
    async fn put_back(&self, job: JobId) -> Result<(), RetryError> {
        let requeue = self.client.requeue(job).by(&self.actor, &self.reason);
        let requeue = if self.which == Requeue::EvenSucceeded { requeue.even_succeeded() } else { requeue };
        requeue.await
    }
}

impl<'c> IntoFuture for RetryRunBuilder<'c> {
    type Output = Result<(), RetryError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// # Cancel safety
    /// Dropped, the run goes on or stays as it was; asking again answers [`RetryError::Left`] if it goes on.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.retry())
    }
}

/// A run about to be forked. Await it.
#[must_use = "a run is forked when its builder is awaited"]
pub struct ForkBuilder<'c, O, E> {
    client: &'c Client,
    run: String,
    at: u32,
    id: String,
    types: PhantomData<fn() -> (O, E)>,
}

impl<'c, O, E> ForkBuilder<'c, O, E> {
    /// Reads the other run's journal, and answers how the fork is to be started: with settings of its own, or inside a
    /// transaction of the application's where that takes starts with signals
    /// ([`Within::start`](crate::Within::start)).
    ///
    /// # Errors
    /// There is no such run, or it cannot be gone on from there.
    pub async fn prepare(self) -> Result<StartBuilder<'c, O, E>, ForkError> {
        let Self { client, run, at, id, .. } = self;
        let unknown = || ForkError::UnknownRun { run: run.clone() };
        let of = RunId::new(&run).map_err(|_| unknown())?;
        let job = client.inspect().run(of.clone()).await?.ok_or_else(unknown)?;
        let detail = client.inspect().job(job).await?.ok_or_else(unknown)?;
        let Some(line) = &detail.run else { return Err(unknown()) };
        if builtin::is_kind(&detail.line.kind) {
            return Err(ForkError::Builtin { run: of, kind: detail.line.kind.to_string() });
        }
        if at == 0 {
            return Err(ForkError::NoOperation { run: of });
        }
        let entries = client.journal(job, line).await?;
        let cut = CutFrom { entries: &entries, job, chapter: line.chapter };
        let cut = cut.fork(Pos(at.saturating_add(1))).map_err(|why| ForkError::Cut { run: of.clone(), why })?;
        let first = cut.first.encode().map_err(|source| ForkError::Line { run: of.clone(), source })?;
        let origin = ForkedFrom { run: of, chapter: line.chapter, at };
        let new = new_of(&detail, RunId::new(&id).map_err(Error::from)?);
        Ok(StartBuilder::fork(client, new, Fork { of: job, origin, first, kept: cut.kept }))
    }
}

/// The same job once more, as a run of its own.
fn new_of(detail: &JobDetail, run: RunId) -> NewJob {
    let line = &detail.line;
    let new = NewJob::new(random::job_id(), line.kind.clone()).run(run);
    // Whoever waits for the other one does not wait for this one.
    let rules = JobRules { parent: None, ..detail.rules.clone() };
    NewJob {
        version: line.version,
        queue: line.queue.clone(),
        priority: line.priority,
        input: detail.input.clone(),
        rules,
        tags: detail.tags.clone(),
        headers: detail.headers.clone(),
        keep_id: Some(defaults::KEEP_ID),
        ..new
    }
}

impl<'c, O: 'static, E: 'static> IntoFuture for ForkBuilder<'c, O, E> {
    type Output = Result<RunHandle<O, E>, ForkError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// # Cancel safety
    /// Dropped, the fork is there or is not; asking again under the same id is refused if it is.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.prepare().await?.await?) })
    }
}
