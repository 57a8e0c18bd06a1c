//! Appends by the public API: to a graph that has ended, by name, and from a handler with its success.

use serde::{Deserialize, Serialize};
use towpath::core::State;
use towpath::{Client, Context, End, Failure, Graph, GraphEnd, Job, Placed, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_handler_adds_to_its_graph_with_its_success,
    a_handler_whose_nodes_are_refused_is_dead_and_says_why,
    a_graph_that_has_ended_grows_by_name,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "split", output = u32, attempts = 2)]
struct Split(u32);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "page", output = u32, attempts = 1)]
struct Page(u32);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bind", output = u32, attempts = 1)]
struct Bind;

/// Splits into pages, at the second attempt only; a page is its number, and what binds adds up.
fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client)
        .handle(|job: Split, cx: Context| async move {
            cx.append(|more, this| {
                let pages: Vec<_> = (1..=job.0).map(|n| this.then(format!("page-{n}"), &Page(n))).collect();
                more.node("bind", &Bind).after(pages).after(&this);
            })?;
            if cx.attempt() == 1 { Err(Failure::retry_after("not yet", std::time::Duration::ZERO)) } else { Ok(100) }
        })
        .handle(|job: Page, _: Context| async move { Ok::<_, Failure>(job.0) })
        .handle(|_: Bind, cx: Context| async move {
            let mut sum = 0;
            for parent in cx.upstream().await? {
                sum += parent.output::<u32>()?.unwrap_or(0);
            }
            Ok::<_, Failure>(sum)
        })
        .start()
        .unwrap()
}

#[test]
fn what_cannot_be_evaluated_is_refused_before_it_is_stored() {
    let more = Graph::append(Client::new_graph_id());
    more.each::<Page>("each", "outputs.(").after(more.existing("old"));
    more.each::<Page>("late", "outputs.late_one").after(more.node("first", &Bind));
    let problems = more.build().unwrap_err().to_string();
    assert!(problems.contains("node each: `over`: "), "{problems}");
    assert!(problems.contains("reads the node late_one, which is not above it"), "{problems}");
}

async fn a_handler_adds_to_its_graph_with_its_success(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("book");
    graph.node("split", &Split(4));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
    let detail = client.inspect().graph(graph.id()).await.unwrap().unwrap();
    let names: Vec<&str> = detail.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(
        names,
        ["split", "page-1", "page-2", "page-3", "page-4", "bind"],
        "of the first attempt nothing is there"
    );
    let bound = client.wait(detail.nodes[5].job).await.unwrap().output.unwrap();
    assert_eq!(bound.decode::<u32>().unwrap(), 110);
    worker.shutdown().await;
}

async fn a_handler_whose_nodes_are_refused_is_dead_and_says_why(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("book");
    let split = graph.node("split", &Split(1)).job();
    graph.node("page-1", &Page(9));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Failed);
    let ended = client.wait(split.id()).await.unwrap();
    assert_eq!(ended.state, State::Ended(End::Dead));
    let error = ended.error.unwrap();
    assert!(error.contains("has a node named page-1 already: rename it"), "{error}");
    worker.shutdown().await;
}

async fn a_graph_that_has_ended_grows_by_name(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let graph = Graph::builder("book");
    graph.node("page-1", &Page(1));
    let graph = graph.enqueue(client).await.unwrap();
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);

    let more = Graph::append(graph.id());
    let second = more.existing("page-1").then("page-2", &Page(2));
    let bind = more.node("bind", &Bind).after((more.existing("page-1").finished(), second)).job();
    assert_eq!(more.enqueue(client).await.unwrap(), Placed::Inserted);
    assert_eq!(client.output(&bind).await.unwrap(), 3);
    assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);

    let wrong = Graph::append(graph.id());
    wrong.node("again", &Bind).after(wrong.existing("page-7")).after(wrong.existing("page-8"));
    let refused = wrong.enqueue(client).await.unwrap_err().to_string();
    assert!(refused.contains("has no node named page-7, page-8"), "{refused}");
    let wrong = Graph::append(graph.id());
    wrong.node("end", &Bind);
    wrong.node("x", &Bind).queue("not a queue");
    let refused = wrong.enqueue(client).await.unwrap_err().to_string();
    assert!(refused.contains("end is kept") && refused.contains("node x"), "{refused}");
    worker.shutdown().await;
}
