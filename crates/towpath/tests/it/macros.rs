//! `#[step]`, `#[durable]` and `select!`: what they define is what could be written by hand, and it runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{
    Client, Cx, Durable, Failure, RunError, Signal, State, Step, StepCx, StepError, Worker, WorkerHandle, durable,
    select, step,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    every_shape_of_a_step_runs,
    an_alias_of_result_keeps_its_error,
    the_first_arm_is_taken,
    many_inputs_are_a_tuple,
);

struct App {
    greeting: &'static str,
}

struct Numbers(Vec<u64>);

#[step]
async fn nothing() -> Result<u64, Failure> {
    Ok(1)
}

/// Only the engine's part.
#[step(version = 3)]
async fn attempt(cx: StepCx) -> Result<u32, Failure> {
    Ok(cx.attempt())
}

#[step(name = "say-hello", timeout = "30s", backoff = "1ms..10ms")]
async fn greet(app: State<App>, name: String) -> Result<String, Failure> {
    Ok(format!("{} {name}", app.greeting))
}

#[step(attempts = 2)]
async fn sum(
    cx: towpath::StepCx,
    first: u64,
    numbers: towpath::State<Numbers>,
    app: State<App>,
    (second, third): (u64, u64),
) -> Result<String, Failure> {
    if cx.attempt() == 1 {
        return Err(Failure::retry_after("not yet", Duration::from_millis(1)));
    }
    Ok(format!("{} {}", app.greeting, first + second + third + numbers.0.iter().sum::<u64>()))
}

type Answer<T> = Result<T, Refusal>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
enum Refusal {
    #[error("for ever")]
    ForEver,
    #[error("for now")]
    ForNow,
    #[error("lost")]
    Lost,
}

impl Refusal {
    fn is_passing(&self) -> bool {
        *self == Self::ForNow
    }
}

impl From<StepError<Refusal>> for Refusal {
    fn from(error: StepError<Refusal>) -> Self {
        match error {
            StepError::Failed(refusal) => refusal,
            _ => Self::Lost,
        }
    }
}

#[step(retry_if = Refusal::is_passing, backoff = "1ms..1ms")]
async fn refuse(cx: StepCx) -> Answer<()> {
    Err(if cx.attempt() == 3 { Refusal::ForEver } else { Refusal::ForNow })
}

#[step(at_most_once)]
async fn r#try() -> Answer<()> {
    Ok(())
}

#[durable(max_duration = "1m")]
async fn every_shape(cx: Cx<'_>, name: String) -> Result<Vec<String>, Failure> {
    let one = cx.step(NOTHING, &()).await?;
    let attempt = cx.step(ATTEMPT, &()).await?;
    let greeting = cx.step(GREET, &name).await?;
    let sum = cx.step(SUM, &(1, (20, 300))).await?;
    Ok(vec![one.to_string(), attempt.to_string(), greeting, sum])
}

#[durable(version = 2, max_duration = "1m")]
async fn refused(cx: Cx<'_>) -> Answer<()> {
    cx.step(TRY, &()).await?;
    cx.step(REFUSE, &()).await?;
    Ok(())
}

#[durable(name = "add", max_duration = "1m")]
async fn add_up(_cx: Cx<'_>, first: u64, second: u64) -> Result<u64, Failure> {
    Ok(first + second)
}

const WORD: Signal<String> = Signal::new("word");
const NUMBER: Signal<u64> = Signal::new("number");

#[durable(max_duration = "1m")]
async fn choose(cx: Cx<'_>) -> Result<String, Failure> {
    let mut heard = Vec::new();
    loop {
        select! {
            word = cx.signal(WORD) => {
                if word == "stop" {
                    return Ok(heard.join(" "));
                }
                heard.push(word);
            }
            _ = cx.signal(Signal::<()>::new("never")) => return Err(Failure::new("never")),
            n = async { cx.signal(NUMBER).await + 1 } => heard.push(n.to_string()),
            () = cx.sleep(Duration::from_secs(50)) => break,
        }
    }
    Err(Failure::new("nothing came"))
}

// What the macros define has these types.
const _: Step<(), u64, Failure> = NOTHING;
const _: Step<(u64, (u64, u64)), String, Failure> = SUM;
const _: Step<(), (), Refusal> = REFUSE;
const _: Durable<String, Vec<String>, Failure> = EVERY_SHAPE;
const _: Durable<(u64, u64), u64, Failure> = ADD_UP;

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client)
        .state(App { greeting: "hello" })
        .state(Numbers(vec![4_000]))
        .step(GREET)
        .step(SUM)
        .durable(EVERY_SHAPE)
        .durable(REFUSED)
        .durable(CHOOSE)
        .durable(ADD_UP)
        .start()
        .unwrap()
}

async fn every_shape_of_a_step_runs(subject: Subject) {
    let worker = worker(&subject.client);
    let run = subject.client.start(EVERY_SHAPE, "e", &"Ann".into()).await.unwrap();
    assert_eq!(subject.client.result(&run).await.unwrap(), ["1", "1", "hello Ann", "hello 4321"]);
    worker.shutdown().await;
}

async fn an_alias_of_result_keeps_its_error(subject: Subject) {
    let worker = worker(&subject.client);
    let run = subject.client.start(REFUSED, "r", &()).await.unwrap();
    let refused = subject.client.result(&run).await;
    assert!(matches!(refused, Err(RunError::Failed(Refusal::ForEver))), "{refused:?}");
    worker.shutdown().await;
}

async fn the_first_arm_is_taken(subject: Subject) {
    let worker = worker(&subject.client);
    let client = &subject.client;
    let run = client.start(CHOOSE, "c", &()).await.unwrap();
    client.signal("c", WORD, &"two".into()).await.unwrap();
    client.signal("c", NUMBER, &2).await.unwrap();
    client.signal("c", WORD, &"four".into()).await.unwrap();
    client.signal("c", WORD, &"stop".into()).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "two 3 four");
    worker.shutdown().await;
}

async fn many_inputs_are_a_tuple(subject: Subject) {
    let worker = worker(&subject.client);
    let run = subject.client.start(ADD_UP, "a", &(2, 3)).await.unwrap();
    assert_eq!(subject.client.result(&run).await.unwrap(), 5);
    worker.shutdown().await;
}

#[test]
fn names_and_versions_are_the_ones_given_or_the_functions() {
    assert_eq!((GREET.name(), NOTHING.name(), TRY.name()), ("say-hello", "nothing", "try"));
    assert_eq!((EVERY_SHAPE.name(), EVERY_SHAPE.version()), ("every-shape", 1));
    assert_eq!((REFUSED.version(), ADD_UP.name()), (2, "add"));
    assert_eq!(format!("{ATTEMPT:?}"), "step attempt v3");
}

/// The functions are as they were.
#[tokio::test]
async fn a_step_is_called_as_a_function() {
    assert_eq!(nothing().await.unwrap(), 1);
    assert_eq!(greet(State::new(App { greeting: "good day" }), "Ann".into()).await.unwrap(), "good day Ann");
}

#[test]
fn a_worker_without_a_state_that_a_step_takes_does_not_start() {
    let client = crate::stores::memory().client;
    let builder = Worker::builder(&client).state(Numbers(Vec::new())).durable(EVERY_SHAPE);
    let refused = builder.step(SUM).step(NOTHING).build().err().unwrap();
    assert_eq!(refused.to_string(), "the worker cannot start: step sum needs it::macros::App: add .state(…)");
}
