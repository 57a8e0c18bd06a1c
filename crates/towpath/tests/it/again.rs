//! Runs that go on from what their journals have: retried where they failed, or forked, on every store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::store::ForkedFrom;
use towpath::inspect::JobFilter;
use towpath::testing::assert_replays;
use towpath::{
    BulkChange, BulkDone, Client, Context, Cx, Durable, End, Failure, ForkError, Job, JobState, RetryError, RunError,
    Signal, State, StepCx, Worker, WorkerHandle, step,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_that_failed_goes_on_where_it_failed,
    a_failure_that_the_function_went_on_from_stays,
    a_run_goes_on_from_a_place,
    a_run_that_was_undone_begins_anew,
    a_run_that_was_cancelled_takes_its_signal,
    a_child_that_failed_is_started_anew,
    a_requeue_of_a_run_is_a_retry,
    many_runs_are_retried_at_once,
    a_fork_goes_its_own_way,
    a_fork_of_a_live_run_leaves_it_alone,
    what_cannot_go_on_says_why,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<u32> = Signal::new("go");

/// What steps do, and whether what is broken is repaired.
#[derive(Default)]
struct World {
    is_fixed: AtomicBool,
    done: Mutex<Vec<String>>,
}

impl World {
    fn note(&self, what: String) {
        self.done.lock().unwrap().push(what);
    }

    /// What was done so often, in the order of its names.
    fn counts(&self) -> Vec<String> {
        let mut done = self.done.lock().unwrap().clone();
        done.sort();
        let names: std::collections::BTreeSet<_> = done.iter().cloned().collect();
        names.iter().map(|name| format!("{name} {}", done.iter().filter(|other| *other == name).count())).collect()
    }
}

#[step]
async fn note(cx: StepCx, world: State<Arc<World>>, what: String) -> Result<String, Failure> {
    world.note(format!("{what} by {}", cx.idempotency_key()));
    Ok(what)
}

/// Fails for good until the world is repaired.
#[step]
async fn fragile(cx: StepCx, world: State<Arc<World>>, what: String) -> Result<String, Failure> {
    world.note(format!("{what} by {}", cx.idempotency_key()));
    if world.is_fixed.load(Ordering::SeqCst) { Ok(what) } else { Err(Failure::permanent("it is broken")) }
}

#[step(at_most_once)]
async fn once(_world: State<Arc<World>>, what: String) -> Result<String, Failure> {
    Err(Failure::permanent(format!("{what} is broken")))
}

const FAN: Durable<u32, String, Failure> = Durable::new("fan", 1, MINUTE, &fan);
async fn fan(cx: Cx<'_>, n: u32) -> Result<String, Failure> {
    let id = cx.uuid().to_string();
    cx.step(NOTE, &format!("a{n}")).await?;
    let parts = cx.join((
        cx.step(FRAGILE, &"p1".to_owned()),
        cx.step(NOTE, &"p2".to_owned()),
        cx.step(FRAGILE, &"p3".to_owned()),
        cx.step(NOTE, &id),
    ));
    let (p1, p2, p3, same) = parts.await;
    let (p1, p2, p3) = (p1?, p2?, p3?);
    let last = cx.step(NOTE, &"z".to_owned()).await?;
    Ok(format!("{p1} {p2} {p3} {last} {}", same? == id))
}

/// Builds its operations in one order and waits for them in another.
const CROSSED: Durable<u32, String, Failure> = Durable::new("crossed", 1, MINUTE, &crossed);
async fn crossed(cx: Cx<'_>, _: u32) -> Result<String, Failure> {
    let early = cx.step(NOTE, &"early".to_owned());
    let late = cx.step(FRAGILE, &"late".to_owned());
    let first = cx.step(FRAGILE, &"first".to_owned());
    match first.await {
        Ok(first) => Ok(first),
        Err(_) => Ok(format!("{} {}", early.await?, late.await?)),
    }
}

/// Three steps, the last of which is fragile, and a signal between the first two.
const LINE: Durable<u32, String, Failure> = Durable::new("line", 1, MINUTE, &line);
async fn line(cx: Cx<'_>, undo: u32) -> Result<String, Failure> {
    cx.step(NOTE, &"a".to_owned()).await?;
    if undo == 1 {
        cx.undo(NOTE, "undone".to_owned());
    }
    let go = cx.signal(GO).await;
    let early = cx.random();
    let before = cx.step(NOTE, &format!("b{go}")).await?;
    let late = cx.random();
    let last = cx.step(FRAGILE, &"c".to_owned()).await?;
    cx.publish(&(early, late));
    Ok(format!("{before} {last}"))
}

const ONCE_ONLY: Durable<u32, String, Failure> = Durable::new("once-only", 1, MINUTE, &once_only);
async fn once_only(cx: Cx<'_>, _: u32) -> Result<String, Failure> {
    Ok(cx.step(ONCE, &"it".to_owned()).await?)
}

#[derive(Serialize, Deserialize)]
struct Part(u32);

impl Job for Part {
    const KIND: &'static str = "part";
    type Output = u32;
}

fn part(world: &World, part: &Part) -> Result<u32, Failure> {
    world.note(format!("part {}", part.0));
    let is_fixed = world.is_fixed.load(Ordering::SeqCst);
    if part.0.is_multiple_of(2) || is_fixed { Ok(part.0) } else { Err(Failure::permanent("odd")) }
}

const PARENT: Durable<u32, u32, Failure> = Durable::new("parent", 1, MINUTE, &parent);
async fn parent(cx: Cx<'_>, most: u32) -> Result<u32, Failure> {
    let parts = cx.join_all((0..most).map(|n| cx.job(&Part(n)))).await;
    let mut sum = 0;
    for part in parts {
        sum += part.map_err(Failure::permanent)?;
    }
    Ok(sum)
}

fn worker(client: &Client) -> (WorkerHandle, Arc<World>) {
    let world = Arc::new(World::default());
    let of_parts = Arc::clone(&world);
    let handler = move |job: Part, _: Context| {
        let world = Arc::clone(&of_parts);
        async move { part(&world, &job) }
    };
    let builder = Worker::builder(client).state(Arc::clone(&world)).handle(handler);
    let worker =
        builder.durable(FAN).durable(LINE).durable(CROSSED).durable(ONCE_ONLY).durable(PARENT).start().unwrap();
    (worker, world)
}

async fn fails<O, E>(client: &Client, run: &towpath::RunHandle<O, E>)
where
    O: serde::de::DeserializeOwned + std::fmt::Debug,
    E: serde::de::DeserializeOwned + std::fmt::Debug,
{
    let result = client.result(run).await;
    assert!(matches!(result, Err(RunError::Failed(_))), "{result:?}");
}

async fn a_run_that_failed_goes_on_where_it_failed(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let run = client.start(FAN, "fan", &1).await.unwrap();
    fails(client, &run).await;
    let before = world.counts();
    assert_eq!(before.len(), 5, "{before:?}");

    // What is not repaired fails in the same way, and nothing else is done again.
    client.retry_run("fan").await.unwrap();
    fails(client, &run).await;
    world.is_fixed.store(true, Ordering::SeqCst);
    client.retry_run("fan").by("ann", "repaired").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "p1 p2 p3 z true");

    let mut done = world.counts();
    done.retain(|line| !line.contains('-'));
    let keys = ["a1 by fan/1/1 1", "p1 by fan/1/2 3", "p2 by fan/1/3 1", "p3 by fan/1/4 3", "z by fan/1/6 1"];
    assert_eq!(done, keys, "what has succeeded was done once, and the same step has the same key");
    let detail = client.inspect().job(run.job()).await.unwrap().unwrap();
    assert_eq!((detail.run.unwrap().chapter, detail.line.counters.attempt >= 3), (3, true));
    assert_replays(FAN, &client.history("fan").await.unwrap().unwrap());
    let audit = client.inspect().audit(towpath::inspect::Page { after: None, limit: 1 }).await.unwrap();
    assert_eq!((audit[0].action.as_str(), audit[0].actor.as_str()), ("retry run", "ann"));
    worker.shutdown().await;
}

