//! Handlers by the public API: state, middleware, batches, older names and inputs, the hook for failures.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use towpath::core::store::AttemptOutcome;
use towpath::inspect::JobLine;
use towpath::{
    BatchSize, Client, Context, Cx, Durable, End, FailedAttempt, Failure, Job, JobState, Kind, NewJob, Payload,
    RetryPolicy, Worker, WorkerBuilder,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_state_is_had_by_its_type,
    a_state_that_is_missing_blocks_the_job,
    middlewares_are_around_every_attempt_in_their_order,
    jobs_of_a_kind_are_handled_together,
    a_batch_that_fails_fails_each_of_its_jobs,
    older_names_and_inputs_have_the_same_handler,
    failures_are_told_to_the_hook,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "act", output = String, attempts = 1)]
struct Act(String);

fn once() -> RetryPolicy {
    RetryPolicy { base_us: 1_000, ..RetryPolicy::attempts(2) }
}

struct Greeting(&'static str);

async fn a_state_is_had_by_its_type(subject: Subject) {
    let client = &subject.client;
    let greet =
        |job: Act, cx: Context| async move { Ok::<_, Failure>(format!("{} {}", cx.state::<Greeting>()?.0, job.0)) };
    let refused = Worker::builder(client).needs::<Greeting>().handle(greet).start().unwrap_err();
    assert_eq!(refused.to_string(), "the worker cannot start: the handlers need it::handlers::Greeting: add .state(…)");
    let worker = Worker::builder(client).needs::<Greeting>().state(Greeting("hello")).handle(greet).start().unwrap();
    let job = client.enqueue(&Act("Ann".into())).await.unwrap();
    assert_eq!(client.output(&job).await.unwrap(), "hello Ann");
    worker.shutdown().await;
}

async fn until(client: &Client, job: towpath::JobId, is: impl Fn(&JobLine) -> bool) {
    for _ in 0..2_000 {
        let detail = client.inspect().job(job).await.unwrap().unwrap();
        if is(&detail.line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("job {job} does not come there");
}

async fn a_state_that_is_missing_blocks_the_job(subject: Subject) {
    let client = &subject.client;
    let greet = |_: Act, cx: Context| async move { Ok::<_, Failure>(cx.state::<Greeting>()?.0.to_owned()) };
    let worker = Worker::builder(client).build_id("one").handle(greet).start().unwrap();
    let job = client.enqueue(&Act("Ann".into())).await.unwrap();
    until(client, job.id(), |line| line.state == JobState::Blocked).await;
    let blocked = client.inspect().job(job.id()).await.unwrap().unwrap().blocked.unwrap();
    assert_eq!(blocked, "this worker was not given the state it::handlers::Greeting: add .state(…) where it is built");
    worker.shutdown().await;
    let worker = Worker::builder(client).build_id("two").state(Greeting("now")).handle(greet).start().unwrap();
    assert_eq!(client.output(&job).await.unwrap(), "now");
    worker.shutdown().await;
}

async fn middlewares_are_around_every_attempt_in_their_order(subject: Subject) {
    let client = &subject.client;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move |cx: Context, next: towpath::Next| {
            let seen = Arc::clone(&seen);
            async move {
                seen.lock().unwrap().push(format!("{name} {} begins", cx.kind()));
                let result = next.run().await;
                let what = match &result {
                    Ok(left) => left.output::<Value>().unwrap().unwrap_or_default().to_string(),
                    Err(failure) => failure.to_string(),
                };
                seen.lock().unwrap().push(format!("{name}: {what}"));
                result
            }
        }
    };
    let worker = Worker::builder(client)
        .middleware(note("outer"))
        .middleware(note("inner"))
        .middleware(|_, next: towpath::Next| async move {
            next.run().await.map_err(|failure| match failure.to_string().as_str() {
                "gone" => Failure::permanent("gone for good"),
                _ => failure,
            })
        })
        .handle(|job: Act, _| async move {
            match job.0.as_str() {
                "gone" => Err(Failure::new("gone")),
                "panic" => panic!("on purpose"),
                what => Ok(what.to_owned()),
            }
        })
        .handle_blocking(|job: Double, _| Ok::<_, Failure>(2 * job.0))
        .start()
        .unwrap();
    let fine = client.enqueue(&Act("fine".into())).await.unwrap();
    assert_eq!(client.output(&fine).await.unwrap(), "fine");
    let expected = ["outer act begins", "inner act begins", "inner: \"fine\"", "outer: \"fine\""];
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), expected);
    let gone = client.job(&Act("gone".into())).retry(once()).await.unwrap();
    let ended = client.wait(gone.id()).await.unwrap();
    assert_eq!(
        (ended.error.as_deref(), ended.cause.unwrap().to_string().as_str()),
        (Some("gone for good"), "the error was permanent")
    );
    let panics = client.enqueue(&Act("panic".into())).await.unwrap();
    client.wait(panics.id()).await.unwrap();
    let outcomes = client.inspect().attempts(panics.id()).await.unwrap();
    assert_eq!(outcomes[0].outcome, AttemptOutcome::Panicked);
    let blocking = client.enqueue(&Double(21)).await.unwrap();
    assert_eq!(client.output(&blocking).await.unwrap(), 42);
    assert!(seen.lock().unwrap().contains(&"outer double begins".to_owned()));
    worker.shutdown().await;
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "double", output = u64, attempts = 2)]
struct Double(u64);

