//! Jobs by the public API: outputs, failures, retries, timeouts, cancels, shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::State;
use towpath::core::store::{Changed, Page, Placed};
use towpath::{Cancellation, Client, Context, End, Failure, Job, OutputError, Payload, Perform, RetryPolicy, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_job_runs_and_its_output_is_awaited,
    a_failure_is_retried_and_the_last_one_is_the_end,
    a_permanent_failure_and_a_panic_are_told_apart,
    a_snoozed_job_runs_again_with_its_attempt_refunded,
    a_timeout_fails_the_attempt,
    a_running_job_is_cancelled_at_once_in_the_same_process,
    a_ready_job_is_cancelled_without_a_worker,
    a_shutdown_lets_handlers_finish,
    a_shutdown_hands_back_what_outlasts_its_limit,
    an_id_drawn_before_makes_an_enqueue_idempotent,
    an_input_over_the_limit_is_refused_and_nothing_written,
    an_output_over_the_limit_ends_the_job_and_says_so,
    a_nul_in_an_input_is_refused_with_its_place_and_one_in_an_output_costs_no_end,
    undecodable_input_is_blocked_and_seen,
    blocking_handlers_run,
    a_kind_that_nobody_serves_is_left_alone,
    queues_have_slots_of_their_own,
    what_an_attempt_logs_is_kept_also_when_it_succeeds,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "double", output = u64)]
struct Double(u64);

impl Perform for Double {
    async fn perform(self, _cx: Context) -> Result<u64, Failure> {
        Ok(2 * self.0)
    }
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "flaky", output = u32, attempts = 3)]
struct Flaky {
    succeed_at: u32,
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "act", attempts = 1)]
struct Act(String);

fn quick() -> RetryPolicy {
    RetryPolicy { base_us: 1_000, ..RetryPolicy::attempts(3) }
}

async fn a_job_runs_and_its_output_is_awaited(subject: Subject) {
    let client = &subject.client;
    let early = client.enqueue(&Double(4)).await.unwrap();
    let worker = Worker::builder(client).perform::<Double>().start().unwrap();
    let late = client.enqueue_all(&[Double(5), Double(6)]).await.unwrap();
    assert_eq!(client.output(&early).await.unwrap(), 8);
    assert_eq!(client.output(&late[0]).await.unwrap(), 10);
    assert_eq!(client.output(&late[1]).await.unwrap(), 12);
    worker.shutdown().await;
    let census = client.inspect().census().await.unwrap();
    assert_eq!((census.running, census.ready, census.workers, census.leases), (0, 0, 0, 0));
}

fn flaky(client: &Client) -> towpath::WorkerHandle {
    Worker::builder(client)
        .handle(|job: Flaky, cx: Context| async move {
            if cx.attempt() < job.succeed_at { Err(Failure::new("not yet")) } else { Ok(cx.attempt()) }
        })
        .start()
        .unwrap()
}

