//! What a start does where the id is taken, and a signal that comes with it, on every store.

use std::future::IntoFuture;
use std::time::Duration;

use towpath::core::store::{Placed, Refusal};
use towpath::{Client, Cx, Durable, Error, Failure, Signal, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_is_started_and_signalled_at_once,
    a_run_that_is_there_is_sent_the_signal,
    a_run_that_has_ended_makes_place,
    many_start_one_run_and_all_signals_count,
);

const MINUTE: Duration = Duration::from_secs(60);
const ADD: Signal<u32> = Signal::new("add");

/// Adds what it is sent, so many times.
const SUM: Durable<u32, u32, Failure> = Durable::new("sum-of", 1, MINUTE, &sum);
async fn sum(cx: Cx<'_>, times: u32) -> Result<u32, Failure> {
    let mut sum = 0;
    for _ in 0..times {
        sum += cx.signal(ADD).await;
        cx.publish(&sum);
    }
    Ok(sum)
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(SUM).start().unwrap()
}

async fn a_run_is_started_and_signalled_at_once(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(SUM, "r", &1).signal(ADD, &7).await.unwrap();
    assert_eq!(run.placed(), Placed::Inserted);
    assert_eq!(client.result(&run).await.unwrap(), 7);
    worker.shutdown().await;
}

async fn a_run_that_is_there_is_sent_the_signal(subject: Subject) {
    let client = &subject.client;
    let first = client.start(SUM, "r", &3).signal(ADD, &1).dedup("a").await.unwrap();
    let second = client.start(SUM, "r", &9).signal(ADD, &1).dedup("a").await.unwrap();
    assert_eq!((second.placed(), second.job()), (Placed::Existing, first.job()));
    client.start(SUM, "r", &9).signal(ADD, &10).await.unwrap();
    client.start(SUM, "r", &9).replace_ended().signal(ADD, &100).await.unwrap();
    let refused = client.start(SUM, "r", &9).signal(ADD, &1_000).reject_existing().await.unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::RunTaken { .. })), "{refused}");
    let worker = worker(client);
    assert_eq!(client.result(&second).await.unwrap(), 111);
    let late = client.start(SUM, "r", &9).signal(ADD, &1).await.unwrap_err();
    assert!(matches!(late, Error::Refused(Refusal::RunTaken { .. })), "nobody would take it: {late}");
    let there = client.start(SUM, "r", &9).await.unwrap();
    assert_eq!(client.result(&there).await.unwrap(), 111, "without a signal it is the answer");
    worker.shutdown().await;
}

async fn a_run_that_has_ended_makes_place(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let first = client.start(SUM, "r", &1).replace_ended().signal(ADD, &1).await.unwrap();
    assert_eq!(client.result(&first).await.unwrap(), 1);
    let second = client.start(SUM, "r", &2).replace_ended().await.unwrap();
    assert_eq!(second.placed(), Placed::Inserted);
    assert_ne!(second.job(), first.job());
    assert_eq!(client.published::<u32>("r").await.unwrap(), None, "what it had published is gone with it");
    assert!(client.inspect().job(first.job()).await.unwrap().is_none());
    let third = client.start(SUM, "r", &2).replace_ended().await.unwrap();
    assert_eq!((third.placed(), third.job()), (Placed::Existing, second.job()), "it has not ended");
    for n in [2, 3] {
        client.signal("r", ADD, &n).await.unwrap();
    }
    assert_eq!(client.result(&third).await.unwrap(), 5);
    worker.shutdown().await;
}

async fn many_start_one_run_and_all_signals_count(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let starts = (1..=20).map(|n| client.start(SUM, "r", &20).signal(ADD, &n).into_future());
    let runs = futures_util::future::join_all(starts).await;
    let runs: Vec<_> = runs.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(runs.iter().filter(|run| run.placed() == Placed::Inserted).count(), 1);
    assert_eq!(client.result(&runs[0]).await.unwrap(), 210);
    worker.shutdown().await;
}
