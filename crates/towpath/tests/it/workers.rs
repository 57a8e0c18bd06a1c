//! What a worker promises its handlers: a hint of its shutdown at once, no more than it may fetch, slots that come back,
//! and no connection that is held while they work.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::{Barrier, Notify, Semaphore, mpsc};
use towpath::core::State;
use towpath::core::store::{Beat, HostId, Intent, Rescue, Rescued, Turn, WorkerIdentity};
use towpath::core::{Incarnation, settle_rescued};
use towpath::{Cancellation, Context, End, Failure, Job, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_shutdown_is_hinted_at_once_and_who_leaves_then_costs_nothing,
    a_worker_fetches_no_more_ahead_than_it_may,
    a_job_that_was_lost_and_claimed_again_hears_of_its_cancel_and_frees_both_slots,
    while_a_handler_works_the_store_serves_others,
    what_another_process_ends_is_heard_of_soon,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "long", attempts = 1)]
struct Long;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "short", output = u32)]
struct Short(u32);

const SOON: Duration = Duration::from_secs(10);

async fn a_shutdown_is_hinted_at_once_and_who_leaves_then_costs_nothing(subject: Subject) {
    let client = &subject.client;
    let (started, mut running) = mpsc::unbounded_channel();
    let worker = Worker::builder(client)
        .handle(move |_: Long, cx: Context| {
            started.send(cx.is_shutting_down()).unwrap();
            async move {
                cx.shutting_down().await;
                assert!(cx.is_shutting_down() && cx.cancellation().is_none(), "a hint, not yet a cancel");
                Err::<(), _>(Failure::stopped())
            }
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Long).await.unwrap();
    assert_eq!(running.recv().await, Some(false));
    let began = Instant::now();
    worker.shutdown().await;
    assert!(began.elapsed() < SOON, "it did not wait for the drain limit of 25 s");
    let line = client.inspect().job(job.id()).await.unwrap().unwrap().line;
    assert_eq!((line.state, line.counters.attempt, line.counters.failures), (State::Ready, 0, 0));
}

async fn a_worker_fetches_no_more_ahead_than_it_may(subject: Subject) {
    let client = &subject.client;
    for (prefetch, held) in [(0, 2), (1, 3), (50, 4)] {
        let jobs: Vec<_> = (0..20).map(Short).collect();
        let jobs = client.enqueue_all(&jobs).await.unwrap();
        let (started, mut running) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(0));
        let opened = gate.clone();
        let worker = Worker::builder(client)
            .queue("default", 2)
            .prefetch(prefetch)
            .handle(move |job: Short, _cx| {
                started.send(()).unwrap();
                let gate = opened.clone();
                async move {
                    gate.acquire().await?.forget();
                    Ok::<_, Failure>(job.0)
                }
            })
            .start()
            .unwrap();
        running.recv().await.unwrap();
        running.recv().await.unwrap();
        let queues = client.inspect().queues(u32::MAX).await.unwrap();
        assert_eq!(queues[0].running, held, "two slots, {prefetch} ahead at most, and at first as many as slots");
        gate.add_permits(20);
        for job in &jobs {
            client.output(job).await.unwrap();
        }
        worker.shutdown().await;
    }
}

/// Takes over what the only worker holds, as if its process were known to be gone.
async fn take_over(subject: &Subject) {
    let store = subject.client.store();
    let me = Incarnation::from_bytes([9; 16]);
    let identity = WorkerIdentity {
        name: "rescuer".into(),
        host: HostId::default(),
        build: 1,
        queues: vec![],
        kinds: Default::default(),
    };
    let gone = store.peers().await.unwrap().iter().map(|peer| peer.worker).collect();
    let beat = |intent| Beat {
        worker: me,
        identity: identity.clone(),
        lease: SOON,
        acknowledged: 2,
        holds: Vec::new(),
        intent,
    };
    store.extend(Beat { acknowledged: 0, ..beat(Intent::Stay) }).await.unwrap();
    let reply = store.rescue(Rescue { worker: me, number: 1, gone, limit: 100 }).await.unwrap();
    let settle = reply.rescued.iter().map(|rescued| match rescued {
        Rescued::Job(head) => settle_rescued(head, reply.now),
        Rescued::Decision(_) => panic!("there is no graph"),
    });
    let settle: Vec<_> = settle.collect();
    assert_eq!(settle.len(), 1);
    store.turn(Turn { worker: me, number: 2, settle, claim: None }).await.unwrap();
    store.extend(beat(Intent::Leave)).await.unwrap();
}

async fn a_job_that_was_lost_and_claimed_again_hears_of_its_cancel_and_frees_both_slots(subject: Subject) {
    let client = &subject.client;
    let attempts = Arc::new(AtomicU32::new(0));
    let (started, mut running) = mpsc::unbounded_channel();
    let (heard, mut told) = mpsc::unbounded_channel();
    let go = Arc::new(Notify::new());
    let barrier = Arc::new(Barrier::new(2));
    let (first_may_go, both) = (go.clone(), barrier.clone());
    let worker = Worker::builder(client)
        .queue("default", 2)
        .lease(Duration::from_secs(1))
        .prefetch(0)
        .handle(move |_: Long, cx: Context| {
            let number = attempts.fetch_add(1, Ordering::SeqCst);
            started.send(number).unwrap();
            let (go, heard) = (first_may_go.clone(), heard.clone());
            async move {
                if number == 0 {
                    assert_eq!(cx.cancelled().await, Cancellation::Lost);
                    // It does not listen, so that both are at work.
                    go.notified().await;
                    return Ok(());
                }
                heard.send(cx.cancelled().await).unwrap();
                Err(Failure::stopped())
            }
        })
        .handle(move |job: Short, _cx| {
            let both = both.clone();
            async move {
                both.wait().await;
                Ok::<_, Failure>(job.0)
            }
        })
        .start()
        .unwrap();
    let job = client.enqueue(&Long).await.unwrap();
    assert_eq!(running.recv().await, Some(0));
    take_over(&subject).await;
    assert_eq!(tokio::time::timeout(SOON, running.recv()).await.unwrap(), Some(1), "the same worker has it again");
    go.notify_one();
    while worker.running() > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.cancel(job.id(), "ann", "").await.unwrap();
    assert_eq!(told.recv().await, Some(Cancellation::Asked), "the end of the first one is not that of the second");
    let ended = tokio::time::timeout(SOON, client.wait(job.id())).await.expect("the cancel reached nobody").unwrap();
    assert_eq!(ended.state, State::Ended(End::Cancelled));
    // They meet only if both slots are free.
    let pair = client.enqueue_all(&[Short(1), Short(2)]).await.unwrap();
    for job in &pair {
        tokio::time::timeout(SOON, client.output(job)).await.expect("a slot is lost").unwrap();
    }
    worker.shutdown().await;
}

