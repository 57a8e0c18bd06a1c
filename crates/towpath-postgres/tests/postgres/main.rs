//! What only PostgreSQL can do wrong: lost connections, poolers, many processes, plans.
//!
//! Runs on the server of `TOWPATH_TEST_POSTGRES` (the URL of a user who may make schemas and end connections); without
//! it each test says that it was left out. What every store must do is tested by the conformance scripts.

// A panic is the report of a test.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod connections;

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};
use towpath_core::store::{
    Assigned, Beat, Change, Changed, Claim, CommitCounts, Enqueue, Hint, HostId, Intent, Item, Migration, Order,
    Placed, QueueClaim, Served, Settle, Settled, Turn, TurnReply, WorkerIdentity,
};
use towpath_core::{
    GraphEnd, GraphId, GraphName, GraphRules, Incarnation, JobId, Kind, NewAppend, NewEdge, NewGraph, NewJob, NewNode,
    NodeName, Queue, Report, State, Store, StoreErrorKind, Timestamp, settle_decision, settle_report,
};
use towpath_postgres::{PostgresOptions, PostgresStore};

fn url(test: &str) -> Option<String> {
    let url = std::env::var("TOWPATH_TEST_POSTGRES").ok();
    if url.is_none() {
        println!("LEFT OUT: {test} needs TOWPATH_TEST_POSTGRES, the URL of a PostgreSQL server");
    }
    url
}

/// Whether no transaction pooler stands between; otherwise says why the test is left out.
fn reaches_directly(why: &str) -> bool {
    let is_direct = std::env::var_os("TOWPATH_TEST_POOLER").is_none();
    if !is_direct {
        println!("LEFT OUT behind a pooler: {why}");
    }
    is_direct
}

fn open(url: &str, schema: &str) -> PostgresStore {
    PostgresStore::connect(url, PostgresOptions::default().schema(schema)).unwrap()
}

