//! What a durable function may not do, and what a person is told who looks why its run is blocked. The guide shows the
//! same texts.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use towpath::core::State;
use towpath::{Client, Cx, Durable, Failure, RunHandle, Signal, StepCx, Worker, durable, step};

use crate::stores::memory;

const GUIDE: &str = include_str!("../../../../docs/guide/durable.md");
const GO: Signal<()> = Signal::new("go");
const SECOND: Duration = Duration::from_secs(1);

/// The run is blocked in the end, and the guide has the text.
async fn is_told<O, E>(client: &Client, run: &RunHandle<O, E>) -> String {
    for _ in 0..2_000 {
        let detail = client.inspect().job(run.job()).await.unwrap().unwrap();
        if detail.line.state == State::Blocked {
            let text = without_place(&detail.blocked.unwrap_or_default());
            let quoted: String = text.lines().map(|line| format!("{line}\n")).collect();
            assert!(GUIDE.contains(&quoted), "the guide does not have this text:\n{text}");
            return text;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("the run was never blocked")
}

/// The guide's place in place of the one in this file.
fn without_place(text: &str) -> String {
    match text.split_once(" at crates/towpath/tests/it/blocked.rs:") {
        None => text.to_owned(),
        Some((before, after)) => {
            let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before} at src/onboard.rs:14{after}")
        }
    }
}

/// What is told of a function that does something wrong at once.
async fn told_of<O, E>(function: Durable<(), O, E>) -> String
where
    O: serde::Serialize + Send + 'static,
    E: serde::Serialize + std::fmt::Display + Send + 'static,
{
    let client = memory().client;
    let worker = Worker::builder(&client).durable(function).start().unwrap();
    let run = client.start(function, "r", &()).await.unwrap();
    let text = is_told(&client, &run).await;
    worker.shutdown().await;
    text
}

/// What is told of a run that began with one function and is to go on with another.
async fn told_after(before: Durable<(), (), Failure>, after: Durable<(), (), Failure>) -> String {
    let client = memory().client;
    let run = client.start(before, "r", &()).await.unwrap();
    let worker = Worker::builder(&client).durable(before).build_id("before").start().unwrap();
    while client.store().entries(run.job(), 1, 0, 10).await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    worker.shutdown().await;
    let worker = Worker::builder(&client).durable(after).build_id("after").start().unwrap();
    client.signal("r", GO, &()).await.unwrap();
    let text = is_told(&client, &run).await;
    worker.shutdown().await;
    // The code that it began with takes it to its end.
    let worker = Worker::builder(&client).durable(before).build_id("before again").start().unwrap();
    client.result(&run).await.unwrap();
    worker.shutdown().await;
    text
}

#[step]
async fn send_welcome(_user: u64) -> Result<u64, Failure> {
    Ok(1)
}

#[step]
async fn send_greeting(_user: u64) -> Result<u64, Failure> {
    Ok(1)
}

// ---- another code than before -------------------------------------------------------------------

#[durable(max_duration = "1h")]
async fn onboard(cx: Cx<'_>) -> Result<(), Failure> {
    cx.step(SEND_WELCOME, &7).await?;
    cx.signal(GO).await;
    Ok(())
}

/// The same function after a change.
macro_rules! changed {
    ($name:ident($cx:ident) $body:block) => {
        #[durable(name = "onboard", max_duration = "1h")]
        async fn $name($cx: Cx<'_>) -> Result<(), Failure> $body
    };
}

changed!(with_another_name(cx) {
    cx.step(SEND_GREETING, &7).await?;
    cx.signal(GO).await;
    Ok(())
});

changed!(with_another_input(cx) {
    cx.step(SEND_WELCOME, &8).await?;
    cx.signal(GO).await;
    Ok(())
});

changed!(with_another_version(cx) {
    cx.step(SEND_WELCOME.version(2), &7).await?;
    cx.signal(GO).await;
    Ok(())
});

changed!(with_a_timer_before(cx) {
    cx.sleep(SECOND).await;
    cx.step(SEND_WELCOME, &7).await?;
    cx.signal(GO).await;
    Ok(())
});

changed!(without_operations(_cx) { Ok(()) });

changed!(that_only_waits(cx) {
    let _second = cx.signal(GO);
    cx.signal(GO).await;
    Ok(())
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_code_is_told_where_it_left_the_journal() {
    told_after(ONBOARD, WITH_ANOTHER_NAME).await;
    told_after(ONBOARD, WITH_ANOTHER_INPUT).await;
    told_after(ONBOARD, WITH_ANOTHER_VERSION).await;
    told_after(ONBOARD, WITH_A_TIMER_BEFORE).await;
    told_after(ONBOARD, WITHOUT_OPERATIONS).await;
    told_after(ONBOARD, THAT_ONLY_WAITS).await;
}

#[step(name = "send-welcome")]
async fn send_welcome_as_text(_user: u64) -> Result<String, Failure> {
    Ok("1".into())
}

changed!(with_another_output(cx) {
    cx.step(SEND_WELCOME_AS_TEXT, &7).await?;
    cx.signal(GO).await;
    Ok(())
});

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_of_another_type_is_told() {
    told_after(ONBOARD, WITH_ANOTHER_OUTPUT).await;
}

// ---- what no replay can repeat ------------------------------------------------------------------

#[durable(max_duration = "1h")]
async fn waits_by_tokio(_cx: Cx<'_>) -> Result<(), Failure> {
    tokio::time::sleep(SECOND).await;
    Ok(())
}

#[durable(max_duration = "1h")]
async fn waits_for_a_thread(_cx: Cx<'_>) -> Result<(), Failure> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        answer.send(())
    });
    answered.await?;
    Ok(())
}

#[durable(max_duration = "1h")]
async fn waits_for_a_thread_beside(cx: Cx<'_>) -> Result<(), Failure> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("mailer".into());
    let _running = thread.spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        answer.send(())
    });
    cx.race((
        cx.run("slow", |_| async {
            tokio::time::sleep(SECOND).await;
            Ok::<_, Failure>(())
        }),
        answered,
    ))
    .await;
    Ok(())
}

