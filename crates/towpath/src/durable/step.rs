//! Steps: work outside of the function, done at least once and recorded exactly once.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use towpath_core::replay::Outcome;
use towpath_core::store::{Rows, Showing};
use towpath_core::{JobId, Payload, Progress, RetryPolicy, defaults, limits};

use super::function::check_name;
use super::transact::Judge;
use crate::client::Client;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::states::{NeededState, State, States};

pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Something that can be run as a step: any `async fn(StepCx, I) -> Result<O, E>`.
pub trait StepFn<I, O, E>: Send + Sync {
    /// Does one attempt.
    fn attempt(&self, cx: StepCx, input: I) -> Pin<Box<dyn Future<Output = Result<O, E>> + Send>>;
}

impl<F, Fut, I, O, E> StepFn<I, O, E> for F
where
    F: Fn(StepCx, I) -> Fut + Send + Sync,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
{
    fn attempt(&self, cx: StepCx, input: I) -> BoxFuture<Result<O, E>> {
        Box::pin(self(cx, input))
    }
}

/// The definition of a step.
///
/// ```
/// use std::time::Duration;
/// use towpath::{Failure, Step, StepCx};
///
/// const DOUBLE: Step<u64, u64, Failure> = Step::new("double", &double).attempts(5).timeout(Duration::from_secs(30));
///
/// async fn double(_cx: StepCx, n: u64) -> Result<u64, Failure> {
///     Ok(2 * n)
/// }
/// ```
pub struct Step<I: 'static, O: 'static, E: 'static> {
    pub(super) name: &'static str,
    pub(super) run: &'static dyn StepFn<I, O, E>,
    pub(super) policy: Policy,
    pub(super) retry_if: Option<fn(&E) -> bool>,
    needs: &'static [NeededState],
}

/// How a step is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub(super) version: u16,
    pub(super) retry: RetryPolicy,
    pub(super) timeout: Option<Duration>,
    pub(super) at_most_once: bool,
}

impl Policy {
    pub(super) const DEFAULT: Self =
        Self { version: 1, retry: defaults::STEP_RETRY, timeout: None, at_most_once: false };
}

impl<I, O, E> Step<I, O, E> {
    /// Defines a step. The name is 1 to 64 of a-z 0-9 and inner hyphens.
    ///
    /// # Panics
    /// On a bad name; in a `const` that is a compile error.
    pub const fn new(name: &'static str, run: &'static dyn StepFn<I, O, E>) -> Self {
        check_name(name);
        Self { name, run, policy: Policy::DEFAULT, retry_if: None, needs: &[] }
    }

    /// Sets its version (1): a run that has recorded another one does not fit.
    pub const fn version(mut self, version: u16) -> Self {
        self.policy.version = version;
        self
    }

    /// How often it is tried (10 times).
    pub const fn attempts(mut self, attempts: u32) -> Self {
        assert!(attempts > 0, "a step is tried at least once");
        self.policy.retry.attempts_max = attempts;
        self
    }

    /// How long it waits after the first failure (1 s), doubled with each, and at most (10 min).
    pub const fn backoff(mut self, base: Duration, cap: Duration) -> Self {
        self.policy.retry.base_us = base.as_micros() as u64;
        self.policy.retry.cap_us = cap.as_micros() as u64;
        self
    }

    /// How long an attempt may take.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// Which errors are worth another attempt (all).
    pub const fn retry_if(mut self, retry_if: fn(&E) -> bool) -> Self {
        self.retry_if = Some(retry_if);
        self
    }

    /// Never begins it twice: its beginning is recorded first, and one whose outcome was lost with its process is
    /// [`StepError::Lost`].
    pub const fn at_most_once(mut self) -> Self {
        self.policy.at_most_once = true;
        self.policy.retry.attempts_max = 1;
        self
    }

    /// Says which states it takes, so that a worker with the step
    /// ([`WorkerBuilder::step`](crate::WorkerBuilder::step)) does not start without them.
    pub const fn needs(mut self, states: &'static [NeededState]) -> Self {
        self.needs = states;
        self
    }

    pub(crate) const fn needed(&self) -> &'static [NeededState] {
        self.needs
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The same step under another name in the journal.
    pub const fn named(mut self, name: &'static str) -> Self {
        check_name(name);
        self.name = name;
        self
    }
}

