//! One thin run, by hand: a worker that claims it, appends a step, sleeps, waits for a signal, is killed, and ends it.
//! There is no replay here; this shows that the store's contract is enough for it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use towpath::core::store::{
    Arrival, Assigned, Beat, Change, Claim, Claimed, Delivery, Enqueue, HostId, Intent, Item, MemoryBody, Move, Order,
    QueueClaim, Rescue, Rescued, Rows, Served, Settle, Settled, Transact, Transacted, Turn, TurnReply, TxEnd,
    WorkerIdentity,
};
use towpath::core::{
    Fence, Incarnation, JobId, Kind, Label, NewJob, Payload, Queue, Report, RunId, State, settle_report, settle_rescued,
};
use towpath::{End, PostgresBody, SqliteBody, Store, rusqlite};

use crate::stores::{Subject, on_every_store};

on_every_store!(a_run_lives_through_a_sleep_a_signal_and_a_kill);

const NAP: Duration = Duration::from_millis(50);

async fn a_run_lives_through_a_sleep_a_signal_and_a_kill(subject: Subject) {
    let store = Arc::clone(subject.client.store());
    let run = RunId::new("order-1").unwrap();
    let job = JobId::from_bytes([1; 16]);
    let new = NewJob::new(job, Kind::new("order").unwrap()).run(run.clone());
    store.enqueue(Enqueue::one(Item::job(new))).await.unwrap();

    let mut first = Hands::new(&store, 1).await;
    let claimed = first.claim().await;
    assert_eq!(claimed.run.as_ref().map(|run| (&run.id, run.chapter, run.entries)), Some((&run, 1, 0)));
    first.done(Settle::stay(claimed.head.fence, vec![entry("charged")])).await;
    first.done(Settle { journal: vec![entry("asleep")], ..park(&claimed, Some(NAP), 0) }).await;
    drop(first);

    // The first worker is gone while the run sleeps; another wakes it, and dies with it.
    let mut second = Hands::new(&store, 2).await;
    let claimed = second.claim().await;
    assert_eq!(claimed.head.counters.attempt, 1, "a sleep spends nothing");
    assert_eq!(journal(&store, job).await, ["charged", "asleep"]);
    second.done(Settle::stay(claimed.head.fence, vec![entry("awake")])).await;
    let lost = claimed.head.fence;
    drop(second);

    let mut third = Hands::new(&store, 3).await;
    third.rescue(2).await;
    let claimed = third.claim().await;
    let head = claimed.run.clone().unwrap();
    assert_eq!((head.chapter, head.entries, claimed.head.counters.crashes), (1, 3, 1), "its journal is still there");
    assert_ne!(claimed.head.fence, lost);

    // What it does in the database counts only under a claim that holds.
    assert_eq!(transact(&subject, lost, "late").await, Transacted::Stale);
    assert_eq!(journal(&store, job).await, ["charged", "asleep", "awake"]);
    assert_eq!(transact(&subject, claimed.head.fence, "moved").await, Transacted::Done);
    let order = |change| Order { actor: "ann".into(), reason: String::new(), changes: vec![change] };
    store.apply(order(Change::PauseRun { run: run.clone() })).await.unwrap();
    assert_eq!(transact(&subject, claimed.head.fence, "told").await, Transacted::Paused);
    store.apply(order(Change::ResumeRun { run: run.clone() })).await.unwrap();
    let wrong = Transact {
        fence: claimed.head.fence,
        journal: Vec::new(),
        shows: Vec::new(),
        mark: None,
        body: Box::new("of no database"),
    };
    assert_eq!(store.transact(wrong).await.unwrap(), Transacted::WrongDatabase);

    // A signal that came too early for the wait is found by the park, one that comes later wakes it.
    signal(&store, &run, "paid").await;
    third.done(park(&claimed, None, 0)).await;
    let claimed = third.claim().await;
    assert_eq!(inbox(&store, &run).await, ["paid"]);
    third.done(Settle { journal: vec![entry("paid")], ..park(&claimed, None, 1) }).await;
    signal(&store, &run, "sent").await;
    let claimed = third.claim().await;

    let output = Payload::json("done").unwrap();
    let succeeded = Report::Succeeded { output: Some(output.clone()), branches: Vec::new() };
    let end = Settle { journal: vec![entry("over")], ..settle_report(&claimed.head, succeeded) };
    let unread = third.settle(Settle { read: Some(1), ..end.clone() }).await;
    assert_eq!(unread, Settled::Unread, "the second signal");
    assert_eq!(inbox(&store, &run).await, ["paid", "sent"]);
    third.done(Settle { read: Some(2), ..end }).await;

    let ended = store.ended(vec![job]).await.unwrap().remove(0).unwrap();
    assert_eq!((ended.state, ended.output), (State::Ended(End::Succeeded), Some(output)));
    assert_eq!(
        journal(&store, job).await,
        ["charged", "asleep", "awake", "before", "moved", "before", "told", "paid", "over"]
    );
}

