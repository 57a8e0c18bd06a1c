//! Signals that do not fit the wait that they came for: they stay in the inbox, and the run waits on, on every store.

use std::time::Duration;

use towpath::core::store::{Arrival, Delivery};
use towpath::core::{Codec, Label, Payload, RunId};
use towpath::testing::RunHarness;
use towpath::{Client, Cx, Durable, Failure, RunError, Signal, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    one_that_does_not_fit_is_left_for_a_wait_that_it_fits,
    a_run_that_passed_one_over_hears_a_cancel,
    a_run_that_has_ended_is_sent_nothing,
);

const HOUR: Duration = Duration::from_secs(3_600);
const CENTS: Signal<u64> = Signal::new("paid");
const BY: Signal<String> = Signal::new("paid");

/// Waits for a number, then for a text of the same name.
const PAY: Durable<(), String, Failure> = Durable::new("pay", 1, HOUR, &pay);
async fn pay(cx: Cx<'_>, (): ()) -> Result<String, Failure> {
    let cents = cx.signal(CENTS).await;
    let by = cx.signal(BY).await;
    Ok(format!("{cents} by {by}"))
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(PAY).start().unwrap()
}

async fn one_that_does_not_fit_is_left_for_a_wait_that_it_fits(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(PAY, "o-1", &()).await.unwrap();
    let raw = Payload { codec: Codec::Raw, bytes: b"\xff".to_vec().into() };
    let arrival = Arrival::new(RunId::new("o-1").unwrap(), Label::new("paid").unwrap(), raw);
    let sent = client.store().signal(vec![arrival]).await.unwrap();
    assert_eq!(sent.items, [Ok(Delivery::Delivered)]);
    client.signal("o-1", BY, &"ann".to_owned()).await.unwrap();
    client.signal("o-1", CENTS, &700).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "700 by ann");
    let history = client.history("o-1").await.unwrap().unwrap();
    towpath::testing::assert_replays(PAY, &history);
    worker.shutdown().await;
}

async fn a_run_that_passed_one_over_hears_a_cancel(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.signal("o-1", BY, &"ann".to_owned()).await.unwrap();
    let run = client.start(PAY, "o-1", &()).await.unwrap();
    client.cancel_run("o-1", "bob", "a mistake").await.unwrap();
    assert!(matches!(client.result(&run).await, Err(RunError::Cancelled { .. })));
    worker.shutdown().await;
}

async fn a_run_that_has_ended_is_sent_nothing(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    assert_eq!(client.signal("o-1", CENTS, &7).await.unwrap(), Delivery::Kept, "there is no such run yet");
    let run = client.start(PAY, "o-1", &()).await.unwrap();
    assert_eq!(client.signal("o-1", BY, &"ann".to_owned()).await.unwrap(), Delivery::Delivered);
    assert_eq!(client.result(&run).await.unwrap(), "7 by ann");
    assert_eq!(client.signal("o-1", CENTS, &8).await.unwrap(), Delivery::Ended);
    worker.shutdown().await;
}

#[tokio::test]
async fn what_was_passed_over_replays_under_a_crash_at_every_commit() {
    let harness = RunHarness::new(PAY, ()).signal_after(Duration::from_secs(1), BY, &"ann".to_owned()).signal_after(
        Duration::from_secs(2),
        CENTS,
        &5,
    );
    let run = harness.run().await;
    assert_eq!(run.result.unwrap(), "5 by ann");
    let runs = harness.prove().await + harness.cancel_after(Duration::from_millis(1_500)).prove().await;
    assert!(runs >= 8, "{runs} runs prove too little");
}

#[tokio::test]
async fn a_test_that_sends_the_wrong_thing_is_told_so() {
    let run = RunHarness::new(PAY, ()).signal_after(Duration::from_secs(1), BY, &"ann".to_owned()).run().await;
    assert!(matches!(run.result, Err(RunError::TimedOut)));
    assert_eq!(run.unfit.len(), 1);
    assert!(run.unfit[0].problem.contains("invalid type: string"), "{}", run.unfit[0].problem);
}