impl<I, O, E> Clone for Step<I, O, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, O, E> Copy for Step<I, O, E> {}

impl<I, O, E> fmt::Debug for Step<I, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} v{}", self.name, self.policy.version)
    }
}

/// Why a step did not succeed. It is recorded, and the same in every replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepError<E> {
    /// Its last attempt returned this.
    Failed(E),
    /// Its last attempt took longer than its timeout.
    TimedOut,
    /// Its last attempt panicked.
    Panicked(String),
    /// It was begun, may never be begun twice, and its outcome was lost.
    Lost,
    /// What it returned has no stored form.
    Unencodable(String),
}

impl<E: fmt::Display> fmt::Display for StepError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut => f.write_str("the step took longer than its timeout"),
            Self::Panicked(text) => write!(f, "the step panicked: {text}"),
            Self::Lost => f.write_str("the step was begun, may not be begun twice, and its outcome was lost"),
            Self::Unencodable(problem) => write!(f, "the step's result cannot be stored: {problem}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> Error for StepError<E> {}

/// What a step knows of its attempt. It has no durable operations.
#[derive(Clone)]
pub struct StepCx {
    client: Client,
    states: States,
    key: Arc<str>,
    attempt: u32,
    pub(super) lines: mpsc::Sender<Showing>,
    /// Outside of a worker nobody hears how far it is.
    notes: Option<Notes>,
}

impl StepCx {
    pub(crate) fn new(
        client: Client,
        states: States,
        key: Arc<str>,
        attempt: u32,
        lines: mpsc::Sender<Showing>,
        notes: Option<Notes>,
    ) -> Self {
        Self { client, states, key, attempt, lines, notes }
    }

    /// Says how far the run is with this step, for people, as [`Context::progress`](crate::Context::progress) does for a job. The
    /// newest counts, of whichever of the run's steps.
    pub fn progress(&self, progress: impl Into<Progress>) {
        if let Some(notes) = &self.notes {
            notes.progress(progress.into());
        }
    }

    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// A key that is the same in every attempt of this step in this run and in no other: for services that take one.
    pub fn idempotency_key(&self) -> &str {
        &self.key
    }

    /// A client on the same store.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What the worker was given of this type ([`WorkerBuilder::state`](crate::WorkerBuilder::state)).
    ///
    /// # Panics
    /// It was given none: the run is blocked until a worker that was starts.
    pub fn state<T: Send + Sync + 'static>(&self) -> State<T> {
        self.states
            .get()
            .unwrap_or_else(|| std::panic::resume_unwind(Box::new(MissingState(std::any::type_name::<T>()))))
    }
}

impl fmt::Debug for StepCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepCx").field("key", &self.key).field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

