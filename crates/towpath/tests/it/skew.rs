//! A worker whose host's clock is an hour off that of the store: only the store's counts.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use towpath::{Context, Cx, Durable, Failure, Job, Perform, Schedule, Worker};

use crate::stores::postgres;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "pause", timeout = "20s")]
struct Pause(u64);

impl Perform for Pause {
    async fn perform(self, _: Context) -> Result<(), Failure> {
        tokio::time::sleep(Duration::from_millis(self.0)).await;
        Ok(())
    }
}

const NAP: Durable<u64, u64, Failure> = Durable::new("nap", 1, Duration::from_secs(30), &nap);
async fn nap(cx: Cx<'_>, seconds: u64) -> Result<u64, Failure> {
    cx.sleep(Duration::from_secs(seconds)).await;
    Ok(seconds)
}

async fn an_hour_off(seconds: i64) {
    let Some(subject) = postgres().await else { return };
    let (url, schema) = subject.url.split_once('#').unwrap();
    let (db, connection) = towpath::tokio_postgres::connect(url, towpath::tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    db.batch_execute(&format!(
        "create or replace function {schema}.clock() returns bigint language sql volatile
         as $$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint + {seconds} * 1000000::bigint $$"
    ))
    .await
    .unwrap();
    let client = &subject.client;
    let worker = Worker::builder(client)
        .perform::<Pause>()
        .durable(NAP)
        .lease(Duration::from_secs(2))
        .schedule(Schedule::new("ticks", "@every 1s", &Pause(0)))
        .start()
        .unwrap();
    let began = Instant::now();
    let delayed = client.job(&Pause(0)).delay(Duration::from_secs(2)).await.unwrap();
    // Longer than its lease, which is renewed meanwhile: it is neither lost nor overdue.
    let long = client.enqueue(&Pause(5_000)).await.unwrap();
    let run = client.start(NAP, "nap", &2).await.unwrap();
    client.output(&delayed).await.unwrap();
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1_900), "not before its time: {took:?}");
    assert_eq!(client.result(&run).await.unwrap(), 2);
    client.output(&long).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(600), "nothing waits for an hour");
    let detail = client.inspect().job(long.id()).await.unwrap().unwrap();
    assert_eq!((detail.line.counters.attempt, detail.line.counters.crashes), (1, 0));
    let row = client.schedules().get("ticks").await.unwrap().unwrap();
    let minted = row.minted.first().expect("it has ticked").tick.as_micros() / 1_000_000;
    let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    assert!((minted - here - seconds).abs() < 60, "ticks go by the store's clock: {minted}, here {here}");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_stores_clock_an_hour_ahead_all_comes_in_its_time_postgres() {
    an_hour_off(3_600).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_stores_clock_an_hour_behind_all_comes_in_its_time_postgres() {
    an_hour_off(-3_600).await;
}
