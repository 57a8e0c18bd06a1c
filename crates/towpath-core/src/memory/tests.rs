//! The main paths of every verb, on one store with a clock that is set by hand.

mod chance;
mod graphs;
mod workers;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::MemoryStore;
use crate::clock::ManualClock;
use crate::id::{GraphId, Incarnation, JobId};
use crate::job::{Due, NewJob};
use crate::lifecycle::{Cause, End, State};
use crate::name::{Kind, Queue};
use crate::outcome::{Report, Retry, settle_decision, settle_report};
use crate::payload::Payload;
use crate::plan::cancel_job;
use crate::retry::RetryPolicy;
use crate::rules::JobRules;
use crate::store::{
    Assigned, AttemptOutcome, Beat, Changed, Claim, Claimed, Counters, Enqueue, Hint, Intent, Item, Lease, Order,
    Placed, QueueClaim, Refusal, Served, Settle, Settled, Store, StoreErrorKind, StoreResult, Turn, TurnReply,
    Undecided, WorkerIdentity,
};
use crate::time::Timestamp;

/// Takes the answer of a future that never waits.
fn now_or_never<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the memory store waits for nothing"),
    }
}

/// A store, its clock, and one worker that serves everything in the default queue.
struct Bench {
    store: MemoryStore,
    clock: ManualClock,
    worker: Incarnation,
    number: u64,
}

const LEASE: Duration = Duration::from_secs(10);

impl Bench {
    fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_micros(1_000_000));
        let bench = Self { store: MemoryStore::new(clock.clone()), clock, worker: worker(1), number: 0 };
        bench.beat(bench.worker, 0, &[]);
        bench
    }

    fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    fn enqueue(&self, item: Item) -> Result<Placed, Refusal> {
        now_or_never(self.store.enqueue(Enqueue::one(item))).unwrap().items.remove(0)
    }

    fn beat(&self, worker: Incarnation, acknowledged: u64, holds: &[crate::Fence]) -> crate::store::BeatReply {
        now_or_never(self.store.extend(beat(worker, acknowledged, holds))).unwrap()
    }

    /// The next turn of the bench's worker.
    fn turn(&mut self, settle: Vec<Settle>, limit: u16) -> TurnReply {
        self.number += 1;
        self.turn_as(self.worker, self.number, settle, limit).unwrap()
    }

    fn turn_as(&self, worker: Incarnation, number: u64, settle: Vec<Settle>, limit: u16) -> StoreResult<TurnReply> {
        let serves: Arc<[Served]> = ["echo", "charge"].map(|k| Served::up_to(kind(k), 1)).into();
        let claim = (limit > 0).then(|| Claim {
            queues: vec![QueueClaim { queue: Queue::default(), serves, limit }],
            most: u16::MAX,
            decisions_max: 512,
        });
        now_or_never(self.store.turn(Turn { worker, number, settle, claim }))
    }

    /// Claims what there is, and expects only jobs.
    fn claim(&mut self, limit: u16) -> Vec<Claimed> {
        self.turn(vec![], limit).assigned.into_iter().map(job_of).collect()
    }

    fn settle(&mut self, settle: Settle) -> Settled {
        self.turn(vec![settle], 0).settled[0]
    }

    fn order(&self, order: Order) -> Vec<Changed> {
        now_or_never(self.store.apply(order)).unwrap().changes
    }

    fn state(&self, id: JobId) -> State {
        now_or_never(self.store.inspect().job(id)).unwrap().unwrap().line.state
    }

    fn census(&self) -> crate::store::Census {
        now_or_never(self.store.inspect().census()).unwrap()
    }
}

fn worker(at: u8) -> Incarnation {
    Incarnation::from_bytes([at; 16])
}

fn beat(worker: Incarnation, acknowledged: u64, holds: &[crate::Fence]) -> Beat {
    let identity = WorkerIdentity {
        name: "w".into(),
        host: Default::default(),
        build: 7,
        queues: vec![],
        kinds: Default::default(),
    };
    Beat { worker, identity, lease: LEASE, acknowledged, holds: holds.to_vec(), intent: Intent::Stay }
}