/// What a function waits for after a failure follows from it, also where it had built it before.
async fn a_failure_that_the_function_went_on_from_stays(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let run = client.start(CROSSED, "crossed", &1).await.unwrap();
    fails(client, &run).await;
    world.is_fixed.store(true, Ordering::SeqCst);
    client.retry_run("crossed").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "early late");
    assert_eq!(world.counts(), ["early by crossed/1/1 1", "first by crossed/1/3 1", "late by crossed/1/2 2"]);
    assert_replays(CROSSED, &client.history("crossed").await.unwrap().unwrap());
    // Before the second one was built nothing had been told: a fork from there does all but what is told before.
    let fork = client.fork::<String, Failure>("crossed", 2, "crossed-b").await.unwrap();
    assert_eq!(client.result(&fork).await.unwrap(), "first");
    worker.shutdown().await;
}

async fn a_run_goes_on_from_a_place(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    world.is_fixed.store(true, Ordering::SeqCst);
    let run = client.start(LINE, "line", &0).await.unwrap();
    client.signal("line", GO, &7).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b7 c");
    let left = client.retry_run("line").at(3).await.unwrap_err();
    assert!(matches!(left, RetryError::Left { .. }), "{left}");
    // The signal that the second operation took is there again for it; steps keep their keys.
    client.retry_run("line").at(2).even_succeeded().await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b7 c");
    assert_eq!(world.counts(), ["a by line/1/1 1", "b7 by line/1/3 2", "c by line/1/4 2"]);
    client.retry_run("line").even_succeeded().await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b7 c");
    let done = world.counts();
    assert!(done.contains(&"a by line/3/1 1".to_owned()), "from its beginning it is done anew: {done:?}");
    worker.shutdown().await;
}