/// A piece that leaves its name in the journal, after another line.
async fn transact(subject: &Subject, fence: Fence, what: &'static str) -> Transacted {
    let end = move || TxEnd { rows: Rows::Keep, line: entry(what) };
    let body: Box<dyn Any + Send> = match &subject.url {
        url if url.is_empty() => Box::new(Box::new(end) as MemoryBody),
        url if url.contains('#') => {
            let body: PostgresBody = Box::new(move |client| {
                Box::pin(async move {
                    client.query_one("select 1", &[]).await.unwrap();
                    end()
                })
            });
            Box::new(body)
        }
        _ => Box::new(Box::new(move |_: &rusqlite::Connection| end()) as SqliteBody),
    };
    subject
        .client
        .store()
        .transact(Transact { fence, journal: vec![entry("before")], shows: Vec::new(), mark: None, body })
        .await
        .unwrap()
}

fn entry(what: &str) -> Payload {
    Payload::json(what).unwrap()
}

fn park(claimed: &Claimed, until: Option<Duration>, read: u32) -> Settle {
    Settle { read: Some(read), ..settle_report(&claimed.head, Report::Parked { until }) }
}

async fn signal(store: &Arc<dyn Store>, run: &RunId, name: &str) {
    let arrival = Arrival::new(run.clone(), Label::new(name).unwrap(), Payload::default()).dedup(name);
    let twice = store.signal(vec![arrival.clone(), arrival]).await.unwrap();
    assert_eq!(twice.items, [Ok(Delivery::Delivered), Ok(Delivery::Duplicate)]);
}

/// The journal, read a page at a time.
async fn journal(store: &Arc<dyn Store>, job: JobId) -> Vec<String> {
    let mut read: Vec<String> = Vec::new();
    loop {
        let page = store.entries(job, 1, u32::try_from(read.len()).unwrap(), 2).await.unwrap();
        read.extend(page.iter().map(|entry| entry.payload.decode::<String>().unwrap()));
        if page.len() < 2 {
            return read;
        }
    }
}

async fn inbox(store: &Arc<dyn Store>, run: &RunId) -> Vec<String> {
    store.inbox(run.clone(), 0, 100).await.unwrap().iter().map(|line| line.name.to_string()).collect()
}

/// The hands of a worker. Dropped, it is as dead as if its process were killed.
struct Hands {
    store: Arc<dyn Store>,
    worker: Incarnation,
    number: u64,
}

impl Hands {
    async fn new(store: &Arc<dyn Store>, number: u8) -> Self {
        let worker = life(number);
        let identity = WorkerIdentity {
            name: "hands".into(),
            host: HostId::default(),
            build: 1,
            queues: vec![],
            kinds: Default::default(),
        };
        let lease = Duration::from_secs(60);
        let beat = Beat { worker, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay };
        store.extend(beat).await.unwrap();
        Self { store: Arc::clone(store), worker, number: 0 }
    }

    async fn turn(&mut self, settle: Vec<Settle>, claim: Option<Claim>) -> TurnReply {
        self.number += 1;
        self.store.turn(Turn { worker: self.worker, number: self.number, settle, claim }).await.unwrap()
    }

    async fn settle(&mut self, settle: Settle) -> Settled {
        self.turn(vec![settle], None).await.settled[0]
    }

    async fn done(&mut self, settle: Settle) {
        let what = format!("{:?}", settle.then);
        assert_eq!(self.settle(settle).await, Settled::Done, "{what}");
    }

    /// Claims until the run comes, at the latest when its sleep is over.
    async fn claim(&mut self) -> Claimed {
        let serves: Arc<[Served]> = vec![Served::up_to(Kind::new("order").unwrap(), 1)].into();
        for _ in 0..1_000 {
            let queues = vec![QueueClaim { queue: Queue::default(), serves: Arc::clone(&serves), limit: 1 }];
            let reply = self.turn(Vec::new(), Some(Claim { queues, most: u16::MAX, decisions_max: 0 })).await;
            match reply.assigned.into_iter().next() {
                Some(Assigned::Job(claimed)) => return *claimed,
                Some(other) => panic!("a decision: {other:?}"),
                None => tokio::time::sleep(NAP / 10).await,
            }
        }
        panic!("the run never came")
    }

    /// Takes over what a dead worker held, and settles it as a crash.
    async fn rescue(&mut self, dead: u8) {
        self.number += 1;
        let ask = Rescue { worker: self.worker, number: self.number, gone: vec![life(dead)], limit: 10 };
        let reply = self.store.rescue(ask).await.unwrap();
        for rescued in reply.rescued {
            let Rescued::Job(head) = rescued else { panic!("a decision: {rescued:?}") };
            let settle = settle_rescued(&head, reply.now);
            assert!(matches!(settle.then, Move::Again { .. }));
            self.done(settle).await;
        }
    }
}

fn life(number: u8) -> Incarnation {
    Incarnation::from_bytes([number; 16])
}