#[durable(max_duration = "1h")]
async fn spawns(cx: Cx<'_>) -> Result<(), Failure> {
    tokio::spawn(async {});
    cx.sleep(SECOND).await;
    Ok(())
}

#[durable(max_duration = "1h")]
async fn spins(_cx: Cx<'_>) -> Result<(), Failure> {
    loop {
        let mut is_first = true;
        std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::take(&mut is_first) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
        })
        .await;
    }
}

#[durable(max_duration = "1h")]
async fn panics(cx: Cx<'_>) -> Result<(), Failure> {
    let prices: HashMap<&str, u32> = HashMap::new();
    cx.step(SEND_WELCOME, &prices["tea"].into()).await?;
    Ok(())
}

#[step]
async fn plot(_points: HashMap<(u32, u32), u32>) -> Result<(), Failure> {
    Ok(())
}

#[durable(max_duration = "1h")]
async fn has_an_input_without_a_stored_form(cx: Cx<'_>) -> Result<(), Failure> {
    cx.step(PLOT, &HashMap::from([((1, 2), 3)])).await?;
    Ok(())
}

#[step]
async fn rare(cx: StepCx) -> Result<(), Failure> {
    let _ = cx.state::<Mutex<u8>>();
    Ok(())
}

#[durable(max_duration = "1h")]
async fn needs_a_state(cx: Cx<'_>) -> Result<(), Failure> {
    cx.step(RARE, &()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replay_can_repeat_is_told() {
    let mut texts = vec![
        told_of(WAITS_BY_TOKIO).await,
        told_of(WAITS_FOR_A_THREAD).await,
        told_of(WAITS_FOR_A_THREAD_BESIDE).await,
        told_of(SPAWNS).await,
        told_of(SPINS).await,
        told_of(PANICS).await,
        told_of(HAS_AN_INPUT_WITHOUT_A_STORED_FORM).await,
        told_of(NEEDS_A_STATE).await,
    ];
    let count = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), count, "each has a text of its own");
}
