//! Enqueues inside an application's own transaction: there after its commit, gone with its rollback.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use towpath::core::State;
use towpath::tokio_postgres::{self, NoTls};
use towpath::{
    Client, Context, Cx, Durable, Failure, Graph, GraphEnd, Job, KeyHolder, Perform, Placed, Signal, SqlText, Worker,
    WorkerHandle, rusqlite,
};

use crate::stores::{Subject, open, postgres, sqlite};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "ship", output = u64)]
pub(crate) struct Ship(u64);

impl Perform for Ship {
    async fn perform(self, _cx: Context) -> Result<u64, Failure> {
        Ok(self.0)
    }
}

const GO: Signal<u64> = Signal::new("go");

async fn wait_for_go(cx: Cx<'_>, add: u64) -> Result<u64, Failure> {
    Ok(add + cx.signal(GO).await)
}

const WAITER: Durable<u64, u64, Failure> = Durable::new("wait-for-go", 1, Duration::from_secs(3_600), &wait_for_go);

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).perform::<Ship>().durable(WAITER).start().unwrap()
}

fn graph() -> Graph {
    let graph = Graph::builder("order");
    let first = graph.node("a", &Ship(1));
    graph.node("b", &Ship(2)).after([&first]);
    graph.build().unwrap()
}

async fn count(client: &Client) -> u64 {
    client.inspect().census().await.unwrap().jobs
}

fn is_send<T: Send>(value: T) -> T {
    value
}

