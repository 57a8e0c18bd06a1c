//! Graphs made by the builder, at work: conditions, gates, and what nodes read of those above them.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use towpath::core::store::Placed;
use towpath::{
    AncestorError, Branch, Client, Context, End, Failure, Graph, GraphEnd, GraphHandle, Job, JobState, Queue,
    RetryPolicy, Worker, WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_graph_is_written_once_and_its_nodes_have_what_was_set,
    a_gate_takes_the_branch_that_its_state_says,
    an_if_inside_a_branch_that_was_not_taken_is_skipped_whole,
    a_gate_that_chooses_what_it_has_not_declared_dies_and_says_so,
    a_node_reads_what_lies_above_it,
    one_of_two_is_enough,
    a_graph_that_fails_fast_stops_the_rest_and_handles_the_failure,
);

#[derive(Serialize, Deserialize, Branch, Clone, Copy)]
enum Shipping {
    Express,
    Standard,
    #[branch("by-hand")]
    Pickup,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "price", output = u64, attempts = 1)]
struct Price(u64);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "route", gate = Shipping, attempts = 1)]
struct Route;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "is-large", gate = bool)]
struct IsLarge;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "note")]
struct Note;

/// Works until it is asked to stop.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "work-on")]
struct WorkOn;

/// Writes down what it reads.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "read", output = Vec<String>)]
struct Read;

/// A worker whose gate goes by what lies above it and by the application's own limit.
fn worker(client: &Client, ran: &Arc<Mutex<Vec<String>>>) -> WorkerHandle {
    let limit = Arc::new(100);
    let ran = ran.clone();
    Worker::builder(client)
        .queue("default", 10)
        .queue("stock", 10)
        .handle(|job: Price, _cx| async move { if job.0 == 0 { Err(Failure::new("no price")) } else { Ok(job.0) } })
        .handle(move |_: Route, cx: Context| {
            let limit = limit.clone();
            async move {
                let price = cx.ancestor::<Price>().await?.into_output()?;
                Ok::<_, Failure>(if price > *limit { Shipping::Express } else { Shipping::Standard })
            }
        })
        .handle(|_: IsLarge, cx: Context| async move {
            let prices = cx.ancestors::<Price>().await?;
            Ok::<_, Failure>(prices.iter().filter_map(|price| price.output).sum::<u64>() > 100)
        })
        .handle(move |_: Note, cx: Context| {
            ran.lock().unwrap().push(cx.node().unwrap().name.to_string());
            async { Ok::<_, Failure>(()) }
        })
        .handle(|_: WorkOn, cx: Context| async move {
            cx.cancelled().await;
            Err::<(), _>(Failure::stopped())
        })
        .handle(|_: Read, cx: Context| async move {
            let mut seen = Vec::new();
            let mut see = |read: Result<Option<u64>, AncestorError>| {
                seen.push(read.map_or_else(|e| e.to_string(), |output| format!("{output:?}")));
            };
            see(cx.ancestor::<Price>().await.map(|one| one.output));
            see(cx.ancestor_named::<Price>("eu").await.map(|one| one.output));
            see(cx.ancestor_named::<Price>("us").await.and_then(|one| one.into_output().map(Some)));
            see(cx.ancestor_named::<Price>("beside").await.map(|one| one.output));
            see(cx.ancestor_named::<Price>("note").await.map(|one| one.output));
            see(cx.ancestor::<Route>().await.map(|_| None));
            see(cx.ancestor::<Note>().await.map(|one| one.output.map(|()| 0)));
            Ok::<_, Failure>(seen)
        })
        .start()
        .unwrap()
}

async fn states(client: &Client, graph: &GraphHandle) -> Vec<(String, &'static str)> {
    let detail = client.inspect().graph(graph.id()).await.unwrap().unwrap();
    detail.nodes.into_iter().map(|n| (n.name.to_string(), n.state.word())).collect()
}

async fn a_graph_is_written_once_and_its_nodes_have_what_was_set(subject: Subject) {
    let client = &subject.client;
    let id = Client::new_graph_id();
    let graph = Graph::builder("settings").with_id(id).input(&"monday");
    graph
        .node("a", &Price(1))
        .queue("stock")
        .priority(5)
        .retry(RetryPolicy::attempts(3))
        .delay(std::time::Duration::from_secs(60))
        .tag("billing")
        .header("trace", "1");
    let graph = graph.build().unwrap();
    let first = graph.clone().enqueue(client).await.unwrap();
    let second = graph.clone().enqueue(client).await.unwrap();
    assert_eq!((first.id(), first.placed(), second.placed()), (id, Placed::Inserted, Placed::Existing));
    let job = graph.job::<Price>("a").unwrap();
    let detail = client.inspect().job(job.id()).await.unwrap().unwrap();
    assert_eq!((detail.line.queue, detail.line.priority), (Queue::new("stock").unwrap(), 5));
    assert_eq!((detail.rules.retry.attempts_max, detail.tags), (3, vec!["billing".to_owned()]));
    assert_eq!(detail.headers["trace"], "1");
    assert!(detail.line.due.is_some(), "it is not due yet");
    let stored = client.inspect().graph(id).await.unwrap().unwrap();
    assert_eq!(stored.input.unwrap().decode::<String>().unwrap(), "monday");
}

