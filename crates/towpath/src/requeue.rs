//! Puts an ended or blocked job back: an operator's second chance for it.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use serde::Serialize;
use towpath_core::store::Changed;
use towpath_core::{EncodeError, End, JobId, Payload, Requeue, State, StoreError, StoreErrorKind, requeue_job};

use crate::client::Client;
use crate::error::RetryError;

impl Client {
    /// Puts a job back that ended badly or is blocked: a new arrival with its failures and crashes at 0. The number of its
    /// attempts goes on, and their history stays; its output is gone. Of a node that has ended, its graph is retried from
    /// it ([`Client::retry_graph`]); a run that has begun goes on where it failed ([`Client::retry_run`]). Await the builder to do it.
    ///
    /// ```
    /// # async fn f(client: towpath::Client, job: towpath::JobId) -> Result<(), towpath::RetryError> {
    /// client.requeue(job).input(&"ann@example.org").by("ann", "the address was wrong").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn requeue(&self, job: JobId) -> RequeueBuilder<'_> {
        let (actor, reason) = ("client".to_owned(), String::new());
        RequeueBuilder { client: self, job, which: Requeue::Failed, input: Ok(None), actor, reason }
    }
}

/// A job about to be put back. Await it.
#[must_use = "a job is put back when its builder is awaited"]
pub struct RequeueBuilder<'c> {
    client: &'c Client,
    job: JobId,
    which: Requeue,
    input: Result<Option<Payload>, EncodeError>,
    actor: String,
    reason: String,
}

impl RequeueBuilder<'_> {
    /// Puts it back even if it has succeeded.
    pub fn even_succeeded(mut self) -> Self {
        self.which = Requeue::EvenSucceeded;
        self
    }

    /// Gives it another input, from now on.
    pub fn input<T: Serialize + ?Sized>(mut self, input: &T) -> Self {
        self.input = Payload::json(input).map(Some);
        self
    }

    /// Gives it another input that is encoded already.
    pub fn payload(mut self, input: Payload) -> Self {
        self.input = Ok(Some(input));
        self
    }

    /// Says who does it and why, for the audit.
    pub fn by(mut self, actor: &str, reason: &str) -> Self {
        (self.actor, self.reason) = (actor.into(), reason.into());
        self
    }

    /// Retries the graph of a node from it.
    async fn retry_from(&self, input: Option<Payload>) -> Result<(), RetryError> {
        let id = self.job;
        let line = self.client.inspect().job(id).await?.ok_or(RetryError::UnknownJob { id })?.line;
        let node = line.node.ok_or(RetryError::UnknownJob { id })?;
        if line.state == State::Ended(End::Succeeded) && self.which == Requeue::Failed {
            return Err(RetryError::Left { id, state: line.state });
        }
        let mut retry = self.client.retry_graph(node.graph).from(node.name).by(&self.actor, &self.reason);
        if let Some(input) = input {
            retry = retry.edit(id, input);
        }
        retry.await.map(drop)
    }

    /// Lets a run go on that has begun.
    async fn retry_run(&self) -> Result<(), RetryError> {
        let id = self.job;
        let run = self.client.inspect().job(id).await?.and_then(|detail| detail.run);
        let run = run.ok_or(RetryError::UnknownJob { id })?.id;
        let retry = self.client.retry_run(run.as_str()).by(&self.actor, &self.reason);
        if self.which == Requeue::EvenSucceeded { retry.even_succeeded().await } else { retry.await }
    }

    async fn put_back(mut self) -> Result<(), RetryError> {
        let id = self.job;
        let input = std::mem::replace(&mut self.input, Ok(None)).map_err(|source| RetryError::Input { id, source })?;
        let order = requeue_job(id, self.which, input.clone(), &self.actor, &self.reason);
        match self.client.store().apply(order).await?.changes.into_iter().next() {
            Some(Changed::Requeued) => Ok(()),
            Some(Changed::Left(state)) => Err(RetryError::Left { id, state }),
            Some(Changed::HasBegun) if input.is_none() => self.retry_run().await,
            Some(Changed::HasBegun) => Err(RetryError::HasBegun { id }),
            Some(Changed::KeyTaken { by }) => Err(RetryError::KeyTaken { id, by }),
            Some(Changed::OfGraph) => self.retry_from(input).await,
            Some(Changed::Unknown) => Err(RetryError::UnknownJob { id }),
            other => {
                let problem = format!("the store answered {other:?} to a requeue");
                Err(StoreError::new(StoreErrorKind::Corrupt, "requeue", problem).into())
            }
        }
    }
}

impl<'c> IntoFuture for RequeueBuilder<'c> {
    type Output = Result<(), RetryError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    /// # Cancel safety
    /// Dropped, the job was put back or was not; asking again answers [`RetryError::Left`] if it was.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.put_back())
    }
}