async fn a_failure_is_retried_and_the_last_one_is_the_end(subject: Subject) {
    let client = &subject.client;
    let worker = flaky(client);
    let good = client.job(&Flaky { succeed_at: 3 }).retry(quick()).await.unwrap();
    let bad = client.job(&Flaky { succeed_at: 4 }).retry(quick()).await.unwrap();
    assert_eq!(client.output(&good).await.unwrap(), 3);
    let error = client.output(&bad).await.unwrap_err();
    assert!(matches!(&error, OutputError::Ended { state: State::Ended(End::Dead), .. }));
    assert_eq!(error.to_string(), format!("job {} is dead: its attempts are exhausted (not yet)", bad.id()));
    let attempts = client.inspect().attempts(bad.id()).await.unwrap();
    assert_eq!(attempts.iter().map(|a| a.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    worker.shutdown().await;
}

async fn a_permanent_failure_and_a_panic_are_told_apart(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client)
        .handle(|job: Act, _cx| async move {
            match job.0.as_str() {
                "panic" => panic!("on purpose"),
                what => Err::<(), _>(Failure::permanent(what)),
            }
        })
        .start()
        .unwrap();
    let panics = client.enqueue(&Act("panic".into())).await.unwrap();
    let fails = client.job(&Act("no such page".into())).retry(quick()).await.unwrap();
    let panicked = client.wait(panics.id()).await.unwrap();
    assert_eq!(panicked.error.as_deref(), Some("the handler panicked: on purpose"));
    let failed = client.wait(fails.id()).await.unwrap();
    assert_eq!(failed.cause.unwrap().to_string(), "the error was permanent");
    worker.shutdown().await;
}

async fn a_snoozed_job_runs_again_with_its_attempt_refunded(subject: Subject) {
    let client = &subject.client;
    let runs = Arc::new(AtomicU32::new(0));
    let seen = runs.clone();
    let worker = Worker::builder(client)
        .handle(move |_: Flaky, cx: Context| {
            let run = seen.fetch_add(1, Ordering::SeqCst);
            async move { if run < 2 { Err(Failure::snooze(Duration::from_millis(5))) } else { Ok(cx.attempt()) } }
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Flaky { succeed_at: 0 }).await.unwrap();
    assert_eq!(client.output(&job).await.unwrap(), 1, "still the first attempt");
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    worker.shutdown().await;
}

async fn a_timeout_fails_the_attempt(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client)
        .abort_grace(Duration::from_millis(50))
        .handle(|job: Act, cx: Context| async move {
            if job.0 == "deaf" {
                std::future::pending::<()>().await;
            }
            assert_eq!(cx.cancelled().await, Cancellation::Timeout);
            Err::<(), _>(Failure::stopped())
        })
        .start()
        .unwrap();
    for what in ["listens", "deaf"] {
        let job = client.job(&Act(what.into())).timeout(Duration::from_millis(20)).await.unwrap();
        let ended = client.wait(job.id()).await.unwrap();
        assert_eq!(ended.state, State::Ended(End::Dead));
        assert_eq!(ended.error.as_deref(), Some("it took longer than its timeout of 20ms"));
    }
    worker.shutdown().await;
}

async fn a_running_job_is_cancelled_at_once_in_the_same_process(subject: Subject) {
    let client = &subject.client;
    let (started, mut running) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::builder(client)
        .handle(move |_: Act, cx: Context| {
            let started = started.clone();
            async move {
                started.send(()).unwrap();
                assert_eq!(cx.cancelled().await, Cancellation::Asked);
                Err::<(), _>(Failure::stopped())
            }
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Act("wait".into())).await.unwrap();
    running.recv().await.unwrap();
    assert_eq!(client.cancel(job.id(), "ann", "wrong list").await.unwrap(), Changed::Asked);
    let ended =
        tokio::time::timeout(Duration::from_secs(2), client.wait(job.id())).await.expect("not at once").unwrap();
    assert_eq!(ended.state, State::Ended(End::Cancelled));
    assert_eq!(ended.cause.unwrap().to_string(), "ann asked: wrong list");
    worker.shutdown().await;
}

async fn a_ready_job_is_cancelled_without_a_worker(subject: Subject) {
    let client = &subject.client;
    let job = client.enqueue(&Act("never".into())).await.unwrap();
    assert_eq!(client.cancel(job.id(), "ann", "").await.unwrap(), Changed::Ended);
    assert_eq!(client.wait(job.id()).await.unwrap().state, State::Ended(End::Cancelled));
    assert_eq!(client.cancel(job.id(), "ann", "").await.unwrap(), Changed::Left(State::Ended(End::Cancelled)));
    assert_eq!(client.cancel(Client::new_job_id(), "ann", "").await.unwrap(), Changed::Unknown);
    let audit = client.inspect().audit(Page::default()).await.unwrap();
    assert_eq!(audit.len(), 3);
    assert!(audit.iter().all(|line| line.actor == "ann"));
}

async fn a_shutdown_lets_handlers_finish(subject: Subject) {
    let client = &subject.client;
    let (started, mut running) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::builder(client)
        .queue("default", 1)
        .handle(move |_: Act, _cx| {
            started.send(()).unwrap();
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok::<_, Failure>(())
            }
        })
        .start()
        .unwrap();
    let jobs = client.enqueue_all(&[Act("a".into()), Act("b".into()), Act("c".into())]).await.unwrap();
    running.recv().await.unwrap();
    worker.shutdown().await;
    let mut states = Vec::new();
    for job in jobs {
        let detail = client.inspect().job(job.id()).await.unwrap().unwrap();
        states.push((detail.line.state, detail.line.counters.attempt));
    }
    let (ended, unrun) = ((State::Ended(End::Succeeded), 1), (State::Ready, 0));
    assert_eq!(states, [ended, unrun, unrun], "one finished, the others went back at no cost");
}

async fn a_shutdown_hands_back_what_outlasts_its_limit(subject: Subject) {
    let client = &subject.client;
    let (started, mut running) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::builder(client)
        .drain_limit(Duration::from_millis(50))
        .handle(move |_: Act, cx: Context| {
            started.send(()).unwrap();
            async move {
                assert_eq!(cx.cancelled().await, Cancellation::Shutdown);
                Err::<(), _>(Failure::stopped())
            }
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Act("long".into())).await.unwrap();
    running.recv().await.unwrap();
    worker.shutdown().await;
    let line = client.inspect().job(job.id()).await.unwrap().unwrap().line;
    assert_eq!((line.state, line.counters.attempt, line.counters.failures), (State::Ready, 0, 0));
}

async fn an_id_drawn_before_makes_an_enqueue_idempotent(subject: Subject) {
    let client = &subject.client;
    let id = Client::new_job_id();
    assert_eq!(client.job(&Double(1)).id(id).await.unwrap().placed(), Placed::Inserted);
    assert_eq!(client.job(&Double(1)).id(id).await.unwrap().placed(), Placed::Existing);
    let refused = client.job(&Double(2)).id(id).await.unwrap_err().to_string();
    assert_eq!(refused, format!("the id {id} is taken by a job of kind double with other content: draw another id"));
}

async fn an_input_over_the_limit_is_refused_and_nothing_written(subject: Subject) {
    let client = &subject.client;
    let refused = client.enqueue(&Act("x".repeat(1 << 20))).await.unwrap_err().to_string();
    assert!(refused.contains("has 1048578 bytes, at most 1048576 are allowed"), "{refused}");
    let refused = client.enqueue(&Act("a\0b".into())).await.unwrap_err().to_string();
    assert!(refused.contains("NUL character"), "{refused}");
    assert_eq!(client.inspect().census().await.unwrap().jobs, 0);
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "large", output = String)]
struct Large;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "say", output = String)]
struct Say(String);