async fn a_run_that_was_undone_begins_anew(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let run = client.start(LINE, "line", &1).await.unwrap();
    client.signal("line", GO, &7).await.unwrap();
    fails(client, &run).await;
    let refused = client.retry_run("line").at(3).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "run line is not retried: what it did was undone, so it can only begin anew, from its beginning"
    );
    world.is_fixed.store(true, Ordering::SeqCst);
    client.retry_run("line").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b7 c");
    let done = world.counts();
    assert!(done.contains(&"a by line/2/1 1".to_owned()), "{done:?}");
    worker.shutdown().await;
}

async fn a_run_that_was_cancelled_takes_its_signal(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    world.is_fixed.store(true, Ordering::SeqCst);
    let run = client.start(LINE, "line", &0).await.unwrap();
    // Until it has begun, a cancel leaves nothing to go on from.
    while !world.counts().iter().any(|line| line.starts_with("a ")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.cancel_run("line", "ann", "by mistake").await.unwrap();
    assert!(matches!(client.result(&run).await, Err(RunError::Cancelled { .. })));
    client.retry_run("line").await.unwrap();
    client.signal("line", GO, &8).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b8 c", "the cancel is gone");
    assert_eq!(world.counts()[0], "a by line/1/1 1");
    client.retry_run("line").from_beginning().even_succeeded().await.unwrap();
    client.cancel_run("line", "ann", "and again").await.unwrap();
    let result = client.result(&run).await;
    assert!(result.is_ok() || matches!(result, Err(RunError::Cancelled { .. })), "{result:?}");
    worker.shutdown().await;
}

async fn a_child_that_failed_is_started_anew(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let run = client.start(PARENT, "parent", &4).await.unwrap();
    fails(client, &run).await;
    world.is_fixed.store(true, Ordering::SeqCst);
    client.retry_run("parent").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 6);
    assert_eq!(world.counts(), ["part 0 1", "part 1 2", "part 2 1", "part 3 2"]);
    worker.shutdown().await;
}

async fn a_requeue_of_a_run_is_a_retry(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let run = client.start(LINE, "line", &0).await.unwrap();
    client.signal("line", GO, &7).await.unwrap();
    fails(client, &run).await;
    let refused = client.requeue(run.job()).input(&1).await.unwrap_err();
    assert!(matches!(refused, RetryError::HasBegun { .. }), "{refused}");
    world.is_fixed.store(true, Ordering::SeqCst);
    client.requeue(run.job()).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "b7 c");
    assert_eq!(world.counts(), ["a by line/1/1 1", "b7 by line/1/3 1", "c by line/1/4 2"]);
    worker.shutdown().await;
}

async fn many_runs_are_retried_at_once(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    let mut runs = Vec::new();
    for n in 0..5 {
        let run = client.start(LINE, &format!("line-{n}"), &0).await.unwrap();
        client.signal(run.id().as_str(), GO, &n).await.unwrap();
        runs.push(run);
    }
    let stuck = client.start(ONCE_ONLY, "once", &0).await.unwrap();
    for run in runs.iter().chain([&stuck]) {
        fails(client, run).await;
    }
    world.is_fixed.store(true, Ordering::SeqCst);
    let dead = JobFilter { state: Some(JobState::Ended(End::Dead)), ..JobFilter::default() };
    let done = client.bulk(dead).apply(&BulkChange::Requeue, "ann", "repaired").await.unwrap();
    assert_eq!(done, BulkDone { matched: 6, changed: 5, left: 1 });
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(client.result(run).await.unwrap(), format!("b{n} c"));
    }
    let done = world.counts();
    assert_eq!(done.len(), 15, "no step that had succeeded was done under another key: {done:?}");
    worker.shutdown().await;
}

