//! Graphs by the public API: order, outputs, failed branches, cancel, append.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::NewAppend;
use towpath::core::State;
use towpath::{
    Cancellation, Client, Condition, Context, End, Failure, FailureMode, GraphEnd, GraphName, GraphRules, Job, NewEdge,
    NewGraph, NewNode, NodeName, Payload, Worker, WorkerHandle,
};

use crate::mortal::Mortal;
use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_diamond_runs_in_order_and_outputs_reach_children,
    a_failed_branch_skips_what_is_below_and_cleans_up,
    a_cancelled_graph_ends_cancelled_and_runs_nothing_more,
    a_cancel_without_a_worker_settles_everything,
    a_cancel_of_a_large_graph_lists_its_nodes_once_and_not_for_each_step,
    an_append_to_a_drained_graph_opens_it_again,
    a_wide_fan_out_and_in_ends,
    a_node_reads_what_its_graph_was_given,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "node", output = u64, attempts = 1)]
struct Work {
    act: String,
}

/// A worker whose nodes write down their name, and then fail, wait for a cancel, or add up what their parents left.
fn worker(client: &Client, seen: &Arc<Mutex<Vec<String>>>) -> WorkerHandle {
    let seen = seen.clone();
    Worker::builder(client)
        .handle(move |job: Work, cx: Context| {
            let seen = seen.clone();
            async move {
                seen.lock().unwrap().push(cx.node().unwrap().name.to_string());
                match job.act.as_str() {
                    "fail" => return Err(Failure::new("on purpose")),
                    "wait" => {
                        assert_eq!(cx.cancelled().await, Cancellation::Asked);
                        return Err(Failure::stopped());
                    }
                    _ => {}
                }
                let mut sum = 1;
                for parent in cx.upstream().await? {
                    sum += parent.output::<u64>()?.unwrap_or(0);
                }
                Ok(sum)
            }
        })
        .start()
        .unwrap()
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// `nodes`: (name, act). `edges`: (parent, child, condition).
fn graph(client: &Client, nodes: &[(&str, &str)], edges: &[(&str, &str, Condition)]) -> NewGraph {
    let node =
        |(n, act): &(&str, &str)| NewNode::new(name(n), client.job(&Work { act: (*act).into() }).build().unwrap());
    let edge =
        |(p, c, on): &(&str, &str, Condition)| NewEdge { parent: name(p), child: name(c), condition: on.clone() };
    NewGraph {
        id: Client::new_graph_id(),
        name: GraphName::new("test").unwrap(),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: nodes.iter().map(node).collect(),
        edges: edges.iter().map(edge).collect(),
    }
}

async fn states(client: &Client, id: towpath::GraphId) -> Vec<(String, State)> {
    let detail = client.inspect().graph(id).await.unwrap().unwrap();
    detail.nodes.into_iter().map(|n| (n.name.to_string(), n.state)).collect()
}

const OK: Condition = Condition::Succeeded;

async fn a_diamond_runs_in_order_and_outputs_reach_children(subject: Subject) {
    let client = &subject.client;
    let seen = Arc::default();
    let worker = worker(client, &seen);
    let nodes = [("a", ""), ("b", ""), ("c", ""), ("d", "")];
    let g = graph(client, &nodes, &[("a", "b", OK), ("a", "c", OK), ("b", "d", OK), ("c", "d", OK)]);
    let (id, last) = (g.id, g.nodes[3].job.id);
    client.enqueue_graph(g).await.unwrap();
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Succeeded);
    let order = seen.lock().unwrap().clone();
    assert_eq!((order.len(), order[0].as_str(), order[3].as_str()), (4, "a", "d"));
    let output = client.wait(last).await.unwrap().output.unwrap();
    assert_eq!(output.decode::<u64>().unwrap(), 5, "a 1, b and c 2 each, and its own 1");
    worker.shutdown().await;
}

async fn a_failed_branch_skips_what_is_below_and_cleans_up(subject: Subject) {
    let client = &subject.client;
    let seen = Arc::default();
    let worker = worker(client, &seen);
    let mut g = graph(
        client,
        &[("a", ""), ("bad", "fail"), ("below", ""), ("handle", ""), ("cleanup", ""), ("spare", "fail")],
        &[
            ("a", "bad", OK),
            ("bad", "below", OK),
            ("bad", "handle", Condition::Failed),
            ("below", "cleanup", Condition::Finished),
        ],
    );
    g.nodes[5].failure = FailureMode::MayFail;
    let id = g.id;
    client.enqueue_graph(g).await.unwrap();
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Failed);
    let detail = client.inspect().graph(id).await.unwrap().unwrap();
    let below = &detail.nodes[2];
    assert_eq!(below.state.word(), "skipped");
    assert_eq!(below.cause.as_ref().unwrap().to_string(), "bad is dead");
    let ran = seen.lock().unwrap().clone();
    assert!(
        ran.contains(&"handle".to_owned()) && ran.contains(&"cleanup".to_owned()) && !ran.contains(&"below".to_owned())
    );
    worker.shutdown().await;
}