/// What unwinds a step when a state is missing: for the driver, so no panic is reported.
pub(crate) struct MissingState(&'static str);

impl Attempted {
    /// What becomes of the rows of a transactional step.
    pub(crate) fn rows(&self) -> Rows {
        if self.is_success { Rows::Keep } else { Rows::Undo }
    }
}

/// One attempt's end.
pub(crate) struct Attempted {
    outcome: Result<Outcome, MissingState>,
    is_success: bool,
    /// Why another attempt is worth while, if it is, and after how long if the step says so.
    again: Option<(String, Option<Duration>)>,
}

/// What is to be done for a step: the work of a command.
pub(crate) struct StepWork {
    /// Its input, if it has one.
    input: Outcome,
    how: How,
    policy: Policy,
}

/// Where a step is done.
enum How {
    /// Wherever it likes, at least once.
    Outside(Arc<Outside>),
    /// In the store's own database, exactly once.
    Inside(Arc<Inside>),
}

type Outside = dyn Fn(StepCx) -> BoxFuture<Attempted> + Send + Sync;
type Inside = dyn Fn(Judge) -> Result<Box<dyn Any + Send>, String> + Send + Sync;

/// What becomes of a step after an attempt.
pub(crate) enum Next {
    /// That is its outcome.
    Done(Outcome),
    /// It is tried again.
    Again {
        /// What went wrong.
        error: String,
        /// After this long.
        wait: Duration,
    },
    /// It cannot be done by this worker.
    Missing(String),
}

/// What becomes of a step after an attempt. Pure.
pub(crate) fn next(attempted: Attempted, failures: u32, work: &StepWork, job: JobId) -> Next {
    let outcome = match attempted.outcome {
        Ok(outcome) => outcome,
        Err(MissingState(name)) => {
            return Next::Missing(format!("a step needs a state of type {name}: give it to the worker by .state(…)"));
        }
    };
    let again = attempted.again.and_then(|(error, after)| {
        let wait = work.policy.retry.delay(job, failures)?;
        Some(Next::Again { error: limits::cut(&error, limits::ERROR_BYTES_MAX), wait: after.unwrap_or(wait) })
    });
    again.unwrap_or(Next::Done(outcome))
}

/// A stand-in for a step: stored input in, stored outcome out.
pub(crate) fn stub<I, O, E>(
    stub: impl Fn(I) -> Result<O, E> + Send + Sync + 'static,
) -> Arc<dyn Fn(&Outcome) -> Outcome + Send + Sync>
where
    I: DeserializeOwned,
    O: Serialize,
    E: Serialize,
{
    Arc::new(move |input| {
        let recorded = match input.decode() {
            Ok(input) => match stub(input) {
                Ok(value) => Recorded::Ok(value),
                Err(error) => Recorded::Err(StepError::Failed(error)),
            },
            Err(e) => Recorded::Err(StepError::Panicked(format!("the stub takes another input: {}", e.problem))),
        };
        Outcome::of(&recorded).unwrap_or_else(|_| Outcome::null())
    })
}

impl StepWork {
    /// The work of a step. What it is given went through its stored form, also at the first attempt, so that every attempt
    /// sees the same.
    pub(super) fn of<I, O, E>(step: Step<I, O, E>, input: &I) -> Result<Self, String>
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + Send + 'static,
        E: Serialize + fmt::Display + Send + 'static,
    {
        let stored = Outcome::of(input).map_err(|e| e.problem)?;
        stored.decode::<I>().map_err(|e| e.problem)?;
        let given = stored.clone();
        let (run, retry_if, timeout) = (step.run, step.retry_if, step.policy.timeout);
        let attempt = move |cx: StepCx| {
            let input = stored.decode::<I>();
            let work = move || match input {
                Ok(input) => run.attempt(cx, input),
                Err(e) => std::panic::panic_any(format!("the input of the step does not decode: {e}")),
            };
            self::attempt(work, timeout, retry_if)
        };
        Ok(Self { input: given, how: How::Outside(Arc::new(attempt)), policy: step.policy })
    }

    /// The work of a step that is written in place.
    pub(super) fn outside(attempt: impl Fn(StepCx) -> BoxFuture<Attempted> + Send + Sync + 'static) -> Self {
        Self { input: Outcome::null(), how: How::Outside(Arc::new(attempt)), policy: Policy::DEFAULT }
    }

    /// The work of a transactional step.
    pub(super) fn inside(
        input: Outcome,
        policy: Policy,
        body: impl Fn(Judge) -> Result<Box<dyn Any + Send>, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        Ok(Self { input, how: How::Inside(Arc::new(body)), policy })
    }

    /// Whether it is done in the store's own database.
    pub(crate) fn is_inside(&self) -> bool {
        matches!(self.how, How::Inside(_))
    }

    /// The body of a transactional step, as its database takes it.
    pub(crate) fn body(&self, judge: Judge) -> Result<Box<dyn Any + Send>, String> {
        match &self.how {
            How::Inside(body) => body(judge),
            How::Outside(_) => Err("it is no transactional step".into()),
        }
    }

    pub(crate) fn attempt(&self, cx: StepCx) -> BoxFuture<Attempted> {
        match &self.how {
            How::Outside(attempt) => attempt(cx),
            // Nobody asks: those who start steps look first.
            How::Inside(_) => Box::pin(std::future::pending()),
        }
    }

    /// The end of an attempt of a stand-in: whatever it says is final.
    pub(crate) fn stubbed(&self, stub: &Arc<dyn Fn(&Outcome) -> Outcome + Send + Sync>) -> Attempted {
        Attempted { outcome: Ok(stub(&self.input)), is_success: true, again: None }
    }
}

/// Recorded as `{"ok": …}` or `{"err": …}`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Recorded<O, E> {
    Ok(O),
    Err(StepError<E>),
}

