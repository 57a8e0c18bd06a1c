//! A run in virtual time: what it is given, what happens to it, and what came of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::replay::{Entry, History, Outcome, Unfit};
use towpath_core::store::{Arrival, Asking, CancelNote, ChildEnd, Showing};
use towpath_core::{Cause, GraphEnd, Label, ManualClock, MemoryStore, Payload, RunId, State, Timestamp};

use super::shell::{ChildStub, Ended, Shell, Streams, child_stub};
use crate::client::Client;
use crate::durable::{Durable, How, RunError, Signal, Step, Stream, Update};
use crate::error::OutputError;
use crate::failure::Failure;
use crate::job::Job;
use crate::states::States;

/// Runs a durable function in virtual time, without a store: waits cost nothing, and it can die anywhere.
///
/// Steps are really done, unless they are stubbed. In which order steps that are at work together end is drawn from the
/// seed.
pub struct RunHarness<I: 'static, O: 'static, E: 'static> {
    pub(super) function: Durable<I, O, E>,
    pub(super) input: Outcome,
    pub(super) plan: Plan,
}

/// What happens to a run.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) client: Client,
    pub(super) states: States,
    pub(super) stubs: HashMap<&'static str, Stub>,
    pub(super) children: HashMap<String, ChildStub>,
    pub(super) signals: Vec<(Duration, String, Payload)>,
    /// How many of them are updates.
    pub(super) updates: usize,
    pub(super) seed: u64,
    /// Dies here: at the commit with this number, before it for an even point and after it for an odd one.
    pub(super) crash_at: Option<usize>,
    pub(super) evicts: bool,
}

/// A step's stand-in: stored input in, stored outcome out.
pub(super) type Stub = Arc<dyn Fn(&Outcome) -> Outcome + Send + Sync>;

/// What became of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct TestRun<O, E> {
    /// What the function returned, or how else it ended.
    pub result: Result<O, RunError<E>>,
    /// The history of its last chapter.
    pub history: History,
    /// The histories of the chapters before, in order.
    pub earlier: Vec<History>,
    /// How many commits it took.
    pub commits: usize,
    /// How often each step was begun, by name.
    pub began: BTreeMap<String, u32>,
    /// How much virtual time it took.
    pub took: Duration,
    /// The signals that a wait of their name has passed over since they meant nothing to it, in the order of their plan.
    pub unfit: Vec<Unfit>,
    /// What it showed to clients in the end, by name.
    shown: BTreeMap<String, Payload>,
    streams: Streams,
    told: Streams,
    /// How long the journal was after each commit.
    commits_at: Vec<usize>,
}

/// When virtual time begins: 2001-09-09T01:46:40Z.
pub(super) const START: Timestamp = Timestamp::from_micros(1_000_000_000_000_000);

