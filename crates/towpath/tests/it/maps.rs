//! Nodes that stand for more than one job: graphs inside a graph, and maps over lists, on every store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use towpath::core::{JobId, State, builtin};
use towpath::{
    Client, Context, EachEnded, ElementEnd, End, Failure, Graph, GraphEnd, GraphId, Holds, InnerGraph, Job, Signal,
    Worker, WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_graph_in_a_graph_runs_with_its_input_and_leaves_what_its_last_nodes_left,
    a_node_ends_as_its_graph_ends,
    a_cancel_of_the_outer_graph_reaches_the_inner_one,
    a_node_and_its_graph_are_seen_from_each_other,
    a_node_that_is_retried_retries_its_graph,
    a_graph_that_was_retried_by_itself_is_taken_as_it_is,
    a_map_that_is_retried_does_only_what_had_not_succeeded,
    graphs_stand_inside_graphs_and_wait_for_signals_there,
    a_map_leaves_what_its_jobs_left_in_the_order_of_the_elements,
    ten_thousand_elements_leave_their_outputs_in_order,
    a_map_goes_on_whenever_its_workers_leave,
    a_map_never_has_more_elements_at_work_than_it_may,
    an_element_begins_when_any_other_has_ended,
    the_first_failure_of_an_element_fails_the_node_and_cancels_the_others,
    failures_are_collected_where_that_is_asked_for,
    what_is_no_list_or_too_much_fails_the_node,
    a_graph_for_each_element_has_the_element_as_its_input,
    a_cancel_reaches_the_elements_at_work,
    nodes_that_hold_more_are_appended_like_others,
    what_is_terminated_leaves_no_child_behind,
    a_map_of_json_puts_its_elements_into_the_input,
);

/// Leaves its input.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "echo", output = Value, attempts = 1)]
#[serde(transparent)]
struct Echo(Value);

/// Leaves the input of its graph, and what stands directly above it.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "given", output = Value)]
struct Given;

/// Leaves twice its input; odd hundreds fail.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "double", output = u32, attempts = 1)]
#[serde(transparent)]
struct Double(u32);

/// Is at work until it is told to end.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "hold", output = u32, attempts = 1)]
#[serde(transparent)]
struct Hold(u32);

/// Fails if it is 3 and nobody has mended that.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "tried", output = u32, attempts = 1)]
#[serde(transparent)]
struct Tried(u32);

/// Who is at work, and who may end.
#[derive(Default)]
struct Floor {
    at_work: AtomicU32,
    most: AtomicU32,
    begun: AtomicU32,
    /// Elements from this number on may end.
    from: AtomicU32,
    /// Elements below this one may end.
    below: AtomicU32,
}

fn worker(client: &Client) -> WorkerHandle {
    worker_on(client, Arc::default())
}