fn kind(name: &str) -> Kind {
    Kind::from_stored(name)
}

fn id(at: u8) -> JobId {
    JobId::from_bytes([at; 16])
}

fn graph_id(at: u8) -> GraphId {
    GraphId::from_bytes([at; 16])
}

fn job(at: u8) -> NewJob {
    NewJob::new(id(at), kind("echo")).input(Payload::json(&at).unwrap())
}

fn job_of(assigned: Assigned) -> Claimed {
    match assigned {
        Assigned::Job(claimed) => *claimed,
        Assigned::Decision(undecided) => panic!("a decision: {undecided:?}"),
    }
}

fn decision_of(assigned: Assigned) -> Undecided {
    match assigned {
        Assigned::Decision(undecided) => *undecided,
        Assigned::Job(claimed) => panic!("a job: {claimed:?}"),
    }
}

fn succeeded(claimed: &Claimed) -> Settle {
    settle_report(&claimed.head, Report::Succeeded { output: None, branches: vec![] })
}

fn failed(claimed: &Claimed, retry: Retry) -> Settle {
    settle_report(&claimed.head, Report::Failed { error: "no route".into(), retry, log: None })
}

fn ids(claimed: &[Claimed]) -> Vec<JobId> {
    claimed.iter().map(|claimed| claimed.head.id).collect()
}

#[test]
fn a_job_goes_from_enqueue_to_its_end() {
    let mut bench = Bench::new();
    assert_eq!(bench.enqueue(Item::job(job(1))), Ok(Placed::Inserted));
    let claimed = bench.claim(5);
    assert_eq!((ids(&claimed), claimed[0].head.counters.attempt), (vec![id(1)], 1));
    assert_eq!(bench.state(id(1)), State::Running);
    let output = Payload::json("done").unwrap();
    let report = Report::Succeeded { output: Some(output.clone()), branches: vec![] };
    assert_eq!(bench.settle(settle_report(&claimed[0].head, report)), Settled::Done);
    let ended = now_or_never(bench.store.ended(vec![id(1), id(2)])).unwrap();
    assert_eq!(ended[0].as_ref().unwrap().state, State::Ended(End::Succeeded));
    assert_eq!((ended[0].as_ref().unwrap().output.as_ref(), &ended[1]), (Some(&output), &None));
    assert_eq!(bench.census().attempts, 0, "a first attempt that succeeded has no line");
}

#[test]
fn the_same_job_again_is_existing_and_another_is_a_conflict() {
    let bench = Bench::new();
    bench.enqueue(Item::job(job(1))).unwrap();
    assert_eq!(bench.enqueue(Item::job(job(1).priority(3))), Ok(Placed::Existing));
    let other = job(1).input(Payload::json("other").unwrap());
    assert_eq!(bench.enqueue(Item::job(other)), Err(Refusal::JobConflict { id: id(1), kind: "echo".into() }));
    assert_eq!(bench.census().jobs, 1);
}

#[test]
fn a_claim_goes_by_priority_then_arrival_and_leaves_other_kinds_alone() {
    let mut bench = Bench::new();
    let newer = NewJob { version: 2, ..job(5) };
    let jobs = [job(1), job(2).priority(2), NewJob::new(id(3), kind("charge")), job(4).priority(2), newer];
    for job in jobs {
        bench.enqueue(Item::job(job)).unwrap();
    }
    bench.enqueue(Item::job(NewJob::new(id(6), kind("other")))).unwrap();
    assert_eq!(ids(&bench.claim(3)), [id(2), id(4), id(1)]);
    assert_eq!(ids(&bench.claim(3)), [id(3)], "neither a newer version nor a kind that is not served");
}

