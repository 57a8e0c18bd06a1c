//! What a durable function works with.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{Ident, Interrupt, OpKind, Ops, Outcome, Request, Wants, Work};
use towpath_core::store::Showing;
use towpath_core::{JobId, Label, Payload, RunId, Timestamp, fingerprint, limits};

use super::frame::Run;
use super::function::Durable;
use super::join::{self, Elapsed, Tuple};
use super::op::Op;
use super::race::{self, RaceTuple};
use super::signal::Signal;
use super::step::{self, Policy, Step, StepCx, StepError, StepWork};
use super::transact::TxStep;

/// The operations of a run, for its function. It belongs to one run and cannot leave it: its lifetime is its brand.
///
/// A spawned task does not get it:
///
/// ```compile_fail
/// # use std::time::Duration;
/// # use towpath::{Cx, Failure};
/// async fn wrong(cx: Cx<'_>, _: ()) -> Result<(), Failure> {
///     tokio::spawn(async move { cx.sleep(Duration::from_secs(1)).await });
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Cx<'r> {
    pub(super) inner: Arc<Inner>,
    run: PhantomData<fn(&'r ()) -> &'r ()>,
}

pub(super) struct Inner {
    pub(super) ops: Ops,
    pub(super) run: Run,
    function: &'static str,
    undos: Mutex<Vec<Undo>>,
}

