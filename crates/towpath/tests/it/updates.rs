//! Updates on every store: signals that the function answers.

use std::future::IntoFuture;
use std::time::Duration;

use towpath::testing::RunHarness;
use towpath::{Client, Cx, Durable, Failure, Step, StepCx, Update, UpdateError, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    an_update_is_answered,
    updates_are_answered_across_chapters,
    an_answer_is_there_chapters_later,
    an_update_under_an_id_is_one,
    a_run_that_does_not_answer_says_how_it_ended,
    an_answer_of_another_type_says_so,
);

const MINUTE: Duration = Duration::from_secs(60);
const ADD: Update<u64, u64> = Update::new("add");

const PLUS: Step<(u64, u64), u64, Failure> = Step::new("plus", &plus);
async fn plus(_: StepCx, (a, b): (u64, u64)) -> Result<u64, Failure> {
    Ok(a + b)
}

const SUM: Durable<u64, u64, Failure> = Durable::new("sum", 1, MINUTE, &sum);
async fn sum(cx: Cx<'_>, mut sum: u64) -> Result<u64, Failure> {
    loop {
        let (n, reply) = cx.update(ADD).await;
        if n == 0 {
            return Ok(sum);
        }
        sum = cx.step(PLUS, &(sum, n)).await?;
        reply.send(&sum);
        if cx.history_len() > 8 {
            return cx.continue_as_new(SUM, &sum).await;
        }
    }
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(SUM).start().unwrap()
}

async fn an_update_is_answered(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    assert!(matches!(client.update("sum", ADD, &1).await, Err(UpdateError::Unknown { .. })));
    client.start(SUM, "sum", &0).await.unwrap();
    for (n, expected) in [(1, 1), (2, 3), (3, 6)] {
        assert_eq!(client.update("sum", ADD, &n).await.unwrap(), expected);
    }
    worker.shutdown().await;
}

async fn updates_are_answered_across_chapters(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(SUM, "sum", &0).await.unwrap();
    let all = futures_util::future::join_all((0..20).map(|_| client.update("sum", ADD, &1).into_future())).await;
    let mut all: Vec<u64> = all.into_iter().collect::<Result<_, _>>().unwrap();
    all.sort_unstable();
    assert_eq!(all, (1..=20).collect::<Vec<_>>(), "each has an answer of its own");
    worker.shutdown().await;
}

async fn an_answer_is_there_chapters_later(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(SUM, "sum", &0).await.unwrap();
    assert_eq!(client.update("sum", ADD, &1).id("first").await.unwrap(), 1);
    for n in 2..=20 {
        assert_eq!(client.update("sum", ADD, &1).await.unwrap(), n);
    }
    let chapter = client.inspect().job(run.job()).await.unwrap().unwrap().run.unwrap().chapter;
    assert!(chapter > 3, "only in chapter {chapter}");
    assert_eq!(client.update("sum", ADD, &1).id("first").await.unwrap(), 1, "the answer is as it was");
    client.update("sum", ADD, &0).await.unwrap_err();
    assert_eq!(client.result(&run).await.unwrap(), 20, "and it was not asked again");
    assert_eq!(client.update("sum", ADD, &7).id("first").await.unwrap(), 1, "even when the run has ended");
    worker.shutdown().await;
}

async fn an_update_under_an_id_is_one(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(SUM, "sum", &0).await.unwrap();
    let all = futures_util::future::join_all((0..5).map(|_| client.update("sum", ADD, &3).id("x").into_future())).await;
    assert_eq!(all.into_iter().collect::<Result<Vec<_>, _>>().unwrap(), [3; 5]);
    assert_eq!(client.update("sum", ADD, &4).id("y").await.unwrap(), 7);
    let long = client.update("sum", ADD, &4).id(&"x".repeat(260)).await.unwrap_err();
    assert!(long.to_string().contains("the dedup key"), "{long}");
    client.update("sum", ADD, &0).await.unwrap_err();
    assert_eq!(client.result(&run).await.unwrap(), 7);
    worker.shutdown().await;
}

async fn an_answer_of_another_type_says_so(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(SUM, "sum", &0).await.unwrap();
    let wrong = client.update("sum", Update::<u64, String>::new("add"), &1).await.unwrap_err();
    assert!(wrong.to_string().starts_with("the answer to update add cannot be read: invalid type: "), "{wrong}");
    assert_eq!(client.update_named::<_, u64>("sum", "add", &1).await.unwrap(), 2);
    worker.shutdown().await;
}

async fn a_run_that_does_not_answer_says_how_it_ended(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(SUM, "sum", &0).await.unwrap();
    let error = client.update("sum", ADD, &0).await.unwrap_err();
    assert_eq!(error.to_string(), "run sum is succeeded, and has not answered");
    worker.shutdown().await;
}

#[tokio::test]
async fn an_answer_bears_a_crash_at_every_commit() {
    let mut runs = 0;
    for seed in 0..6 {
        let harness = (0..5_u64).fold(RunHarness::new(SUM, 0).seed(seed), |harness, n| {
            harness.update_after(Duration::from_millis(n * (seed + 1)), ADD, &(if n == 4 { 0 } else { n + 1 }))
        });
        let run = harness.run().await;
        assert_eq!(run.result.as_ref().unwrap(), &10);
        let answers: Vec<u64> = (0..4).filter_map(|n| run.answer(ADD, n)).collect();
        assert_eq!(answers, [1, 3, 6, 10]);
        assert_eq!(run.answer(ADD, 4), None, "the last one ends it without an answer");
        runs += harness.prove().await;
    }
    assert!(runs > 100, "{runs} runs prove too little");
}
