//! Graphs written as JSON, and the nodes that the product performs itself: gates of expressions, waits, timers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::State;
use towpath::{
    Client, Context, End, Error, Failure, Graph, GraphEnd, GraphId, Job, Placed, Signal, SkipKind, WaitFor, Worker,
    WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_graph_of_json_runs_and_is_written_once_under_its_id,
    a_gate_takes_the_first_branch_whose_expression_holds,
    a_gate_that_cannot_decide_fails_with_its_branches,
    an_if_that_does_not_hold_skips_its_node,
    a_node_waits_for_its_signal_and_leaves_what_it_carries,
    a_wait_that_is_over_fails_its_node,
    a_wait_that_is_over_waits_anew_when_its_graph_is_retried,
    a_wait_ends_with_its_graph,
    what_is_wrong_with_expressions_is_said_before_anything_is_written,
);

/// Leaves its input.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "echo", output = serde_json::Value, attempts = 1)]
#[serde(transparent)]
struct Echo(serde_json::Value);

/// Leaves what the wait above it was sent.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "told", output = String)]
struct Told;

const APPROVED: Signal<String> = Signal::new("approved");

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client)
        .handle(|job: Echo, _| async move { Ok::<_, Failure>(job.0) })
        .handle(|_: Told, cx: Context| async move {
            Ok::<_, Failure>(cx.ancestor_named::<WaitFor<String>>("approve").await?.into_output()?)
        })
        .start()
        .unwrap()
}

async fn states(client: &Client, graph: GraphId) -> Vec<(String, State)> {
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    detail.nodes.iter().map(|node| (node.name.to_string(), node.state)).collect()
}

async fn state(client: &Client, graph: GraphId, node: &str) -> State {
    states(client, graph).await.into_iter().find(|(name, _)| name == node).unwrap().1
}

async fn error(client: &Client, graph: GraphId, node: &str) -> String {
    let detail = client.inspect().graph(graph).await.unwrap().unwrap();
    let job = detail.nodes.iter().find(|n| n.name.as_str() == node).unwrap().job;
    client.wait(job).await.unwrap().error.unwrap()
}

const UNTAKEN: State = State::Ended(End::Skipped(SkipKind::Untaken));
const SUCCEEDED: State = State::Ended(End::Succeeded);
const DEAD: State = State::Ended(End::Dead);

async fn a_graph_of_json_runs_and_is_written_once_under_its_id(subject: Subject) {
    let client = &subject.client;
    let id = Client::new_graph_id();
    let text = format!(
        r#"{{"id": "{id}", "name": "sums", "nodes": [
            {{"name": "a", "kind": "echo", "input": {{"z": 1.50, "a": 2}}}},
            {{"name": "rest", "timer": "1ms", "after": "a"}},
            {{"name": "b", "kind": "echo", "input": 7, "after": ["a", {{"node": "rest", "on": "finished"}}]}}
        ]}}"#
    );
    let first = client.enqueue_graph_json(&text).await.unwrap();
    assert_eq!((first.id(), first.placed()), (id, Placed::Inserted));
    assert_eq!(client.enqueue_graph_json(&text).await.unwrap().placed(), Placed::Existing);
    let worker = worker(client);
    assert_eq!(first.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let detail = client.inspect().graph(id).await.unwrap().unwrap();
    let output = client.wait(detail.nodes[0].job).await.unwrap().output.unwrap();
    assert_eq!(output.decode::<serde_json::Value>().unwrap(), serde_json::json!({ "z": 1.5, "a": 2 }));
    worker.shutdown().await;
}

async fn a_gate_takes_the_first_branch_whose_expression_holds(subject: Subject) {
    let client = &subject.client;
    let graph = Graph::builder("route").input(&serde_json::json!({ "limit": 10 }));
    let price = graph.node("price", &Echo(serde_json::json!({ "total": 12 })));
    let between = price.then("between", &Echo(serde_json::Value::Null));
    let branches =
        [("small", "outputs.price.total < input.limit"), ("large", "outputs.price.total >= 12"), ("other", "true")];
    let route = graph.gate("route", branches).after(between);
    for label in ["small", "large", "other"] {
        route.branch_named(label).then(label, &Echo(serde_json::Value::Null));
    }
    let graph = graph.build().unwrap();
    let gate = graph.job::<towpath::ExpressionGate>("route").unwrap();
    let worker = worker(client);
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.output(&gate).await.unwrap(), "large");
    for (node, expected) in [("small", UNTAKEN), ("large", SUCCEEDED), ("other", UNTAKEN)] {
        assert_eq!(state(client, graph.id(), node).await, expected, "{node}");
    }
    worker.shutdown().await;
}

async fn a_gate_that_cannot_decide_fails_with_its_branches(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    for (expression, why) in [
        ("outputs.a.n > 5", "no expression holds: let the last be \"true\"; the branches are yes, no"),
        (
            "outputs.a.gone > 5",
            "branch yes: `outputs.a.gone > 5`: there is no field `gone`: ask with has(…) first; the branches are yes, no",
        ),
        ("outputs.a.n", "branch yes: `outputs.a.n` is neither true nor false, but 3; the branches are yes, no"),
    ] {
        let graph = Graph::builder("gate");
        let a = graph.node("a", &Echo(serde_json::json!({ "n": 3 })));
        graph.gate("gate", [("yes", expression), ("no", "false")]).after(a);
        let graph = graph.enqueue(client).await.unwrap();
        assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
        assert_eq!(error(client, graph.id(), "gate").await, why);
    }
    worker.shutdown().await;
}