pub(super) fn decode<O: DeserializeOwned, E: DeserializeOwned>(
    outcome: &Outcome,
) -> Result<Result<O, StepError<E>>, String> {
    match outcome.decode().map_err(|e| e.problem)? {
        Recorded::Ok(value) => Ok(Ok(value)),
        Recorded::Err(error) => Ok(Err(error)),
    }
}

/// What is recorded of a step, if it can be.
fn stored<O: Serialize, E: Serialize>(recorded: &Recorded<O, E>) -> Result<Outcome, String> {
    let outcome = Outcome::of(recorded).map_err(|e| e.problem)?;
    let (bytes, max) = (outcome.json().len(), limits::PAYLOAD_BYTES_MAX);
    if bytes > max {
        return Err(format!("it has {bytes} bytes, at most {max} are allowed: keep it elsewhere, and return where"));
    }
    if outcome.json().contains("u0000") {
        Payload::json_bytes(outcome.json().to_owned()).check_text().map_err(|e| e.problem)?;
    }
    Ok(outcome)
}

/// The outcome of a step that may not be begun again.
pub(crate) fn lost() -> Outcome {
    Outcome::of(&Recorded::<(), ()>::Err(StepError::Lost)).unwrap_or_else(|_| Outcome::null())
}

/// One attempt, whatever happens in it.
pub(super) fn attempt<O, E>(
    work: impl FnOnce() -> BoxFuture<Result<O, E>> + Send + 'static,
    timeout: Option<Duration>,
    retry_if: Option<fn(&E) -> bool>,
) -> BoxFuture<Attempted>
where
    O: Serialize + Send + 'static,
    E: Serialize + fmt::Display + Send + 'static,
{
    Box::pin(async move {
        let work = AssertUnwindSafe(async move { work().await }).catch_unwind();
        let result = match timeout {
            Some(limit) => match tokio::time::timeout(limit, work).await {
                Ok(result) => result,
                Err(_) => return timed_out::<O, E>(limit),
            },
            None => work.await,
        };
        match result {
            Ok(result) => attempted(result, retry_if),
            Err(panic) => panicked::<O, E>(panic),
        }
    })
}

/// An attempt that took too long.
pub(super) fn timed_out<O: Serialize, E: Serialize>(limit: Duration) -> Attempted {
    failed::<O, E>(StepError::TimedOut, format!("it took longer than {limit:?}"))
}

/// An attempt that panicked.
pub(super) fn panicked<O: Serialize, E: Serialize>(panic: Box<dyn Any + Send>) -> Attempted {
    match panic.downcast::<MissingState>() {
        Ok(missing) => Attempted { outcome: Err(*missing), is_success: false, again: None },
        Err(panic) => {
            let text = crate::worker::panic_text(&*panic);
            failed::<O, E>(StepError::Panicked(text.clone()), format!("it panicked: {text}"))
        }
    }
}

/// An attempt that returned.
pub(super) fn attempted<O, E>(result: Result<O, E>, retry_if: Option<fn(&E) -> bool>) -> Attempted
where
    O: Serialize,
    E: Serialize + fmt::Display + 'static,
{
    match result {
        Ok(value) => match stored(&Recorded::<O, E>::Ok(value)) {
            Ok(outcome) => Attempted { outcome: Ok(outcome), is_success: true, again: None },
            // Another attempt would only return the like.
            Err(problem) => Attempted { again: None, ..failed::<O, E>(StepError::Unencodable(problem), String::new()) },
        },
        Err(error) => {
            let text = error.to_string();
            // A failure knows by itself whether another attempt is worth while, and when.
            let failure = (&error as &dyn Any).downcast_ref::<Failure>();
            let is_final =
                retry_if.is_some_and(|retry_if| !retry_if(&error)) || failure.is_some_and(Failure::is_permanent);
            let after = failure.and_then(Failure::again_after);
            let attempted = failed::<O, E>(StepError::Failed(error), text);
            let again = attempted.again.filter(|_| !is_final).map(|(text, _)| (text, after));
            Attempted { again, ..attempted }
        }
    }
}

fn failed<O: Serialize, E: Serialize>(error: StepError<E>, text: String) -> Attempted {
    let outcome = stored(&Recorded::<O, E>::Err(error))
        .or_else(|problem| stored(&Recorded::<O, E>::Err(StepError::Unencodable(problem))));
    Attempted { outcome: Ok(outcome.unwrap_or_else(|_| Outcome::null())), is_success: false, again: Some((text, None)) }
}
