//! Schedules by the public API: put, declared by a worker, triggered, paused, resumed, forgotten.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::schedule::{Activity, Keeper, Overlap, StoredSchedule};
use towpath::{Client, Context, Failure, Job, JobId, Perform, Schedule, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_triggered_schedule_mints_a_job_that_knows_its_schedule,
    a_schedule_that_a_worker_declares_mints_at_its_ticks,
    a_schedule_is_paused_resumed_changed_and_forgotten,
    what_is_wrong_with_a_schedule_is_said_before_anything_starts,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "which-schedule", output = String)]
struct Which;

impl Perform for Which {
    async fn perform(self, cx: Context) -> Result<String, Failure> {
        Ok(cx.headers().get("towpath-schedule").cloned().unwrap_or_default())
    }
}

async fn stored(client: &Client, name: &str) -> StoredSchedule {
    client.schedules().get(name).await.unwrap().unwrap()
}

async fn said(client: &Client, job: JobId) -> String {
    client.wait(job).await.unwrap().output.unwrap().decode().unwrap()
}

async fn a_triggered_schedule_mints_a_job_that_knows_its_schedule(subject: Subject) {
    let client = &subject.client;
    client.schedules().put(Schedule::new("yearly", "@yearly", &Which), "ann", "").await.unwrap();
    let job = client.schedules().trigger("yearly", "ann", "now").await.unwrap().unwrap();
    let worker = Worker::builder(client).perform::<Which>().start().unwrap();
    assert_eq!(said(client, job).await, "yearly");
    worker.shutdown().await;
    assert_eq!(stored(client, "yearly").await.minted.last().unwrap().job, job);
    assert_eq!(client.schedules().trigger("nobody", "ann", "").await.unwrap(), None);
    let audit = client.inspect().audit(Client::first_page(9)).await.unwrap();
    assert!(
        audit.iter().any(|line| line.action == "trigger schedule" && line.target == "yearly" && line.outcome == "done")
    );
}

async fn a_schedule_that_a_worker_declares_mints_at_its_ticks(subject: Subject) {
    let client = &subject.client;
    let every = Schedule::new("every-second", "@every 1s", &Which).overlap(Overlap::Skip);
    let worker = Worker::builder(client).perform::<Which>().schedule(every).start().unwrap();
    let minted = loop {
        if let Some(row) = client.schedules().get("every-second").await.unwrap()
            && let Some(minted) = row.minted.first()
        {
            assert!(matches!(row.keeper, Keeper::Workers { .. }));
            break *minted;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(minted.tick.as_micros() % 1_000_000, 0, "a tick is a whole second");
    assert_eq!(said(client, minted.job).await, "every-second");
    worker.shutdown().await;
}

async fn a_schedule_is_paused_resumed_changed_and_forgotten(subject: Subject) {
    let client = &subject.client;
    let schedules = client.schedules();
    for name in ["a", "ab", "abc"] {
        schedules.put(Schedule::new(name, "0 3 * * *", &Which).zone("europe/berlin"), "ann", "").await.unwrap();
    }
    assert!(schedules.pause("ab", "ann", "holidays").await.unwrap());
    let row = stored(client, "ab").await;
    assert_eq!((row.activity, row.next), (Activity::Paused, None));
    schedules.put(Schedule::new("ab", "30 3 * * *", &Which), "ann", "").await.unwrap();
    assert_eq!(stored(client, "ab").await.activity, Activity::Paused, "a change keeps the pause");
    assert!(schedules.resume("ab", "ann", "").await.unwrap());
    let row = stored(client, "ab").await;
    assert_eq!((row.rule.spec.to_string().as_str(), row.activity), ("30 3 * * *", Activity::Active));
    assert!(row.next.is_some());
    assert!(schedules.forget("a", "ann", "").await.unwrap());
    assert!(!schedules.pause("a", "ann", "").await.unwrap());
    let names: Vec<String> = schedules.list().await.unwrap().iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["ab", "abc"]);
}

async fn what_is_wrong_with_a_schedule_is_said_before_anything_starts(subject: Subject) {
    let client = &subject.client;
    let refused =
        |schedule: Schedule| async { client.schedules().put(schedule, "ann", "").await.unwrap_err().to_string() };
    let problem = refused(Schedule::new("s", "0 25 * * *", &Which)).await;
    assert!(problem.contains("hour \"25\""), "{problem}");
    let problem = refused(Schedule::new("s", "@daily", &Which).zone("Berlin")).await;
    assert!(problem.contains("use Europe/Berlin"), "{problem}");
    let unique = client.job(&Which).unique("k").build();
    let problem = refused(Schedule::of("s", "@daily", unique)).await;
    assert!(problem.contains("is a run or has a unique key"), "{problem}");
    let bad = Schedule::new("No Name", "@daily", &Which);
    let worker = Worker::builder(client).perform::<Which>().schedule(bad).start();
    assert!(worker.unwrap_err().to_string().contains("schedule \"No Name\""));
    assert!(client.schedules().list().await.unwrap().is_empty());
}