async fn an_if_that_does_not_hold_skips_its_node(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let text = r#"{"name": "g", "nodes": [
        {"name": "a", "kind": "echo", "input": {"n": 3}},
        {"name": "more", "kind": "echo", "after": "a", "if": "outputs.a.n > 3"},
        {"name": "less", "kind": "echo", "after": "a", "if": "outputs.a.n <= 3"},
        {"name": "last", "kind": "echo", "after": ["a", {"node": "more", "on": "joined"}, {"node": "less", "on": "joined"}]}
    ]}"#;
    let graph = client.enqueue_graph_json(text).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    for (node, expected) in [("more?", SUCCEEDED), ("more", UNTAKEN), ("less", SUCCEEDED), ("last", SUCCEEDED)] {
        assert_eq!(state(client, graph.id(), node).await, expected, "{node}");
    }
    worker.shutdown().await;
}

async fn a_node_waits_for_its_signal_and_leaves_what_it_carries(subject: Subject) {
    let client = &subject.client;
    let graph = Graph::builder("article");
    let early = graph.wait_for("early", APPROVED);
    let approve = graph.wait_for("approve", APPROVED).within(Duration::from_secs(3_600)).after(early);
    let told = approve.then("told", &Told).job();
    let graph = graph.enqueue(client).await.unwrap();
    // One that comes before anybody waits is kept.
    client.signal_node(graph.id(), "early", APPROVED, &"go".to_owned()).await.unwrap();
    let worker = worker(client);
    client.signal_node(graph.id(), "approve", APPROVED, &"by Ann".to_owned()).await.unwrap();
    assert_eq!(client.output(&told).await.unwrap(), "by Ann");
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    worker.shutdown().await;
}

async fn a_wait_that_is_over_fails_its_node(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("article");
    let approve = graph.wait_for("approve", APPROVED).within(Duration::from_millis(20)).may_fail();
    approve.then("publish", &Echo(serde_json::Value::Null));
    approve.failed().then("remind", &Echo(serde_json::Value::Null));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(state(client, graph.id(), "approve").await, DEAD);
    assert_eq!(error(client, graph.id(), "approve").await, "no signal approved came within 20ms");
    assert_eq!(state(client, graph.id(), "remind").await, SUCCEEDED);
    worker.shutdown().await;
}

async fn a_wait_that_is_over_waits_anew_when_its_graph_is_retried(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("article");
    let approve = graph.wait_for("approve", APPROVED).within(Duration::from_millis(20));
    let told = approve.then("told", &Told).job();
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    // It has 20 ms again each time: on a slow machine the signal may come too late, and is there for the next one.
    while client.retry_graph(graph.id()).await.is_ok() {
        client.signal_node(graph.id(), "approve", APPROVED, &"by Ann".to_owned()).await.unwrap();
        if graph.wait(client).await.unwrap() == GraphEnd::Succeeded {
            break;
        }
    }
    assert_eq!(client.output(&told).await.unwrap(), "by Ann");
    worker.shutdown().await;
}

async fn a_wait_ends_with_its_graph(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("article");
    graph.wait_for("approve", APPROVED);
    graph.timer("rest").delay(Duration::from_secs(3_600));
    let graph = graph.enqueue(client).await.unwrap();
    client.cancel_graph(graph.id(), "ann", "not today").await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Cancelled);
    worker.shutdown().await;
}

async fn what_is_wrong_with_expressions_is_said_before_anything_is_written(subject: Subject) {
    let client = &subject.client;
    let text = r#"{"name": "g", "nodes": [
        {"name": "a", "kind": "echo"},
        {"name": "b", "kind": "echo"},
        {"name": "gate", "after": "a", "branches": {"x": "outputs.b.n > 1", "y": "1 +", "z": "params.q == otuputs"}},
        {"name": "c", "kind": "echo", "after": "d"}
    ]}"#;
    let Err(Error::Graph(invalid)) = client.enqueue_graph_json(text).await else { panic!("it was taken") };
    let problems: Vec<String> = invalid.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems[0], "c has an edge with d, and no node is named so: did you mean a?");
    assert_eq!(
        problems[1],
        "node gate: branch x: `outputs.b.n > 1` reads the node b, which is not above it: add an edge, or read another"
    );
    assert!(problems[2].starts_with("node gate: branch y: `1 +` is no CEL expression: "), "{}", problems[2]);
    assert!(problems[3].contains("there is no variable `otuputs`"), "{}", problems[3]);
    assert_eq!(problems.len(), 4);
    let graphs =
        client.inspect().graphs(towpath::inspect::GraphFilter::default(), Client::first_page(10)).await.unwrap();
    assert!(graphs.is_empty());
}
