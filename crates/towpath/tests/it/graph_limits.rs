//! Limits of graphs: the client's own, of all ways by which a graph or nodes come into a store.

use serde::{Deserialize, Serialize};
use serde_json::json;
use towpath::durable::ChildError;
use towpath::{
    Client, Context, Cx, Durable, Error, Failure, Graph, GraphEnd, GraphLimits, Job, NewAppend, Placed, Worker,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    more_than_a_client_allows_is_refused_with_the_limit_whichever_way_it_comes,
    an_append_is_judged_with_what_is_stored,
    handlers_and_runs_are_held_to_the_limits_of_their_worker,
    a_list_of_more_elements_than_the_worker_allows_fails_its_node,
    what_is_stored_is_restarted_under_narrower_limits,
    a_client_may_allow_more_than_the_defaults,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "step", attempts = 1)]
struct Step;

/// So many nodes, one after the other.
fn chain(nodes: usize) -> Graph {
    let graph = Graph::builder("chain");
    let mut last = graph.node("n0", &Step);
    for n in 1..nodes {
        last = last.then(format!("n{n}"), &Step);
    }
    graph.build().unwrap()
}

fn narrow(client: &Client, limits: GraphLimits) -> Client {
    client.clone().with_graph_limits(limits).unwrap()
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

async fn more_than_a_client_allows_is_refused_with_the_limit_whichever_way_it_comes(subject: Subject) {
    let client =
        narrow(&subject.client, GraphLimits::default().nodes(3).edges(2).depth(1).name_bytes(5).input_bytes(20));
    assert!(chain(3).enqueue(&client).await.is_ok());
    let much = "it has 4 nodes, at most 3 are allowed: split it, or raise the graph limit `nodes`";
    let edges = "it has 3 edges, at most 2 are allowed: split it, or raise the graph limit `edges`";
    let Err(Error::Graph(invalid)) = chain(4).enqueue(&client).await else { panic!() };
    assert_eq!(invalid.problems.iter().map(said).collect::<Vec<_>>(), [much, edges]);
    assert!(said(client.enqueue_graphs([chain(3), chain(4)]).await.unwrap_err()).contains(much));
    let text = chain(4).to_json().unwrap();
    assert!(said(client.enqueue_graph_json(&text).await.unwrap_err()).contains(much));

    // Whatever is wrong besides is said with it.
    let builder = Graph::builder("many");
    for n in 0..4 {
        builder.node(format!("n{n}"), &Step).after(builder.node("twice", &Step));
    }
    let problems = said(builder.enqueue(&client).await.unwrap_err());
    assert!(
        problems.contains("it has 8 nodes, at most 3 ") && problems.contains("two nodes are named twice"),
        "{problems}"
    );

    let builder = Graph::builder("g").input(&"x".repeat(40));
    builder.node("longer", &Step);
    let problems = said(builder.build().unwrap().enqueue(&client).await.unwrap_err());
    let input = "the graph's input: it has 42 bytes, at most 20 are allowed: make it shorter, or raise the graph limit `input_bytes`";
    for problem in [input, "node longer: its name has 6 bytes, at most 5 are allowed"] {
        assert!(problems.contains(problem), "{problems}");
    }
    // The graph that a node holds is written in the node's input.
    let client = narrow(&subject.client, GraphLimits::default().nodes(3).depth(1));
    let inner = |graph: &Graph| {
        let outer = Graph::builder("o");
        outer.inner("in", graph);
        outer.build().unwrap()
    };
    assert!(inner(&chain(3)).enqueue(&client).await.is_ok());
    let problems = said(inner(&chain(4)).enqueue(&client).await.unwrap_err());
    assert!(problems.contains("node in: in its graph: it has 4 nodes"), "{problems}");
    let problems = said(inner(&inner(&chain(1))).enqueue(&client).await.unwrap_err());
    assert!(problems.contains("its graph stands inside 1 others, at most 1 are allowed: enqueue it apart, or raise the graph limit `depth`"), "{problems}");
    assert!(
        said(client.with_graph_limits(GraphLimits::default().nodes(0)).unwrap_err())
            .contains("graph limits: nodes is 0")
    );
}

async fn an_append_is_judged_with_what_is_stored(subject: Subject) {
    let client = narrow(&subject.client, GraphLimits::default().nodes(3));
    let graph = chain(2).enqueue(&client).await.unwrap();
    let more = |name: &str| {
        let more = Graph::append(graph.id());
        more.node(name, &Step);
        more
    };
    assert_eq!(more("third").enqueue(&client).await.unwrap(), Placed::Inserted);
    let problem = said(more("fourth").enqueue(&client).await.unwrap_err());
    assert!(
        problem.contains(
            "it would have 4 nodes, at most 3 are allowed: begin another graph, or raise the graph limit `nodes`"
        ),
        "{problem}"
    );
    // One that was put together by hand, and another client.
    let nodes = vec![towpath::NewNode::new(
        "fourth".parse().unwrap(),
        towpath::NewJob::new(Client::new_job_id(), "step".parse().unwrap()),
    )];
    let new = NewAppend { graph: graph.id(), nodes, edges: Vec::new() };
    assert!(said(client.append(new.clone()).await.unwrap_err()).contains("it would have 4 nodes"));
    assert_eq!(subject.client.append(new).await.unwrap(), Placed::Inserted);
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "split", attempts = 1)]
struct Split;

