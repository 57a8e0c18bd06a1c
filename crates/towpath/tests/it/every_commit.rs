//! A worker dies after each commit of a run in turn, and another one goes on: result and journal are those of a run that nobody
//! disturbs, on every store, and those of memory.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::durable::{Memory, Postgres, Race2, Sqlite, TxStep};
use towpath::{
    Client, Context, Cx, Durable, Failure, Graph, Job, RunHandle, Signal, Step, StepCx, Worker, WorkerHandle, rusqlite,
    tokio_postgres,
};

use crate::mortal::Mortal;
use crate::stores::{Subject, memory, on_every_store};

on_every_store!(a_worker_that_dies_after_any_commit_changes_nothing);

const HOUR: Duration = Duration::from_secs(3_600);
const MS: Duration = Duration::from_millis(1);
const GO: Signal<u64> = Signal::new("go");

const ADD: Step<(u64, u64), u64, Failure> = Step::new("add", &add);
async fn add(_cx: StepCx, (a, b): (u64, u64)) -> Result<u64, Failure> {
    Ok(a + b)
}

const IN_MEMORY: TxStep<Memory, u64, u64, Failure> = TxStep::new("twice", &twice);
fn twice(n: u64) -> Result<u64, Failure> {
    Ok(2 * n)
}
const IN_FILE: TxStep<Sqlite, u64, u64, Failure> = TxStep::new("twice", &twice_in_file);
fn twice_in_file(_db: &rusqlite::Connection, n: u64) -> Result<u64, Failure> {
    Ok(2 * n)
}
const IN_DATABASE: TxStep<Postgres, u64, u64, Failure> = TxStep::new("twice", &twice_in_database);
async fn twice_in_database(_db: &tokio_postgres::Client, n: u64) -> Result<u64, Failure> {
    Ok(2 * n)
}

#[derive(Serialize, Deserialize)]
struct Double(u64);

impl Job for Double {
    const KIND: &'static str = "double";
    type Output = u64;
}

const LEAF: Durable<u64, u64, Failure> = Durable::new("leaf", 1, HOUR, &leaf);
async fn leaf(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    Ok(cx.step(ADD, &(n, 1)).await?)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct At {
    store: String,
    sum: u64,
}

/// A sequence, a join, a timer, a race, signals, children, a transaction, and a second chapter of all that; then it fails, and what it did is
/// undone.
const ALL: Durable<At, u64, Failure> = Durable::new("all", 1, HOUR, &all);
async fn all(cx: Cx<'_>, at: At) -> Result<u64, Failure> {
    let mut sum = cx.step(ADD, &(at.sum, 1)).await?;
    cx.undo(ADD, (sum, 1_000));
    let ((), a, b) = cx.join((cx.sleep(MS * 2), cx.step(ADD, &(1, 2)), cx.step(ADD, &(3, 4)))).await;
    sum += a? + b?;
    sum += match cx.race((cx.signal(GO), cx.sleep(HOUR / 2))).await {
        Race2::A(n) => n,
        Race2::B(()) => 0,
    };
    cx.undo(ADD, (sum, 2_000));
    sum += cx.run_child(LEAF, &sum).await.map_err(Failure::permanent)?;
    sum += cx.job(&Double(sum)).await.map_err(Failure::permanent)?;
    let graph = Graph::builder("inner");
    let first = graph.node("a", &Double(1));
    graph.node("b", &Double(2)).after([&first]);
    cx.graph(&graph.build()?).await.map_err(Failure::permanent)?;
    // By now the run has been rebuilt: it must not take the signal of before again.
    sum = 3 * sum + cx.signal(GO).await;
    sum += match &*at.store {
        "memory" => cx.transact(IN_MEMORY, &sum).await?,
        "sqlite" => cx.transact(IN_FILE, &sum).await?,
        _ => cx.transact(IN_DATABASE, &sum).await?,
    };
    if cx.chapter() == 1 {
        return cx.continue_as_new(ALL, &At { sum, ..at }).await;
    }
    Err(Failure::permanent(format!("it is {sum}")))
}

async fn double(Double(n): Double, _: Context) -> Result<u64, Failure> {
    Ok(2 * n)
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).handle(double).durable(ALL).durable(LEAF).start().unwrap()
}