impl<I, O, E> RunHarness<I, O, E>
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + DeserializeOwned + fmt::Debug + Send + 'static,
    E: Serialize + DeserializeOwned + fmt::Display + fmt::Debug + Send + 'static,
{
    /// A harness for one run.
    ///
    /// # Panics
    /// The input has no stored form.
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn new(function: Durable<I, O, E>, input: I) -> Self {
        let input = Outcome::of(&input).expect("the input of a run must have a stored form");
        let client = Client::new(Arc::new(MemoryStore::new(ManualClock::at(START))));
        let plan = Plan {
            client,
            states: States::default(),
            stubs: HashMap::new(),
            children: HashMap::new(),
            signals: Vec::new(),
            updates: 0,
            seed: 0,
            crash_at: None,
            evicts: false,
        };
        Self { function, input, plan }
    }

    /// Gives steps a value by its type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.plan.states.insert(value);
        self
    }

    /// Does this in place of a step.
    #[must_use]
    pub fn stub<A, B, F>(
        mut self,
        step: Step<A, B, F>,
        stub: impl Fn(A) -> Result<B, F> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        B: Serialize,
        F: Serialize,
    {
        self.plan.stubs.insert(step.name(), crate::durable::stub(stub));
        self
    }

    /// Says how runs of this function end that the run starts.
    #[must_use]
    pub fn child<A, B, F>(
        mut self,
        function: Durable<A, B, F>,
        stub: impl Fn(A) -> Result<B, F> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        B: Serialize,
        F: Serialize + fmt::Display,
    {
        self.plan.children.insert(function.name().into(), child_stub(stub));
        self
    }

    /// Says how jobs of a kind end that the run starts.
    #[must_use]
    pub fn child_job<J: Job>(mut self, stub: impl Fn(J) -> Result<J::Output, Failure> + Send + Sync + 'static) -> Self {
        self.plan.children.insert(J::KIND.into(), child_stub(stub));
        self
    }

    /// Says how graphs of a name end that the run starts.
    #[must_use]
    pub fn child_graph(mut self, name: &str, end: GraphEnd) -> Self {
        self.plan.children.insert(name.into(), Arc::new(move |_| ChildEnd::Graph { end }));
        self
    }

    /// Sends a signal after so much virtual time.
    ///
    /// # Panics
    /// What it carries has no stored form.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn signal_after<T: Serialize>(mut self, wait: Duration, signal: Signal<T>, payload: &T) -> Self {
        let payload = Payload::json(payload).expect("what a signal carries must have a stored form");
        self.plan.signals.push((wait, signal.name().to_owned(), payload));
        self
    }

    /// Sends an update after so much virtual time. The answer is [`TestRun::answer`].
    ///
    /// # Panics
    /// What it carries has no stored form.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn update_after<A: Serialize, B>(mut self, wait: Duration, update: Update<A, B>, input: &A) -> Self {
        let asking = asking(update, self.plan.updates);
        self.plan.updates += 1;
        let arrival = asking.arrival(RunId::from_stored("test"), input);
        let Arrival { name, payload, .. } = arrival.expect("what an update carries must have a stored form");
        self.plan.signals.push((wait, name.to_string(), payload));
        self
    }

    /// Cancels the run after so much virtual time.
    #[must_use]
    pub fn cancel_after(mut self, wait: Duration) -> Self {
        let note = CancelNote { actor: "test".into(), reason: String::new() };
        let payload = Payload::json(&note).unwrap_or_default();
        self.plan.signals.push((wait, CancelNote::NAME.to_owned(), payload));
        self
    }

    /// Draws the order in which steps end from another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// Dies at a point and goes on elsewhere: point `2 n` is before commit `n`, point `2 n + 1` after it.
    #[must_use]
    pub fn crash_at(mut self, point: usize) -> Self {
        self.plan.crash_at = Some(point);
        self
    }

    /// Forgets the function before everything that happens, and rebuilds it from its journal.
    #[must_use]
    pub fn evict_always(mut self) -> Self {
        self.plan.evicts = true;
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// The function does what a durable function cannot do. (One that waits for a signal that is not sent ends as timed out,
    /// after its whole `max_duration` of virtual time.)
    pub async fn run(&self) -> TestRun<O, E> {
        self.run_with(&self.plan).await
    }

    pub(super) async fn run_with(&self, plan: &Plan) -> TestRun<O, E> {
        let Ended { end, history, earlier, commits_at, commits, began, now, unfit, shown, streams, told } =
            Shell::run(self.function, &self.input, plan).await;
        let how = end.how;
        let decode = |payload: Payload| -> Result<O, RunError<E>> {
            payload
                .decode()
                .map_err(|e| RunError::Output(OutputError::Decode { id: super::shell::JOB, problem: e.problem }))
        };
        let result = match how {
            How::Returned(Ok(payload)) => decode(payload),
            How::Returned(Err(problem)) => {
                let state = State::Ended(towpath_core::End::Dead);
                Err(RunError::Ended { state, cause: Some(Cause::Permanent), error: Some(problem) })
            }
            How::Failed { error, .. } => match error.decode() {
                Ok(error) => Err(RunError::Failed(error)),
                Err(e) => Err(RunError::Output(OutputError::Decode { id: super::shell::JOB, problem: e.problem })),
            },
            How::Cancelled(CancelNote { actor, reason }) => {
                Err(RunError::Cancelled { cause: Some(Cause::Asked { actor, reason }) })
            }
            // A chapter that ends is followed by another.
            How::Overdue | How::Continued(_) => Err(RunError::TimedOut),
        };
        TestRun {
            result,
            history,
            earlier,
            commits,
            began,
            took: now.since(START),
            unfit: unfit.into_values().collect(),
            shown,
            streams,
            told,
            commits_at,
        }
    }

    /// Proves that a crash changes nothing: runs it once undisturbed, then dying before and after each of its commits in
    /// turn, then forgotten at every point; result and journal must be the same each time. Answers how many runs that
    /// took.
    ///
    /// # Panics
    /// They are not. The text names the point.
    pub async fn prove(&self) -> usize {
        let base = self.run_with(&Plan { crash_at: None, evicts: false, ..self.plan.clone() }).await;
        for point in 0..2 * base.commits {
            let plan = Plan { crash_at: Some(point), evicts: false, ..self.plan.clone() };
            let run = self.run_with(&plan).await;
            let when = if point % 2 == 0 { "before" } else { "after" };
            same(&base, &run, &format!("a crash {when} commit {}", point / 2));
        }
        let run = self.run_with(&Plan { crash_at: None, evicts: true, ..self.plan.clone() }).await;
        same(&base, &run, "a run that is always forgotten");
        for &cut in &base.commits_at {
            let entries = base.history.entries[..cut].to_vec();
            let history = History { header: base.history.header.clone(), entries };
            super::replays::replay(self.function, &history)
                .unwrap_or_else(|what| panic!("the first {cut} lines of the journal: {what}"));
        }
        for history in &base.earlier {
            super::replays::replay(self.function, history)
                .unwrap_or_else(|what| panic!("a chapter that has ended: {what}"));
        }
        2 * base.commits + 2
    }
}

