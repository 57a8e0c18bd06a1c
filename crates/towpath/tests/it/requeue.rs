//! Jobs that are put back, by the public API.

use serde::{Deserialize, Serialize};
use towpath::core::{KeyHolder, State};
use towpath::{Client, Context, End, Failure, Job, NewJob, RetryError, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_dead_job_is_put_back_with_another_input,
    a_job_whose_key_another_one_has_is_not_put_back,
    what_is_not_to_be_put_back_is_refused_and_named
);

/// Succeeds for even numbers, with the half.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "halve", output = (u64, u32), attempts = 1)]
struct Halve(u64);

fn worker(client: &Client) -> WorkerHandle {
    let handle = |job: Halve, cx: Context| async move {
        if job.0.is_multiple_of(2) { Ok((job.0 / 2, cx.attempt())) } else { Err(Failure::new("odd")) }
    };
    Worker::builder(client).handle(handle).start().unwrap()
}

async fn a_dead_job_is_put_back_with_another_input(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let handle = client.enqueue(&Halve(7)).await.unwrap();
    let ended = client.wait(handle.id()).await.unwrap();
    assert_eq!(ended.state, State::Ended(End::Dead));
    client.requeue(handle.id()).by("ann", "try again").await.unwrap();
    assert_eq!(client.wait(handle.id()).await.unwrap().state, State::Ended(End::Dead), "the input is the same");
    client.requeue(handle.id()).input(&Halve(8)).await.unwrap();
    assert_eq!(client.output(&handle).await.unwrap(), (4, 3), "attempts are counted on");
    let attempts = client.inspect().attempts(handle.id()).await.unwrap();
    assert_eq!(attempts.iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), [1, 2, 3]);

    let refused = client.requeue(handle.id()).await.unwrap_err();
    assert!(matches!(refused, RetryError::Left { state: State::Ended(End::Succeeded), .. }), "{refused}");
    client.requeue(handle.id()).even_succeeded().await.unwrap();
    assert_eq!(client.output(&handle).await.unwrap(), (4, 4));
    worker.shutdown().await;
    let audit = client.inspect().audit(Client::first_page(10)).await.unwrap();
    let said: Vec<_> = audit.iter().map(|line| (line.actor.as_str(), line.action.as_str())).collect();
    assert_eq!(said[3], ("ann", "requeue"));
    assert_eq!(said[2], ("client", "requeue with a new input"));
}

async fn a_job_whose_key_another_one_has_is_not_put_back(subject: Subject) {
    let client = &subject.client;
    let keyed = || client.job(&Halve(1)).unique("order-7");
    let first = keyed().await.unwrap().id();
    client.cancel(first, "ann", "").await.unwrap();
    let second = keyed().await.unwrap().id();
    let refused = client.requeue(first).await.unwrap_err();
    assert!(matches!(refused, RetryError::KeyTaken { by: KeyHolder::Job(id), .. } if id == second), "{refused}");
    assert_eq!(
        refused.to_string(),
        format!(
            "job {first} is not put back: job {second} has its unique key now: wait until that has ended, or cancel it"
        )
    );
    client.cancel(second, "ann", "").await.unwrap();
    client.requeue(first).await.unwrap();
    assert_eq!(keyed().await.unwrap().id(), first, "it has its key again");
}

async fn what_is_not_to_be_put_back_is_refused_and_named(subject: Subject) {
    let client = &subject.client;
    let nobody = Client::new_job_id();
    let refused = client.requeue(nobody).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("there is no job {nobody}: it was never enqueued, or has been pruned"));
    let handle = client.enqueue(&Halve(1)).await.unwrap();
    let refused = client.requeue(handle.id()).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("job {} is ready: it is still to be done", handle.id()));
    client.cancel(handle.id(), "ann", "").await.unwrap();
    let long = "x".repeat(1 << 20);
    let refused = client.requeue(handle.id()).input(&long).await.unwrap_err().to_string();
    assert!(refused.contains("has 1048578 bytes, at most 1048576 are allowed"), "{refused}");
    let detail = client.inspect().job(handle.id()).await.unwrap().unwrap();
    assert_eq!(detail.line.state, State::Ended(End::Cancelled));
    assert_eq!(detail.input, client.job(&Halve(1)).build().map(|job: NewJob| job.input).unwrap());
}
