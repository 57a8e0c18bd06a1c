//! A database that refuses what became of one job: the worker sets that job aside and goes on with the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_postgres::NoTls;
use towpath::core::End;
use towpath::core::State;
use towpath::{Context, Failure, Job, Worker};

const JOBS: u32 = 30;
const MOST: Duration = Duration::from_secs(30);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "refused", output = u32)]
struct Refused(u32);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_output_is_refused_is_quarantined_and_runs_once_postgres() {
    let Some(subject) = crate::stores::postgres().await else { return };
    let client = &subject.client;
    let (url, schema) = subject.url.split_once('#').unwrap();
    let mut ids = Vec::new();
    for n in 0..JOBS {
        ids.push(client.enqueue(&Refused(n)).await.unwrap().id());
    }
    let (admin, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let key = format!("select key from {schema}.job where id = '{}'", ids[7]);
    // Without a name, so that it passes through a transaction pooler too.
    let key: i64 = admin.query_typed(&key, &[]).await.unwrap()[0].get(0);
    let check = format!("alter table {schema}.output add constraint no_such_city check (job <> {key})");
    admin.batch_execute(&check).await.unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let worker = Worker::builder(client)
        .handle(move |job: Refused, _cx: Context| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok::<_, Failure>(job.0))
        })
        .start()
        .unwrap();
    let started = Instant::now();
    for (n, id) in ids.iter().enumerate() {
        let detail = loop {
            assert!(started.elapsed() < MOST, "job {n} does not end");
            let detail = client.inspect().job(*id).await.unwrap().unwrap();
            if matches!(detail.line.state, State::Ended(_)) {
                break detail;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let expected = if n == 7 { End::Quarantined } else { End::Succeeded };
        assert_eq!(detail.line.state, State::Ended(expected), "job {n}");
        assert!(n != 7 || detail.cause.unwrap().to_string().contains("no_such_city"));
    }
    worker.shutdown().await;
    assert_eq!(runs.load(Ordering::Relaxed), JOBS, "each handler has run once");
    admin.batch_execute(&format!("drop schema {schema} cascade")).await.unwrap();
}
