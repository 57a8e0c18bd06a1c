//! However many clients wait in a process, one look at the store is for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{Client, Failure, Job, PostgresOptions, PostgresStore, Store, Worker};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "wait-for", output = u64)]
struct Wait(u64);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_waiters_ask_the_store_together_postgres() {
    let Ok(url) = std::env::var("TOWPATH_TEST_POSTGRES") else {
        eprintln!("left out: PostgreSQL (set TOWPATH_TEST_POSTGRES, or run `cargo xtask test`)");
        return;
    };
    let schema = format!("t_{}", Client::new_job_id().as_uuid().simple());
    let store = PostgresStore::connect(&url, PostgresOptions::default().schema(&schema)).unwrap();
    store.migrate().await.unwrap();
    let looks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&looks);
    store.pause_with(Arc::new(move |moment, name| {
        if name == "ended" && format!("{moment:?}") == "Before" {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(async {})
    }));
    let client = Client::new(Arc::new(store));
    let inputs: Vec<Wait> = (0..2_000).map(Wait).collect();
    let jobs = client.enqueue_all(&inputs).await.unwrap();
    let waiters: Vec<_> = jobs
        .into_iter()
        .map(|job| {
            let client = client.clone();
            tokio::spawn(async move { client.output(&job).await.unwrap() })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let idle = looks.load(Ordering::Relaxed);
    assert!((1..=20).contains(&idle), "{idle} looks in three seconds in which nothing happens");
    let worker =
        Worker::builder(&client).handle(|job: Wait, _| async move { Ok::<_, Failure>(job.0) }).start().unwrap();
    for (number, waiter) in waiters.into_iter().enumerate() {
        assert_eq!(waiter.await.unwrap(), number as u64);
    }
    let all = looks.load(Ordering::Relaxed);
    assert!(all < 500, "{all} looks for 2,000 waiters");
    worker.shutdown().await;
}