#[test]
fn a_job_that_is_not_due_waits_for_its_time() {
    let mut bench = Bench::new();
    let mut hints = bench.store.hints();
    bench.enqueue(Item::job(job(1).due(Due::After(Duration::from_secs(5))))).unwrap();
    assert_eq!(hints.try_next(), Some(Hint::Ready(Queue::default())));
    let reply = bench.turn(vec![], 5);
    assert!(reply.assigned.is_empty());
    assert_eq!(reply.next_due, Some(Timestamp::from_micros(6_000_000)));
    bench.wait(5);
    assert_eq!(ids(&bench.claim(5)), [id(1)]);
}

#[test]
fn a_failure_is_tried_again_until_the_last_one() {
    let mut bench = Bench::new();
    let rules = JobRules { retry: RetryPolicy::attempts(2), ..JobRules::default() };
    bench.enqueue(Item::job(job(1).rules(rules))).unwrap();
    let first = bench.claim(1);
    assert_eq!(bench.settle(failed(&first[0], Retry::After(Duration::from_secs(1)))), Settled::Done);
    assert!(bench.claim(1).is_empty());
    bench.wait(1);
    let second = bench.claim(1);
    assert_eq!(second[0].head.counters, Counters { attempt: 2, failures: 1, crashes: 0 });
    bench.settle(failed(&second[0], Retry::ByPolicy));
    let ended = now_or_never(bench.store.ended(vec![id(1)])).unwrap().remove(0).unwrap();
    assert_eq!((ended.state, ended.cause), (State::Ended(End::Dead), Some(Cause::Exhausted)));
    assert_eq!(ended.error.as_deref(), Some("no route"));
    let attempts = now_or_never(bench.store.inspect().attempts(id(1))).unwrap();
    assert_eq!(
        attempts.iter().map(|a| (a.attempt, a.outcome)).collect::<Vec<_>>(),
        [(1, AttemptOutcome::Failed), (2, AttemptOutcome::Failed)]
    );
}

#[test]
fn of_many_attempts_the_first_and_the_newest_are_kept() {
    let mut bench = Bench::new();
    let rules = JobRules { retry: RetryPolicy::attempts(100), ..JobRules::default() };
    bench.enqueue(Item::job(job(1).rules(rules))).unwrap();
    for _ in 0..30 {
        let claimed = bench.claim(1);
        bench.settle(failed(&claimed[0], Retry::After(Duration::ZERO)));
    }
    let attempts = now_or_never(bench.store.inspect().attempts(id(1))).unwrap();
    let numbers: Vec<u32> = attempts.iter().map(|a| a.attempt).collect();
    assert_eq!(numbers, [1].into_iter().chain(12..=30).collect::<Vec<_>>());
}

#[test]
fn a_stale_fence_changes_nothing() {
    let mut bench = Bench::new();
    bench.enqueue(Item::job(job(1))).unwrap();
    let first = bench.claim(1);
    bench.settle(settle_report(&first[0].head, Report::HandedBack));
    let second = bench.claim(1);
    assert_eq!(bench.settle(succeeded(&first[0])), Settled::Stale);
    assert_eq!(bench.state(id(1)), State::Running);
    assert_eq!(bench.settle(succeeded(&second[0])), Settled::Done);
    assert_eq!(bench.settle(succeeded(&second[0])), Settled::Stale, "what is over stays as it ended");
}

#[test]
fn a_turn_that_is_repeated_answers_the_same_and_does_nothing() {
    let mut bench = Bench::new();
    for at in 1..=3 {
        bench.enqueue(Item::job(job(at))).unwrap();
    }
    let held = bench.claim(1);
    let settle = || vec![succeeded(&held[0])];
    let first = bench.turn_as(bench.worker, 2, settle(), 1).unwrap();
    let again = bench.turn_as(bench.worker, 2, settle(), 1).unwrap();
    assert_eq!((first.settled.clone(), first.settled), (again.settled, vec![Settled::Done]));
    assert_eq!(
        ids(&first.assigned.into_iter().map(job_of).collect::<Vec<_>>()),
        ids(&again.assigned.into_iter().map(job_of).collect::<Vec<_>>())
    );
    assert_eq!((bench.census().running, bench.census().ready), (1, 1));
    let stale = bench.turn_as(bench.worker, 1, vec![], 1).unwrap_err();
    assert_eq!(stale.kind, StoreErrorKind::StaleTurn);
    let unknown = bench.turn_as(worker(9), 1, vec![], 1).unwrap_err();
    assert_eq!(unknown.kind, StoreErrorKind::UnknownWorker);
}

