//! Updates: signals that the function answers, and whose sender waits for the answer.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{Ident, OpKind, Ops, Outcome, Request, Wants};
use towpath_core::store::{Asked, Asking, Showing};
use towpath_core::{EncodeError, JobId, Label, RunId, State, StoreError};

use super::cx::{Cx, decoded, show};
use super::function::check_name;
use super::op::Op;
use crate::client::Client;
use crate::error::Error;

/// The name and types of an update: what is sent, and what the function answers.
///
/// ```
/// use towpath::Update;
/// const SET_LIMIT: Update<u32, bool> = Update::new("set-limit");
/// ```
pub struct Update<I, O> {
    name: &'static str,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Update<I, O> {
    /// An update of this name: 1 to 64 of a-z 0-9 and inner hyphens. A signal of the same name is another thing.
    ///
    /// # Panics
    /// On a bad name; in a `const` that is a compile error.
    pub const fn new(name: &'static str) -> Self {
        check_name(name);
        Self { name, types: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<I, O> Clone for Update<I, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O> Copy for Update<I, O> {}

impl<I, O> fmt::Debug for Update<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "update {}", self.name)
    }
}

/// The way to the sender of an update. Dropped unused, there is no answer, and the sender waits until the run ends.
#[must_use = "the sender of the update waits for an answer"]
pub struct Reply<'r, O> {
    ops: Ops,
    answer: String,
    types: PhantomData<fn(&'r O)>,
}

impl<O: Serialize> Reply<'_, O> {
    /// Answers, from the next commit of the run on, which follows at once. What a replay answers again was answered then.
    /// At most 1 MiB of JSON; an answer that has no stored form blocks the run.
    pub fn send(self, answer: &O) {
        show(&self.ops, answer, "the answer to an update", |payload| Showing::value(self.answer, payload));
    }
}

impl<O> fmt::Debug for Reply<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("answer", &self.answer).finish_non_exhaustive()
    }
}

impl<'r> Cx<'r> {
    /// Waits for the next update of this name: what was sent, and the way to answer. One that came before is there already,
    /// and each is taken by one wait. The answer may be given at once, or after steps and waits.
    ///
    /// ```
    /// # use towpath::{Cx, Failure, Update};
    /// const ADD: Update<u32, u32> = Update::new("add");
    ///
    /// async fn sum(cx: Cx<'_>, mut sum: u32) -> Result<u32, Failure> {
    ///     while sum < 10 {
    ///         let (n, reply) = cx.update(ADD).await;
    ///         sum += n;
    ///         reply.send(&sum);
    ///     }
    ///     Ok(sum)
    /// }
    /// ```
    #[track_caller]
    pub fn update<I, O>(
        &self,
        update: Update<I, O>,
    ) -> impl Future<Output = (I, Reply<'r, O>)> + Send + Unpin + use<'r, I, O>
    where
        I: DeserializeOwned + 'static,
        O: 'static,
    {
        let place = Location::caller();
        let pos = self.ops().claim();
        let ident = Ident { kind: OpKind::Update, name: update.name.into(), version: 0, input: 0 };
        let fits = |outcome: &Outcome| decoded::<Asked<I>>(outcome).map(|_| ());
        let wants = Wants::Signal { label: Asking::label(update.name), fits };
        let request = Request { ident, wants, place: Some(place) };
        let asked = Op::<'r, Asked<I>>::new(self.ops(), pos, request, decoded);
        let ops = self.ops().clone();
        asked.map(move |Asked { answer, input }| (input, Reply { ops, answer, types: PhantomData }))
    }
}

/// Why an update has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdateError {
    /// It could not be sent.
    Send(Error),
    /// The store could not be asked for the answer: it may have come. With an [`id`](UpdateBuilder::id) ask again.
    Store(StoreError),
    /// There is no such run.
    Unknown {
        /// The run.
        run: String,
    },
    /// The run has ended, and has not answered.
    Ended {
        /// The run.
        run: String,
        /// How.
        state: State,
    },
    /// The answer is of another type.
    Decode {
        /// The update.
        update: String,
        /// How it differs.
        problem: String,
    },
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Unknown { run } => write!(f, "there is no run {run}: start it before it is asked"),
            Self::Ended { run, state } => write!(f, "run {run} is {state}, and has not answered"),
            Self::Decode { update, problem } => write!(f, "the answer to update {update} cannot be read: {problem}"),
        }
    }
}