async fn a_cancelled_graph_ends_cancelled_and_runs_nothing_more(subject: Subject) {
    let client = &subject.client;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let worker = worker(client, &seen);
    let g = graph(
        client,
        &[("waits", "wait"), ("next", ""), ("last", "")],
        &[("waits", "next", Condition::Finished), ("next", "last", OK)],
    );
    let id = g.id;
    client.enqueue_graph(g).await.unwrap();
    while seen.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let counts = client.cancel_graph(id, "ann", "enough").await.unwrap().unwrap();
    assert_eq!((counts.running, counts.unstarted, counts.ended), (1, 2, 0));
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Cancelled);
    for (node, state) in states(client, id).await {
        assert_eq!(state, State::Ended(End::Cancelled), "{node}");
    }
    assert_eq!(*seen.lock().unwrap(), ["waits"]);
    let more = graph(client, &[("more", "")], &[]);
    let refused = client.append(NewAppend { graph: id, nodes: more.nodes, edges: vec![] }).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "graph {id} is stopped to cancel: nothing can be added to it until a retry is through; or begin another graph"
        )
    );
    worker.shutdown().await;
}

async fn a_cancel_without_a_worker_settles_everything(subject: Subject) {
    let client = &subject.client;
    let g = graph(client, &[("a", ""), ("b", ""), ("c", "")], &[("a", "b", OK), ("b", "c", Condition::Finished)]);
    let id = g.id;
    client.enqueue_graph(g).await.unwrap();
    client.cancel_graph(id, "ann", "").await.unwrap().unwrap();
    for (node, state) in states(client, id).await {
        assert_eq!(state, State::Ended(End::Cancelled), "{node}");
    }
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Cancelled);
    let census = client.inspect().census().await.unwrap();
    assert_eq!((census.undecided, census.running, census.workers), (0, 0, 0));
}

async fn a_cancel_of_a_large_graph_lists_its_nodes_once_and_not_for_each_step(subject: Subject) {
    let store = Mortal::new(Arc::clone(subject.client.store()), usize::MAX);
    let client = &Client::new(store.clone());
    let names: Vec<String> = (0..1_200).map(|n| format!("n{n}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let g = graph(client, &nodes, &[]);
    let id = g.id;
    client.enqueue_graph(g).await.unwrap();
    let counts = client.cancel_graph(id, "ann", "").await.unwrap().unwrap();
    assert_eq!(counts.unstarted, 1_200);
    assert_eq!(client.inspect().graph_line(id).await.unwrap().unwrap().end, Some(GraphEnd::Cancelled));
    assert_eq!(store.lists(), 2, "once for all, and once to see that nothing is left");
}

async fn an_append_to_a_drained_graph_opens_it_again(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client, &Arc::default());
    let g = graph(client, &[("a", "")], &[]);
    let id = g.id;
    client.enqueue_graph(g).await.unwrap();
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Succeeded);
    let more = graph(client, &[("b", "fail")], &[]);
    let edges = vec![NewEdge::new(name("a"), name("b"))];
    client.append(NewAppend { graph: id, nodes: more.nodes, edges }).await.unwrap();
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Failed);
    assert_eq!(client.recount(id, "test").await.unwrap(), 0);
    worker.shutdown().await;
}

async fn a_wide_fan_out_and_in_ends(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client, &Arc::default());
    let names: Vec<String> = (0..1_000).map(|n| format!("n{n}")).collect();
    let mut nodes = vec![("first", ""), ("last", "")];
    let mut edges = Vec::new();
    for n in &names {
        nodes.push((n, ""));
        edges.push(("first", n.as_str(), OK));
        edges.push((n.as_str(), "last", OK));
    }
    let g = graph(client, &nodes, &edges);
    let (id, last) = (g.id, g.nodes[1].job.id);
    client.enqueue_graph(g).await.unwrap();
    assert_eq!(client.wait_graph(id).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.wait(last).await.unwrap().output.unwrap().decode::<u64>().unwrap(), 2_001);
    assert_eq!(client.recount(id, "test").await.unwrap(), 0);
    worker.shutdown().await;
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "day", output = String, attempts = 1)]
struct Day;

async fn a_node_reads_what_its_graph_was_given(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client)
        .handle(|_: Day, cx: Context| async move {
            let day: Option<String> = cx.graph_input().await?;
            Ok::<_, Failure>(day.unwrap_or_else(|| "no day".into()))
        })
        .start()
        .unwrap();
    for (input, said) in [
        (Some(Payload::json("monday").unwrap()), Ok("monday")),
        (None, Ok("no day")),
        (Some(Payload::json(&7).unwrap()), Err("cannot be read: invalid type: integer `7`, expected a string")),
    ] {
        let node = client.job(&Day).build().unwrap();
        let id = node.id;
        let graph = NewGraph {
            id: Client::new_graph_id(),
            name: GraphName::new("week").unwrap(),
            rules: GraphRules::default(),
            unique: None,
            input,
            nodes: vec![NewNode::new(name("a"), node)],
            edges: Vec::new(),
        };
        client.enqueue_graph(graph).await.unwrap();
        let ended = client.wait(id).await.unwrap();
        match said {
            Ok(said) => assert_eq!(ended.output.unwrap().decode::<String>().unwrap(), said),
            Err(said) => assert!(ended.error.as_deref().unwrap().contains(said), "{:?}", ended.error),
        }
    }
    let lone = client.enqueue(&Day).await.unwrap();
    assert_eq!(client.output(&lone).await.unwrap(), "no day");
    worker.shutdown().await;
}
