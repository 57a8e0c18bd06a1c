//! Graphs that are retried in place and restarted, by the public API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::store::{AuditLine, Change, Order, Page};
use towpath::core::{RunId, StopReason};
use towpath::{
    Client, Context, Cx, Durable, Failure, Graph, GraphEnd, GraphId, Job, JobState, KeyHolder, NodeName, RestartError,
    RetryError, RetryMode, Signal, Worker, WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_graph_is_retried_and_what_succeeded_stays,
    a_node_is_requeued_with_another_input_and_all_below_it_runs_again,
    what_cannot_be_retried_is_refused_by_name,
    a_retry_that_nobody_carries_on_is_carried_on_by_a_worker,
    a_graph_is_restarted_under_another_id,
    a_graph_whose_key_another_one_has_is_not_retried,
    a_graph_is_tried_again_by_its_own_rules,
    a_graph_that_gives_up_is_undone_once_and_only_then,
    a_graph_that_waits_for_its_retry_can_be_cancelled_or_retried_at_once,
    a_retry_that_a_worker_has_put_off_is_another_workers_to_carry_on,
    a_durable_function_begins_anew_with_what_it_was_sent,
    whoever_retries_a_graph_at_the_same_time_is_told_the_same,
);

/// Fails while it is told to, or for an odd number.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "charge", output = u64, attempts = 1)]
struct Charge(u64);

struct Shop {
    is_down: AtomicBool,
    runs: AtomicU32,
}

fn worker(client: &Client, shop: &Arc<Shop>) -> WorkerHandle {
    let shop = Arc::clone(shop);
    let handle = move |job: Charge, _: Context| {
        let shop = Arc::clone(&shop);
        async move {
            shop.runs.fetch_add(1, Ordering::SeqCst);
            if shop.is_down.load(Ordering::SeqCst) || !job.0.is_multiple_of(2) {
                Err(Failure::new("down"))
            } else {
                Ok(job.0)
            }
        }
    };
    Worker::builder(client).handle(handle).start().unwrap()
}

fn shop(is_down: bool) -> Arc<Shop> {
    Arc::new(Shop { is_down: AtomicBool::new(is_down), runs: AtomicU32::new(0) })
}

fn name(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

/// `a`, then `b` with this number, then `c`.
async fn chain(client: &Client, number: u64) -> GraphId {
    let graph = Graph::builder("chain");
    let id = graph.id();
    let a = graph.node("a", &Charge(2));
    let b = graph.node("b", &Charge(number)).after(a);
    graph.node("c", &Charge(6)).after(b);
    graph.enqueue(client).await.unwrap();
    id
}

async fn states(client: &Client, graph: GraphId) -> Vec<&'static str> {
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    detail.nodes.iter().map(|node| node.state.word()).collect()
}

async fn a_graph_is_retried_and_what_succeeded_stays(subject: Subject) {
    let client = &subject.client;
    let shop = shop(true);
    let worker = worker(client, &shop);
    let graph = chain(client, 4).await;
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Failed);
    assert_eq!(states(client, graph).await, ["dead", "skipped", "skipped"]);
    shop.is_down.store(false, Ordering::SeqCst);
    let retried = client.retry_graph(graph).by("ann", "it is up").await.unwrap();
    assert_eq!((retried.generation, retried.nodes), (2, 3));
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(shop.runs.load(Ordering::SeqCst), 4);
    let retried = client.retry_graph(graph).from(name("b")).await.unwrap();
    assert_eq!((retried.generation, retried.nodes), (3, 2));
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(shop.runs.load(Ordering::SeqCst), 6);
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    assert_eq!(detail.line.generation, 3);
    worker.shutdown().await;
}

async fn a_node_is_requeued_with_another_input_and_all_below_it_runs_again(subject: Subject) {
    let client = &subject.client;
    let shop = shop(false);
    let worker = worker(client, &shop);
    let graph = chain(client, 3).await;
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Failed);
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    let job = detail.nodes[1].job;
    client.requeue(job).input(&Charge(8)).by("ann", "it was odd").await.unwrap();
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(shop.runs.load(Ordering::SeqCst), 4);
    let refused = client.requeue(job).await.unwrap_err();
    assert!(matches!(refused, RetryError::Left { state: JobState::Ended(_), .. }), "{refused}");
    worker.shutdown().await;
}

