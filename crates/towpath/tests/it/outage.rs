//! PostgreSQL drops every connection again and again while a worker works: nothing is lost, nothing runs twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_postgres::SimpleQueryMessage;
use towpath::core::State;
use towpath::core::store::Placed;
use towpath::{Client, Context, Failure, Job, PostgresOptions, PostgresStore, Worker};

const JOBS: u32 = 400;
/// Longer than a new connection and its first statements take.
const OUTAGES: Duration = Duration::from_millis(150);
const MOST: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "outage")]
struct Outage(u32);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut_in_the_middle_of_turns_postgres() {
    let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
        eprintln!("left out: PostgreSQL (set TOWPATH_TEST_POSTGRES, or run `cargo xtask test`)");
        return;
    };
    if std::env::var_os("TOWPATH_TEST_POOLER").is_some() {
        eprintln!("left out: a pooler's connections belong to everybody, and this test cuts its own");
        return;
    }
    let name = format!("cut_{}", Client::new_job_id().as_uuid().simple());
    // Only this test's own connections bear the name.
    let mark = if url.contains('?') { '&' } else { '?' };
    let options = PostgresOptions::default().schema(&name);
    let store = PostgresStore::connect(&format!("{url}{mark}application_name={name}"), options).unwrap();
    towpath::Store::migrate(&store).await.unwrap();
    let client = Client::new(Arc::new(store));
    let cuts = Arc::new(AtomicUsize::new(0));
    let cutter = tokio::spawn(cut(url, name, cuts.clone()));

    let runs: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let seen = runs.clone();
    let worker = Worker::builder(&client)
        .queue("default", 8)
        .handle(move |job: Outage, _cx: Context| {
            *seen.lock().unwrap().entry(job.0).or_default() += 1;
            async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, Failure>(())
            }
        })
        .start()
        .unwrap();
    let mut ids = Vec::new();
    let mut repeated = 0;
    for n in 0..JOBS {
        // The answer may be lost; the id was drawn before, so asking again is safe.
        let id = Client::new_job_id();
        ids.push(id);
        loop {
            match client.job(&Outage(n)).id(id).await {
                Ok(handle) => {
                    repeated += u32::from(handle.placed() == Placed::Existing);
                    break;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    }
    let started = Instant::now();
    for id in &ids {
        loop {
            assert!(started.elapsed() < MOST, "it hangs");
            match client.inspect().job(*id).await {
                Ok(Some(detail)) if matches!(detail.line.state, State::Ended(_)) => break,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }
    cutter.abort();
    worker.shutdown().await;
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len(), JOBS as usize);
    assert!(runs.values().all(|n| *n == 1), "a job ran twice: {runs:?}");
    let cuts = cuts.load(Ordering::Relaxed);
    assert!(cuts >= 10, "only {cuts} connections were cut");
    println!("{cuts} connections were cut, {repeated} enqueues asked for again");
}

/// Cuts every connection that bears this name, again and again.
async fn cut(url: String, name: String, cuts: Arc<AtomicUsize>) {
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let text = format!("select pg_terminate_backend(pid) from pg_stat_activity where application_name = '{name}'");
    loop {
        let cut = client.simple_query(&text).await.unwrap();
        let is_row = |message: &&SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(_));
        cuts.fetch_add(cut.iter().filter(is_row).count(), Ordering::Relaxed);
        tokio::time::sleep(OUTAGES).await;
    }
}