/// A connection of the application's to the file of a subject's store.
fn file(subject: &Subject) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(subject.url.strip_prefix("sqlite:").unwrap()).unwrap();
    db.busy_timeout(Duration::from_secs(30)).unwrap();
    db
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_commit_brings_all_and_a_rollback_nothing() {
    let subject = sqlite();
    let client = &subject.client;
    let mut db = file(&subject);
    let begin = |db: &mut rusqlite::Connection| {
        db.execute_batch("begin immediate").unwrap();
    };
    begin(&mut db);
    let mut within = client.within(&db);
    within.enqueue(&Ship(7)).await.unwrap();
    within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
    within.graph(graph()).await.unwrap();
    within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
    within.signal(client.signal("run-1", GO, &2)).await.unwrap();
    drop(within.done());
    db.execute_batch("rollback").unwrap();
    assert_eq!(count(client).await, 0, "nothing of it is there");

    begin(&mut db);
    db.execute_batch("create table orders (id integer)").unwrap();
    let mut within = client.within(&db);
    let job = within.enqueue(&Ship(7)).await.unwrap();
    let keyed = within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
    assert_eq!(keyed.placed(), Placed::Inserted, "the rollback has left the key free");
    let again = within.job(client.job(&Ship(9)).unique("k")).await.unwrap();
    assert_eq!(again.placed(), Placed::Held(KeyHolder::Job(keyed.id())));
    let both = within.graph(graph()).await.unwrap();
    let run = within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
    within.signal(client.signal("run-1", GO, &2)).await.unwrap();
    let refused = within.enqueue(&Ship(1)).await;
    assert!(refused.is_ok());
    let wake = within.done();
    assert_eq!(count(client).await, 0, "nobody sees it before the commit");
    db.execute_batch("commit").unwrap();
    let worker = worker(client);
    wake.ring();
    assert_eq!(client.output(&job).await.unwrap(), 7);
    assert_eq!(client.output(&keyed).await.unwrap(), 8);
    assert_eq!(both.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.result(&run).await.unwrap(), 3);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_connection_without_a_transaction_or_to_another_file_is_refused() {
    let (subject, other) = (sqlite(), sqlite());
    let db = file(&subject);
    let refused = subject.client.within(&db).enqueue(&Ship(1)).await.unwrap_err().to_string();
    assert!(refused.contains("the connection is not in a transaction: begin one, with IMMEDIATE"), "{refused}");
    let db = file(&other);
    db.execute_batch("begin immediate").unwrap();
    let refused = subject.client.within(&db).enqueue(&Ship(1)).await.unwrap_err().to_string();
    assert!(refused.contains("the store is") && refused.contains("use its file"), "{refused}");
    let memory = crate::stores::memory();
    let refused = memory.client.within(&db).enqueue(&Ship(1)).await.unwrap_err().to_string();
    assert!(refused.contains("the transaction is one of SQLite, and the client's store is not"), "{refused}");
    db.execute_batch("rollback").unwrap();
}

/// A connection of the application's to the database of a subject's store.
async fn database(subject: &Subject) -> tokio_postgres::Client {
    let (url, _) = subject.url.split_once('#').unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn schema(subject: &Subject) -> &str {
    subject.url.split_once('#').unwrap().1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_commit_brings_all_and_a_rollback_nothing() {
    let Some(subject) = postgres().await else { return };
    let client = &subject.client;
    let mut db = database(&subject).await;
    let worker = worker(client);
    let tx = db.transaction().await.unwrap();
    let mut within = client.within(&tx);
    is_send(within.enqueue(&Ship(7))).await.unwrap();
    within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
    within.graph(graph()).await.unwrap();
    within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
    within.signal(client.signal("run-1", GO, &2)).await.unwrap();
    // An open transaction holds up nobody who works, nor who enqueues the same kind.
    let beside = client.enqueue(&Ship(5)).await.unwrap();
    assert_eq!(client.output(&beside).await.unwrap(), 5);
    drop(within.done());
    tx.rollback().await.unwrap();
    assert_eq!(count(client).await, 1, "nothing of it is there");

    let tx = db.transaction().await.unwrap();
    let mut within = client.within(&tx);
    let job = within.enqueue(&Ship(7)).await.unwrap();
    let keyed = within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
    assert_eq!(keyed.placed(), Placed::Inserted, "the rollback has left the key free");
    let both = within.graph(graph()).await.unwrap();
    let run = within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
    within.signal(client.signal("run-1", GO, &2)).await.unwrap();
    let wake = within.done();
    assert_eq!(count(client).await, 1, "nobody sees it before the commit");
    tx.commit().await.unwrap();
    wake.ring();
    assert_eq!(client.output(&job).await.unwrap(), 7);
    assert_eq!(client.output(&keyed).await.unwrap(), 8);
    assert_eq!(both.wait(client).await.unwrap(), GraphEnd::Succeeded);
    assert_eq!(client.result(&run).await.unwrap(), 3);
    // A run that is parked is woken by a signal of a transaction.
    let parked = client.start(WAITER, "run-2", &10).await.unwrap();
    let tx = db.transaction().await.unwrap();
    let mut within = client.within(&tx);
    within.signal(client.signal("run-2", GO, &20)).await.unwrap();
    let wake = within.done();
    tx.commit().await.unwrap();
    wake.ring();
    assert_eq!(client.result(&parked).await.unwrap(), 30);
    worker.shutdown().await;
}

/// The middle one of how long it takes from a commit until a worker has done the job.
fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[took.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_task_that_may_change_its_thread_enqueues_and_workers_are_woken() {
    let Some(subject) = postgres().await else { return };
    let worker = worker(&subject.client);
    let mut took = Vec::new();
    for n in 0..9 {
        let (client, mut db) = (subject.client.clone(), database(&subject).await);
        let enqueued = tokio::spawn(async move {
            let tx = db.transaction().await.unwrap();
            let mut within = client.within(&tx);
            let job = within.enqueue(&Ship(n)).await.unwrap();
            let wake = within.done();
            tx.commit().await.unwrap();
            wake.ring();
            job
        });
        let job = enqueued.await.unwrap();
        let from = Instant::now();
        assert_eq!(subject.client.output(&job).await.unwrap(), n);
        took.push(from.elapsed());
    }
    // A worker that is not woken looks about once a second.
    assert!(median(took.clone()) < Duration::from_millis(200), "{took:?}");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_task_that_may_change_its_thread_enqueues() {
    let subject = sqlite();
    let worker = worker(&subject.client);
    let (client, mut db) = (subject.client.clone(), file(&subject));
    let enqueued = tokio::spawn(async move {
        db.execute_batch("begin immediate").unwrap();
        let mut within = client.within(&mut db);
        let job = within.enqueue(&Ship(7)).await.unwrap();
        let wake = within.done();
        db.execute_batch("commit").unwrap();
        wake.ring();
        job
    });
    assert_eq!(subject.client.output(&enqueued.await.unwrap()).await.unwrap(), 7);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_driver_of_postgres_needs_one_statement_more() {
    let Some(subject) = postgres().await else { return };
    let client = &subject.client;
    let mut db = database(&subject).await;
    db.batch_execute("begin").await.unwrap();
    let statements = AtomicU32::new(0);
    let mut within = client.within(SqlText::on(&mut db, |db, statement, argument| {
        statements.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let text = tokio_postgres::types::Type::TEXT;
            let rows = db.query_typed(&statement, &[(&argument, text)]).await?;
            rows[0].try_get::<_, String>(0)
        })
    }));
    let job = within.enqueue(&Ship(7)).await.unwrap();
    assert_eq!(statements.load(Ordering::Relaxed), 1);
    let refused = within.job(client.job(&Ship(8)).id(job.id())).await.unwrap_err().to_string();
    assert!(refused.contains("is taken by a job of kind ship with other content"), "{refused}");
    let wake = within.done();
    db.batch_execute("commit").await.unwrap();
    wake.ring();
    let worker = worker(client);
    assert_eq!(client.output(&job).await.unwrap(), 7, "a refusal has not spoiled the transaction");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trigger_enqueues_by_sql_and_its_refusal_is_an_error_of_the_insert() {
    let Some(subject) = postgres().await else { return };
    let (client, schema) = (&subject.client, schema(&subject));
    let db = database(&subject).await;
    db.batch_execute(&format!(
        "create table {schema}.orders (id int, queue text);
         create function {schema}.ordered() returns trigger language plpgsql as $$ begin
           perform {schema}.enqueue('ship', to_jsonb(new.id), queue => new.queue, priority => 3, attempts => 2,
             unique_key => 'order-' || new.id, tags => array['sql']);
           return new;
         end $$;
         create trigger ordered after insert on {schema}.orders for each row execute function {schema}.ordered();
         insert into {schema}.orders values (1, 'default'), (2, 'default'), (1, 'default')"
    ))
    .await
    .unwrap();
    assert_eq!(count(client).await, 2, "the third has the key of the first");
    let refused = db.batch_execute(&format!("insert into {schema}.orders values (3, 'No Queue')")).await.unwrap_err();
    let refused = refused.as_db_error().unwrap().message().to_owned();
    assert_eq!(refused, "queue 'No Queue' cannot be one: use 1 to 64 of a-z 0-9 . _ -");
    let ask = async |text: &str| db.query_one(text, &[]).await.map(|row| row.get::<_, uuid::Uuid>(0));
    let by_sql = format!("select {schema}.enqueue('ship', '9', delay => '1 hour', deadline => now() + '2 hours')");
    let later = ask(&by_sql).await.unwrap();
    let line = client.inspect().job(later.into()).await.unwrap().unwrap().line;
    assert!(line.due.is_some() && line.state == State::Ready);
    for tags in ["array['']", "array[E'a\\nb']", "array[repeat('x', 129)]", "array_fill('x'::text, array[33])"] {
        let refused = ask(&format!("select {schema}.enqueue('ship', '9', tags => {tags})")).await.unwrap_err();
        let refused = refused.as_db_error().unwrap().message().to_owned();
        assert!(refused.starts_with("at most 32 tags are allowed, each of 1 to 128 bytes"), "{tags}: {refused}");
    }
    let by_tag = towpath::inspect::JobFilter { tags: vec!["sql".into()], ..Default::default() };
    let found = client.inspect().jobs(by_tag, towpath::inspect::Page::default()).await.unwrap();
    assert_eq!(found.len(), 2, "what a trigger enqueues is found by its tags");
    let kept = ask(&format!("select {schema}.enqueue('{}.end')", "towpath")).await.unwrap_err();
    assert!(kept.as_db_error().unwrap().message().contains("is kept for the product"));
    let worker = worker(client);
    let first = ask(&format!("select {schema}.enqueue('ship', '11')")).await.unwrap();
    db.batch_execute(&format!("select {schema}.wake('default')")).await.unwrap();
    let ended = client.wait(first.into()).await.unwrap();
    assert_eq!(ended.output.unwrap().decode::<u64>().unwrap(), 11);
    ask(&format!("select {schema}.cancel('{later}', 'ann', 'no more')")).await.unwrap();
    let ended = client.wait(later.into()).await.unwrap();
    assert_eq!(ended.state, State::Ended(towpath::End::Cancelled));
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_by_sql_is_taken_in_by_a_worker_and_what_is_wrong_is_an_error_of_its_job() {
    let Some(subject) = postgres().await else { return };
    let (client, schema) = (&subject.client, schema(&subject));
    let db = database(&subject).await;
    let worker = worker(client);
    let graph = async |text: &str| {
        let row = db.query_one(&format!("select {schema}.enqueue_graph('{text}')"), &[]).await.unwrap();
        row.get::<_, uuid::Uuid>(0)
    };
    let good = graph(
        r#"{"name": "order", "nodes": [{"name": "a", "kind": "ship", "input": 1},
            {"name": "b", "kind": "ship", "input": 2, "after": ["a"]}]}"#,
    )
    .await;
    // It is there once it was taken in.
    while client.inspect().graph(good.into()).await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(client.wait_graph(good.into()).await.unwrap(), GraphEnd::Succeeded);
    graph(r#"{"name": "order", "nodes": [{"name": "a", "kind": "ship", "after": ["z"]}]}"#).await;
    let dead = Some(State::Ended(towpath::End::Dead));
    let filter = towpath::inspect::JobFilter { state: dead, ..Default::default() };
    let dead = loop {
        let lines = client.inspect().jobs(filter.clone(), Client::first_page(5)).await.unwrap();
        match lines.first() {
            Some(line) => break line.id,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let error = client.wait(dead).await.unwrap().error.unwrap();
    assert!(error.contains("no node is named so"), "{error}");
    worker.shutdown().await;
}

const TWO: Durable<u64, u64, Failure> = Durable::new("two", 1, Duration::from_secs(3_600), &two);
async fn two(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    let first = cx.signal(GO).await;
    Ok(n + first + cx.signal(GO).await)
}

/// What is started in a transaction whose id may be taken: a run that is there is sent the signal, one that has ended makes place, and
/// a fork goes on from what is recorded. Until the commit nobody sees it.
macro_rules! starts_ride_on {
    ($client:ident, $within:ident = $begin:expr, $commit:expr, $rollback:expr) => {
        let worker = Worker::builder($client).durable(WAITER).durable(TWO).start().unwrap();
        let old = $client.start(WAITER, "old", &1).signal(GO, &1).await.unwrap();
        assert_eq!($client.result(&old).await.unwrap(), 2);
        let live = $client.start(TWO, "live", &100).signal(GO, &10).await.unwrap();
        while $client.inspect().job(live.job()).await.unwrap().unwrap().run.unwrap().entries < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for rolls_back in [true, false] {
            let mut $within = $begin;
            let joined = $within.start($client.start(TWO, "live", &0).signal(GO, &1)).await.unwrap();
            assert_eq!((joined.placed(), joined.job()), (Placed::Existing, live.job()));
            let anew = $client.start(WAITER, "old", &5).replace_ended().signal(GO, &2);
            let anew = $within.start(anew).await.unwrap();
            assert_eq!(anew.placed(), Placed::Inserted);
            let fork = $within.fork($client.fork::<u64, Failure>("live", 2, "fork")).await.unwrap();
            assert_eq!(fork.placed(), Placed::Inserted);
            $within.signal($client.signal("fork", GO, &7)).await.unwrap();
            let taken = $within.fork($client.fork::<u64, Failure>("live", 2, "fork")).await.unwrap_err();
            assert!(taken.to_string().starts_with("the run fork is there already"), "{taken}");
            let refused = $within.start($client.start(WAITER, "live", &0).reject_existing()).await;
            assert!(refused.is_err());
            let wake = $within.done();
            assert!($client.run::<u64, Failure>("fork").await.unwrap().is_none(), "nobody sees it before the commit");
            assert_eq!($client.result(&old).await.unwrap(), 2, "it is still there");
            if rolls_back {
                $rollback;
                continue;
            }
            $commit;
            wake.ring();
            assert_eq!($client.result(&anew).await.unwrap(), 7);
            assert_eq!($client.result(&live).await.unwrap(), 111);
            assert_eq!($client.result(&fork).await.unwrap(), 117);
        }
        worker.shutdown().await;
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_start_of_an_id_that_is_taken_and_a_fork_ride() {
    let subject = sqlite();
    let (client, db) = (&subject.client, file(&subject));
    let begin = || {
        db.execute_batch("begin immediate").unwrap();
        client.within(&db)
    };
    starts_ride_on!(
        client,
        within = begin(),
        db.execute_batch("commit").unwrap(),
        db.execute_batch("rollback").unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_start_of_an_id_that_is_taken_and_a_fork_ride() {
    let Some(subject) = postgres().await else { return };
    let (client, db) = (&subject.client, database(&subject).await);
    let begin = async || {
        db.batch_execute("begin").await.unwrap();
        client.within(&db)
    };
    starts_ride_on!(
        client,
        within = begin().await,
        db.batch_execute("commit").await.unwrap(),
        db.batch_execute("rollback").await.unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_who_wants_the_key_of_an_open_transaction_waits_for_its_end_and_workers_do_not() {
    let Some(subject) = postgres().await else { return };
    let client = &subject.client;
    let worker = worker(client);
    let mut db = database(&subject).await;
    for commits in [false, true] {
        let tx = db.transaction().await.unwrap();
        let mut within = client.within(&tx);
        let first = within.job(client.job(&Ship(1)).unique("k").delay(Duration::from_secs(3_600))).await.unwrap();
        drop(within.done());
        let theirs = open(&subject.url).await;
        let second = tokio::spawn(async move { theirs.job(&Ship(2)).unique("k").await.unwrap() });
        // Whoever works is not held up, and no more is who enqueues under another key.
        let beside = client.job(&Ship(3)).unique("another").await.unwrap();
        assert_eq!(client.output(&beside).await.unwrap(), 3);
        assert!(!second.is_finished(), "it waits for what becomes of the first one");
        if commits {
            tx.commit().await.unwrap();
            assert_eq!(second.await.unwrap().placed(), Placed::Held(KeyHolder::Job(first.id())));
        } else {
            tx.rollback().await.unwrap();
            let second = second.await.unwrap();
            assert_eq!(second.placed(), Placed::Inserted, "the first one never was");
            assert_eq!(client.output(&second).await.unwrap(), 2);
        }
    }
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_who_wants_the_key_of_an_open_transaction_waits_for_its_end() {
    let subject = sqlite();
    let (client, db) = (&subject.client, file(&subject));
    for commits in [false, true] {
        db.execute_batch("begin immediate").unwrap();
        let mut within = client.within(&db);
        let first = within.job(client.job(&Ship(1)).unique("k")).await.unwrap();
        drop(within.done());
        let theirs = client.clone();
        let second = tokio::spawn(async move { theirs.job(&Ship(2)).unique("k").await.unwrap() });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!second.is_finished(), "it waits for what becomes of the first one");
        db.execute_batch(if commits { "commit" } else { "rollback" }).unwrap();
        let second = second.await.unwrap();
        if commits {
            assert_eq!(second.placed(), Placed::Held(KeyHolder::Job(first.id())));
        } else {
            assert_eq!(second.placed(), Placed::Inserted, "the first one never was");
            let worker = worker(client);
            assert_eq!(client.output(&second).await.unwrap(), 2);
            worker.shutdown().await;
        }
    }
}
