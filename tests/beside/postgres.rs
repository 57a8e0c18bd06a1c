//! sqlx on PostgreSQL: one statement with one text, and its answer.

use std::time::{Duration, Instant};

use sqlx::Acquire;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use towpath::{Client, GraphEnd, KeyHolder, Placed, PostgresOptions, PostgresStore, SqlText, Store};

use crate::wire::{Exchanges, counted};
use crate::{GO, Ship, WAITER, graph, jobs, median, worker};

/// A client inside a transaction of sqlx's.
macro_rules! within {
    ($client:expr, $tx:ident) => {
        $client.within(SqlText::on(&mut *$tx, |db, statement, argument| {
            Box::pin(async move {
                #[cfg(feature = "asserts")]
                let statement = sqlx::AssertSqlSafe(statement);
                #[cfg(not(feature = "asserts"))]
                let statement = &statement;
                sqlx::query_scalar(statement).bind(argument).fetch_one(db).await
            })
        }))
    };
}

struct Application {
    pool: PgPool,
    client: Client,
    schema: String,
    /// What goes over the pool's connection.
    wire: Exchanges,
}

/// A pool of the application's, of one connection, and a client of a store, in a schema of the test's.
async fn application() -> Option<Application> {
    let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
        eprintln!("left out: PostgreSQL (set TOWPATH_TEST_POSTGRES, or run `cargo xtask test`)");
        return None;
    };
    let schema = format!("b_{}", Client::new_job_id().as_uuid().simple());
    let store = PostgresStore::connect(&url, PostgresOptions::default().schema(&schema)).unwrap();
    store.migrate().await.unwrap();
    let options: PgConnectOptions = url.parse().unwrap();
    let (port, wire) = counted(format!("{}:{}", options.get_host(), options.get_port())).await;
    let options = options.host("127.0.0.1").port(port).options([("search_path", &schema)]);
    let pool = PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    sqlx::query("create table orders (id bigint primary key)").execute(&pool).await.unwrap();
    Some(Application { pool, client: Client::new(std::sync::Arc::new(store)), schema, wire })
}

impl Application {
    async fn end(self) {
        let text = format!("drop schema {} cascade", self.schema);
        #[cfg(feature = "asserts")]
        let text = sqlx::AssertSqlSafe(text);
        #[cfg(not(feature = "asserts"))]
        let text = text.as_str();
        sqlx::query(text).execute(&self.pool).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_leaves_nothing_and_a_commit_all() {
    let Some(app) = application().await else { return };
    let (pool, client) = (&app.pool, &app.client);
    for commits in [false, true] {
        let mut tx = pool.begin().await.unwrap();
        sqlx::query("insert into orders (id) values (7)").execute(&mut *tx).await.unwrap();
        let mut within = within!(client, tx);
        within.enqueue(&Ship(7)).await.unwrap();
        let keyed = within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
        assert_eq!(keyed.placed(), Placed::Inserted);
        let again = within.job(client.job(&Ship(9)).unique("k")).await.unwrap();
        assert_eq!(again.placed(), Placed::Held(KeyHolder::Job(keyed.id())));
        // A refusal of the product's leaves the transaction as it was.
        let taken = within.job(client.job(&Ship(6)).id(keyed.id())).await.unwrap_err().to_string();
        assert!(taken.contains("is taken by a job of kind ship with other content"), "{taken}");
        let graph = within.graph(graph()).await.unwrap();
        let run = within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
        within.signal(client.signal("run-1", GO, &2)).await.unwrap();
        let wake = within.done();
        assert_eq!(jobs(client).await, 0, "nobody sees it before the commit");
        if !commits {
            tx.rollback().await.unwrap();
            assert_eq!(jobs(client).await, 0, "nothing of it is there");
            continue;
        }
        tx.commit().await.unwrap();
        wake.ring();
        assert_eq!(jobs(client).await, 6, "two jobs, a graph of two and its end, a run");
        let worker = worker(client);
        assert_eq!(graph.wait(client).await.unwrap(), GraphEnd::Succeeded);
        assert_eq!(client.result(&run).await.unwrap(), 3);
        worker.shutdown().await;
    }
    app.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_costs_one_exchange_with_the_server_more_than_the_insert() {
    let Some(app) = application().await else { return };
    let client = &app.client;
    // For good: a pool has exchanges of its own when it gives a connection and takes it back.
    let mut db = app.pool.acquire().await.unwrap();
    let insert = "insert into orders (id) values ($1)";
    let mut counts = Vec::new();
    for n in 0..4_i64 {
        app.wire.take();
        let mut tx = db.begin().await.unwrap();
        sqlx::query(insert).bind(n).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        let alone = app.wire.take();
        let mut tx = db.begin().await.unwrap();
        sqlx::query(insert).bind(100 + n).execute(&mut *tx).await.unwrap();
        let mut within = within!(client, tx);
        within.enqueue(&Ship(1)).await.unwrap();
        let wake = within.done();
        tx.commit().await.unwrap();
        wake.ring();
        counts.push((alone, app.wire.take()));
    }
    // The first time sqlx asks the server what each statement takes, and keeps that for as long as the connection lives.
    for (alone, with) in &counts[1..] {
        assert_eq!((*alone, *with), (3, 4), "begin, insert, commit, and one more: {counts:?}");
    }
    // A graph, and a start with its signal, are one more too.
    app.wire.take();
    let mut tx = db.begin().await.unwrap();
    let mut within = within!(client, tx);
    within.graph(graph()).await.unwrap();
    within.start(client.start(WAITER, "run-1", &1).signal(GO, &2)).await.unwrap();
    drop(within.done());
    tx.commit().await.unwrap();
    assert_eq!(app.wire.take(), 4, "begin, graph, start, commit");
    drop(db);
    app.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_may_change_its_thread_enqueues_and_workers_are_woken() {
    let Some(app) = application().await else { return };
    let worker = worker(&app.client);
    let mut took = Vec::new();
    for n in 0..9_u32 {
        let (pool, client) = (app.pool.clone(), app.client.clone());
        // As a handler of a web server: its future must be `Send`.
        let enqueued = tokio::spawn(async move {
            let mut tx = pool.begin().await.unwrap();
            sqlx::query("insert into orders (id) values ($1)").bind(i64::from(n)).execute(&mut *tx).await.unwrap();
            let mut within = within!(client, tx);
            let job = within.enqueue(&Ship(u64::from(n))).await.unwrap();
            let wake = within.done();
            tx.commit().await.unwrap();
            wake.ring();
            job
        });
        let job = enqueued.await.unwrap();
        let from = Instant::now();
        assert_eq!(app.client.output(&job).await.unwrap(), u64::from(n));
        took.push(from.elapsed());
    }
    // A worker that is not woken looks about once a second.
    assert!(median(took.clone()) < Duration::from_millis(200), "{took:?}");
    worker.shutdown().await;
    app.end().await;
}