async fn what_another_process_ends_is_heard_of_soon(subject: Subject) {
    let worker = Worker::builder(&subject.client)
        .handle(|job: Short, _cx| async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            Ok::<_, Failure>(job.0)
        })
        .start()
        .unwrap();
    // A store of its own on the same data is as far away as another process.
    let beside = if subject.url.is_empty() { subject.client.clone() } else { crate::stores::open(&subject.url).await };
    // Behind a pooler it takes a while until it is known that nothing is heard.
    let first = beside.enqueue(&Short(77)).await.unwrap();
    beside.output(&first).await.unwrap();
    tokio::time::sleep(Duration::from_secs(if std::env::var_os("TOWPATH_TEST_POOLER").is_some() { 4 } else { 0 }))
        .await;
    let began = Instant::now();
    for n in 0..10 {
        let job = beside.enqueue(&Short(n)).await.unwrap();
        assert_eq!(beside.output(&job).await.unwrap(), n);
    }
    // Looking once a second would take five seconds and more.
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    worker.shutdown().await;
}

async fn while_a_handler_works_the_store_serves_others(subject: Subject) {
    let client = &subject.client;
    let (started, mut running) = mpsc::unbounded_channel();
    let go = Arc::new(Semaphore::new(0));
    let gone_on = go.clone();
    let worker = Worker::builder(client)
        .handle(move |_: Long, cx: Context| {
            let (started, go) = (started.clone(), gone_on.clone());
            async move {
                // Also by its own hand, in the midst of its work.
                let inner = cx.client().enqueue(&Short(7)).await?;
                cx.client().output(&inner).await?;
                started.send(())?;
                go.acquire().await?.forget();
                Ok::<_, Failure>(())
            }
        })
        .handle(|job: Short, _cx| async move { Ok::<_, Failure>(job.0) })
        .start()
        .unwrap();
    // More than any store has connections.
    let long: Vec<_> = (0..32).map(|_| Long).collect();
    let long = client.enqueue_all(&long).await.unwrap();
    for _ in &long {
        tokio::time::timeout(SOON, running.recv()).await.unwrap().unwrap();
    }
    let beside = if subject.url.is_empty() { client.clone() } else { crate::stores::open(&subject.url).await };
    let others = async {
        let jobs: Vec<_> = (0..20).map(Short).collect();
        for (n, job) in beside.enqueue_all(&jobs).await.unwrap().iter().enumerate() {
            assert_eq!(beside.output(job).await.unwrap() as usize, n);
        }
    };
    tokio::time::timeout(SOON, others).await.expect("others wait for handlers");
    assert_eq!(worker.running(), 32);
    if let Some((url, schema)) = subject.url.split_once('#') {
        assert_eq!(in_transaction(url, schema).await, 0, "a transaction stays open while handlers work");
    }
    go.add_permits(long.len());
    for job in &long {
        client.output(job).await.unwrap();
    }
    worker.shutdown().await;
}

/// The transactions that stay open, of which the last statement was about the schema's tables.
async fn in_transaction(url: &str, schema: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let sql = "select count(*) from pg_stat_activity where state like 'idle in transaction%' and query like $1";
    let like = format!("%{schema}%");
    client.query_typed(sql, &[(&like, tokio_postgres::types::Type::TEXT)]).await.unwrap()[0].get(0)
}

/// What was warned of, as text.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{}={value:?} ", field.name()));
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send-mail", queue = "mail")]
struct SendMail;

#[test]
fn a_kind_whose_queue_the_worker_does_not_serve_is_warned_of_once() {
    let client = crate::stores::memory().client;
    let warned_of = |queues: &[&str]| {
        let warnings = Warnings::default();
        let seen = warnings.0.clone();
        tracing::subscriber::with_default(warnings, || {
            let mut builder = Worker::builder(&client)
                .handle(|_: SendMail, _cx| async { Ok::<_, Failure>(()) })
                .handle(|_: Long, _cx| async { Ok::<_, Failure>(()) });
            for queue in queues {
                builder = builder.queue(queue, 1);
            }
            builder.build().unwrap();
        });
        Arc::try_unwrap(seen).expect("the subscriber is gone").into_inner().unwrap()
    };
    let seen = warned_of(&[]);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(
        seen[0].contains("kind=\"send-mail\" queue=\"mail\"") && seen[0].contains(".queue(\"mail\", 20)"),
        "{seen:?}"
    );
    assert_eq!(warned_of(&["default", "mail"]), [""; 0]);
    let seen = warned_of(&["mail"]);
    assert!(seen.len() == 1 && seen[0].contains("kind=\"long\" queue=\"default\""), "{seen:?}");
}
