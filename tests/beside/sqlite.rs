//! sqlx on SQLite: the store writes on sqlx's own connection, which is locked for that long.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use towpath::{Client, Enlist, GraphEnd, KeyHolder, Placed, Within, rusqlite};

use crate::{GO, Ship, WAITER, graph, jobs, median, worker};

/// A pool of the application's, and a client of a store, in one file.
async fn application(dir: &Path) -> (SqlitePool, Client) {
    let file = dir.join("app.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let pool = SqlitePool::connect_with(options.busy_timeout(Duration::from_secs(30))).await.unwrap();
    let client = Client::open(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::query("create table orders (id integer primary key)").execute(&pool).await.unwrap();
    (pool, client)
}

/// A client inside a transaction of sqlx's. The lock must live as long.
macro_rules! within {
    ($client:expr, $lock:expr) => {{
        // SAFETY: sqlx does nothing with the connection while it is locked, and both are of one SQLite (see Cargo.toml).
        let db = unsafe { rusqlite::Connection::from_handle($lock.as_raw_handle().as_ptr()) }.unwrap();
        $client.within(db)
    }};
}

async fn all_of_it<T: Enlist>(within: &mut Within<'_, T>, client: &Client) {
    within.enqueue(&Ship(7)).await.unwrap();
    let keyed = within.job(client.job(&Ship(8)).unique("k")).await.unwrap();
    assert_eq!(keyed.placed(), Placed::Inserted);
    let again = within.job(client.job(&Ship(9)).unique("k")).await.unwrap();
    assert_eq!(again.placed(), Placed::Held(KeyHolder::Job(keyed.id())));
    within.graph(graph()).await.unwrap();
    within.start(client.start(WAITER, "run-1", &1)).await.unwrap();
    within.signal(client.signal("run-1", GO, &2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_leaves_nothing_and_a_commit_all() {
    let dir = tempfile::tempdir().unwrap();
    let (pool, client) = application(dir.path()).await;
    for commits in [false, true] {
        let mut tx = pool.begin_with("begin immediate").await.unwrap();
        sqlx::query("insert into orders (id) values (7)").execute(&mut *tx).await.unwrap();
        let mut lock = tx.lock_handle().await.unwrap();
        let mut within = within!(client, lock);
        all_of_it(&mut within, &client).await;
        let wake = within.done();
        drop(lock);
        assert_eq!(jobs(&client).await, 0, "nobody sees it before the commit");
        // The connection is sqlx's again, in the same transaction.
        let seen: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(seen, 1);
        if commits {
            tx.commit().await.unwrap();
            wake.ring();
        } else {
            tx.rollback().await.unwrap();
            assert_eq!(jobs(&client).await, 0, "nothing of it is there");
        }
        let left: i64 = sqlx::query_scalar("select count(*) from orders").fetch_one(&pool).await.unwrap();
        assert_eq!(left, i64::from(commits));
    }
    assert_eq!(jobs(&client).await, 6, "two jobs, a graph of two and its end, a run");
    let worker = worker(&client);
    let run = client.run::<u64, towpath::Failure>("run-1").await.unwrap().unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 3);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_may_change_its_thread_enqueues_and_workers_are_woken() {
    let dir = tempfile::tempdir().unwrap();
    let (pool, client) = application(dir.path()).await;
    let worker = worker(&client);
    let mut took = Vec::new();
    for n in 0..9_u32 {
        let (pool, inside) = (pool.clone(), client.clone());
        // As a handler of a web server: its future must be `Send`.
        let enqueued = tokio::spawn(async move {
            let mut tx = pool.begin_with("begin immediate").await.unwrap();
            sqlx::query("insert into orders (id) values (?)").bind(n).execute(&mut *tx).await.unwrap();
            let mut lock = tx.lock_handle().await.unwrap();
            let mut within = within!(inside, lock);
            let job = within.enqueue(&Ship(u64::from(n))).await.unwrap();
            let wake = within.done();
            drop(lock);
            tx.commit().await.unwrap();
            wake.ring();
            job
        });
        let job = enqueued.await.unwrap();
        let from = Instant::now();
        assert_eq!(client.output(&job).await.unwrap(), u64::from(n));
        took.push(from.elapsed());
    }
    assert!(median(took.clone()) < Duration::from_millis(200), "{took:?}");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_and_a_pool_that_begins_late_are_told_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let (pool, client) = application(dir.path()).await;
    let mut connection = pool.acquire().await.unwrap();
    let mut lock = connection.lock_handle().await.unwrap();
    let refused = within!(client, lock).graph(graph()).await.unwrap_err().to_string();
    assert!(refused.contains("the connection is not in a transaction: begin one, with IMMEDIATE"), "{refused}");
    drop(lock);
    drop(connection);
    // What it takes on the wire does not exist here; what sqlx has prepared is still good afterwards.
    let mut tx = pool.begin_with("begin immediate").await.unwrap();
    for n in 0..3 {
        sqlx::query("insert into orders (id) values (?)").bind(n).execute(&mut *tx).await.unwrap();
        let mut lock = tx.lock_handle().await.unwrap();
        let graph = within!(client, lock).graph(graph()).await.unwrap();
        assert_eq!(graph.placed(), Placed::Inserted);
    }
    tx.commit().await.unwrap();
    let worker = worker(&client);
    let graphs = client.inspect().graphs(Default::default(), Client::first_page(9)).await.unwrap();
    assert_eq!(graphs.len(), 3);
    for line in graphs {
        assert_eq!(client.wait_graph(line.id).await.unwrap(), GraphEnd::Succeeded);
    }
    worker.shutdown().await;
}
