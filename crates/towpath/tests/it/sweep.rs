//! Graphs whose counters a fault of a store has left wrong: they are found, repaired, and counted.

use serde::{Deserialize, Serialize};
use towpath::core::store::Page;
use towpath::{Client, Context, Failure, Graph, GraphEnd, GraphId, Job, Worker, rusqlite, tokio_postgres};

use crate::stores;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "work")]
struct Work;

/// `b` waits for `a`, once as it is, and once for a parent more than it has.
async fn pair(client: &Client) -> [GraphId; 2] {
    let mut graphs = Vec::new();
    for _ in 0..2 {
        let graph = Graph::builder("pair");
        graph.node("a", &Work).then("b", &Work);
        graphs.push(graph.enqueue(client).await.unwrap().id());
    }
    [graphs[0], graphs[1]]
}

async fn it_ends_once_it_is_swept(client: &Client, [sound, wrong]: [GraphId; 2]) {
    let worker = Worker::builder(client).handle(|_: Work, _: Context| async { Ok::<_, Failure>(()) }).start().unwrap();
    assert_eq!(client.wait_graph(sound).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.sweep().await.unwrap(), 1);
    assert_eq!(client.wait_graph(wrong).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.sweep().await.unwrap(), 0);
    assert_eq!(client.inspect().counts(10).await.unwrap().repaired, 1);
    let audit = client.inspect().audit(Page { after: None, limit: 10 }).await.unwrap();
    let lines: Vec<_> =
        audit.iter().map(|line| (line.actor.as_str(), line.target.clone(), line.outcome.as_str())).collect();
    assert_eq!(lines, [("towpath", wrong.to_string(), "repaired 1")]);
    worker.shutdown().await;
}

#[tokio::test]
async fn a_graph_that_is_miscounted_ends_once_it_is_swept_on_sqlite() {
    let subject = stores::sqlite();
    let graphs = pair(&subject.client).await;
    let file = rusqlite::Connection::open(subject.url.trim_start_matches("sqlite:")).unwrap();
    let text = "update node set \"left\" = 2 where name = 'b' and graph = (select graph from graph where id = ?1)";
    assert_eq!(file.execute(text, [&graphs[1].as_bytes()[..]]).unwrap(), 1);
    it_ends_once_it_is_swept(&subject.client, graphs).await;
}

#[tokio::test]
async fn a_graph_that_is_miscounted_ends_once_it_is_swept_on_postgres() {
    let Some(subject) = stores::postgres().await else { return };
    let graphs = pair(&subject.client).await;
    let (url, schema) = subject.url.split_once('#').unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let connected = tokio::spawn(connection);
    // Without a name, so that it passes through a transaction pooler too.
    let text = format!(
        "update {schema}.node set \"left\" = 2 where name = 'b'
         and graph = (select graph from {schema}.graph where id = '{}') returning job",
        graphs[1]
    );
    assert_eq!(client.query_typed(&text, &[]).await.unwrap().len(), 1);
    it_ends_once_it_is_swept(&subject.client, graphs).await;
    drop(client);
    connected.await.unwrap().unwrap();
}
