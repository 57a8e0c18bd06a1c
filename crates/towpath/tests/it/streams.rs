//! Streams: lines that clients read while a run goes on, on every store, and under a crash at every commit.

use std::time::Duration;

use towpath::testing::RunHarness;
use towpath::{Client, Cx, Durable, Failure, Signal, Step, StepCx, Stream, StreamError, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    lines_are_read_as_they_come,
    a_replay_writes_no_line_twice,
    lines_of_a_step_come_in_order_and_before_its_result,
    what_cannot_be_read_is_said,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<u32> = Signal::new("go");
const LOG: Stream<String> = Stream::new("log");
const WORDS: Stream<u32> = Stream::new("words");

/// Writes what it is told; goes on in another chapter after two lines.
const TELL: Durable<u32, u32, Failure> = Durable::new("tell", 1, MINUTE, &tell);
async fn tell(cx: Cx<'_>, chapters: u32) -> Result<u32, Failure> {
    cx.emit(LOG, &format!("chapter {}", cx.chapter()));
    for _ in 0..2 {
        let n = cx.signal(GO).await;
        cx.emit(LOG, &n.to_string());
        cx.emit(WORDS, &n);
    }
    match chapters.checked_sub(1) {
        Some(left) => cx.continue_as_new(TELL, &left).await,
        None => Ok(chapters),
    }
}

/// Writes many lines in each attempt; the first one fails at its end.
const SPEAK: Step<u32, u32, Failure> = Step::new("speak", &speak);
async fn speak(cx: StepCx, words: u32) -> Result<u32, Failure> {
    for word in 0..words {
        cx.emit(WORDS, &word).await?;
    }
    if cx.attempt() == 1 { Err(Failure::new("on purpose")) } else { Ok(words) }
}

const ANSWER: Durable<u32, u32, Failure> = Durable::new("answer", 1, MINUTE, &answer);
async fn answer(cx: Cx<'_>, words: u32) -> Result<u32, Failure> {
    let said = cx.step(SPEAK, &words).await?;
    cx.emit(WORDS, &said);
    Ok(said)
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(TELL).durable(ANSWER).start().unwrap()
}

async fn lines_are_read_as_they_come(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    client.start(TELL, "r", &1).await.unwrap();
    let mut log = client.stream("r", LOG);
    let mut expected = Vec::new();
    for chapter in 1..=2 {
        expected.push(format!("chapter {chapter}"));
        assert_eq!(log.next().await.unwrap().unwrap().value, expected[expected.len() - 1]);
        for n in 0..2 {
            assert_eq!(log.try_next().await.unwrap().map(|line| line.value), None, "it waits for a signal");
            client.signal("r", GO, &n).await.unwrap();
            expected.push(n.to_string());
            let line = log.next().await.unwrap().unwrap();
            assert_eq!((line.number, &line.value), (expected.len() as u64, &n.to_string()));
        }
    }
    assert!(log.next().await.unwrap().is_none(), "the run has ended");
    let mut again = client.stream("r", LOG).after(4);
    let mut rest = Vec::new();
    while let Some(line) = again.next().await.unwrap() {
        rest.push(line.value);
    }
    assert_eq!(rest, expected[4..]);
    worker.shutdown().await;
}

async fn a_replay_writes_no_line_twice(subject: Subject) {
    let client = &subject.client;
    let run = client.start(TELL, "r", &0).await.unwrap();
    let mut log = client.stream("r", LOG);
    for lines in 1..=3 {
        // Each time another worker enters the function again.
        let worker = worker(client);
        assert_eq!(log.next().await.unwrap().unwrap().number, lines);
        worker.shutdown().await;
        client.signal("r", GO, &7).await.unwrap();
    }
    assert_eq!(client.inspect().census().await.unwrap().shown, 3 + 2);
    assert!(client.cancel(run.job(), "test", "").await.is_ok());
}

async fn lines_of_a_step_come_in_order_and_before_its_result(subject: Subject) {
    const MANY: u32 = 1_000;
    let client = &subject.client;
    let worker = worker(client);
    client.start(ANSWER, "r", &MANY).await.unwrap();
    let mut words = client.stream("r", WORDS);
    for number in 0..2 * MANY {
        let line = words.next().await.unwrap().unwrap();
        assert_eq!((line.number, line.value), (u64::from(number) + 1, number % MANY), "both attempts have written all");
    }
    assert_eq!(words.next().await.unwrap().unwrap().value, MANY, "the function's own line is behind those of its step");
    assert!(words.next().await.unwrap().is_none());
    worker.shutdown().await;
}

async fn what_cannot_be_read_is_said(subject: Subject) {
    let client = &subject.client;
    let unknown = client.stream("nobody", LOG).next().await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no run nobody: start it before its streams are read");
    let worker = worker(client);
    client.start(TELL, "r", &0).await.unwrap();
    let mut wrong = client.stream_named::<u32>("r", "log");
    let problem = wrong.next().await.unwrap_err();
    assert!(matches!(problem, StreamError::Decode { number: 1, .. }), "{problem:?}");
    assert!(problem.to_string().starts_with("line 1 of stream log cannot be read: "), "{problem}");
    client.signal("r", GO, &5).await.unwrap();
    assert!(matches!(wrong.next().await, Err(StreamError::Decode { number: 2, .. })), "the reader goes on behind it");
    worker.shutdown().await;
}

#[tokio::test]
async fn a_crash_at_any_commit_changes_no_line() {
    let mut harness = RunHarness::new(TELL, 1);
    for n in 1..=4 {
        harness = harness.signal_after(Duration::from_secs(n.into()), GO, &n);
    }
    let run = harness.run().await;
    assert_eq!(run.lines(WORDS), [1, 2, 3, 4]);
    assert_eq!(run.lines(LOG), ["chapter 1", "1", "2", "chapter 2", "3", "4"]);
    harness.prove().await;
}

#[tokio::test]
async fn a_harness_has_the_lines_of_steps() {
    let harness = RunHarness::new(ANSWER, 2);
    assert_eq!(harness.run().await.lines(WORDS), [0, 1, 0, 1, 2]);
    harness.prove().await;
}