fn worker_on(client: &Client, floor: Arc<Floor>) -> WorkerHandle {
    let tried = Arc::clone(&floor);
    Worker::builder(client)
        .handle(move |job: Tried, _| {
            tried.begun.fetch_add(1, Ordering::SeqCst);
            let is_mended = job.0 != 3 || tried.from.load(Ordering::SeqCst) > 0;
            async move { if is_mended { Ok(10 * job.0) } else { Err(Failure::permanent("not yet")) } }
        })
        .handle(|job: Echo, _| async move {
            if job.0 == json!("bad") { Err(Failure::permanent("it is bad")) } else { Ok(job.0) }
        })
        .handle(|_: Given, cx: Context| async move {
            let above: BTreeMap<String, Value> = cx
                .upstream()
                .await?
                .into_iter()
                .filter_map(|one| Some((one.node.to_string(), one.output?.decode().ok()?)))
                .collect();
            Ok::<_, Failure>(json!({ "input": cx.graph_input::<Value>().await?, "above": above }))
        })
        .handle(|job: Double, _| async move {
            if job.0 % 200 == 100 { Err(Failure::permanent(format!("{} is bad", job.0))) } else { Ok(2 * job.0) }
        })
        .handle(move |job: Hold, cx: Context| {
            let floor = Arc::clone(&floor);
            async move {
                floor.begun.fetch_add(1, Ordering::SeqCst);
                let now = floor.at_work.fetch_add(1, Ordering::SeqCst) + 1;
                floor.most.fetch_max(now, Ordering::SeqCst);
                let may_end =
                    || job.0 < floor.below.load(Ordering::SeqCst) || job.0 >= floor.from.load(Ordering::SeqCst);
                while !may_end() && cx.cancellation().is_none() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                floor.at_work.fetch_sub(1, Ordering::SeqCst);
                if cx.cancellation().is_some() { Err(Failure::stopped()) } else { Ok(job.0) }
            }
        })
        .start()
        .unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn node(client: &Client, graph: GraphId, name: &str) -> (JobId, State) {
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    let node = detail.nodes.iter().find(|node| node.name.as_str() == name).unwrap();
    (node.job, node.state)
}

async fn output(client: &Client, graph: GraphId, name: &str) -> Value {
    let job = node(client, graph, name).await.0;
    let ended = client.wait(job).await.unwrap();
    match ended.output {
        Some(output) => output.decode().unwrap(),
        None => panic!("{name} is {}: {:?}", ended.state, ended.error),
    }
}

async fn error(client: &Client, graph: GraphId, name: &str) -> String {
    let job = node(client, graph, name).await.0;
    client.wait(job).await.unwrap().error.unwrap()
}

const SUCCEEDED: State = State::Ended(End::Succeeded);
const CANCELLED: State = State::Ended(End::Cancelled);

async fn a_graph_in_a_graph_runs_with_its_input_and_leaves_what_its_last_nodes_left(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let inner = Graph::builder("inner").input(&"its own");
    let first = inner.node("first", &Echo(json!(1)));
    first.then("last", &Given);
    first.then("other", &Echo(Value::Null));
    let inner = inner.build().unwrap();
    let graph = Graph::builder("outer");
    let read = graph.node("read", &Echo(json!({ "files": [1, 2] })));
    graph.inner("own", &inner);
    let from = graph.inner("from", &inner).input_from("outputs.read.files").after(read);
    from.then("after", &Given);
    let graph = graph.build().unwrap();
    let from = graph.job::<InnerGraph>("from").unwrap();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let left = json!({ "last": { "input": [1, 2], "above": { "first": 1 } }, "other": null });
    assert_eq!(output(client, graph.id(), "from").await, left);
    assert_eq!(output(client, graph.id(), "own").await["last"]["input"], json!("its own"));
    assert_eq!(output(client, graph.id(), "after").await["above"]["from"], left);
    let typed = client.output(&from).await.unwrap();
    assert_eq!(typed.of::<Value>("other").unwrap(), Some(Value::Null));
    assert_eq!(typed.of::<Value>("first").unwrap(), None, "another node waits for it");
    worker.shutdown().await;
}

async fn a_node_ends_as_its_graph_ends(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let bad = Graph::builder("bad");
    bad.node("x", &Echo(json!("bad"))).then("y", &Given);
    let bad = bad.build().unwrap();
    let waits = Graph::builder("waits");
    waits.wait_for("go", GO);
    let waits = waits.build().unwrap();
    let graph = Graph::builder("outer");
    let fails = graph.inner("fails", &bad);
    graph.node("after", &Given).after(fails.failed());
    graph.inner("waits", &waits).may_fail();
    let graph = graph.enqueue(client).await.unwrap();
    let inner = builtin::inner_graph(node(client, graph.id(), "waits").await.0, 1);
    until("the inner graph is there", async || client.inspect().graph(inner).await.unwrap().is_some()).await;
    client.cancel_graph(inner, "ann", "not today").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let text = error(client, graph.id(), "fails").await;
    assert!(text.contains("failed: node x is dead: it is bad"), "{text}");
    assert_eq!(node(client, graph.id(), "after").await.1, SUCCEEDED, "a failure is handled as any other");
    assert_eq!(node(client, graph.id(), "waits").await.1, CANCELLED);
    let cause = client.wait(node(client, graph.id(), "waits").await.0).await.unwrap().cause.unwrap().to_string();
    assert!(cause.contains("was cancelled by ann: not today"), "{cause}");
    worker.shutdown().await;
}

async fn a_cancel_of_the_outer_graph_reaches_the_inner_one(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let waits = Graph::builder("waits");
    waits.wait_for("go", GO);
    let graph = Graph::builder("outer");
    graph.inner("waits", &waits.build().unwrap());
    let graph = graph.enqueue(client).await.unwrap();
    let inner = builtin::inner_graph(node(client, graph.id(), "waits").await.0, 1);
    until("the inner graph is there", async || client.inspect().graph(inner).await.unwrap().is_some()).await;
    client.cancel_graph(graph.id(), "ann", "not today").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    assert_eq!(client.wait_graph(inner).await.unwrap(), GraphEnd::Cancelled, "it had ended before its node did");
    worker.shutdown().await;
}

async fn a_node_and_its_graph_are_seen_from_each_other(subject: Subject) {
    let client = &subject.client;
    let inner = Graph::builder("inner");
    inner.node("x", &Echo(json!(1)));
    let graph = Graph::builder("outer");
    let inner = graph.inner("inner", &inner.build().unwrap());
    graph.each::<Double>("each", "[1, 100, 3]").collect().after(inner);
    let graph = graph.enqueue(client).await.unwrap();
    let (inner, each) = (node(client, graph.id(), "inner").await.0, node(client, graph.id(), "each").await.0);
    assert_eq!(client.holds(inner).await.unwrap(), None, "it has not begun");
    let worker = worker(client);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let Some(Holds::Graph(id)) = client.holds(inner).await.unwrap() else { panic!("it holds a graph") };
    let x = node(client, id, "x").await.0;
    assert_eq!(client.holds(x).await.unwrap(), None, "it is an ordinary node");
    let holder = client.holder(id).await.unwrap().unwrap();
    let of = holder.node.unwrap();
    assert_eq!((holder.id, of.graph, of.name.as_str()), (inner, graph.id(), "inner"));
    assert_eq!(client.holder(graph.id()).await.unwrap(), None, "it was enqueued by itself");
    let progress = builtin::Progress { of: 3, done: 3, failed: 1, tries: vec![1] };
    assert_eq!(client.holds(each).await.unwrap(), Some(Holds::Elements(progress)));
    worker.shutdown().await;
}

async fn a_map_that_is_retried_does_only_what_had_not_succeeded(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    let worker = worker_on(client, Arc::clone(&floor));
    let begun = || floor.begun.load(Ordering::SeqCst);
    let graph = Graph::builder("tried");
    let each = graph.each::<Tried>("each", "[1, 2, 3, 4, 5, 6]").concurrency(1).job();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    client.retry_graph(graph.id()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    assert_eq!(begun(), 4, "1, 2 and 3, and 3 again");
    floor.from.store(1, Ordering::SeqCst);
    client.retry_graph(graph.id()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.output(&each).await.unwrap(), [10, 20, 30, 40, 50, 60]);
    assert_eq!(begun(), 8, "3 to 6");
    client.retry_graph(graph.id()).all().await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(begun(), 14, "it had succeeded as a whole, so all of it was to be done again");
    worker.shutdown().await;
}

async fn a_node_that_is_retried_retries_its_graph(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    let worker = worker_on(client, Arc::clone(&floor));
    let begun = || floor.begun.load(Ordering::SeqCst);
    let inner = Graph::builder("inner");
    inner.node("a", &Tried(1)).then("b", &Tried(3)).then("c", &Tried(5));
    let graph = Graph::builder("outer");
    graph.inner("inner", &inner.build().unwrap()).then("after", &Given);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let holder = node(client, graph.id(), "inner").await.0;
    let held = async || match client.holds(holder).await.unwrap() {
        Some(Holds::Graph(graph)) => graph,
        other => panic!("it holds {other:?}"),
    };
    let inner = held().await;
    client.retry_graph(graph.id()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    assert_eq!((held().await, begun()), (inner, 3), "1 and 3, and 3 again");
    floor.from.store(1, Ordering::SeqCst);
    client.retry_graph(graph.id()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!((held().await, begun()), (inner, 5), "3 and 5");
    assert_eq!(client.inspect().graph(inner).await.unwrap().unwrap().line.generation, 3);
    assert_eq!(output(client, graph.id(), "after").await["above"]["inner"], json!({ "c": 50 }));
    client.retry_graph(graph.id()).all().await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(begun(), 8, "it had succeeded, so it is done again as a whole");
    assert_ne!(held().await, inner);
    worker.shutdown().await;
}

async fn a_graph_that_was_retried_by_itself_is_taken_as_it_is(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    let worker = worker_on(client, Arc::clone(&floor));
    let inner = Graph::builder("inner");
    inner.node("a", &Tried(3));
    let inner = inner.build().unwrap();
    let graph = Graph::builder("outer").input(&1);
    graph.inner("inner", &inner).input_from("input");
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let held = builtin::inner_graph(node(client, graph.id(), "inner").await.0, 1);
    floor.from.store(1, Ordering::SeqCst);
    client.retry_graph(held).await.unwrap();
    assert_eq!(client.wait_graph(held).await.unwrap(), GraphEnd::Succeeded);
    client.retry_graph(graph.id()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(output(client, graph.id(), "inner").await, json!({ "a": 30 }));
    assert_eq!(floor.begun.load(Ordering::SeqCst), 2, "it is not done again");
    worker.shutdown().await;
}

async fn graphs_stand_inside_graphs_and_wait_for_signals_there(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let text = r#"{"name": "outer", "input": {"n": 7}, "nodes": [
        {"name": "one", "input_from": "input.n", "graph": {"name": "middle", "nodes": [
            {"name": "two", "input_from": "input + 1", "graph": {"name": "inner", "nodes": [
                {"name": "ask", "signal": "go"},
                {"name": "last", "kind": "given", "after": "ask", "input": null}
            ]}}
        ]}}
    ]}"#;
    let graph = client.enqueue_graph_json(text).await.unwrap();
    let middle = builtin::inner_graph(node(client, graph.id(), "one").await.0, 1);
    until("the graph inside", async || client.inspect().graph(middle).await.unwrap().is_some()).await;
    let inner = builtin::inner_graph(node(client, middle, "two").await.0, 1);
    client.signal_node(inner, "ask", GO, &"yes".to_owned()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let left = json!({ "two": { "last": { "input": 8, "above": { "ask": "yes" } } } });
    assert_eq!(output(client, graph.id(), "one").await, left);
    worker.shutdown().await;
}

/// A map of doubles over numbers, after a node that leaves them.
async fn doubles(client: &Client, numbers: Vec<u32>, concurrency: u32) -> GraphId {
    let graph = Graph::builder("doubles");
    let list = graph.node("list", &Echo(json!({ "numbers": numbers })));
    graph.each::<Double>("each", "outputs.list.numbers").after(list).concurrency(concurrency);
    graph.enqueue(client).await.unwrap().id()
}

async fn a_map_leaves_what_its_jobs_left_in_the_order_of_the_elements(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    // More than one chapter of the run holds, and none at all.
    let numbers: Vec<u32> = (0..700).map(|n| n * 2 + 1).rev().collect();
    let graph = doubles(client, numbers.clone(), 60).await;
    let empty = doubles(client, Vec::new(), 60).await;
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    let doubled: Vec<u32> = numbers.iter().map(|n| 2 * n).collect();
    assert_eq!(output(client, graph, "each").await, json!(doubled));
    assert_eq!(output(client, empty, "each").await, json!([]));
    let each = node(client, graph, "each").await.0;
    let run = client.inspect().job(each).await.unwrap().unwrap().run.unwrap();
    assert!(run.chapter > 1, "it is rebuilt from little");
    assert!(run.entries < 2_000, "{} lines", run.entries);
    assert!(run.arrived <= 300, "{} arrivals: those of earlier chapters are gone", run.arrived);
    let progress: builtin::Progress = client.published(run.id.as_str()).await.unwrap().unwrap();
    assert_eq!(progress.words(), "700 of 700 done");
    let jobs = client.inspect().job(builtin::element_job(each, 1, 699)).await.unwrap().unwrap();
    assert_eq!(jobs.line.state, SUCCEEDED);
    worker.shutdown().await;
}

async fn ten_thousand_elements_leave_their_outputs_in_order(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("many").input(&(0..10_000).map(|n| 2 * n + 1).collect::<Vec<u32>>());
    let each = graph.each::<Double>("each", "input").concurrency(1_000).job();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let left = client.output(&each).await.unwrap();
    assert!(left.iter().copied().eq((0..10_000).map(|n| 4 * n + 2)), "{} outputs", left.len());
    let run = client.inspect().job(each.id()).await.unwrap().unwrap().run.unwrap();
    assert!(run.entries < 10_000, "{} lines to be rebuilt from", run.entries);
    worker.shutdown().await;
}

async fn a_map_goes_on_whenever_its_workers_leave(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    floor.below.store(u32::MAX, Ordering::SeqCst);
    let graph = Graph::builder("holds");
    let list = graph.node("list", &Echo(json!((0..400).collect::<Vec<u32>>())));
    let each = graph.each::<Hold>("each", "outputs.list").after(list).concurrency(20).job();
    let graph = graph.enqueue(client).await.unwrap();
    let mut workers = 0;
    // Each stays until it has done some, and goes at whatever commit that is.
    while client.inspect().graph(graph.id()).await.unwrap().unwrap().line.end.is_none() {
        let before = floor.begun.load(Ordering::SeqCst);
        let worker = worker_on(client, Arc::clone(&floor));
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let is_over = client.inspect().graph(graph.id()).await.unwrap().unwrap().line.end.is_some();
            if is_over || floor.begun.load(Ordering::SeqCst) >= before + 7 {
                break;
            }
            assert!(Instant::now() < end, "nothing goes on: {before} have begun");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        worker.shutdown().await;
        workers += 1;
    }
    assert_eq!(client.output(&each).await.unwrap(), (0..400).collect::<Vec<u32>>());
    let begun = floor.begun.load(Ordering::SeqCst);
    assert_eq!(begun, 400, "what was begun was brought to its end by the worker that began it");
    assert!(workers > 1, "{workers} workers prove nothing");
}

async fn a_map_never_has_more_elements_at_work_than_it_may(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    floor.from.store(u32::MAX, Ordering::SeqCst);
    let worker = worker_on(client, Arc::clone(&floor));
    let graph = Graph::builder("holds");
    let list = graph.node("list", &Echo(json!((0..300).collect::<Vec<u32>>())));
    graph.each::<Hold>("each", "outputs.list").after(list).concurrency(3);
    let graph = graph.enqueue(client).await.unwrap();
    // Held one by one at first: one too many would stand there beside the others.
    for ended in 0..30 {
        until("three are at work", async || floor.begun.load(Ordering::SeqCst) >= ended + 3).await;
        floor.below.store(ended + 1, Ordering::SeqCst);
    }
    floor.below.store(u32::MAX, Ordering::SeqCst);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let (most, begun) = (floor.most.load(Ordering::SeqCst), floor.begun.load(Ordering::SeqCst));
    assert!(most <= 3, "{most} at work at once");
    assert_eq!(begun, 300, "each is done once, whatever chapter began it");
    worker.shutdown().await;
}

async fn an_element_begins_when_any_other_has_ended(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    // All but the first may end: those behind it do not wait for it.
    floor.from.store(1, Ordering::SeqCst);
    let worker = worker_on(client, Arc::clone(&floor));
    let graph = Graph::builder("holds");
    let list = graph.node("list", &Echo(json!((0..600).collect::<Vec<u32>>())));
    graph.each::<Hold>("each", "outputs.list").after(list).concurrency(2);
    let graph = graph.enqueue(client).await.unwrap();
    until("all others", async || floor.begun.load(Ordering::SeqCst) == 600).await;
    floor.below.store(1, Ordering::SeqCst);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(floor.begun.load(Ordering::SeqCst), 600);
    worker.shutdown().await;
}

async fn the_first_failure_of_an_element_fails_the_node_and_cancels_the_others(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let text = r#"{"name": "g", "nodes": [
        {"name": "list", "kind": "echo", "input": [1, "bad", 3]},
        {"name": "each", "after": "list", "map": {"over": "outputs.list", "each": {"graph": {"name": "e", "nodes": [
            {"name": "a", "kind": "echo?", "input": 1}
        ]}}}}
    ]}"#;
    assert!(client.enqueue_graph_json(text).await.is_err(), "what is wrong with it is said before anything is written");
    let graph = Graph::builder("g");
    let list = graph.node("list", &Echo(json!([0, 100, 0])));
    // The first and the last wait for ever.
    graph.each::<Hold>("holds", "outputs.list.map(n, 50)").after(list).may_fail();
    graph.each::<Double>("each", "[1, 100, 3]").after(list);
    let graph = graph.enqueue(client).await.unwrap();
    let text = error(client, graph.id(), "each").await;
    assert!(text.starts_with("element 1 failed (job ") && text.ends_with("): 100 is bad"), "{text}");
    client.cancel_graph(graph.id(), "ann", "").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    worker.shutdown().await;
}

async fn failures_are_collected_where_that_is_asked_for(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("g");
    let each = graph.each::<Double>("each", "[1, 100, 3]").collect();
    each.then("after", &Given);
    let graph = graph.build().unwrap();
    let each = graph.job::<EachEnded<Double>>("each").unwrap();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let ends = client.output(&each).await.unwrap();
    let bad = ElementEnd::Error("100 is bad".to_owned());
    assert_eq!(ends, [ElementEnd::Ok(2), bad, ElementEnd::Ok(6)]);
    let raw = json!([{ "ok": 2 }, { "error": "100 is bad" }, { "ok": 6 }]);
    assert_eq!(output(client, graph.id(), "each").await, raw);
    worker.shutdown().await;
}

async fn what_is_no_list_or_too_much_fails_the_node(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("g");
    let list = graph
        .node("list", &Echo(json!({ "text": "x", "many": vec![0; 20_001], "large": vec!["y".repeat(300_000); 3] })));
    graph.each::<Echo>("text", "outputs.list.text").after(list);
    graph.each::<Echo>("many", "outputs.list.many").after(list);
    graph.each::<Echo>("gone", "outputs.list.gone").after(list);
    graph.each::<Echo>("large", "[outputs.list.large, outputs.list.large]").after(list);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    for (node, said) in [
        ("text", "`outputs.list.text` is no list, but \"x\""),
        ("many", "`outputs.list.many` has 20001 elements, at most 20000 are allowed"),
        ("gone", "`outputs.list.gone`: there is no field \"gone\""),
        ("large", "the outputs of 2 of 2 elements have more than 1048576 bytes together, at most 1048576 are allowed"),
    ] {
        let text = error(client, graph.id(), node).await;
        assert!(text.contains(said), "{node}: {text}");
    }
    worker.shutdown().await;
}

async fn a_graph_for_each_element_has_the_element_as_its_input(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let page = Graph::builder("page");
    page.node("first", &Echo(json!(1))).then("last", &Given);
    let page = page.build().unwrap();
    let graph = Graph::builder("site");
    let list = graph.node("list", &Echo(json!(["a", "b"])));
    graph.each_graph("pages", "outputs.list", &page).after(list);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let of = |input: &str| json!({ "last": { "input": input, "above": { "first": 1 } } });
    assert_eq!(output(client, graph.id(), "pages").await, json!([of("a"), of("b")]));
    worker.shutdown().await;
}

async fn a_cancel_reaches_the_elements_at_work(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    floor.from.store(u32::MAX, Ordering::SeqCst);
    let worker = worker_on(client, Arc::clone(&floor));
    let graph = Graph::builder("holds");
    graph.each::<Hold>("each", "[1, 2, 3, 4, 5]").concurrency(3);
    let graph = graph.enqueue(client).await.unwrap();
    until("three are at work", async || floor.at_work.load(Ordering::SeqCst) == 3).await;
    client.cancel_graph(graph.id(), "ann", "not today").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    let each = node(client, graph.id(), "each").await.0;
    for element in 0..3 {
        let job = client.inspect().job(builtin::element_job(each, 1, element)).await.unwrap().unwrap();
        assert_eq!(job.line.state, CANCELLED, "element {element} had ended before its node did");
    }
    assert_eq!(floor.begun.load(Ordering::SeqCst), 3);
    worker.shutdown().await;
}

async fn what_is_terminated_leaves_no_child_behind(subject: Subject) {
    let client = &subject.client;
    let floor = Arc::<Floor>::default();
    floor.from.store(u32::MAX, Ordering::SeqCst);
    let worker = worker_on(client, Arc::clone(&floor));
    let waits = Graph::builder("waits");
    waits.wait_for("go", GO);
    let graph = Graph::builder("holds");
    graph.each::<Hold>("each", "[1, 2, 3, 4, 5]").concurrency(3);
    graph.inner("inner", &waits.build().unwrap());
    let graph = graph.enqueue(client).await.unwrap();
    let (each, inner) = (node(client, graph.id(), "each").await.0, node(client, graph.id(), "inner").await.0);
    let waits = builtin::inner_graph(inner, 1);
    until("three are at work", async || floor.at_work.load(Ordering::SeqCst) == 3).await;
    until("the inner graph is there", async || client.inspect().graph(waits).await.unwrap().is_some()).await;
    for name in ["each", "inner"] {
        client.terminate_run(&format!("{}/{name}", graph.id()), "ann", "not today").await.unwrap();
    }
    assert_eq!(client.wait_graph(waits).await.unwrap(), GraphEnd::Cancelled);
    for element in 0..3 {
        client.wait(builtin::element_job(each, 1, element)).await.unwrap();
    }
    assert_eq!(floor.at_work.load(Ordering::SeqCst), 0);
    worker.shutdown().await;
}

async fn nodes_that_hold_more_are_appended_like_others(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("grows");
    graph.node("list", &Echo(json!([1, 2])));
    let graph = graph.enqueue(client).await.unwrap();
    let inner = Graph::builder("inner");
    inner.node("last", &Given);
    let inner = inner.build().unwrap();
    let append = Graph::append(graph.id());
    let list = append.existing("list");
    let each = append.each::<Double>("each", "outputs.list").after(&list);
    append.inner("inner", &inner).input_from("outputs.each").after(each);
    append.wait_for("ask", GO);
    append.enqueue(client).await.unwrap();
    client.signal_node(graph.id(), "ask", GO, &"yes".to_owned()).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(output(client, graph.id(), "inner").await["last"]["input"], json!([2, 4]));
    assert_eq!(output(client, graph.id(), "ask").await, json!("yes"));
    worker.shutdown().await;
}

async fn a_map_of_json_puts_its_elements_into_the_input(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let text = r#"{"name": "g", "input": {"list": [1, {"b": 2}]}, "nodes": [
        {"name": "each", "map": {"over": "input.list", "each": {"kind": "echo", "input": {"width": 5}, "into": "/file/name"}}}
    ]}"#;
    let graph = client.enqueue_graph_json(text).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let left = json!([{ "width": 5, "file": { "name": 1 } }, { "width": 5, "file": { "name": { "b": 2 } } }]);
    assert_eq!(output(client, graph.id(), "each").await, left);
    worker.shutdown().await;
}

const GO: Signal<String> = Signal::new("go");