/// Enters an undo: the frame runs it as an ordinary step.
pub(super) type Undo = Box<dyn FnOnce(&Cx<'static>) -> Op<'static, Result<(), String>> + Send>;

impl<'r> Cx<'r> {
    pub(super) fn new(ops: Ops, run: Run, function: &'static str) -> Self {
        Self { inner: Arc::new(Inner { ops, run, function, undos: Mutex::default() }), run: PhantomData }
    }

    pub(super) fn ops(&self) -> &Ops {
        &self.inner.ops
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.inner.run.id
    }

    /// The job that the run is.
    pub fn job_id(&self) -> JobId {
        self.inner.run.job
    }

    /// Which of its chapters this is, from 1.
    pub fn chapter(&self) -> u32 {
        self.inner.run.chapter
    }

    /// About how many lines the journal of this chapter has by now: the same in every replay. A function that goes on for
    /// ever begins a new chapter ([`continue_as_new`](Self::continue_as_new)) before there are very many: 10,000 are warned of,
    /// with 200,000 the run is blocked.
    pub fn history_len(&self) -> usize {
        self.ops().history_len()
    }

    /// Ends this chapter and begins the next one with another input, in one commit: `return cx.continue_as_new(ME, &next).await`.
    ///
    /// The job, the run's id and its version stay, and so do signals that no wait has taken, and all dedup keys. The journal
    /// is new, and with it `max_duration`. Children that are waited for are asked to cancel, and the chapter ends when they
    /// have; undos that were registered are forgotten: what they need belongs into the input. It never returns.
    pub async fn continue_as_new<I: Serialize, O, E, T>(&self, function: Durable<I, O, E>, input: &I) -> T {
        let refuse = |problem: String| {
            self.ops().interrupt(Interrupt::Unencodable { name: "the input of the next chapter".into(), problem });
        };
        let max = limits::PAYLOAD_BYTES_MAX;
        match Outcome::of(input) {
            _ if function.name != self.inner.function => {
                refuse(format!("it is for {}, and a run of {} stays one", function.name, self.inner.function));
            }
            Err(e) => refuse(e.problem),
            Ok(input) if input.json().len() > max => {
                refuse(format!("it has {} bytes, at most {max} are allowed", input.json().len()));
            }
            Ok(input) => self.ops().renew(input),
        }
        std::future::pending().await
    }

    // ---- steps --------------------------------------------------------------------------------

    /// Runs a step and records its result. It is done at least once, and its result is recorded exactly once.
    #[track_caller]
    pub fn step<I, O, E>(&self, step: Step<I, O, E>, input: &I) -> Op<'r, Result<O, StepError<E>>>
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        let place = Location::caller();
        self.work((OpKind::Step, step.name), step.policy, input, place, step::decode, || StepWork::of(step, input))
    }

    /// Does a piece in the store's own database: what it writes there and its result are recorded in one commit, so that it
    /// is done exactly once.
    #[track_caller]
    pub fn transact<K, I, O, E>(&self, step: TxStep<K, I, O, E>, input: &I) -> Op<'r, Result<O, StepError<E>>>
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        let what = (OpKind::Transact, step.name);
        self.work(what, step.policy, input, Location::caller(), step::decode, || step.work(input))
    }

    /// Runs a step that is written in place. What the closure captures is not compared on replay: give it as the input of
    /// [`Cx::run_with`] where it can change.
    #[track_caller]
    pub fn run<F, Fut, O, E>(&self, name: &'static str, work: F) -> Op<'r, Result<O, StepError<E>>>
    where
        F: Fn(StepCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        self.inline(name, &(), work, Location::caller())
    }

    /// Runs a step that is written in place, with an input that is compared on replay.
    #[track_caller]
    pub fn run_with<I, F, Fut, O, E>(&self, name: &'static str, input: &I, work: F) -> Op<'r, Result<O, StepError<E>>>
    where
        I: Serialize + DeserializeOwned + Send + Sync + Clone + 'static,
        F: Fn(StepCx, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        let given = input.clone();
        self.inline(name, input, move |cx| work(cx, given.clone()), Location::caller())
    }

    fn inline<I, F, Fut, O, E>(
        &self,
        name: &'static str,
        input: &I,
        work: F,
        place: &'static Location<'static>,
    ) -> Op<'r, Result<O, StepError<E>>>
    where
        I: Serialize,
        F: Fn(StepCx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        self.work((OpKind::Step, name), Policy::DEFAULT, input, place, step::decode, || {
            let work = Arc::new(work);
            let attempt = move |cx: StepCx| {
                let work = Arc::clone(&work);
                step::attempt::<O, E>(move || Box::pin(work(cx)), None, None)
            };
            Ok(StepWork::outside(attempt))
        })
    }

    fn work<I: Serialize, T>(
        &self,
        (kind, name): (OpKind, &'static str),
        policy: Policy,
        input: &I,
        place: &'static Location<'static>,
        decode: fn(&Outcome) -> Result<T, String>,
        make: impl FnOnce() -> Result<StepWork, String>,
    ) -> Op<'r, T> {
        let pos = self.ops().claim();
        let unencodable = |problem: String| {
            self.ops().interrupt(Interrupt::Unencodable { name: format!("the input of step {name}"), problem });
            Op::nowhere(self.ops())
        };
        let input = match fingerprint(input) {
            Ok(input) => input,
            Err(e) => return unencodable(e.problem),
        };
        let ident = Ident { kind, name: name.into(), version: policy.version, input };
        // What is recorded needs no input and no work.
        let work: Work = if self.ops().is_recorded(pos) {
            Box::new(())
        } else {
            match make() {
                Ok(work) => Box::new(work),
                Err(problem) => return unencodable(problem),
            }
        };
        let wants = Wants::Work { work, at_most_once: policy.at_most_once };
        Op::new(self.ops(), pos, Request { ident, wants, place: Some(place) }, decode)
    }

    // ---- waits --------------------------------------------------------------------------------

    /// Waits. A run that only waits holds no task, no connection and no lease.
    #[track_caller]
    pub fn sleep(&self, wait: Duration) -> Op<'r, ()> {
        let micros = towpath_core::micros(wait);
        self.timer(self.now() + wait, micros as u64, Location::caller())
    }

    /// Waits for an instant of the store's clock.
    #[track_caller]
    pub fn sleep_until(&self, at: Timestamp) -> Op<'r, ()> {
        self.timer(at, at.as_micros() as u64, Location::caller())
    }

    fn timer(&self, due: Timestamp, input: u64, place: &'static Location<'static>) -> Op<'r, ()> {
        let pos = self.ops().claim();
        let ident = Ident { kind: OpKind::Timer, name: "".into(), version: 0, input };
        Op::new(self.ops(), pos, Request { ident, wants: Wants::Instant(due), place: Some(place) }, nothing)
    }

    /// Waits for the next signal of this name. One that came before is there already, and each is taken by one wait.
    #[track_caller]
    pub fn signal<T: DeserializeOwned + 'static>(&self, signal: Signal<T>) -> Op<'r, T> {
        self.signal_named(Label::from_stored(signal.name))
    }

    /// Waits for the next signal of a name that is known at run time only.
    #[track_caller]
    pub(crate) fn signal_named<T: DeserializeOwned + 'static>(&self, name: Label) -> Op<'r, T> {
        let place = Location::caller();
        let pos = self.ops().claim();
        let ident = Ident { kind: OpKind::Signal, name: name.to_string().into(), version: 0, input: 0 };
        let wants = Wants::Signal { label: name, fits: |outcome| decoded::<T>(outcome).map(|_| ()) };
        Op::new(self.ops(), pos, Request { ident, wants, place: Some(place) }, decoded)
    }

    // ---- values -------------------------------------------------------------------------------

    /// The instant at which the function was last told something: the same in every replay.
    pub fn now(&self) -> Timestamp {
        self.ops().now()
    }

    /// 64 random bits: the same in every replay. Not for secrets.
    pub fn random(&self) -> u64 {
        self.ops().random()
    }

    /// A random id (UUID version 4): the same in every replay.
    pub fn uuid(&self) -> uuid::Uuid {
        let (high, low) = (self.random(), self.random());
        uuid::Builder::from_random_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes()).into_uuid()
    }

    /// Whether a change of the code is in for this run: yes for one that comes here for the first time, no for one that
    /// went by before the change.
    pub fn patched(&self, id: &str) -> bool {
        self.ops().patched(id)
    }

    /// Publishes a value: from the next commit of the run on, which follows at once, clients read it with
    /// [`Client::published`](crate::Client::published). It takes the place of what was published before. It stays when the run
    /// ends, and through later chapters. At most 1 MiB of JSON; a value that has no stored form blocks the run.
    ///
    /// It leaves no line in the journal, and costs no step. In replay it does nothing: what is replayed was published then.
    ///
    /// ```
    /// # use towpath::{Cx, Failure};
    /// async fn import(cx: Cx<'_>, files: Vec<String>) -> Result<usize, Failure> {
    ///     for (done, file) in files.iter().enumerate() {
    ///         cx.publish(&(done, files.len()));
    ///         cx.run_with("import", file, |_, file| async move { import_one(&file).await }).await?;
    ///     }
    ///     Ok(files.len())
    /// }
    /// # async fn import_one(_: &str) -> Result<(), Failure> { Ok(()) }
    /// ```
    pub fn publish<T: Serialize + ?Sized>(&self, value: &T) {
        show(self.ops(), value, "the published value", |payload| Showing::value(Showing::PUBLISHED, payload));
    }

    /// Registers a step that undoes what was done before: if the function fails, is cancelled or takes too long, undos
    /// run in reverse order.
    #[track_caller]
    pub fn undo<I, O, E>(&self, step: Step<I, O, E>, input: I)
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + fmt::Display + Send + 'static,
    {
        let place = Location::caller();
        let undo: Undo = Box::new(move |cx| {
            let decode = |outcome: &Outcome| match step::decode::<O, E>(outcome)? {
                Ok(_) => Ok(Ok(())),
                Err(error) => Ok(Err(error.to_string())),
            };
            cx.work((OpKind::Step, step.name), step.policy, &input, place, decode, || StepWork::of(step, &input))
        });
        self.inner.undos.lock().unwrap_or_else(PoisonError::into_inner).push(undo);
    }

    pub(super) fn has_undos(&self) -> bool {
        !self.inner.undos.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn pop_undo(&self) -> Option<Undo> {
        self.inner.undos.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    // ---- combinators --------------------------------------------------------------------------

    /// Waits for all of a tuple.
    pub fn join<T: Tuple>(&self, all: T) -> T::Joined {
        join::join(all)
    }

    /// Waits for all of a list; the results are in its order.
    pub async fn join_all<F: IntoFuture>(&self, all: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        join::join_all(all).await
    }

    /// Waits for the first of a tuple; the others are dropped.
    pub fn race<T: RaceTuple>(&self, all: T) -> T::Raced {
        race::race(all)
    }

    /// Waits for the first of a list, and says which; the others are dropped.
    pub async fn race_all<F: IntoFuture>(&self, all: impl IntoIterator<Item = F>) -> (usize, F::Output)
    where
        F::IntoFuture: Unpin,
    {
        race::race_all(all).await
    }

    /// Does something for each element, so many at once; the results are in the order of the elements.
    pub async fn map<T, F: IntoFuture>(
        &self,
        items: impl IntoIterator<Item = T>,
        at_once: usize,
        each: impl FnMut(T) -> F,
    ) -> Vec<F::Output> {
        join::map(items, at_once, each).await
    }

    /// Gives up on something after a while.
    #[track_caller]
    pub fn timeout<F: IntoFuture>(&self, limit: Duration, work: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
        join::timeout(self.sleep(limit), work)
    }
}

/// Shows something to clients, or blocks the run. In replay it is not even encoded.
pub(super) fn show<T: Serialize + ?Sized>(ops: &Ops, value: &T, what: &str, showing: impl FnOnce(Payload) -> Showing) {
    if !ops.shows_news() {
        return;
    }
    match shown(value) {
        Ok(payload) => ops.show(showing(payload)),
        Err(problem) => ops.interrupt(Interrupt::Unencodable { name: what.to_owned(), problem }),
    }
}

/// The stored form of what clients are shown.
pub(super) fn shown<T: Serialize + ?Sized>(value: &T) -> Result<Payload, String> {
    let max = limits::PAYLOAD_BYTES_MAX;
    let payload = Payload::json(value).map_err(|e| e.problem)?;
    if payload.bytes.len() > max {
        return Err(format!("it has {} bytes, at most {max} are allowed", payload.bytes.len()));
    }
    Ok(payload)
}

pub(super) fn decoded<T: DeserializeOwned>(outcome: &Outcome) -> Result<T, String> {
    outcome.decode().map_err(|e| e.problem)
}

fn nothing(_: &Outcome) -> Result<(), String> {
    Ok(())
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("run", &self.inner.run.id).finish_non_exhaustive()
    }
}