impl StdError for UpdateError {}

impl From<StoreError> for UpdateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Client {
    /// Sends an update to a run that was started, and waits for the function's answer.
    ///
    /// ```
    /// # use towpath::{Client, Update};
    /// # const ADD: Update<u32, u32> = Update::new("add");
    /// # async fn ask(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let sum: u32 = client.update("sum", ADD, &4).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no such run, it ended without an answer, or the store could not be asked. A run that is blocked or paused, or
    /// that comes to no wait for this update, answers nothing: put a limit of time around it.
    ///
    /// # Cancel safety
    /// Dropped, the update may have been sent, and the function then answers nobody; with an [`id`](UpdateBuilder::id) the answer
    /// can be asked for again.
    pub fn update<I: Serialize, O: DeserializeOwned>(
        &self,
        run: &str,
        update: Update<I, O>,
        input: &I,
    ) -> UpdateBuilder<'_, O> {
        self.update_named(run, update.name, input)
    }

    /// The same with a name that is known at run time only.
    pub fn update_named<I: Serialize + ?Sized, O: DeserializeOwned>(
        &self,
        run: &str,
        update: &str,
        input: &I,
    ) -> UpdateBuilder<'_, O> {
        let (run, update) = (run.to_owned(), update.to_owned());
        UpdateBuilder { client: self, run, update, id: None, input: Outcome::of(input), types: PhantomData }
    }
}

/// An update about to be sent. Await it for the answer.
#[must_use = "an update is sent when its builder is awaited"]
pub struct UpdateBuilder<'c, O> {
    client: &'c Client,
    run: String,
    update: String,
    id: Option<String>,
    input: Result<Outcome, EncodeError>,
    types: PhantomData<fn() -> O>,
}

/// How often the answer is looked for, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));

impl<O: DeserializeOwned> UpdateBuilder<'_, O> {
    /// Sends it under an id: however often it is sent with that, the function is asked once, and all are given its answer. Not
    /// empty, together with the update's name up to 240 bytes.
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    async fn ask(mut self) -> Result<O, UpdateError> {
        let run = RunId::new(&self.run).map_err(send)?;
        let update = Label::new(&self.update).map_err(send)?;
        let asking = match &self.id {
            Some(id) => Asking::named(update, id),
            None => Asking::once(update, &crate::random::job_id().to_string()),
        };
        let encode = |source| send(Error::Encode { kind: format!("update {}", self.update), source });
        let input = std::mem::replace(&mut self.input, Ok(Outcome::null()));
        let arrival = input.and_then(|input| asking.arrival(run.clone(), &input)).map_err(encode)?;
        let job = self.job(&run).await?;
        // What was asked before may be answered.
        if self.id.is_none() || self.look(&run, &asking).await?.is_none() {
            self.client.send(arrival).await.map_err(UpdateError::Send)?;
        }
        let mut wait = LOOKS.0;
        loop {
            // In this order: what it answered before it ended is there by then.
            let ended = self.client.store().ended(vec![job]).await?.into_iter().next().flatten();
            if let Some(answer) = self.look(&run, &asking).await? {
                return Ok(answer);
            }
            if let Some(ended) = ended {
                return Err(UpdateError::Ended { run: self.run, state: ended.state });
            }
            if wait == LOOKS.1 {
                // It may have ended and be gone.
                self.job(&run).await?;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOKS.1);
        }
    }

    async fn job(&self, run: &RunId) -> Result<JobId, UpdateError> {
        let job = self.client.inspect().run(run.clone()).await?;
        job.ok_or_else(|| UpdateError::Unknown { run: self.run.clone() })
    }

    async fn look(&self, run: &RunId, asking: &Asking) -> Result<Option<O>, UpdateError> {
        let Some(shown) = self.client.store().shown(run.clone(), asking.answer().to_owned()).await? else {
            return Ok(None);
        };
        let problem = |problem| UpdateError::Decode { update: self.update.clone(), problem };
        shown.payload.decode().map(Some).map_err(|e| problem(e.problem))
    }
}

fn send(error: impl Into<Error>) -> UpdateError {
    UpdateError::Send(error.into())
}

impl<O> fmt::Debug for UpdateBuilder<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("UpdateBuilder");
        out.field("run", &self.run).field("update", &self.update).field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'c, O: DeserializeOwned + 'static> IntoFuture for UpdateBuilder<'c, O> {
    type Output = Result<O, UpdateError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