async fn a_gate_takes_the_branch_that_its_state_says(subject: Subject) {
    let client = &subject.client;
    let ran = Arc::default();
    let worker = worker(client, &ran);
    for (price, taken) in [(500, "fly"), (5, "load")] {
        ran.lock().unwrap().clear();
        let graph = Graph::builder("checkout");
        let route = graph.node("price", &Price(price)).then("route", &Route);
        let fly = route.branch(Shipping::Express).then("fly", &Note);
        let load = route.branch(Shipping::Standard).then("load", &Note);
        let call = route.branch(Shipping::Pickup).then("call", &Note);
        graph.node("hand-over", &Note).joins(route, (fly, load, call));
        let graph = graph.enqueue(client).await.unwrap();
        assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
        assert_eq!(*ran.lock().unwrap(), [taken, "hand-over"]);
        assert_eq!(client.recount(graph.id(), "test").await.unwrap(), 0);
    }
    worker.shutdown().await;
}

async fn an_if_inside_a_branch_that_was_not_taken_is_skipped_whole(subject: Subject) {
    let client = &subject.client;
    let ran = Arc::default();
    let worker = worker(client, &ran);
    let graph = Graph::builder("nested");
    let outer = graph.node("price", &Price(5)).then("outer", &IsLarge);
    let inner = outer.branch(true).then("inner", &IsLarge);
    let deep = inner.branch(true).then("deep", &Note);
    let closed = graph.node("closed", &Note).joins(inner, deep);
    inner.failed().then("handler", &Note);
    graph.node("last", &Note).joins(outer, closed);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(*ran.lock().unwrap(), ["last"]);
    let skipped: Vec<String> = states(client, &graph)
        .await
        .into_iter()
        .filter(|(_, state)| *state == "skipped")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(skipped, ["inner", "deep", "closed", "handler"]);
    worker.shutdown().await;
}

async fn a_gate_that_chooses_what_it_has_not_declared_dies_and_says_so(subject: Subject) {
    let client = &subject.client;
    let ran = Arc::default();
    let worker = worker(client, &ran);
    let graph = Graph::builder("old");
    // As an earlier release has stored it, which did not know the branch `express`.
    let mut old = client.job(&Route).build().unwrap();
    old.rules.labels.retain(|label| label.as_str() != "express");
    let route = graph.node_new("route", old).after(graph.node("price", &Price(500)));
    let job = route.job().id();
    route.branch_named("standard").then("load", &Note);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let ended = client.wait(job).await.unwrap();
    assert_eq!(ended.state, JobState::Ended(End::Dead));
    assert_eq!(ended.error.unwrap(), "the gate chose the branch express, and has only standard, by-hand");
    assert!(ran.lock().unwrap().is_empty());
    worker.shutdown().await;
}

async fn a_node_reads_what_lies_above_it(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client, &Arc::default());
    let graph = Graph::builder("reads");
    let eu = graph.node("eu", &Price(7));
    let us = graph.node("us", &Price(0));
    graph.node("beside", &Price(9));
    let note = graph.node("note", &Note).after((eu, us.finished()));
    let read = note.then("read", &Read).job();
    graph.enqueue(client).await.unwrap();
    assert_eq!(
        client.output(&read).await.unwrap(),
        [
            "2 nodes above are of kind price: eu, us: name one of them",
            "Some(7)",
            "node us has no output: it is dead (no price)",
            "no node above read is named beside: add an edge, or read another",
            "node note is of kind note, not price",
            "no node above read is of kind route: add an edge, or read another",
            "Some(0)",
        ]
    );
    worker.shutdown().await;
}

async fn one_of_two_is_enough(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client, &Arc::default());
    let graph = Graph::builder("spare");
    let eu = graph.node("eu", &Price(7));
    let us = graph.node("us", &Price(0));
    graph.node("go on", &Note).after([eu, us]).at_least(1);
    graph.node("maybe", &Price(0)).may_fail();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    worker.shutdown().await;
}

async fn a_graph_that_fails_fast_stops_the_rest_and_handles_the_failure(subject: Subject) {
    let client = &subject.client;
    let ran = Arc::default();
    let worker = worker(client, &ran);
    let graph = Graph::builder("fast").fail_fast();
    let bad = graph.node("price", &Price(0)).delay(std::time::Duration::from_millis(50));
    let long = graph.node("long", &WorkOn);
    long.then("next", &Note);
    bad.failed().then("tell", &Note).then("tell more", &Note);
    graph.node("clean", &Note).after(long.finished());
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let mut notes = ran.lock().unwrap().clone();
    notes.sort();
    assert_eq!(notes, ["clean", "tell", "tell more"]);
    let states = states(client, &graph).await;
    assert_eq!(states[1], ("long".to_owned(), "cancelled"));
    assert_eq!(states[2], ("next".to_owned(), "skipped"));
    worker.shutdown().await;
}