#[test]
fn a_job_settled_twice_in_one_turn_is_refused_whole() {
    let mut bench = Bench::new();
    bench.enqueue(Item::job(job(1))).unwrap();
    let held = bench.claim(1);
    let twice = vec![succeeded(&held[0]), succeeded(&held[0])];
    assert_eq!(bench.turn_as(bench.worker, 2, twice, 0).unwrap_err().kind, StoreErrorKind::Invalid);
    assert_eq!(bench.state(id(1)), State::Running);
}

#[test]
fn a_cancel_ends_what_has_not_started_and_asks_what_runs() {
    let mut bench = Bench::new();
    for at in 1..=2 {
        bench.enqueue(Item::job(job(at))).unwrap();
    }
    let held = bench.claim(1);
    let mut hints = bench.store.hints();
    assert_eq!(bench.order(cancel_job(id(2), "ann", "typo")), [Changed::Ended]);
    assert_eq!(hints.try_next(), Some(Hint::Ended(id(2))));
    assert_eq!(bench.order(cancel_job(id(1), "ann", "typo")), [Changed::Asked]);
    assert_eq!(hints.try_next(), Some(Hint::Cancel));
    assert_eq!(bench.order(cancel_job(id(2), "ann", "typo")), [Changed::Left(State::Ended(End::Cancelled))]);
    assert_eq!(bench.order(cancel_job(id(9), "ann", "typo")), [Changed::Unknown]);
    let asked = Cause::Asked { actor: "ann".into(), reason: "typo".into() };
    let news = bench.beat(bench.worker, 1, &[held[0].head.fence]);
    assert_eq!(news.cancel, [(held[0].head.fence, asked.clone())]);
    assert_eq!(bench.settle(failed(&held[0], Retry::ByPolicy)), Settled::Cancelled);
    let ended = now_or_never(bench.store.ended(vec![id(1)])).unwrap().remove(0).unwrap();
    assert_eq!((ended.state, ended.cause), (State::Ended(End::Cancelled), Some(asked)));
    let audit = now_or_never(bench.store.inspect().audit(Default::default())).unwrap();
    let lines: Vec<_> = audit.iter().map(|line| (line.action.as_str(), line.outcome.as_str())).collect();
    assert_eq!(lines, [("cancel", "unknown"), ("cancel", "left cancelled"), ("cancel", "asked"), ("cancel", "ended")]);
}

#[test]
fn an_overdue_job_comes_for_a_decision_whoever_serves_it() {
    let mut bench = Bench::new();
    let late = NewJob { deadline: Some(Timestamp::from_micros(2_000_000)), ..NewJob::new(id(1), kind("other")) };
    bench.enqueue(Item::job(late)).unwrap();
    assert!(bench.turn(vec![], 1).assigned.is_empty());
    bench.wait(1);
    let overdue = decision_of(bench.turn(vec![], 1).assigned.remove(0));
    assert_eq!(bench.state(id(1)), State::Ready, "a decision is no run");
    bench.settle(settle_decision(&overdue));
    let ended = now_or_never(bench.store.ended(vec![id(1)])).unwrap().remove(0).unwrap();
    assert_eq!(ended.cause, Some(Cause::Deadline));
    assert_eq!(bench.census().deadlines, 0);
}