async fn what_cannot_be_retried_is_refused_by_name(subject: Subject) {
    let client = &subject.client;
    let nobody = Client::new_graph_id();
    let refused = client.retry_graph(nobody).await.unwrap_err().to_string();
    assert_eq!(refused, format!("there is no graph {nobody}: it was never enqueued, or has been pruned"));
    let graph = chain(client, 4).await;
    let refused = client.retry_graph(graph).await.unwrap_err().to_string();
    assert!(refused.starts_with(&format!("there is nothing to retry in graph {graph} (what failed)")), "{refused}");
    let refused = client.retry_graph(graph).from(name("z")).await.unwrap_err().to_string();
    assert_eq!(refused, format!("graph {graph} is not retried: it has no node z"));
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    assert_eq!((detail.line.stop, detail.line.generation), (None, 1), "nothing was written");
}

async fn a_retry_that_nobody_carries_on_is_carried_on_by_a_worker(subject: Subject) {
    let client = &subject.client;
    let shop = shop(true);
    let first = worker(client, &shop);
    let graph = chain(client, 4).await;
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Failed);
    first.shutdown().await;
    shop.is_down.store(false, Ordering::SeqCst);
    // Somebody begins it and dies; its grace is over at once.
    let change = Change::BeginRetry { graph, mode: RetryMode::Failed, grace: std::time::Duration::ZERO };
    let order = Order { actor: "ann".into(), reason: String::new(), changes: vec![change] };
    client.store().apply(order).await.unwrap();
    let worker = worker(client, &shop);
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    assert_eq!((detail.line.stop, detail.line.generation), (None, 2));
    worker.shutdown().await;
}

async fn a_graph_is_restarted_under_another_id(subject: Subject) {
    let client = &subject.client;
    let shop = shop(false);
    let worker = worker(client, &shop);
    let graph = chain(client, 4).await;
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    let id = Client::new_graph_id();
    assert_eq!(client.restart_graph(graph).id(id).await.unwrap(), id);
    assert_eq!(client.restart_graph(graph).id(id).await.unwrap(), id, "it is the same");
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(shop.runs.load(Ordering::SeqCst), 6);
    let old = client.inspect().graph(graph).await.unwrap().unwrap();
    let new = client.inspect().graph(id).await.unwrap().unwrap();
    assert_eq!((old.restarts, new.line.restart_of), (vec![id], Some(graph)));
    assert!(old.nodes.iter().zip(&new.nodes).all(|(old, new)| old.name == new.name && old.job != new.job));
    let taken = client.restart_graph(id).id(graph).await.unwrap_err();
    assert!(matches!(taken, RestartError::Enqueue(_)), "{taken}");
    let nobody = client.restart_graph(Client::new_graph_id()).await.unwrap_err();
    assert!(matches!(nobody, RestartError::UnknownGraph { .. }), "{nobody}");
    worker.shutdown().await;
}

