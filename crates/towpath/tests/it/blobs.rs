//! Large payloads that are kept elsewhere: in a table of the store, and in a folder.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::store::{BoxFuture, StoreResult};
use towpath::core::{BlobLine, BlobName, BlobRef, BlobStore, limits};
use towpath::{
    Client, DirBlobs, End, Failure, Graph, Job, JobState, Placed, StoreError, StoreErrorKind, Worker, rusqlite,
    tokio_postgres,
};

use crate::stores::{Subject, on_every_store, postgres, sqlite};

on_every_store!(
    what_is_large_goes_through_the_table_of_the_store,
    what_is_large_goes_through_a_folder,
    what_cannot_be_put_away_is_not_enqueued,
    without_a_home_what_is_large_is_refused,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "double", output = Vec<u8>, attempts = 1)]
struct Double(Vec<u8>);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "measure", output = usize, attempts = 1)]
struct Measure;

/// As JSON it has four bytes for each.
const LARGE: usize = 700_000;

fn worker(client: &Client) -> towpath::WorkerBuilder {
    Worker::builder(client)
        .handle(|job: Double, _| async move {
            let twice = [&job.0[..], &job.0[..]].concat();
            Ok::<_, Failure>(twice)
        })
        .handle(|_: Measure, cx: towpath::Context| async move {
            let parents = cx.upstream().await?;
            Ok::<_, Failure>(parents[0].output::<Vec<u8>>()?.unwrap_or_default().len())
        })
}

async fn what_is_large_goes_through_the_table_of_the_store(subject: Subject) {
    let client = subject.client.clone().keep_large_in_store(64 << 10);
    goes_through(&client, &subject.client).await;
}

async fn what_is_large_goes_through_a_folder(subject: Subject) {
    let dir = tempfile::tempdir().unwrap();
    let blobs = DirBlobs::new(dir.path().join("made/when/needed"));
    let client = subject.client.clone().keep_large(Arc::new(blobs.clone()), 64 << 10);
    goes_through(&client, &subject.client).await;
    // Inputs and outputs of the job that is there, what its repeat left, and the output of the node.
    assert_eq!(blobs.list(None, 10).await.unwrap().len(), 4);
}

async fn goes_through(client: &Client, plain: &Client) {
    let worker = worker(client).start().unwrap();
    let id = Client::new_job_id();
    let large = Double(vec![200; LARGE]);
    let job = client.job(&large).id(id).await.unwrap();
    let output = client.output(&job).await.unwrap();
    assert_eq!((output.len(), output.iter().all(|byte| *byte == 200)), (2 * LARGE, true));
    // The same content under the same id is the same job; another is not.
    assert_eq!(client.job(&large).id(id).await.unwrap().placed(), Placed::Existing);
    assert!(client.job(&Double(vec![201; LARGE])).id(id).await.is_err());

    // A node reads what its parent has left, wherever that is kept.
    let (graph, measured) = (Graph::builder("measured"), Client::new_job_id());
    let double = graph.node("double", &Double(vec![1; LARGE / 2]));
    graph.node("measure", &Measure).id(measured).after([double]);
    graph.build().unwrap().enqueue(client).await.unwrap();
    let ended = client.wait(measured).await.unwrap();
    assert_eq!(ended.output.unwrap().decode::<usize>().unwrap(), LARGE / 2 * 2);

    // In the store stands how it begins.
    let short = Duration::from_millis(1);
    let unserved = client.job(&large).keep_failed(short).queue("nobody").await.unwrap().id();
    let detail = client.inspect().job(unserved).await.unwrap().unwrap();
    let blob = BlobRef::of(&detail.input).unwrap().unwrap();
    assert!(blob.preview.starts_with("[200,200,") && blob.bytes > limits::PAYLOAD_BYTES_MAX as u64);
    assert_eq!(client.fetch(detail.input.clone()).await.unwrap().decode::<Vec<u8>>().unwrap(), large.0);
    let lost = plain.fetch(detail.input.clone()).await.unwrap_err();
    assert!(lost.to_string().contains("tell this client where"), "{lost}");

    // What is young may belong to a job that is about to be written; what is older goes once its job is gone.
    client.cancel(unserved, "ann", "").await.unwrap();
    while client.inspect().job(unserved).await.unwrap().is_some() {
        client.store().prune(1_000).await.unwrap();
    }
    worker.shutdown().await;
    assert_eq!(client.sweep_blobs(Duration::from_secs(3_600)).await.unwrap(), 0);
    assert!(client.fetch(detail.input.clone()).await.is_ok());
    // The repeat with another content left one that no job names, but its owner is stored: it goes with that.
    assert_eq!(client.sweep_blobs(Duration::ZERO).await.unwrap(), 1);
    let gone = client.fetch(detail.input).await.unwrap_err();
    assert!(gone.to_string().contains("is not there any more"), "{gone}");
    assert_eq!(client.output(&job).await.unwrap().len(), 2 * LARGE, "what is stored keeps its blobs");
}