async fn fresh(url: &str, test: &str) -> PostgresStore {
    let store = open(url, &schema(test));
    store.drop_schema().await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn schema(test: &str) -> String {
    format!("test {test} {}", std::process::id())
}

async fn admin(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn job(number: u8) -> Item {
    Item::job(NewJob::new(JobId::from_bytes([number; 16]), Kind::from_stored("echo")))
}

fn worker(number: u8) -> Incarnation {
    Incarnation::from_bytes([number; 16])
}

fn beat(worker: Incarnation) -> Beat {
    let identity = WorkerIdentity {
        name: "test".into(),
        host: HostId::default(),
        build: 1,
        queues: Vec::new(),
        kinds: Default::default(),
    };
    let lease = Duration::from_secs(60);
    Beat { worker, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay }
}

fn claim(worker: Incarnation, number: u64) -> Turn {
    let serves = Arc::from([Served::up_to(Kind::from_stored("echo"), 1)]);
    let queues = vec![QueueClaim { queue: Queue::default(), serves, limit: 100 }];
    Turn { worker, number, settle: Vec::new(), claim: Some(Claim { queues, most: u16::MAX, decisions_max: 10 }) }
}

fn settle(assigned: &Assigned) -> Settle {
    match assigned {
        Assigned::Job(job) => settle_report(&job.head, Report::Succeeded { output: None, branches: Vec::new() }),
        Assigned::Decision(undecided) => settle_decision(undecided),
    }
}

fn done(reply: &TurnReply, worker: Incarnation, number: u64) -> Turn {
    Turn { worker, number, settle: reply.assigned.iter().map(settle).collect(), claim: None }
}

#[tokio::test]
async fn a_verb_after_a_lost_connection_makes_a_new_one() {
    let Some(url) = url("a lost connection").filter(|_| reaches_directly("it cuts its own connections")) else {
        return;
    };
    let store = fresh(&url, "lost").await;
    let me = worker(1);
    store.extend(beat(me)).await.unwrap();
    store.enqueue(Enqueue::one(job(1))).await.unwrap();
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and query like $2";
    admin(&url).await.query(end, &[&"towpath", &format!("%{}%", schema("lost"))]).await.unwrap();
    // The end of a connection shows with the next use of it at the latest.
    let mut turn = store.turn(claim(me, 1)).await;
    if turn.as_ref().is_err_and(|error| error.kind == StoreErrorKind::Unavailable) {
        turn = store.turn(claim(me, 1)).await;
    }
    assert_eq!(turn.unwrap().assigned.len(), 1);
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn without_named_statements_everything_goes_on() {
    let Some(url) = url("a transaction pooler") else { return };
    let pooled = if url.contains("://") {
        format!("{url}{}pooler=transaction", if url.contains('?') { '&' } else { '?' })
    } else {
        format!("{url} pooler=transaction")
    };
    let store = fresh(&pooled, "pooled").await;
    let me = worker(1);
    store.extend(beat(me)).await.unwrap();
    store.enqueue(Enqueue { items: (1..=9).map(job).collect() }).await.unwrap();
    let reply = store.turn(claim(me, 1)).await.unwrap();
    let settled = store.turn(done(&reply, me, 2)).await.unwrap().settled;
    assert_eq!(settled, vec![Settled::Done; 9]);
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn a_dropped_future_writes_its_batch_whole() {
    let Some(url) = url("a dropped future") else { return };
    let store = fresh(&url, "dropped").await;
    for number in 1..=50 {
        let call = store.enqueue(Enqueue::one(job(number)));
        let _ = tokio::time::timeout(Duration::from_micros(u64::from(number) * 20), call).await;
    }
    // Behind all of them, for they are written in order.
    store.enqueue(Enqueue::one(job(99))).await.unwrap();
    let census = store.inspect().census().await.unwrap();
    assert_eq!(census.jobs, census.ready);
    let idle = "select count(*) from pg_stat_activity where state like 'idle in transaction%' and query like $1";
    // Without a name, so that it passes through a transaction pooler too.
    let of_schema = format!("%{}%", schema("dropped"));
    let idle = admin(&url).await.query_typed(idle, &[(&of_schema, Type::TEXT)]).await.unwrap();
    assert_eq!(idle[0].get::<_, i64>(0), 0);
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn a_heartbeat_does_not_wait_for_a_turn() {
    let Some(url) = url("a heartbeat beside a turn") else { return };
    let store = fresh(&url, "beat").await;
    let me = worker(1);
    store.extend(beat(me)).await.unwrap();
    let name = format!("\"{}\"", schema("beat"));
    let other = admin(&url).await;
    other.batch_execute(&format!("begin; select from {name}.worker for no key update")).await.unwrap();
    let waiting = store.turn(claim(me, 1));
    let beats = async {
        for _ in 0..3 {
            store.extend(beat(me)).await.unwrap();
        }
        other.batch_execute("commit").await.unwrap();
    };
    let (reply, ()) = tokio::join!(waiting, beats);
    reply.unwrap();
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn a_turn_does_not_wait_for_that_of_another_worker() {
    let Some(url) = url("turns beside each other") else { return };
    let store = fresh(&url, "beside").await;
    let (held, free) = (worker(1), worker(2));
    store.extend(beat(held)).await.unwrap();
    store.extend(beat(free)).await.unwrap();
    let name = format!("\"{}\"", schema("beside"));
    let other = admin(&url).await;
    let lock = format!("begin; select from {name}.worker where incarnation = '{}' for update", held.as_uuid());
    other.batch_execute(&lock).await.unwrap();
    let waiting = store.turn(claim(held, 1));
    let beside = async {
        let taken = tokio::time::timeout(Duration::from_secs(20), store.turn(claim(free, 1))).await;
        other.batch_execute("commit").await.unwrap();
        taken.expect("it waited for the other worker").unwrap();
    };
    let (reply, ()) = tokio::join!(waiting, beside);
    reply.unwrap();
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn many_migrate_at_once_and_a_newer_schema_is_refused() {
    let Some(url) = url("migrations at once") else { return };
    let store = open(&url, &schema("migrate"));
    store.drop_schema().await.unwrap();
    assert_eq!(store.enqueue(Enqueue::one(job(1))).await.unwrap_err().kind, StoreErrorKind::SchemaTooOld);
    let stores: Vec<PostgresStore> = (0..6).map(|_| open(&url, &schema("migrate"))).collect();
    let mut migrations: Vec<Migration> = Vec::new();
    for migrated in futures_util::future::join_all(stores.iter().map(Store::migrate)).await {
        migrations.push(migrated.unwrap());
    }
    assert_eq!(migrations.iter().filter(|migration| migration.from == 0).count(), 1);
    let name = format!("\"{}\"", schema("migrate"));
    admin(&url).await.batch_execute(&format!("update {name}.meta set version = 9, floor = 9")).await.unwrap();
    let refused = store.migrate().await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::SchemaTooNew);
    assert!(refused.to_string().contains("use a newer one"), "{refused}");
    store.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_hears_of_new_work() {
    let Some(url) = url("hints to others").filter(|_| reaches_directly("LISTEN does not pass")) else { return };
    let (here, there) = (fresh(&url, "hints").await, open(&url, &schema("hints")));
    let mut hints = there.hints();
    let heard = async {
        // Until it listens, hints are lost: they are lossy.
        for number in 1..=100 {
            here.enqueue(Enqueue::one(job(number))).await.unwrap();
            if let Ok(hint) = tokio::time::timeout(Duration::from_millis(100), hints.next()).await {
                return hint;
            }
        }
        panic!("nothing was heard");
    };
    assert_eq!(heard.await, Hint::Ready(Queue::default()));
    here.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_are_combined_and_each_is_answered_alone() {
    let Some(url) = url("group commit") else { return };
    let store = Arc::new(fresh(&url, "combine").await);
    let calls = (0..64_u8).map(|call| {
        let store = Arc::clone(&store);
        // Every second call enqueues the same job as the one before it.
        let items = vec![job(100 + call / 2), job(call)];
        tokio::spawn(async move { store.enqueue(Enqueue { items }).await.unwrap().items })
    });
    let mut inserted = 0;
    for answer in futures_util::future::join_all(calls).await {
        let answer = answer.unwrap();
        assert_eq!(answer[1], Ok(Placed::Inserted));
        inserted += usize::from(answer[0] == Ok(Placed::Inserted));
    }
    assert_eq!(inserted, 32);
    store.drop_schema().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_workers_never_hold_the_same_job() {
    let Some(url) = url("two workers") else { return };
    let store = fresh(&url, "two").await;
    store.enqueue(Enqueue { items: (1..=200).map(job).collect() }).await.unwrap();
    let drain = async |number: u8| {
        let (store, me) = (open(&url, &schema("two")), worker(number));
        store.extend(beat(me)).await.unwrap();
        let mut ended = 0;
        let mut turn = claim(me, 1);
        loop {
            let number = turn.number;
            let reply = store.turn(turn).await.unwrap();
            ended += reply.settled.iter().filter(|answer| **answer == Settled::Done).count();
            if reply.assigned.is_empty() {
                return ended;
            }
            let mut small = claim(me, number + 1);
            small.settle = done(&reply, me, 0).settle;
            turn = small;
        }
    };
    let (one, other) = tokio::join!(drain(1), drain(2));
    assert_eq!(one + other, 200);
    let left = store.inspect().census().await.unwrap();
    assert_eq!((left.ready, left.running, left.ended), (0, 0, 200));
    store.drop_schema().await.unwrap();
}

/// Diamonds with a tail, enough of them that two workers meet in nearly every one.
fn graph(number: u8) -> NewGraph {
    let name = |name: &str| NodeName::from_stored(name);
    let node = |at: u8| {
        let id = JobId::from_bytes([7, at, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, number]);
        NewNode::new(name(&format!("n{at}")), NewJob::new(id, Kind::from_stored("echo")))
    };
    let edge = |parent: &str, child: &str| NewEdge::new(name(parent), name(child));
    let edges = (1..=6).flat_map(|at| [edge("n0", &format!("n{at}")), edge(&format!("n{at}"), "n7")]);
    NewGraph {
        id: GraphId::from_bytes([number; 16]),
        name: GraphName::from_stored("diamond"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: (0..=7).map(node).collect(),
        edges: edges.collect(),
    }
}

fn append(number: u8) -> Item {
    let id = JobId::from_bytes([8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, number]);
    let late = NodeName::from_stored("late");
    let nodes = vec![NewNode::new(late.clone(), NewJob::new(id, Kind::from_stored("echo")))];
    let edges = ["n1", "n4", "n7"].map(|parent| NewEdge::new(NodeName::from_stored(parent), late.clone()));
    let append = NewAppend { graph: GraphId::from_bytes([number; 16]), nodes, edges: edges.into() };
    Item::Append(Box::new(append.prepare().unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_and_appends_at_once_lose_no_child() {
    let Some(url) = url("graphs beside appends") else { return };
    let store = fresh(&url, "graphs").await;
    let items = (1..=60).map(|number| Item::Graph(Box::new(graph(number).prepare().unwrap())));
    store.enqueue(Enqueue { items: items.collect() }).await.unwrap();
    let appends = async {
        for number in 1..=60 {
            let answer = store.enqueue(Enqueue::one(append(number))).await.unwrap();
            assert_eq!(answer.items, [Ok(Placed::Inserted)]);
        }
    };
    let drain = async |number: u8| {
        let (store, me) = (open(&url, &schema("graphs")), worker(number));
        store.extend(beat(me)).await.unwrap();
        let mut turn = claim(me, 1);
        let mut quiet = 0;
        while quiet < 60 {
            let number = turn.number;
            let reply = store.turn(turn).await.unwrap();
            quiet = if reply.assigned.is_empty() { quiet + 1 } else { 0 };
            turn = claim(me, number + 1);
            turn.claim.as_mut().unwrap().queues[0].limit = 7;
            turn.settle = reply.assigned.iter().map(settle).collect();
        }
    };
    tokio::join!(drain(1), drain(2), drain(3), appends);
    drain(4).await;
    for number in 1..=60 {
        let id = GraphId::from_bytes([number; 16]);
        let seen = store.inspect().graph(id).await.unwrap().unwrap();
        assert_eq!(seen.line.end, Some(GraphEnd::Succeeded), "{seen:?}");
        let changes = vec![Change::Recount { graph: id }];
        let recounted = store.apply(Order { actor: "test".into(), reason: String::new(), changes }).await.unwrap();
        assert_eq!(recounted.changes, [Changed::Recounted { repaired: 0 }]);
    }
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn commits_are_counted_and_those_of_turns_have_a_time() {
    let Some(url) = url("commits").filter(|_| reaches_directly("statements go otherwise")) else { return };
    let store = fresh(&url, "commits").await;
    let me = worker(1);
    store.extend(beat(me)).await.unwrap();
    let before = store.commits();
    store.enqueue(Enqueue::one(job(1))).await.unwrap();
    let enqueued = store.commits();
    let expected = CommitCounts { durable: before.durable + 1, ..before };
    assert_eq!(enqueued, expected, "it commits with its only statement, which is no time of a commit");
    let reply = store.turn(claim(me, 1)).await.unwrap();
    let claimed = store.commits();
    assert_eq!(
        (claimed.durable, claimed.lazy),
        (enqueued.durable, enqueued.lazy + 1),
        "a claim alone does not wait for the disk"
    );
    let started = std::time::Instant::now();
    store.turn(done(&reply, me, 2)).await.unwrap();
    let (settled, took) = (store.commits(), started.elapsed());
    assert_eq!((settled.durable, settled.lazy), (claimed.durable + 1, claimed.lazy));
    let committing = settled.durable_time - claimed.durable_time;
    assert!(committing > Duration::ZERO && committing < took, "{committing:?} of {took:?}");
    store.drop_schema().await.unwrap();
}

#[tokio::test]
async fn the_clock_of_a_test_stands_still() {
    let Some(url) = url("the clock of a test") else { return };
    let store = fresh(&url, "clock").await;
    let now = Timestamp::from_micros(1_700_000_000_000_000);
    store.set_test_clock(now).await.unwrap();
    assert_eq!(store.enqueue(Enqueue::one(job(1))).await.unwrap().now, now);
    let detail = store.inspect().job(JobId::from_bytes([1; 16])).await.unwrap().unwrap();
    assert_eq!((detail.line.enqueued_at, detail.line.state), (now, State::Ready));
    store.drop_schema().await.unwrap();
}
