//! Large payloads that are kept elsewhere: in a table of the store, and in a folder.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::store::{BoxFuture, StoreResult};
use towpath::core::{BlobLine, BlobName, BlobRef, BlobStore, limits};
use towpath::inspect::{JobFilter, Page};
use towpath::{Client, DirBlobs, End, Failure, Graph, Job, JobState, Placed, StoreError, StoreErrorKind, Worker};

use crate::stores::{Subject, on_every_store};

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
    assert_eq!(blobs.list(None, 10).await.unwrap(), []);
}

async fn goes_through(client: &Client, plain: &Client) {
    let worker = worker(client).start().unwrap();
    let id = Client::new_job_id();
    let large = Double(vec![200; LARGE]);
    let short = Duration::from_millis(1);
    let job = client.job(&large).id(id).keep(short).await.unwrap();
    let output = client.output(&job).await.unwrap();
    assert_eq!((output.len(), output.iter().all(|byte| *byte == 200)), (2 * LARGE, true));
    // The same content under the same id is the same job; another is not.
    let again = client.job(&large).id(id).await;
    assert!(again.is_err() || again.unwrap().placed() == Placed::Existing, "pruned, or the same");

    // A node reads what its parent has left, wherever that is kept.
    let graph = Graph::builder("measured");
    let double = graph.node("double", &Double(vec![1; LARGE / 2]));
    let measure = graph.node("measure", &Measure).after([&double]);
    let measure = measure.id();
    graph.build().unwrap().enqueue(client).await.unwrap();
    let ended = client.wait(measure).await.unwrap();
    assert_eq!(ended.output.unwrap().decode::<usize>().unwrap(), LARGE / 2 * 2);

    // In the store stands how it begins.
    let job = client.job(&large).keep(short).queue("nobody").await.unwrap();
    let detail = client.inspect().job(job.id()).await.unwrap().unwrap();
    let blob = BlobRef::of(&detail.input).unwrap().unwrap();
    assert!(blob.preview.starts_with("[200,200,") && blob.bytes > limits::PAYLOAD_BYTES_MAX as u64);
    assert_eq!(client.fetch(detail.input.clone()).await.unwrap().decode::<Vec<u8>>().unwrap(), large.0);
    let lost = plain.fetch(detail.input).await.unwrap_err();
    assert!(lost.to_string().contains("tell this client where"), "{lost}");

    // What is young may belong to a job that is about to be written; what is older goes once its job is gone.
    client.cancel(job.id(), "ann", "").await.unwrap();
    assert_eq!(client.sweep_blobs(Duration::from_secs(3_600)).await.unwrap(), 0);
    worker.shutdown().await;
    let still = client.sweep_blobs(Duration::ZERO).await.unwrap();
    assert!(still <= 2, "of the lone job that was pruned by now at most, {still}");
    let store = client.store();
    for line in client.inspect().jobs(JobFilter::default(), Page::default()).await.unwrap() {
        let change = towpath::core::terminate_job(line.id, "ann", "");
        store.apply(change).await.unwrap();
    }
    // Whatever is kept for longer than a test: a name without a job.
    let home = client.store().blobs();
    let orphan = BlobName::of(Client::new_job_id(), b"left behind");
    home.put(orphan.clone(), "left behind".into()).await.unwrap();
    assert_eq!(home.get(orphan.clone()).await.unwrap().as_deref(), Some(&b"left behind"[..]));
    home.delete(vec![orphan.clone(), orphan.clone()]).await.unwrap();
    assert_eq!(home.get(orphan).await.unwrap(), None);
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
