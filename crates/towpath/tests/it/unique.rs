//! Unique keys by the public API: whose handle one gets, and what becomes of the one that has the key.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{
    Client, Conflict, Context, Error, Failure, Graph, GraphEnd, GraphHandle, Hold, Job, KeyHolder, Perform, Placed,
    Refusal, Worker,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_second_job_with_a_key_is_the_first_one,
    a_debounced_job_runs_once_with_the_last_input,
    many_graphs_are_enqueued_at_once,
    a_graph_has_a_key_of_its_own,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "echo-number", output = u64)]
struct Echo(u64);

impl Perform for Echo {
    async fn perform(self, _cx: Context) -> Result<u64, Failure> {
        Ok(self.0)
    }
}

fn start(client: &Client) -> towpath::WorkerHandle {
    Worker::builder(client).perform::<Echo>().start().unwrap()
}

async fn a_second_job_with_a_key_is_the_first_one(subject: Subject) {
    let client = &subject.client;
    let first = client.job(&Echo(1)).unique("order-7").await.unwrap();
    let second = client.job(&Echo(2)).unique("order-7").await.unwrap();
    assert_eq!((second.id(), second.placed()), (first.id(), Placed::Held(KeyHolder::Job(first.id()))));
    let third = client.job(&Echo(3)).unique("order-7").unique_conflict(Conflict::Reject).await.unwrap_err();
    assert!(
        matches!(&third, Error::Refused(Refusal::KeyTaken { by: KeyHolder::Job(id), .. }) if *id == first.id()),
        "{third}"
    );
    assert_eq!(
        third.to_string(),
        format!("the unique key \"order-7\" is held by job {}: wait until it is free, or use that one", first.id())
    );
    let worker = start(client);
    assert_eq!(client.output(&second).await.unwrap(), 1, "the handle is that of the one that has the key");
    let fourth = client.job(&Echo(4)).unique("order-7").unique_hold(Hold::Started).await.unwrap();
    assert_eq!(fourth.placed(), Placed::Inserted, "its end has freed it");
    worker.shutdown().await;
    let long = "k".repeat(257);
    let refused = client.job(&Echo(5)).unique(&long).await.unwrap_err().to_string();
    assert!(refused.contains("has 257 bytes, at most 256 are allowed"), "{refused}");
}

async fn a_debounced_job_runs_once_with_the_last_input(subject: Subject) {
    let client = &subject.client;
    let debounce = Conflict::Debounce { at_most: None };
    let far =
        client.job(&Echo(1)).unique("shop").unique_conflict(debounce).delay(Duration::from_secs(3_600)).await.unwrap();
    let near = client.job(&Echo(2)).unique("shop").unique_conflict(debounce).await.unwrap();
    assert_eq!((near.id(), near.placed()), (far.id(), Placed::Replaced(far.id())));
    let worker = start(client);
    assert_eq!(client.output(&near).await.unwrap(), 2);
    worker.shutdown().await;
    assert_eq!(client.inspect().census().await.unwrap().jobs, 1);
}

async fn many_graphs_are_enqueued_at_once(subject: Subject) {
    let client = &subject.client;
    let import = |day: Option<&str>| {
        let graph = Graph::builder("import");
        let graph = day.into_iter().fold(graph, |graph, day| graph.unique(day));
        graph.node("a", &Echo(1));
        graph.build().unwrap()
    };
    let all = [import(Some("monday")), import(None), import(Some("monday"))];
    let again = all.clone();
    let graphs = client.enqueue_graphs(all).await.unwrap();
    let held = Placed::Held(KeyHolder::Graph(graphs[0].id()));
    assert_eq!(graphs.iter().map(GraphHandle::placed).collect::<Vec<_>>(), [Placed::Inserted, Placed::Inserted, held]);
    let placed = client.enqueue_graphs(again).await.unwrap();
    assert_eq!(placed.iter().map(GraphHandle::placed).collect::<Vec<_>>(), [Placed::Existing, Placed::Existing, held]);
    let worker = start(client);
    for graph in graphs {
        assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    }
    worker.shutdown().await;
    assert_eq!(client.inspect().census().await.unwrap().graphs, 2);
}

async fn a_graph_has_a_key_of_its_own(subject: Subject) {
    let client = &subject.client;
    let import = || {
        let graph = Graph::builder("import").unique("monday");
        graph.node("a", &Echo(1));
        graph
    };
    let first = import().enqueue(client).await.unwrap();
    let second = import().enqueue(client).await.unwrap();
    assert_eq!((second.id(), second.placed()), (first.id(), Placed::Held(KeyHolder::Graph(first.id()))));
    let worker = start(client);
    second.wait(client).await.unwrap();
    assert_eq!(import().enqueue(client).await.unwrap().placed(), Placed::Inserted);
    worker.shutdown().await;
    let graph = Graph::builder("import");
    graph.node_new("a", client.job(&Echo(1)).unique("x").build().unwrap());
    let refused = graph.build().unwrap_err().to_string();
    assert!(refused.contains("node a: has the unique key \"x\": give it to the graph"), "{refused}");
}