async fn a_graph_whose_key_another_one_has_is_not_retried(subject: Subject) {
    let client = subject.client.clone();
    let shop = shop(true);
    let worker = worker(&client, &shop);
    let start = async || {
        let graph = Graph::builder("import").unique("today");
        graph.node("a", &Charge(2));
        graph.enqueue(&client).await.unwrap()
    };
    let first = start().await;
    assert_eq!(first.wait(&client).await.unwrap(), GraphEnd::Failed);
    let second = start().await;
    assert_ne!(second.id(), first.id(), "the first one has ended");
    assert_eq!(second.wait(&client).await.unwrap(), GraphEnd::Failed);
    let again = client.retry_graph(first.id()).await.unwrap();
    assert_eq!(again.generation, 2, "nobody has the key");
    assert_eq!(first.wait(&client).await.unwrap(), GraphEnd::Failed);
    shop.is_down.store(false, Ordering::SeqCst);
    let third = Graph::builder("import").unique("today");
    third.node("a", &Charge(2)).delay(Duration::from_secs(3_600));
    let third = third.enqueue(&client).await.unwrap();
    let refused = client.retry_graph(first.id()).await.unwrap_err();
    let by = KeyHolder::Graph(third.id());
    assert!(matches!(refused, RetryError::GraphKeyTaken { id, by: has } if id == first.id() && has == by), "{refused}");
    client.cancel_graph(third.id(), "ann", "").await.unwrap().unwrap();
    third.wait(&client).await.unwrap();
    client.retry_graph(first.id()).await.unwrap();
    assert_eq!(first.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    worker.shutdown().await;
}

/// Waits until its rules hold a graph back.
async fn put_off(client: &Client, graph: GraphId) {
    loop {
        let detail = client.inspect().graph(graph).await.unwrap().unwrap();
        if detail.line.stop == Some(StopReason::Retry) {
            assert_eq!(detail.stopped.unwrap().actor, "towpath");
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn a_graph_is_tried_again_by_its_own_rules(subject: Subject) {
    let client = subject.client.clone();
    let (runs, mends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = (Arc::clone(&runs), Arc::clone(&mends));
    let handle = move |job: Charge, _: Context| {
        let (runs, mends) = seen.clone();
        async move {
            if job.0 == 1 {
                // The third generation finds it mended.
                return if mends.fetch_add(1, Ordering::SeqCst) < 2 { Err(Failure::new("down")) } else { Ok(7) };
            }
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(job.0)
        }
    };
    let worker = Worker::builder(&client).handle(handle).start().unwrap();
    let graph = Graph::builder("nightly").retry(3, Duration::from_millis(20));
    let mended = graph.node("a", &Charge(2)).then("b", &Charge(1));
    let after = mended.then("c", &Charge(4)).job();
    let mended = mended.job();
    let graph = graph.enqueue(&client).await.unwrap();
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!((client.output(&mended).await.unwrap(), client.output(&after).await.unwrap()), (7, 4));
    assert_eq!((runs.load(Ordering::SeqCst), mends.load(Ordering::SeqCst)), (2, 3), "what succeeded stays");
    let line = client.inspect().graph(graph.id()).await.unwrap().unwrap().line;
    assert_eq!((line.generation, line.stop), (3, None));
    let audit = client.inspect().audit(Page { after: None, limit: 100 }).await.unwrap();
    let begun: Vec<&AuditLine> = audit.iter().filter(|line| line.action == "retry").collect();
    assert_eq!(begun.len(), 2);
    assert!(begun.iter().all(|line| line.actor == "towpath" && line.target == graph.id().to_string()));
    assert_eq!(begun[0].reason, "its rules: generation 3 of 3, after 20ms");
    worker.shutdown().await;
}

async fn a_graph_that_gives_up_is_undone_once_and_only_then(subject: Subject) {
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "refund")]
    struct Refund;

    let client = subject.client.clone();
    let shop = shop(false);
    let charges = Arc::clone(&shop);
    let seen = Arc::new(AtomicU32::new(0));
    let at_refund = Arc::clone(&seen);
    let worker = Worker::builder(&client)
        .handle(move |job: Charge, _: Context| {
            let shop = Arc::clone(&charges);
            async move {
                shop.runs.fetch_add(1, Ordering::SeqCst);
                if job.0.is_multiple_of(2) { Ok(job.0) } else { Err(Failure::new("odd")) }
            }
        })
        .handle(move |_: Refund, _: Context| {
            let (shop, seen) = (Arc::clone(&shop), Arc::clone(&at_refund));
            async move {
                seen.fetch_add(shop.runs.load(Ordering::SeqCst), Ordering::SeqCst);
                Ok::<_, Failure>(())
            }
        })
        .start()
        .unwrap();
    let graph = Graph::builder("checkout").retry(3, Duration::from_millis(5));
    let paid = graph.node("a", &Charge(2));
    paid.undo("refund", &Refund);
    paid.then("b", &Charge(3));
    let graph = graph.enqueue(&client).await.unwrap();
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Failed);
    assert_eq!(seen.load(Ordering::SeqCst), 4, "one undo, behind `a` and three tries of `b`");
    let detail = client.inspect().graph(graph.id()).await.unwrap().unwrap();
    assert_eq!((detail.line.generation, detail.undone().len()), (3, 1));
    worker.shutdown().await;
}

async fn a_graph_that_waits_for_its_retry_can_be_cancelled_or_retried_at_once(subject: Subject) {
    let client = subject.client.clone();
    let shop = shop(true);
    let worker = worker(&client, &shop);
    let start = async || {
        let graph = Graph::builder("patient").retry(5, Duration::from_secs(86_400));
        graph.node("a", &Charge(2));
        let graph = graph.enqueue(&client).await.unwrap();
        put_off(&client, graph.id()).await;
        graph
    };
    let (cancelled, retried) = (start().await, start().await);
    client.cancel_graph(cancelled.id(), "ann", "enough").await.unwrap().unwrap();
    assert_eq!(cancelled.wait(&client).await.unwrap(), GraphEnd::Failed);
    shop.is_down.store(false, Ordering::SeqCst);
    let done = client.retry_graph(retried.id()).by("ann", "it is up").await.unwrap();
    assert_eq!((done.generation, done.nodes), (2, 1));
    assert_eq!(retried.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    let line = client.inspect().graph(cancelled.id()).await.unwrap().unwrap().line;
    assert_eq!((line.generation, line.stop), (1, Some(StopReason::Cancel)));
    worker.shutdown().await;
}

async fn a_retry_that_a_worker_has_put_off_is_another_workers_to_carry_on(subject: Subject) {
    let client = subject.client.clone();
    let shop = shop(true);
    let first = worker(&client, &shop);
    let graph = Graph::builder("handed-on").retry(2, Duration::from_millis(300));
    graph.node("a", &Charge(2));
    let graph = graph.enqueue(&client).await.unwrap();
    put_off(&client, graph.id()).await;
    first.shutdown().await;
    shop.is_down.store(false, Ordering::SeqCst);
    let second = worker(&client, &shop);
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    second.shutdown().await;
}

const PAID: Signal<u64> = Signal::new("paid");

/// Waits to be paid, and ships. There is no van in its first chapter.
const SELL: Durable<u64, u64, Failure> = Durable::new("sell", 1, Duration::from_secs(600), &sell);
async fn sell(cx: Cx<'_>, price: u64) -> Result<u64, Failure> {
    let paid = cx.signal(PAID).await;
    if paid != price {
        return Err(Failure::permanent(format!("{paid} is not {price}")));
    }
    if cx.chapter() == 1 { Err(Failure::permanent("no van")) } else { Ok(paid + 1) }
}

async fn a_durable_function_begins_anew_with_what_it_was_sent(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(SELL).start().unwrap();
    let graph = Graph::builder("order");
    let run = RunId::new(&format!("{}/sell", graph.id())).unwrap();
    let sell = graph.durable("sell", SELL, &7).job();
    let job = sell.id();
    let graph = graph.enqueue(client).await.unwrap();
    client.signal(run.as_str(), PAID, &7).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    client.retry_graph(graph.id()).by("ann", "a van is back").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let detail = client.inspect().job(job).await.unwrap().unwrap();
    assert_eq!(detail.run.unwrap().chapter, 2);
    assert_eq!(client.output(&sell).await.unwrap(), 8);
    worker.shutdown().await;
}

async fn whoever_retries_a_graph_at_the_same_time_is_told_the_same(subject: Subject) {
    let client = &subject.client;
    let shop = shop(true);
    let graph = Graph::builder("wide");
    for at in 0..1_200 {
        graph.node(format!("n{at}"), &Charge(2));
    }
    let enqueued = graph.enqueue(client).await.unwrap();
    let works = worker(client, &shop);
    assert_eq!(enqueued.wait(client).await.unwrap(), GraphEnd::Failed);
    works.shutdown().await;
    let retries = (0..6).map(|_| {
        let (client, id) = (client.clone(), enqueued.id());
        tokio::spawn(async move { client.retry_graph(id).await })
    });
    let mut told = 0;
    for retry in retries.collect::<Vec<_>>() {
        match retry.await.unwrap() {
            Ok(retried) => {
                assert_eq!((retried.generation, retried.nodes), (2, 1_200));
                told += 1;
            }
            // It came when all was over.
            Err(RetryError::Nothing { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(told > 0);
}