#[test]
fn a_blocked_job_is_tried_by_another_build() {
    let mut bench = Bench::new();
    bench.enqueue(Item::job(job(1))).unwrap();
    let held = bench.claim(1);
    let report = Report::Undecodable { problem: "no field `to`".into(), build: 7 };
    bench.settle(settle_report(&held[0].head, report));
    let detail = now_or_never(bench.store.inspect().job(id(1))).unwrap().unwrap();
    assert_eq!((detail.line.state, detail.blocked.as_deref()), (State::Blocked, Some("no field `to`")));
    bench.beat(worker(2), 0, &[]);
    assert_eq!(bench.state(id(1)), State::Blocked, "the same build would refuse it again");
    let mut other = beat(worker(3), 0, &[]);
    other.identity.build = 8;
    now_or_never(bench.store.extend(other)).unwrap();
    assert_eq!(bench.state(id(1)), State::Ready);
}

#[test]
fn ended_jobs_are_pruned_when_their_time_has_come() {
    let mut bench = Bench::new();
    let rules = JobRules { keep_us: Some(1_000_000), ..JobRules::default() };
    for at in 1..=3 {
        bench.enqueue(Item::job(job(at).rules(rules.clone()))).unwrap();
    }
    let held = bench.claim(3);
    bench.turn(held.iter().map(succeeded).collect(), 0);
    assert!(now_or_never(bench.store.prune(2)).unwrap().is_empty());
    bench.wait(1);
    assert_eq!(now_or_never(bench.store.prune(2)).unwrap().jobs, 2);
    assert_eq!(now_or_never(bench.store.prune(2)).unwrap().jobs, 1);
    let empty = crate::store::Census { workers: 1, leases: 1, ..Default::default() };
    assert_eq!(bench.census(), empty);
    assert_eq!(bench.enqueue(Item::job(job(1))), Ok(Placed::Inserted), "its id is free again");
}

#[test]
fn an_input_over_its_limit_is_refused_alone() {
    let bench = Bench::new();
    let large = job(1).input(Payload::raw(vec![0; (1 << 20) + 1]));
    let batch = Enqueue { items: vec![Item::job(large), Item::job(job(2))] };
    let reply = now_or_never(bench.store.enqueue(batch)).unwrap();
    assert!(matches!(reply.items[0], Err(Refusal::TooLarge { .. })));
    assert_eq!(reply.items[1], Ok(Placed::Inserted));
    let huge = Enqueue { items: (0..17).map(|at| Item::job(job(at).input(Payload::raw(vec![0; 1 << 20])))).collect() };
    assert_eq!(now_or_never(bench.store.enqueue(huge)).unwrap_err().kind, StoreErrorKind::Invalid);
    assert_eq!(bench.census().jobs, 1);
}

#[test]
fn a_lease_that_is_over_claims_nothing_but_settles() {
    let mut bench = Bench::new();
    for at in 1..=2 {
        bench.enqueue(Item::job(job(at))).unwrap();
    }
    let held = bench.claim(1);
    bench.wait(10);
    let reply = bench.turn(vec![succeeded(&held[0])], 1);
    assert_eq!((reply.lease, reply.settled, reply.assigned.len()), (Lease::Over, vec![Settled::Done], 0));
    bench.beat(bench.worker, 2, &[]);
    assert_eq!(ids(&bench.claim(1)), [id(2)]);
}

#[test]
fn what_a_turn_makes_ready_is_told_to_the_other_workers() {
    let mut bench = Bench::new();
    for at in 1..=2 {
        bench.enqueue(Item::job(job(at))).unwrap();
    }
    let held = bench.claim(2);
    let mut hints = bench.store.hints();
    let back = |at: usize| vec![settle_report(&held[at].head, Report::HandedBack)];
    let by = bench.worker;
    bench.turn(back(0), 1);
    assert_eq!(hints.try_next(), Some(Hint::Released { queue: Queue::default(), by }));
    bench.turn(back(1), 0);
    assert_eq!(hints.try_next(), Some(Hint::Ready(Queue::default())), "it has not claimed");
    assert_eq!(hints.try_next(), None);
}
