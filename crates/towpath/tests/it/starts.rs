//! What a start does where the id is taken, and a signal that comes with it, on every store.

use std::future::IntoFuture;
use std::time::Duration;

use towpath::core::State;
use towpath::core::store::{Changed, Delivery, Placed, Refusal};
use towpath::{Client, Cx, Durable, End, Error, Failure, RunError, Signal, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_is_started_and_signalled_at_once,
    a_run_that_is_there_is_sent_the_signal,
    a_run_that_has_ended_makes_place,
    many_start_one_run_and_all_signals_count,
    the_id_of_a_run_that_was_pruned_stays_taken,
    an_id_that_is_not_kept_is_free_with_the_prune,
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

/// Prunes until nothing is left to prune.
async fn prune(client: &Client) {
    while !client.store().prune(100).await.unwrap().is_empty() {}
}

async fn the_id_of_a_run_that_was_pruned_stays_taken(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let first = client.start(SUM, "r", &1).keep(Duration::ZERO).signal(ADD, &1).await.unwrap();
    assert_eq!(client.result(&first).await.unwrap(), 1);
    prune(client).await;
    assert!(client.inspect().job(first.job()).await.unwrap().is_none(), "nothing of the run is left");
    // The request that comes twice, long after.
    let again = client.start(SUM, "r", &1).await.unwrap();
    assert_eq!((again.placed(), again.job()), (Placed::Existing, first.job()));
    let gone = client.result(&again).await.unwrap_err();
    assert!(matches!(&gone, RunError::Pruned { end: End::Succeeded, .. }), "{gone}");
    let handle = client.run::<u32, Failure>("r").await.unwrap().unwrap();
    assert!(matches!(client.result(&handle).await, Err(RunError::Pruned { .. })));
    for refused in [client.start(SUM, "r", &1).reject_existing(), client.start(SUM, "r", &1).signal(ADD, &1)] {
        let refused = refused.await.unwrap_err();
        assert!(matches!(refused, Error::Refused(Refusal::RunTaken { .. })), "{refused}");
    }
    assert_eq!(client.signal("r", ADD, &5).await.unwrap(), Delivery::Ended, "nobody is to be handed it later");
    let left = Changed::Left(State::Ended(End::Succeeded));
    assert_eq!(client.cancel_run("r", "ann", "").await.unwrap(), left);
    assert_eq!(client.terminate_run("r", "ann", "").await.unwrap(), left);
    let anew = client.start(SUM, "r", &1).replace_ended().signal(ADD, &7).await.unwrap();
    assert_eq!(anew.placed(), Placed::Inserted);
    assert_eq!(client.result(&anew).await.unwrap(), 7);
    assert!(matches!(client.result(&first).await, Err(RunError::Output(_))), "its id is another one's by now");
    worker.shutdown().await;
}

async fn an_id_that_is_not_kept_is_free_with_the_prune(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    for n in [1, 2] {
        let start = client.start(SUM, "r", &1).keep(Duration::ZERO).keep_id(Duration::ZERO).signal(ADD, &n);
        let run = start.await.unwrap();
        assert_eq!(run.placed(), Placed::Inserted);
        assert_eq!(client.result(&run).await.unwrap(), n);
        prune(client).await;
    }
    assert!(client.run::<u32, Failure>("r").await.unwrap().is_none());
    let long = client.start(SUM, "s", &1).keep_id(11 * 366 * 24 * 60 * MINUTE).await.unwrap_err();
    assert!(long.to_string().contains("at most 3650 are allowed"), "{long}");
    worker.shutdown().await;
}