async fn a_fork_goes_its_own_way(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    world.is_fixed.store(true, Ordering::SeqCst);
    let first = client.start(LINE, "line", &0).await.unwrap();
    client.signal("line", GO, &7).await.unwrap();
    assert_eq!(client.result(&first).await.unwrap(), "b7 c");
    let before = client.history("line").await.unwrap().unwrap().to_json_lines();

    // From behind the signal: what it took is taken over with its outcome.
    let fork = client.fork::<String, Failure>("line", 4, "fork").await.unwrap();
    assert_eq!(client.result(&fork).await.unwrap(), "b7 c");
    // From the signal: it waits for one of its own, and the one that the other took is none of its.
    let second = client.fork::<String, Failure>("fork", 2, "second").await.unwrap();
    client.signal("second", GO, &9).await.unwrap();
    assert_eq!(client.result(&second).await.unwrap(), "b9 c");

    let done = ["a by line/1/1 1", "b7 by line/1/3 1", "b9 by second/1/3 1", "c by fork/1/4 1", "c by line/1/4 1"];
    assert_eq!(world.counts()[..5], done);
    assert_eq!(client.history("line").await.unwrap().unwrap().to_json_lines(), before, "the other one is as it was");
    let origin = async |run: &towpath::RunHandle<String, Failure>| {
        client.inspect().job(run.job()).await.unwrap().unwrap().run.unwrap().origin
    };
    let of = ForkedFrom { run: fork.id().clone(), chapter: 1, at: 2 };
    assert_eq!((origin(&first).await, origin(&second).await), (None, Some(of)));
    let drawn = async |run: &str| client.published::<(u64, u64)>(run).await.unwrap().unwrap();
    let (line, fork, second) = (drawn("line").await, drawn("fork").await, drawn("second").await);
    assert_eq!(line.0, fork.0, "what was drawn for an operation that is taken over stays");
    assert_ne!(line.1, fork.1, "and what is drawn for one that is not is another");
    assert_ne!(line.0, second.0);
    for run in ["fork", "second"] {
        assert_replays(LINE, &client.history(run).await.unwrap().unwrap());
    }
    // A fork may fail and be retried like any run.
    world.is_fixed.store(false, Ordering::SeqCst);
    let third = client.fork::<String, Failure>("second", 4, "third").await.unwrap();
    fails(client, &third).await;
    world.is_fixed.store(true, Ordering::SeqCst);
    client.retry_run("third").await.unwrap();
    assert_eq!(client.result(&third).await.unwrap(), "b9 c");
    worker.shutdown().await;
}

async fn a_fork_of_a_live_run_leaves_it_alone(subject: Subject) {
    let client = &subject.client;
    let (worker, world) = worker(client);
    world.is_fixed.store(true, Ordering::SeqCst);
    let first = client.start(LINE, "line", &0).await.unwrap();
    while client.history("line").await.unwrap().unwrap().entries.len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let fork = client.fork::<String, Failure>("line", 2, "fork").await.unwrap();
    client.signal("fork", GO, &1).await.unwrap();
    assert_eq!(client.result(&fork).await.unwrap(), "b1 c");
    client.signal("line", GO, &2).await.unwrap();
    assert_eq!(client.result(&first).await.unwrap(), "b2 c");
    assert_eq!(world.counts()[0], "a by line/1/1 1");
    worker.shutdown().await;
}

async fn what_cannot_go_on_says_why(subject: Subject) {
    let client = &subject.client;
    let (worker, _) = worker(client);
    let run = client.start(ONCE_ONLY, "once", &0).await.unwrap();
    fails(client, &run).await;
    let fork = async |run: &str, at: u32, id: &str| match client.fork::<String, Failure>(run, at, id).await {
        Ok(_) => "forked".to_owned(),
        Err(error) => error.to_string(),
    };
    let refusals = [
        client.retry_run("once").await.unwrap_err().to_string(),
        client.retry_run("once").at(3).await.unwrap_err().to_string(),
        client.retry_run("once").at(0).await.unwrap_err().to_string(),
        client.retry_run("nobody").await.unwrap_err().to_string(),
        fork("nobody", 1, "x").await,
        fork("once", 0, "x").await,
        fork("once", 3, "x").await,
    ];
    let op = "operation 1, step once v1 (input d4bca8a4dab089ce)";
    assert_eq!(
        refusals,
        [
            format!(
                "run once is not retried: {op}, has failed and may be begun once only: go on from 1 if it may be begun again \
                 all the same"
            ),
            "run once is not retried: it has come to operation 1, and 3 was asked for: go on from 2 at most".to_owned(),
            "run once is not retried: operations are counted from 1".to_owned(),
            "there is no run \"nobody\": it was never started, or has been pruned".to_owned(),
            "there is no run \"nobody\": it was never started, or has been pruned".to_owned(),
            "run once is not forked: operations are counted from 1".to_owned(),
            "run once is not forked: it has come to operation 1, and 3 was asked for: go on from 2 at most".to_owned(),
        ]
    );
    client.retry_run("once").at(1).await.unwrap();
    fails(client, &run).await;
    assert_eq!(fork("once", 1, "again").await, "forked");
    let taken = client.fork::<String, Failure>("once", 1, "again").await.unwrap_err();
    assert!(matches!(taken, ForkError::Start(_)), "{taken}");
    assert!(taken.to_string().starts_with("the run again is there already"), "{taken}");
    worker.shutdown().await;
}
