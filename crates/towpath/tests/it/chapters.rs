//! Continue-as-new: a run that goes on for ever in chapters, on every store, and under a crash at every commit.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::testing::{History, RunHarness, assert_replays};
use towpath::{Client, Cx, Durable, Failure, RunError, Signal, Step, StepCx, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_goes_on_in_chapters,
    signals_of_one_chapter_are_there_in_the_next,
    an_error_of_a_later_chapter_is_the_runs,
    another_function_is_no_next_chapter,
    the_history_of_a_later_chapter_replays,
);

const MINUTE: Duration = Duration::from_secs(60);
const TICK: Signal<u64> = Signal::new("tick");

const ADD: Step<(u64, u64), u64, Failure> = Step::new("add", &add);
async fn add(_: StepCx, (a, b): (u64, u64)) -> Result<u64, Failure> {
    Ok(a + b)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Count {
    sum: u64,
    left: u64,
}

/// Counts ticks, two to a chapter.
const COUNT: Durable<Count, u64, String> = Durable::new("count", 1, MINUTE, &count);
async fn count(cx: Cx<'_>, at: Count) -> Result<u64, String> {
    let mut sum = at.sum;
    for _ in 0..2 {
        let tick = cx.signal(TICK).await;
        sum = cx.step(ADD, &(sum, tick)).await.map_err(|e| e.to_string())?;
    }
    if sum > 1_000 {
        return Err(format!("{sum} in chapter {}", cx.chapter()));
    }
    match at.left.checked_sub(1) {
        Some(left) => cx.continue_as_new(COUNT, &Count { sum, left }).await,
        None => Ok(sum),
    }
}

const STRAY: Durable<u64, u64, Failure> = Durable::new("stray", 1, MINUTE, &stray);
async fn stray(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    cx.continue_as_new(COUNT, &Count { sum: n, left: 0 }).await
}

/// What it asks for depends on its chapter.
const NUMBERED: Durable<u64, u64, Failure> = Durable::new("numbered", 1, MINUTE, &numbered);
async fn numbered(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    let sum = cx.step(ADD, &(n, u64::from(cx.chapter()))).await?;
    if cx.chapter() < 3 {
        return cx.continue_as_new(NUMBERED, &sum).await;
    }
    Ok(sum)
}

async fn the_history_of_a_later_chapter_replays(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(NUMBERED, "numbered", &0).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 6);
    let history = client.history("numbered").await.unwrap().unwrap();
    assert_eq!((history.header.chapter, history.header.job), (3, run.job()));
    assert_replays(NUMBERED, &History::from_json_lines(&history.to_json_lines()).unwrap());
    worker.shutdown().await;
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(NUMBERED).durable(COUNT).durable(STRAY).start().unwrap()
}

async fn a_run_goes_on_in_chapters(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(COUNT, "count", &Count { sum: 0, left: 3 }).await.unwrap();
    for n in 1..=8_u64 {
        client.signal("count", TICK, &n).dedup(&n.to_string()).await.unwrap();
    }
    assert_eq!(client.result(&run).await.unwrap(), 36);
    let detail = client.inspect().job(run.job()).await.unwrap().unwrap();
    assert_eq!(detail.run.unwrap().chapter, 4, "it is the same job");
    let history = client.history("count").await.unwrap().unwrap();
    assert_eq!(history.header.input.json(), r#"{"sum":21,"left":0}"#);
    towpath::testing::assert_replays(COUNT, &history);
    worker.shutdown().await;
}

async fn signals_of_one_chapter_are_there_in_the_next(subject: Subject) {
    let client = &subject.client;
    for n in 1..=3_u64 {
        client.signal("count", TICK, &n).dedup(&n.to_string()).await.unwrap();
    }
    let run = client.start(COUNT, "count", &Count { sum: 0, left: 1 }).await.unwrap();
    let worker = worker(client);
    // Taken in the first chapter, its key is not forgotten in the second.
    while client.inspect().job(run.job()).await.unwrap().unwrap().run.unwrap().chapter == 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client.signal("count", TICK, &100).dedup("1").await.unwrap();
    client.signal("count", TICK, &4).dedup("4").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 10);
    worker.shutdown().await;
}

async fn an_error_of_a_later_chapter_is_the_runs(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(COUNT, "count", &Count { sum: 0, left: 1 }).await.unwrap();
    for n in [1, 1, 999, 1] {
        client.signal("count", TICK, &n).await.unwrap();
    }
    match client.result(&run).await {
        Err(RunError::Failed(error)) => assert_eq!(error, "1002 in chapter 2"),
        other => panic!("{other:?}"),
    }
    worker.shutdown().await;
}

async fn another_function_is_no_next_chapter(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(STRAY, "stray", &1).await.unwrap();
    let reason = loop {
        let detail = client.inspect().job(run.job()).await.unwrap().unwrap();
        match detail.blocked {
            Some(reason) => break reason,
            None => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    };
    assert!(reason.contains("it is for count, and a run of stray stays one"), "{reason}");
    worker.shutdown().await;
}

// ---- proof ----------------------------------------------------------------------------------------

const LEAF: Durable<u64, u64, Failure> = Durable::new("leaf", 1, MINUTE, &leaf);
async fn leaf(_: Cx<'_>, n: u64) -> Result<u64, Failure> {
    Ok(n)
}

/// The clock, randomness and the length of the history go into inputs: were they not the same on replay, it would not fit.
const CHAPTERS: Durable<Count, u64, Failure> = Durable::new("chapters", 1, MINUTE, &chapters);
async fn chapters(cx: Cx<'_>, at: Count) -> Result<u64, Failure> {
    let sum = cx.step(ADD, &(at.sum, cx.random() % 10)).await?;
    let (tick, leaf) =
        cx.join((cx.timeout(Duration::from_millis(20), cx.signal(TICK)), cx.run_child(LEAF, &sum))).await;
    let sum = cx.step(ADD, &(leaf?, tick.unwrap_or(3))).await?;
    let sum = cx.step(ADD, &(sum, cx.now().as_micros() as u64 % 10 + cx.history_len() as u64)).await?;
    if at.left == 0 {
        return Ok(sum);
    }
    // Left behind, it is cancelled before the chapter ends.
    let left_behind = cx.run_child(LEAF, &7);
    cx.race((left_behind, cx.sleep(Duration::ZERO))).await;
    cx.continue_as_new(CHAPTERS, &Count { sum, left: at.left - 1 }).await
}

#[tokio::test]
async fn chapters_bear_a_crash_at_every_commit() {
    let mut runs = 0;
    for seed in 0..10 {
        let harness =
            RunHarness::new(CHAPTERS, Count { sum: 0, left: seed % 4 }).seed(seed).child(LEAF, Ok::<u64, Failure>);
        let harness = (0..4)
            .fold(harness, |harness, n| harness.signal_after(Duration::from_millis(3 * n * (seed + 1)), TICK, &n));
        let run = harness.run().await;
        assert_eq!(run.earlier.len() as u64, seed % 4);
        runs += harness.prove().await;
        runs += harness.cancel_after(Duration::from_millis(seed * 7)).prove().await;
    }
    println!("{runs} runs");
    assert!(runs > 300, "{runs} runs prove too little");
}
