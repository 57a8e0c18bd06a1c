//! Published values: what clients see of a run while it goes on, on every store, and under a crash at every commit.

use std::time::Duration;

use towpath::core::store::{JobDetail, Showing, Shown};
use towpath::durable::{Memory, TxStep};
use towpath::testing::RunHarness;
use towpath::{Client, Cx, Durable, Error, Failure, JobState, Signal, Step, StepCx, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    clients_see_what_a_run_published_last,
    a_replay_publishes_nothing,
    a_value_that_is_too_large_blocks_the_run,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<u32> = Signal::new("go");

const DOUBLE: Step<u32, u32, Failure> = Step::new("double", &double);
async fn double(_: StepCx, n: u32) -> Result<u32, Failure> {
    Ok(2 * n)
}

/// Publishes what it is told, and goes on in another chapter after two.
const TELL: Durable<u32, u32, Failure> = Durable::new("tell", 1, MINUTE, &tell);
async fn tell(cx: Cx<'_>, chapters: u32) -> Result<u32, Failure> {
    for _ in 0..2 {
        let n = cx.signal(GO).await;
        cx.publish(&(cx.chapter(), n));
    }
    let n = cx.step(DOUBLE, &cx.chapter()).await?;
    match chapters.checked_sub(1) {
        Some(left) => cx.continue_as_new(TELL, &left).await,
        None => Ok(n),
    }
}

/// Publishes once, and then takes signals.
const ONCE: Durable<u32, u32, Failure> = Durable::new("once", 1, MINUTE, &once);
async fn once(cx: Cx<'_>, times: u32) -> Result<u32, Failure> {
    cx.publish("here");
    let mut sum = 0;
    for _ in 0..times {
        sum += cx.signal(GO).await;
    }
    Ok(sum)
}

const HUGE: Durable<u32, (), Failure> = Durable::new("huge", 1, MINUTE, &huge);
async fn huge(cx: Cx<'_>, bytes: u32) -> Result<(), Failure> {
    cx.publish(&"x".repeat(bytes as usize));
    cx.signal(GO).await;
    Ok(())
}

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).durable(TELL).durable(ONCE).durable(HUGE).start().unwrap()
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..6_000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} does not come")
}

async fn until_published(client: &Client, run: &str, value: (u32, u32)) {
    let is_there = async || {
        let published: Option<(u32, u32)> = client.published(run).await.unwrap();
        (published == Some(value)).then_some(())
    };
    until(&format!("{value:?}"), is_there).await;
}

async fn clients_see_what_a_run_published_last(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    assert_eq!(client.published::<u32>("nobody").await.unwrap(), None);
    let run = client.start(TELL, "r", &1).await.unwrap();
    assert_eq!(client.published::<u32>("r").await.unwrap(), None);
    for (at, n) in [(1, 10), (1, 20), (2, 30), (2, 40)] {
        client.signal("r", GO, &n).await.unwrap();
        until_published(client, "r", (at, n)).await;
    }
    assert_eq!(client.result(&run).await.unwrap(), 4);
    assert_eq!(client.published("r").await.unwrap(), Some((2, 40)), "it stays when the run ends");
    let wrong = client.published::<String>("r").await.unwrap_err();
    assert!(matches!(wrong, Error::Decode { .. }), "{wrong:?}");
    assert!(wrong.to_string().starts_with("what run r has published cannot be read: "), "{wrong}");
    worker.shutdown().await;
}

async fn a_replay_publishes_nothing(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    let run = client.start(ONCE, "r", &3).await.unwrap();
    let shown = until("a value", async || shown(client, "r").await).await;
    for n in 1..=3 {
        // From its second line on it is rebuilt each time.
        until("a park", async || parked(client, run.job()).await).await;
        client.signal("r", GO, &n).await.unwrap();
    }
    assert_eq!(client.result(&run).await.unwrap(), 6);
    assert_eq!(self::shown(client, "r").await, Some(shown), "it was written once");
    worker.shutdown().await;
}

async fn a_value_that_is_too_large_blocks_the_run(subject: Subject) {
    let client = &subject.client;
    let worker = worker(client);
    // Two quotes are a part of it.
    let fits = client.start(HUGE, "fits", &((1 << 20) - 2)).await.unwrap();
    client.signal("fits", GO, &0).await.unwrap();
    client.result(&fits).await.unwrap();
    assert_eq!(client.published::<String>("fits").await.unwrap().map(|text| text.len()), Some((1 << 20) - 2));
    let run = client.start(HUGE, "huge", &((1 << 20) - 1)).await.unwrap();
    let reason = until("a block", async || detail(client, run.job()).await.blocked).await;
    assert_eq!(reason, "the published value cannot be stored: it has 1048577 bytes, at most 1048576 are allowed");
    assert_eq!(client.published::<String>("huge").await.unwrap(), None);
    worker.shutdown().await;
}

async fn shown(client: &Client, run: &str) -> Option<Shown> {
    let id = towpath::core::RunId::new(run).unwrap();
    client.store().shown(id, Showing::PUBLISHED.into()).await.unwrap()
}

async fn detail(client: &Client, job: towpath::JobId) -> JobDetail {
    client.inspect().job(job).await.unwrap().unwrap()
}

async fn parked(client: &Client, job: towpath::JobId) -> Option<()> {
    let detail = detail(client, job).await;
    let arrived = detail.run.is_some_and(|run| run.entries > run.arrived + 1);
    (detail.line.state == JobState::Ready && arrived).then_some(())
}

const INSIDE: TxStep<Memory, u32, u32, Failure> = TxStep::new("inside", &inside);
fn inside(n: u32) -> Result<u32, Failure> {
    Ok(n + 1)
}

/// Publishes around steps of both kinds, waits and children.
const BUSY: Durable<u32, u32, Failure> = Durable::new("busy", 1, MINUTE, &busy);
async fn busy(cx: Cx<'_>, chapters: u32) -> Result<u32, Failure> {
    cx.publish(&0);
    let n = cx.transact(INSIDE, &1).await?;
    cx.publish(&n);
    let n = cx.transact(INSIDE, &n).await?;
    cx.publish(&n);
    if chapters > 0 {
        return cx.continue_as_new(BUSY, &(chapters - 1)).await;
    }
    let m = cx.step(DOUBLE, &n).await?;
    cx.publish(&m);
    cx.sleep(Duration::from_secs(1)).await;
    let m = m + cx.signal(GO).await;
    cx.publish(&m);
    cx.transact(INSIDE, &m).await?;
    Ok(m)
}

#[tokio::test]
async fn a_crash_at_any_commit_loses_no_value_and_brings_none_back() {
    for chapters in [0, 1] {
        let harness = RunHarness::new(BUSY, chapters).signal_after(Duration::from_secs(2), GO, &7);
        let run = harness.run().await;
        assert_eq!(run.result.as_ref().unwrap(), &13);
        assert_eq!(run.published::<u32>(), Some(13));
        harness.prove().await;
    }
}