/// A home that is full.
struct Full;

impl BlobStore for Full {
    fn put(&self, _: BlobName, _: bytes::Bytes) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Full, "put a blob", "the disk is full")) })
    }

    fn get(&self, _: BlobName) -> BoxFuture<'_, StoreResult<Option<bytes::Bytes>>> {
        Box::pin(async { Ok(None) })
    }

    fn list(&self, _: Option<BlobName>, _: u32) -> BoxFuture<'_, StoreResult<Vec<BlobLine>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn delete(&self, _: Vec<BlobName>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async { Ok(()) })
    }
}

async fn what_cannot_be_put_away_is_not_enqueued(subject: Subject) {
    let client = subject.client.clone().keep_large(Arc::new(Full), 64 << 10);
    let refused = client.enqueue(&Double(vec![1; LARGE])).await.unwrap_err();
    assert!(refused.to_string().contains("the disk is full"), "{refused}");
    assert_eq!(client.inspect().census().await.unwrap().jobs, 0);
    // What is small needs no home.
    client.enqueue(&Double(vec![1; 10])).await.unwrap();
}

async fn without_a_home_what_is_large_is_refused(subject: Subject) {
    let client = &subject.client;
    assert!(client.enqueue(&Double(vec![100; LARGE])).await.unwrap_err().to_string().contains("1048576"));
    let worker = worker(client).start().unwrap();
    let job = client.enqueue(&Double(vec![100; LARGE / 3])).await.unwrap();
    let ended = client.wait(job.id()).await.unwrap();
    assert_eq!(ended.state, JobState::Ended(End::Dead));
    let error = ended.error.unwrap();
    assert!(error.contains("at most 1048576 are allowed") && error.contains("keep_large"), "{error}");
    worker.shutdown().await;
}

/// Enqueues what is large in a transaction that is rolled back, and in one that is committed.
macro_rules! rides_on_a_transaction {
    ($client:ident, $tx:expr, $rollback:expr, $commit:expr) => {
        let worker = worker(&$client).start().unwrap();
        let large = Double(vec![200; LARGE]);
        let mut within = $client.within($tx);
        let lost = within.enqueue(&large).await.unwrap();
        drop(within.done());
        $rollback;
        assert!($client.inspect().job(lost.id()).await.unwrap().is_none());
        // What it had put away, if that is anywhere, has no job and goes.
        let _ = $client.sweep_blobs(Duration::ZERO).await.unwrap();
        let mut within = $client.within($tx);
        let job = within.enqueue(&large).await.unwrap();
        let wake = within.done();
        $commit;
        wake.ring();
        assert_eq!($client.output(&job).await.unwrap().len(), 2 * LARGE);
        // The input and the output of the one that is there.
        let mut left = 0;
        while $client.sweep_blobs(Duration::ZERO).await.unwrap() > 0 {
            left += 1;
        }
        assert_eq!(left, 0, "nothing of the rollback is left");
        worker.shutdown().await;
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_large_rides_on_a_transaction_on_sqlite() {
    let subject = sqlite();
    let db = rusqlite::Connection::open(subject.url.strip_prefix("sqlite:").unwrap()).unwrap();
    db.busy_timeout(Duration::from_secs(30)).unwrap();
    let begun = || {
        db.execute_batch("begin immediate").unwrap();
        &db
    };
    let folder = tempfile::tempdir().unwrap();
    let in_store = subject.client.clone().keep_large_in_store(64 << 10);
    let in_folder = subject.client.clone().keep_large(Arc::new(DirBlobs::new(folder.path())), 64 << 10);
    for client in [in_store, in_folder] {
        rides_on_a_transaction!(
            client,
            begun(),
            db.execute_batch("rollback").unwrap(),
            db.execute_batch("commit").unwrap()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_large_rides_on_a_transaction_on_postgres() {
    let Some(subject) = postgres().await else { return };
    let (url, _) = subject.url.split_once('#').unwrap();
    let (db, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let begun = async || {
        db.batch_execute("begin").await.unwrap();
        &db
    };
    let client = subject.client.clone().keep_large_in_store(64 << 10);
    rides_on_a_transaction!(
        client,
        begun().await,
        db.batch_execute("rollback").await.unwrap(),
        db.batch_execute("commit").await.unwrap()
    );
}
