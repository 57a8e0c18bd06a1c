//! The harness: attempts one by one in virtual time, of jobs, graphs and runs, on every store.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use towpath::core::ManualClock;
use towpath::testing::{Harness, Performed};
use towpath::{
    Client, Context, Cx, Durable, End, Failure, Graph, GraphEnd, Job, JobState, MemoryStore, Signal, Step, StepCx,
    Worker, WorkerBuilder, rusqlite, tokio_postgres,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(kind = "mail", attempts = 3)]
struct Mail {
    to: String,
    fails: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Job)]
#[job(kind = "sum", output = u64)]
struct Sum(u64);

const DAY: Duration = Duration::from_secs(86_400);
const ANSWER: Signal<u64> = Signal::new("answer");
const ADD: Step<u64, u64, Failure> = Step::new("add", &add);
async fn add(_cx: StepCx, n: u64) -> Result<u64, Failure> {
    Ok(n + 1)
}
const PATIENT: Durable<u64, u64, Failure> = Durable::new("patient", 1, Duration::from_secs(30 * 86_400), &patient);
async fn patient(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    let n = cx.step(ADD, &n).await?;
    cx.sleep(3 * DAY).await;
    Ok(n + cx.signal(ANSWER).await)
}

fn worker(client: &Client) -> WorkerBuilder {
    Worker::builder(client)
        .handle(|job: Mail, cx: Context| async move {
            match job.to.as_str() {
                "later" if cx.attempt() == 1 && cx.enqueued_at().as_micros() == 1_000_000_000_000_000 => {
                    cx.client().job(&Mail { to: "ann".into(), fails: 0 }).delay(DAY).await?;
                    Ok(())
                }
                "panic" => panic!("on purpose"),
                "snooze" => Err(Failure::snooze(DAY)),
                _ if cx.failures() < job.fails => Err(Failure::retry_after("not yet", DAY)),
                _ => Ok(()),
            }
        })
        .handle(|job: Sum, cx: Context| async move {
            let mut sum = job.0;
            for parent in cx.upstream().await? {
                sum += parent.output::<u64>()?.unwrap_or(0);
            }
            Ok::<_, Failure>(sum)
        })
        .durable(PATIENT)
}

macro_rules! on_every_clock {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                let clock = ManualClock::default();
                let store = Arc::new(MemoryStore::new(clock.clone()));
                super::$name(super::Harness::on(store, clock, super::worker).await).await;
            })+
            use super::{ManualClock, MemoryStore, Arc};
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Harness::on_sqlite(super::worker).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(url) = super::database() {
                    super::$name(super::Harness::on_postgres(&url, super::worker).await).await;
                }
            })+
        }
    };
}

/// The database that the environment names.
fn database() -> Option<String> {
    let url = std::env::var("TOWPATH_TEST_POSTGRES").ok();
    if url.is_none() {
        eprintln!("left out: PostgreSQL (set TOWPATH_TEST_POSTGRES, or run `cargo xtask test`)");
    }
    url
}

on_every_clock!(
    retries_wait_in_virtual_time,
    a_graph_runs_in_the_order_of_its_edges,
    a_graph_is_tried_again_after_its_delay,
    a_run_sleeps_for_days_and_is_woken_by_a_signal,
    what_a_handler_enqueues_is_seen,
);

fn mail(to: &str, fails: u32) -> Mail {
    Mail { to: to.into(), fails }
}