async fn split(_: Split, cx: Context) -> Result<(), Failure> {
    let refused = cx.append(|more, this| {
        for n in 0..4 {
            more.node(format!("part-{n}"), &Step).after(this.clone());
        }
    });
    let Err(Error::Graph(problem)) = refused else { return Err(Failure::permanent("four are too many at once")) };
    assert!(problem.to_string().contains("it has 4 nodes, at most 3 are allowed"), "{problem}");
    for n in 0..3 {
        cx.append(|more, this| {
            more.node(format!("part-{n}"), &Step).after(this);
        })?;
    }
    Ok(())
}

const STARTS: Durable<(), (), Failure> = Durable::new("starts", 1, std::time::Duration::from_secs(3_600), &starts);
async fn starts(cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    let Err(ChildError::Refused(problem)) = cx.graph(&chain(4)).await else {
        return Err(Failure::permanent("four are too many"));
    };
    assert!(problem.contains("it has 4 nodes, at most 3 are allowed"), "{problem}");
    cx.graph(&chain(3)).await.map_err(Failure::permanent)
}

async fn handlers_and_runs_are_held_to_the_limits_of_their_worker(subject: Subject) {
    let client = narrow(&subject.client, GraphLimits::default().nodes(3));
    let worker = Worker::builder(&client)
        .handle(|_: Step, _: Context| async { Ok::<_, Failure>(()) })
        .handle(split)
        .durable(STARTS)
        .start()
        .unwrap();
    let builder = Graph::builder("grows");
    let job = builder.node("split", &Split).job();
    let graph = builder.enqueue(&client).await.unwrap();
    // Three at once are right by themselves, and one too many with the node that adds them: the store says so.
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Failed);
    let attempts = client.inspect().attempts(job.id()).await.unwrap();
    let problem = attempts[0].error.clone().unwrap();
    assert!(problem.contains("it would have 4 nodes, at most 3 are allowed"), "{problem}");
    let run = client.start(STARTS, "run", &()).await.unwrap();
    client.result(&run).await.unwrap();
    worker.shutdown().await;
}

async fn a_list_of_more_elements_than_the_worker_allows_fails_its_node(subject: Subject) {
    let client = narrow(&subject.client, GraphLimits::default().elements(3));
    let worker = Worker::builder(&client).handle(|_: Step, _: Context| async { Ok::<_, Failure>(()) }).start().unwrap();
    let list = |count: usize| {
        let graph = Graph::builder("list").input(&json!({ "list": vec![(); count] }));
        let each = graph.each::<Step>("each", "input.list").job();
        (graph, each)
    };
    let (graph, _) = list(3);
    let graph = graph.enqueue(&client).await.unwrap();
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    let (graph, each) = list(4);
    let graph = graph.enqueue(&client).await.unwrap();
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Failed);
    let problem = client.inspect().attempts(each.id()).await.unwrap().pop().unwrap().error.unwrap();
    assert!(
        problem.contains("has 4 elements, at most 3 are allowed: split it, or raise the graph limit `elements`"),
        "{problem}"
    );
    worker.shutdown().await;
}

async fn what_is_stored_is_restarted_under_narrower_limits(subject: Subject) {
    let graph = chain(4).enqueue(&subject.client).await.unwrap();
    let client = narrow(&subject.client, GraphLimits::default().nodes(3));
    let again = client.restart_graph(graph.id()).await.unwrap();
    assert_eq!(client.inspect().graph(again).await.unwrap().unwrap().nodes.len(), 4);
}

async fn a_client_may_allow_more_than_the_defaults(subject: Subject) {
    let default = GraphLimits::default();
    let count = default.nodes as usize + 1;
    let wide = Graph::builder("wide");
    for n in 0..count {
        wide.node(format!("n{n}"), &Step);
    }
    let wide = wide.build().unwrap();
    let refused = wide.clone().enqueue(&subject.client).await.unwrap_err();
    assert!(said(refused).contains("it has 20001 nodes, at most 20000 are allowed"));
    let client = narrow(&subject.client, default.nodes(default.nodes + 2));
    let graph = wide.enqueue(&client).await.unwrap();
    let more = |name: &str| {
        let more = Graph::append(graph.id());
        more.node(name, &Step);
        more
    };
    assert!(said(more("one").enqueue(&subject.client).await.unwrap_err()).contains("it would have 20002 nodes"));
    more("one").enqueue(&client).await.unwrap();
    assert!(said(more("two").enqueue(&client).await.unwrap_err()).contains("20003 nodes, at most 20002 are allowed"));
}