/// A worker whose batch handler notes the sizes of its batches, refuses 13, and fails as a whole on 99.
fn batching(client: &Client, size: BatchSize, sizes: Arc<Mutex<Vec<usize>>>) -> WorkerBuilder {
    Worker::builder(client).handle_batch(size, move |jobs: Vec<(Double, Context)>| {
        sizes.lock().unwrap().push(jobs.len());
        async move {
            if jobs.iter().any(|(job, _)| job.0 == 99) {
                return Vec::new();
            }
            let one = |(job, cx): (Double, Context)| match job.0 {
                13 if cx.attempt() == 1 => Err(Failure::retry_after("unlucky", Duration::from_millis(1))),
                n => Ok(2 * n),
            };
            jobs.into_iter().map(one).collect()
        }
    })
}

async fn jobs_of_a_kind_are_handled_together(subject: Subject) {
    let client = &subject.client;
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let jobs: Vec<Double> = (10..20).map(Double).collect();
    let handles = client.enqueue_all(&jobs).await.unwrap();
    // They wait for a full batch for as long as a test may take.
    let size = BatchSize { max: 10, wait: Duration::from_secs(600) };
    let worker = batching(client, size, Arc::clone(&sizes)).start().unwrap();
    for (n, handle) in (10..20).zip(&handles).filter(|(n, _)| *n != 13) {
        assert_eq!(client.output(handle).await.unwrap(), 2 * n);
    }
    assert_eq!(*sizes.lock().unwrap(), [10]);
    // The one that failed is alone, and the others that fill its batch come now.
    let more = client.enqueue_all(&(0..9).map(Double).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(client.output(&handles[3]).await.unwrap(), 26);
    assert_eq!(client.output(&more[8]).await.unwrap(), 16);
    worker.shutdown().await;
    let size = BatchSize { max: 1_000, wait: Duration::from_millis(5) };
    let worker = batching(client, size, Arc::clone(&sizes)).start().unwrap();
    let alone = client.enqueue(&Double(50)).await.unwrap();
    assert_eq!(client.output(&alone).await.unwrap(), 100);
    worker.shutdown().await;
}

async fn a_batch_that_fails_fails_each_of_its_jobs(subject: Subject) {
    let client = &subject.client;
    let size = BatchSize { max: 2, wait: Duration::from_millis(5) };
    let worker = batching(client, size, Arc::default()).start().unwrap();
    let jobs = client.enqueue_all(&[Double(99), Double(99)]).await.unwrap();
    for job in &jobs {
        until(client, job.id(), |line| line.counters.failures == 1).await;
    }
    let line = client.inspect().attempts(jobs[0].id()).await.unwrap().remove(0);
    let error = line.error.unwrap();
    assert!(error.starts_with("the batch handler answered 0 results for"), "{error}");
    worker.shutdown().await;
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", alias = "hello", alias = "salute", version = 3, upcast = upcast, output = String)]
struct Greet {
    first: String,
    last: String,
    loud: bool,
}

fn upcast(from: u16, input: Value) -> Result<Value, String> {
    match from {
        1 => {
            let name = input["name"].as_str().ok_or("it has no name")?;
            let (first, last) = name.split_once(' ').unwrap_or((name, ""));
            Ok(json!({ "first": first, "last": last }))
        }
        _ => Ok(json!({ "first": input["first"], "last": input["last"], "loud": false })),
    }
}

async fn older_names_and_inputs_have_the_same_handler(subject: Subject) {
    let client = &subject.client;
    let stored = |kind: &str, version, input: Value| NewJob {
        version,
        ..NewJob::new(Client::new_job_id(), Kind::new(kind).unwrap()).input(Payload::json(&input).unwrap())
    };
    let oldest = stored("hello", 1, json!({ "name": "Ann Lee" }));
    let older = stored("salute", 2, json!({ "first": "Bo", "last": "Ek" }));
    let broken = stored("greet", 1, json!({ "nom": "Eve" }));
    let newest = client.enqueue(&Greet { first: "Cy".into(), last: "Ito".into(), loud: true }).await.unwrap();
    let ids = [oldest.id, older.id, broken.id];
    for job in [oldest, older, broken] {
        client.enqueue_new(job).await.unwrap();
    }
    let worker = Worker::builder(client)
        .handle(|job: Greet, _| async move { Ok::<_, Failure>(format!("{}/{}/{}", job.first, job.last, job.loud)) })
        .start()
        .unwrap();
    let output = async |id| client.wait(id).await.unwrap().output.unwrap().decode::<String>().unwrap();
    assert_eq!(output(ids[0]).await, "Ann/Lee/false");
    assert_eq!(output(ids[1]).await, "Bo/Ek/false");
    assert_eq!(client.output(&newest).await.unwrap(), "Cy/Ito/true");
    until(client, ids[2], |line| line.state == JobState::Blocked).await;
    let blocked = client.inspect().job(ids[2]).await.unwrap().unwrap().blocked.unwrap();
    assert_eq!(blocked, "the input of version 1 has no form in greet: it has no name");
    worker.shutdown().await;
}

const REFUSE: Durable<u64, u64, Failure> = Durable::new("refuse", 1, Duration::from_secs(60), &refuse);
async fn refuse(_cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    Err(Failure::new(format!("no {n}")))
}

async fn failures_are_told_to_the_hook(subject: Subject) {
    let client = &subject.client;
    let told: Arc<Mutex<Vec<FailedAttempt>>> = Arc::default();
    let (hook, runs) = (Arc::clone(&told), Arc::new(AtomicU32::new(0)));
    let worker = Worker::builder(client)
        .on_failure(move |failed| hook.lock().unwrap().push(failed.clone()))
        .abort_grace(Duration::from_millis(50))
        .durable(REFUSE)
        .handle(move |job: Act, _| {
            let runs = Arc::clone(&runs);
            async move {
                match job.0.as_str() {
                    "panic" => panic!("on purpose"),
                    "hang" => std::future::pending().await,
                    "flaky" if runs.fetch_add(1, Ordering::SeqCst) == 0 => Err(Failure::new("not yet")),
                    "snooze" => Err(Failure::skip("of no use")),
                    _ => Ok(String::new()),
                }
            }
        })
        .start()
        .unwrap();
    let act = |what: &str| client.job(&Act(what.into())).retry(once());
    for (what, end) in [("flaky", End::Succeeded), ("snooze", End::Skipped(towpath::SkipKind::Untaken))] {
        let job = act(what).await.unwrap();
        assert_eq!(client.wait(job.id()).await.unwrap().state, JobState::Ended(end), "{what}");
    }
    let panics = client.enqueue(&Act("panic".into())).await.unwrap();
    client.wait(panics.id()).await.unwrap();
    let hangs = client.job(&Act("hang".into())).timeout(Duration::from_millis(20)).await.unwrap();
    client.wait(hangs.id()).await.unwrap();
    let run = client.start(REFUSE, "r", &7).await.unwrap();
    client.result(&run).await.unwrap_err();
    worker.shutdown().await;
    let told = std::mem::take(&mut *told.lock().unwrap());
    let lines: Vec<_> = told.iter().map(|f| (f.kind.as_str(), f.outcome, f.error.as_str(), f.attempt)).collect();
    assert_eq!(
        lines,
        [
            ("act", AttemptOutcome::Failed, "not yet", 1),
            ("act", AttemptOutcome::Panicked, "the handler panicked: on purpose", 1),
            ("act", AttemptOutcome::TimedOut, "it took longer than its timeout", 1),
            ("refuse", AttemptOutcome::Failed, "no 7", 1),
        ]
    );
    assert_eq!(told[3].run.as_ref().map(|run| run.as_str()), Some("r"));
}