async fn retries_wait_in_virtual_time(mut harness: Harness) {
    let from = harness.now();
    let heals = harness.client().enqueue(&mail("ann", 2)).await.unwrap();
    let dies = harness.client().enqueue(&mail("bob", 9)).await.unwrap();
    let first = harness.drain().await;
    assert_eq!(first.iter().map(|done| done.attempt).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((first[0].state, first[0].error.as_deref()), (JobState::Ready, Some("not yet")));
    let rest = harness.run_until_idle().await;
    assert_eq!(harness.now().since(from), 2 * DAY);
    let last = |job| rest.iter().rfind(|done| done.job == job).map(|done| (done.attempt, done.state));
    assert_eq!(last(heals.id()), Some((3, JobState::Ended(End::Succeeded))));
    assert_eq!(last(dies.id()), Some((3, JobState::Ended(End::Dead))));
    assert_eq!(harness.perform_next().await, None);
}

async fn a_graph_runs_in_the_order_of_its_edges(mut harness: Harness) {
    let graph = Graph::builder("sums");
    let (one, two) = (graph.node("one", &Sum(1)), graph.node("two", &Sum(2)));
    graph.node("both", &Sum(10)).after((one, two)).then("last", &Sum(100));
    graph.build().unwrap().enqueue(harness.client()).await.unwrap();
    let done = harness.drain().await;
    let name = |done: &Performed| done.node.as_ref().map(|node| node.name.to_string());
    let names: Vec<_> = done.iter().filter_map(name).collect();
    assert_eq!(names, ["one", "two", "both", "last"]);
    let ended = harness.client().wait(done[3].job).await.unwrap();
    assert_eq!(ended.output.unwrap().decode::<u64>().unwrap(), 113);
}

async fn a_graph_is_tried_again_after_its_delay(mut harness: Harness) {
    let graph = Graph::builder("mails").retry(3, DAY);
    let sum = graph.node("sum", &Sum(1));
    sum.then("mail", &mail("panic", 0)).attempts(1);
    let graph = graph.enqueue(harness.client()).await.unwrap();
    let from = harness.now();
    assert_eq!(harness.drain().await.len(), 2);
    assert_eq!(harness.perform_next().await, None, "it waits");
    let rest = harness.run_until_idle().await;
    assert_eq!(rest.iter().map(|done| done.attempt).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(harness.now().since(from), 2 * DAY);
    assert_eq!(graph.wait(harness.client()).await.unwrap(), GraphEnd::Failed);
}

async fn a_run_sleeps_for_days_and_is_woken_by_a_signal(mut harness: Harness) {
    let run = harness.client().start(PATIENT, "p", &1).await.unwrap();
    harness.drain().await;
    harness.advance(2 * DAY).await;
    assert_eq!(harness.drain().await, [], "it sleeps");
    harness.client().signal("p", ANSWER, &40).await.unwrap();
    harness.run_until_idle().await;
    assert_eq!(harness.client().result(&run).await.unwrap(), 42);
}

async fn what_a_handler_enqueues_is_seen(mut harness: Harness) {
    harness.client().enqueue(&mail("later", 0)).await.unwrap();
    harness.assert_none_enqueued::<Sum>().await;
    harness.drain().await;
    harness.assert_enqueued(&mail("ann", 0)).await;
    assert_eq!(harness.enqueued::<Mail>().await, [mail("ann", 0)]);
    let refused = std::panic::AssertUnwindSafe(harness.assert_enqueued(&mail("eve", 0))).catch_unwind().await;
    let text = refused.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(
        *text,
        "no such mail is enqueued among 1; the most similar differs in\n  to: expected \"eve\", found \"ann\""
    );
    harness.run_until_idle().await;
    harness.assert_none_enqueued::<Mail>().await;
}

#[tokio::test]
async fn one_job_is_performed_without_a_store() {
    let harness = Harness::new(worker);
    assert_eq!(harness.perform(&Sum(5)).await.unwrap(), 5);
    assert_eq!(harness.perform(&mail("ann", 1)).await.unwrap_err().again_after(), Some(DAY));
    assert_eq!(harness.perform(&mail("snooze", 0)).await.unwrap_err().to_string(), "put back for 86400s");
    assert_eq!(harness.perform(&mail("panic", 0)).await.unwrap_err().to_string(), "the handler panicked: on purpose");
    harness.assert_none_enqueued::<Mail>().await;
}

/// What an application does in a transaction of its own, which the caller commits or rolls back.
async fn order(client: &Client, tx: impl towpath::Enlist, n: u64) {
    let mut within = client.within(tx);
    within.enqueue(&Sum(n)).await.unwrap();
    within.job(client.job(&Sum(n + 1)).delay(DAY)).await.unwrap();
    within.enqueue(&mail("ann", 0)).await.unwrap();
    let _ = within.done();
}

#[tokio::test]
async fn what_a_transaction_on_sqlite_enqueues_is_seen_in_it_and_its_rollback_leaves_nothing() {
    let mut harness = Harness::on_sqlite(worker).await;
    let file = std::path::PathBuf::from(harness.place());
    let mut db = rusqlite::Connection::open(&file).unwrap();
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    order(harness.client(), &*tx, 4).await;
    assert_eq!(harness.client().within(&*tx).enqueued::<Sum>().await.unwrap(), [Sum(4), Sum(5)]);
    harness.assert_none_enqueued::<Sum>().await;
    tx.rollback().unwrap();
    assert_eq!(harness.client().within(&db).enqueued::<Sum>().await.unwrap(), []);
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    order(harness.client(), &*tx, 7).await;
    tx.commit().unwrap();
    assert_eq!(harness.drain().await.len(), 2);
    assert_eq!(harness.client().within(&db).enqueued::<Sum>().await.unwrap(), [Sum(8)], "the other one has ended");
    drop(harness);
    assert!(!file.exists() && !file.parent().unwrap().exists());
}

#[tokio::test]
async fn what_a_transaction_on_postgres_enqueues_is_seen_in_it_and_its_rollback_leaves_nothing() {
    let Some(url) = database() else { return };
    let mut harness = Harness::on_postgres(&url, worker).await;
    let (mut db, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let tx = db.transaction().await.unwrap();
    order(harness.client(), &tx, 4).await;
    assert_eq!(harness.client().within(&tx).enqueued::<Sum>().await.unwrap(), [Sum(4), Sum(5)]);
    harness.assert_none_enqueued::<Sum>().await;
    tx.rollback().await.unwrap();
    assert_eq!(harness.client().within(&db).enqueued::<Sum>().await.unwrap(), []);
    let tx = db.transaction().await.unwrap();
    order(harness.client(), &tx, 7).await;
    tx.commit().await.unwrap();
    assert_eq!(harness.drain().await.len(), 2);
    assert_eq!(harness.client().within(&db).enqueued::<Sum>().await.unwrap(), [Sum(8)], "the other one has ended");
    let schema = harness.place().to_owned();
    let there = "select count(*) from information_schema.schemata where schema_name = $1";
    assert_eq!(db.query_one(there, &[&schema]).await.unwrap().get::<_, i64>(0), 1);
    drop(harness);
    assert_eq!(db.query_one(there, &[&schema]).await.unwrap().get::<_, i64>(0), 0, "it goes with the harness");
}