/// A run that has been sent all that it waits for, the first of it with its start.
async fn start(subject: &Subject, id: &str) -> RunHandle<u64, Failure> {
    let store = match subject.url.split_once(':') {
        None => "memory",
        Some((kind, _)) => kind,
    };
    let at = At { store: store.into(), sum: 0 };
    let run = subject.client.start(ALL, id, &at).signal(GO, &10).await.unwrap();
    for n in [20, 30, 40] {
        subject.client.signal(id, GO, &n).await.unwrap();
    }
    run
}

/// What a run came to, and its journals but for what the clock and the order of things at work together decide.
async fn told(client: &Client, run: &RunHandle<u64, Failure>) -> Vec<String> {
    let result = tokio::time::timeout(Duration::from_secs(60), client.result(run)).await.expect("it never ends");
    let chapter = client.inspect().job(run.job()).await.unwrap().unwrap().run.unwrap().chapter;
    let mut told = vec![format!("{:?} in chapter {chapter}", result.map_err(|e| e.to_string()))];
    for chapter in 1..=chapter {
        let entries = client.store().entries(run.job(), chapter, 0, 1_000).await.unwrap();
        let lines = entries.iter().map(|entry| serde_json::from_slice(&entry.payload.bytes).unwrap());
        let lines = lines.filter(|line: &serde_json::Value| line.get("started").is_none());
        let mut lines: Vec<String> = lines.map(|line| format!("{chapter}: {}", scrubbed(line))).collect();
        lines.sort();
        told.append(&mut lines);
    }
    told
}

fn scrubbed(mut line: serde_json::Value) -> serde_json::Value {
    let inner = line.as_object_mut().unwrap().values_mut().next().unwrap().as_object_mut().unwrap();
    for name in ["at", "due", "arrival", "next", "unopened"] {
        inner.remove(name);
    }
    // What another chapter is given names the store.
    inner.remove("input");
    line
}

async fn a_worker_that_dies_after_any_commit_changes_nothing(subject: Subject) {
    let client = &subject.client;
    let undisturbed = {
        let worker = worker(client);
        let run = start(&subject, "undisturbed").await;
        let told = told(client, &run).await;
        worker.shutdown().await;
        told
    };
    let specification = memory();
    let in_memory = {
        let worker = worker(&specification.client);
        let run = start(&specification, "undisturbed").await;
        let told = told(&specification.client, &run).await;
        worker.shutdown().await;
        told
    };
    assert_eq!(undisturbed, in_memory, "the store is not like memory");
    assert!(
        undisturbed[0].starts_with("Err(\"it is ") && undisturbed[0].ends_with("in chapter 2"),
        "{}",
        undisturbed[0]
    );
    assert!(undisturbed.len() > 30, "{undisturbed:#?}");
    let mut deaths = 0;
    loop {
        let id = format!("dies-{deaths}");
        let store = Mortal::new(Arc::clone(client.store()), deaths + 1);
        let run = start(&subject, &id).await;
        let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let dying = process.spawn({
            let store = Arc::clone(&store);
            async move { worker(&Client::new(store)).join().await }
        });
        while !store.is_dead() && !has_ended(client, &run).await {
            tokio::time::sleep(MS).await;
        }
        dying.abort();
        process.shutdown_background();
        let heir = worker(client);
        assert_eq!(told(client, &run).await, undisturbed, "after commit {}", deaths + 1);
        heir.shutdown().await;
        if !store.is_dead() {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 15, "{deaths} commits prove too little");
}

async fn has_ended(client: &Client, run: &RunHandle<u64, Failure>) -> bool {
    client.store().ended(vec![run.job()]).await.unwrap()[0].is_some()
}