impl<O, E> TestRun<O, E> {
    /// What the run published last ([`Cx::publish`](crate::Cx::publish)).
    ///
    /// # Panics
    /// It is of another type.
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn published<T: DeserializeOwned>(&self) -> Option<T> {
        let payload = self.shown.get(Showing::PUBLISHED)?;
        Some(payload.decode().expect("what was published must be of the type that is asked for"))
    }

    /// The lines of a stream of the run ([`Cx::emit`](crate::Cx::emit), [`StepCx::emit`](crate::StepCx::emit)).
    ///
    /// # Panics
    /// One is of another type.
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn lines<T: DeserializeOwned>(&self, stream: Stream<T>) -> Vec<T> {
        let lines = self.streams.get(stream.name()).into_iter().flatten();
        lines.map(|line| line.decode().expect("a line must be of the stream's type")).collect()
    }

    /// What the run answered to an update, by the number of the update: 0 for the first one that it was sent.
    ///
    /// # Panics
    /// It is of another type.
    #[expect(clippy::expect_used, reason = "a test is to fail")]
    pub fn answer<A, B: DeserializeOwned>(&self, update: Update<A, B>, number: usize) -> Option<B> {
        let payload = self.shown.get(asking(update, number).answer())?;
        Some(payload.decode().expect("an answer must be of the type of its update"))
    }
}

/// The update with this number, counted from 0.
fn asking<A, B>(update: Update<A, B>, number: usize) -> Asking {
    Asking::named(Label::from_stored(update.name()), &number.to_string())
}

/// Panics unless two runs came to the same.
fn same<O: fmt::Debug, E: fmt::Debug>(base: &TestRun<O, E>, run: &TestRun<O, E>, what: &str) {
    let lines = |run: &TestRun<O, E>| {
        let all = run.earlier.iter().chain([&run.history]).flat_map(|history| &history.entries);
        all.map(line).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(format!("{:?}", base.result), format!("{:?}", run.result), "{what} changes the result");
    assert_eq!(lines(base), lines(run), "{what} changes the journal");
    assert_eq!(base.shown, run.shown, "{what} changes what clients are shown");
    assert_eq!(base.told, run.told, "{what} changes what the function has written into streams");
}

fn line(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap_or_default()
}
