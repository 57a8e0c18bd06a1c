//! Jobs, graphs and runs in a test: one attempt after the other, on a clock that the test turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, watch};
use towpath_core::store::{
    Assigned, Beat, BoxFuture, Claim, Claimed, Counters, Head, Intent, NodeRef, QueueClaim, Settle, Settled, Turn,
    TurnReply, WorkerIdentity,
};
use towpath_core::{
    Fence, Incarnation, JobId, Kind, ManualClock, MemoryStore, Payload, Queue, State as JobState, Store, StoreError,
    Timestamp, Token, limits, settle_decision, settle_report, settle_run,
};

use super::run::START;
use super::throwaway::Throwaway;
use crate::client::{Client, new_job};
use crate::failure::Failure;
use crate::host;
use crate::job::Job;
use crate::notes::Notebook;
use crate::random;
use crate::registry::{Handlers, InvalidRegistry};
use crate::retry;
use crate::states::States;
use crate::worker::{Around, Attempt, Message, WorkerBuilder};

/// Performs what is enqueued, one attempt at a time and in the order in which a worker would claim it, in virtual time.
///
/// It is a worker without a pump: the same handlers, the same decisions, the same store's verbs. Only time is its own:
/// it stands still while handlers work, and goes on when the test says so. Timeouts of attempts, leases and crashes are
/// left out.
///
/// ```
/// # use std::time::Duration;
/// # use serde::{Deserialize, Serialize};
/// # use towpath::{Client, Context, Failure, Job, Worker, WorkerBuilder};
/// use towpath::testing::Harness;
///
/// # #[derive(Serialize, Deserialize, Job)]
/// # #[job(kind = "sign-up")]
/// # struct SignUp(String);
/// # #[derive(Serialize, Deserialize, Job)]
/// # #[job(kind = "remind")]
/// # struct Remind(String);
/// # fn worker(client: &Client) -> WorkerBuilder {
/// #     Worker::builder(client)
/// #         .handle(|job: SignUp, cx: Context| async move {
/// #             cx.client().job(&Remind(job.0)).delay(Duration::from_secs(86_400)).await?;
/// #             Ok::<_, Failure>(())
/// #         })
/// #         .handle(|_: Remind, _| async { Ok::<_, Failure>(()) })
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // `worker` is the function of the application's that registers its handlers.
/// let mut harness = Harness::new(worker);
/// harness.client().enqueue(&SignUp("ann".into())).await?;
/// harness.drain().await;
/// harness.assert_enqueued(&Remind("ann".into())).await;
///
/// harness.advance(Duration::from_secs(86_400)).await;
/// let reminded = harness.drain().await;
/// assert_eq!(reminded[0].kind.as_str(), "remind");
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// Every method does when the store fails, and when a handler's outcome is refused by it: the test is to fail.
pub struct Harness {
    client: Client,
    clock: Box<dyn TestClock>,
    now: Timestamp,
    handlers: Handlers,
    states: States,
    worker: Incarnation,
    number: u64,
    draining: watch::Sender<bool>,
    /// The last: the store is closed before its place goes.
    pub(super) throwaway: Throwaway,
}

/// A store's clock in the hands of a test.
pub trait TestClock: Send {
    /// Sets it to this instant.
    fn turn_to(&self, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>>;
}

impl TestClock for ManualClock {
    fn turn_to(&self, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        self.set(now);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Of a store on PostgreSQL the clock is the server's; a test replaces that of its schema, which should be a throwaway one.
#[cfg(feature = "postgres")]
impl TestClock for Arc<towpath_postgres::PostgresStore> {
    fn turn_to(&self, now: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.set_test_clock(now))
    }
}

/// One attempt that was performed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Performed {
    /// The job.
    pub job: JobId,
    /// Its kind.
    pub kind: Kind,
    /// Its place in a graph.
    pub node: Option<NodeRef>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How the job stands now.
    pub state: JobState,
    /// Its last failure, if it has not succeeded.
    pub error: Option<String>,
}

/// A harness's claims outlast every clock that a test may turn: a thousand years.
const LEASE: Duration = Duration::from_secs(1_000 * 365 * 86_400);
/// More attempts than this in one go: it does not come to rest.
const ATTEMPTS_MAX: usize = 100_000;

impl Harness {
    /// A harness in memory.
    ///
    /// # Panics
    /// The worker cannot be built: the text has all that is wrong with it.
    pub fn new(worker: impl FnOnce(&Client) -> WorkerBuilder) -> Self {
        let clock = ManualClock::at(START);
        let client = Client::new(Arc::new(MemoryStore::new(clock.clone())));
        Self::put_together(client, Box::new(clock), worker)
    }