async fn a_nul_in_an_input_is_refused_with_its_place_and_one_in_an_output_costs_no_end(subject: Subject) {
    let client = &subject.client;
    let refused = client.enqueue(&Say("a\0b".into())).await.unwrap_err().to_string();
    assert!(refused.contains("its JSON holds a NUL character at byte 2: remove it"), "{refused}");
    assert_eq!(client.inspect().census().await.unwrap().jobs, 0);
    let worker =
        Worker::builder(client).handle(|job: Say, _| async move { Ok::<_, Failure>(job.0 + "\0") }).start().unwrap();
    let job = client.enqueue(&Say("a".into())).await.unwrap();
    let error = client.output(&job).await.unwrap_err().to_string();
    assert!(error.contains("NUL character at byte 2"), "the job ends, and says why: {error}");
    worker.shutdown().await;
}

async fn an_output_over_the_limit_ends_the_job_and_says_so(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client)
        .handle(|_: Large, _cx| async { Ok::<_, Failure>("x".repeat(2 << 20)) })
        .start()
        .unwrap();
    let job = client.enqueue(&Large).await.unwrap();
    let error = client.output(&job).await.unwrap_err().to_string();
    assert!(error.contains("dead: the error was permanent (the output has 2097154 bytes, at most 1048576"), "{error}");
    worker.shutdown().await;
}

async fn undecodable_input_is_blocked_and_seen(subject: Subject) {
    let client = &subject.client;
    let mut wrong = client.job(&Double(1)).build().unwrap();
    wrong.input = Payload::json("not a number").unwrap();
    let id = wrong.id;
    client.enqueue_new(wrong).await.unwrap();
    let worker = Worker::builder(client).perform::<Double>().start().unwrap();
    let good = client.enqueue(&Double(3)).await.unwrap();
    assert_eq!(client.output(&good).await.unwrap(), 6);
    let mut detail = client.inspect().job(id).await.unwrap().unwrap();
    while detail.line.state != State::Blocked {
        tokio::time::sleep(Duration::from_millis(5)).await;
        detail = client.inspect().job(id).await.unwrap().unwrap();
    }
    assert!(detail.blocked.unwrap().starts_with("the input does not fit double: invalid type"));
    assert_eq!(detail.line.counters.attempt, 0, "nothing was spent");
    worker.shutdown().await;
}

async fn blocking_handlers_run(subject: Subject) {
    let client = &subject.client;
    let worker =
        Worker::builder(client).handle_blocking(|job: Double, _cx| Ok::<_, Failure>(job.0 + 1)).start().unwrap();
    let job = client.enqueue(&Double(1)).await.unwrap();
    assert_eq!(client.output(&job).await.unwrap(), 2);
    worker.shutdown().await;
}

async fn a_kind_that_nobody_serves_is_left_alone(subject: Subject) {
    let client = &subject.client;
    let stranger = client.enqueue(&Act("later".into())).await.unwrap();
    let worker = Worker::builder(client).perform::<Double>().start().unwrap();
    let known = client.enqueue(&Double(1)).await.unwrap();
    assert_eq!(client.output(&known).await.unwrap(), 2);
    let line = client.inspect().job(stranger.id()).await.unwrap().unwrap().line;
    assert_eq!((line.state, line.counters.attempt), (State::Ready, 0));
    worker.shutdown().await;
}

async fn queues_have_slots_of_their_own(subject: Subject) {
    let client = &subject.client;
    let most = Arc::new(AtomicU32::new(0));
    let now = Arc::new(AtomicU32::new(0));
    let (most_seen, now_seen) = (most.clone(), now.clone());
    let worker = Worker::builder(client)
        .queue("default", 4)
        .queue("narrow", 2)
        .perform::<Double>()
        .handle(move |_: Act, _cx| {
            let (most, now) = (most_seen.clone(), now_seen.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(3)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Failure>(())
            }
        })
        .start()
        .unwrap();
    let mut jobs = Vec::new();
    for n in 0..20 {
        jobs.push(client.job(&Act(n.to_string())).queue("narrow").await.unwrap());
    }
    for job in &jobs {
        client.output(job).await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    worker.shutdown().await;
}

async fn what_an_attempt_logs_is_kept_also_when_it_succeeds(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client)
        .handle(|job: Double, cx: Context| async move {
            cx.log("doubling");
            Ok::<_, Failure>(2 * job.0)
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Double(2)).await.unwrap();
    client.output(&job).await.unwrap();
    let attempts = client.inspect().attempts(job.id()).await.unwrap();
    assert_eq!(attempts[0].log.as_deref(), Some("doubling\n"));
    worker.shutdown().await;
}