    /// A harness on a store of the test's, with its clock, which is set to 2001-09-09T01:46:40Z.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use towpath::{Client, SqliteOptions, SqliteStore, WorkerBuilder};
    /// # async fn f(worker: fn(&Client) -> WorkerBuilder) -> Result<(), Box<dyn std::error::Error>> {
    /// use towpath::core::ManualClock;
    /// use towpath::testing::Harness;
    ///
    /// let clock = ManualClock::default();
    /// let mut options = SqliteOptions::default();
    /// options.clock = Arc::new(clock.clone());
    /// let store = SqliteStore::open("test.db", options)?;
    /// let harness = Harness::on(Arc::new(store), clock, worker).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// The worker cannot be built.
    pub async fn on(
        store: Arc<dyn Store>,
        clock: impl TestClock + 'static,
        worker: impl FnOnce(&Client) -> WorkerBuilder,
    ) -> Self {
        told(clock.turn_to(START).await);
        Self::put_together(Client::new(store), Box::new(clock), worker)
    }

    fn put_together(client: Client, clock: Box<dyn TestClock>, worker: impl FnOnce(&Client) -> WorkerBuilder) -> Self {
        let (handlers, states) = match worker(&client).into_handlers() {
            Ok(parts) => parts,
            Err(problems @ InvalidRegistry { .. }) => panic!("{problems}"),
        };
        let (worker, draining) = (random::incarnation(), watch::channel(false).0);
        let throwaway = Throwaway::default();
        Self { client, clock, now: START, handlers, states, worker, number: 0, draining, throwaway }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(super) fn with(mut self, throwaway: Throwaway) -> Self {
        self.throwaway = throwaway;
        self
    }

    /// A client on the harness's store.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The instant that the store's clock shows.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Turns the clock forwards. Nothing is performed by that.
    pub async fn advance(&mut self, by: Duration) {
        self.now = self.now + by;
        told(self.clock.turn_to(self.now).await);
    }

    /// Performs one attempt of what is ready now, if anything is.
    pub async fn perform_next(&mut self) -> Option<Performed> {
        self.claim().await.0
    }

    /// Performs all that is ready now, and what becomes ready by that, until nothing is. Answers the attempts in their
    /// order.
    pub async fn drain(&mut self) -> Vec<Performed> {
        let mut done = Vec::new();
        while let Some(performed) = self.perform_next().await {
            done.push(performed);
            assert!(
                done.len() < ATTEMPTS_MAX,
                "after {ATTEMPTS_MAX} attempts there is more to do: it does not come to rest"
            );
        }
        done
    }

    /// Drains, turns the clock to when the next job falls due, and so on until nothing is due ever: retries, those of
    /// graphs too, delays and sleeping runs included.
    pub async fn run_until_idle(&mut self) -> Vec<Performed> {
        let mut done = Vec::new();
        loop {
            let (performed, next_due) = self.claim().await;
            match (performed, next_due) {
                (Some(performed), _) => done.push(performed),
                (None, Some(due)) => self.advance(due.since(self.now)).await,
                (None, None) => return done,
            }
            assert!(
                done.len() < ATTEMPTS_MAX,
                "after {ATTEMPTS_MAX} attempts there is more to do: it does not come to rest"
            );
        }
    }

    /// Performs one job without a store: encodes it, gives it to its handler for a first attempt, and decodes what that
    /// leaves.
    ///
    /// # Errors
    /// What the handler returned instead.
    ///
    /// # Panics
    /// No handler serves its kind, or its input cannot be encoded.
    pub async fn perform<J: Job>(&self, job: &J) -> Result<J::Output, Failure> {
        let job = new_job(job).unwrap_or_else(|error| panic!("{error}"));
        let fence = Fence { key: 0, token: Token { worker: self.worker, turn: 0, index: 0 } };
        let head = Head {
            fence,
            id: job.id,
            kind: job.kind,
            version: job.version,
            queue: job.queue,
            counters: Counters { attempt: 1, ..Counters::default() },
            rules: job.rules,
            deadline: None,
            node: None,
            role: towpath_core::Role::PLAIN,
        };
        let claimed = Claimed { head, input: job.input, headers: job.headers, enqueued_at: self.now, run: None };
        let (_attempt, mut messages) = self.start(claimed);
        loop {
            if let Message::Finished { report, .. } = heard(messages.recv().await) {
                let output = Failure::or_left(report)?.output.unwrap_or_else(|| Payload::json_bytes(&b"null"[..]));
                return output.decode().map_err(Failure::from);
            }
        }
    }

    /// Claims one job and performs it, or says when the next one falls due.
    async fn claim(&mut self) -> (Option<Performed>, Option<Timestamp>) {
        if self.number == 0 {
            self.register().await;
        }
        loop {
            let mut queues: Vec<Option<Queue>> = vec![None];
            let lines = told(self.client.inspect().queues(u32::MAX).await);
            queues.extend(lines.into_iter().filter(|line| line.ready + line.later > 0).map(|line| Some(line.queue)));
            let (mut has_decided, mut next_due) = (false, None);
            for queue in queues {
                let serves = Arc::clone(&self.handlers.serves);
                let queues = queue.into_iter().map(|queue| QueueClaim { queue, serves: Arc::clone(&serves), limit: 1 });
                let claim =
                    Claim { queues: queues.collect(), most: limits::CLAIM_MAX, decisions_max: limits::DECISIONS_MAX };
                let reply = self.turn(Vec::new(), Some(claim)).await;
                next_due = reply.next_due;
                let (jobs, decided) = self.decide(reply).await;
                has_decided |= decided;
                if let Some(claimed) = jobs.into_iter().next() {
                    return (Some(self.perform_claimed(claimed).await), None);
                }
            }
            if has_decided {
                continue;
            }
            let due = told(self.client.store().retries(limits::RETRIES_LOOK_MAX).await);
            if due.graphs.is_empty() {
                let retry_due = due.next.map(|next| self.now + next);
                return (None, next_due.into_iter().chain(retry_due).min());
            }
            retry::carry_on_due(self.client.store()).await;
        }
    }

    async fn register(&mut self) {
        let host = host::this_process();
        let kinds = self.handlers.serves.iter().map(|served| (served.kind.clone(), served.versions.clone())).collect();
        let identity =
            WorkerIdentity { name: "harness".into(), host, build: self.handlers.build, queues: Vec::new(), kinds };
        let (worker, holds) = (self.worker, Vec::new());
        let beat = Beat { worker, identity, lease: LEASE, acknowledged: 0, holds, intent: Intent::Stay };
        told(self.client.store().extend(beat).await);
    }

    async fn turn(&mut self, settle: Vec<Settle>, claim: Option<Claim>) -> TurnReply {
        self.number += 1;
        told(self.client.store().turn(Turn { worker: self.worker, number: self.number, settle, claim }).await)
    }

    /// Makes the decisions that came with a turn, and those that come of them. Answers the jobs that came besides, and
    /// whether there was anything to decide.
    async fn decide(&mut self, reply: TurnReply) -> (Vec<Claimed>, bool) {
        let (mut jobs, mut has_decided) = (Vec::new(), false);
        let mut assigned = reply.assigned;
        loop {
            let mut settle = Vec::new();
            for item in assigned {
                match item {
                    Assigned::Job(claimed) => jobs.push(*claimed),
                    Assigned::Decision(undecided) => settle.push(settle_decision(&undecided)),
                }
            }
            if settle.is_empty() {
                return (jobs, has_decided);
            }
            has_decided = true;
            assigned = self.turn(settle, None).await.assigned;
        }
    }

    async fn perform_claimed(&mut self, claimed: Claimed) -> Performed {
        let head = claimed.head.clone();
        let (_attempt, mut messages) = self.start(claimed);
        let mut is_over = false;
        loop {
            match heard(messages.recv().await) {
                Message::Commit { commit, answer, .. } => {
                    let leaves = commit.then.is_some();
                    let settled = self.settle(settle_run(&head, *commit)).await;
                    is_over = leaves && matches!(settled, Settled::Done | Settled::Cancelled);
                    // A run that no longer listens has been told all it needs.
                    let _ = answer.send(settled);
                }
                Message::Finished { report, .. } => {
                    if !is_over {
                        self.settle(settle_report(&head, report)).await;
                    }
                    break;
                }
                _ => {}
            }
        }
        let attempt = head.counters.attempt;
        let Some(detail) = told(self.client.inspect().job(head.id).await) else {
            panic!("job {} is gone from the store", head.id)
        };
        let error = match detail.line.state {
            JobState::Ended(towpath_core::End::Succeeded) => None,
            _ => told(self.client.inspect().attempts(head.id).await)
                .into_iter()
                .filter_map(|line| line.error)
                .next_back(),
        };
        Performed { job: head.id, kind: head.kind, node: head.node, attempt, state: detail.line.state, error }
    }

    /// Writes one outcome, and makes the decisions that come of it.
    async fn settle(&mut self, settle: Settle) -> Settled {
        let reply = self.turn(vec![settle], None).await;
        let settled = reply.settled.first().copied();
        if let Some(Settled::Refused) | None = settled {
            panic!("the store refused what became of the job: {}", reply.problems.join("; "));
        }
        self.decide(reply).await;
        settled.unwrap_or(Settled::Stale)
    }

    fn start(&self, claimed: Claimed) -> (Attempt, mpsc::UnboundedReceiver<Message>) {
        let Some(handler) = self.handlers.get(&claimed.head.kind) else {
            panic!("no handler serves the kind {}: register it", claimed.head.kind)
        };
        let (outbox, messages) = mpsc::unbounded_channel();
        let around = Around {
            client: self.client.clone(),
            states: self.states.clone(),
            build: self.handlers.build,
            clock: (self.now, Instant::now()),
            draining: self.draining.subscribe(),
            notebook: Notebook::default(),
            bell: Arc::new(Notify::new()),
        };
        (Attempt::start(handler, claimed, around, outbox), messages)
    }
}

/// What the store said; a test whose store fails has failed.
pub(super) fn told<T>(answer: Result<T, StoreError>) -> T {
    answer.unwrap_or_else(|error| panic!("{error}"))
}

/// An attempt always says how it ended, be it because its task was dropped.
fn heard(message: Option<Message>) -> Message {
    message.unwrap_or_else(|| panic!("the attempt ended without a word"))
}
