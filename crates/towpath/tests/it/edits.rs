//! Jobs that people change before a worker has them: one by one, and many at once; and how long jobs stay.

use serde::{Deserialize, Serialize};
use towpath::core::store::{Changed, Edit, JobFilter};
use towpath::{BulkChange, BulkDone, Context, End, Failure, Job, JobState, Kind, Payload, Queue, Timestamp, Worker};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_job_is_done_with_what_it_was_given_last,
    many_jobs_are_changed_at_once_and_counted_before,
    how_long_a_job_stays_is_said_by_its_kind_and_by_itself,
);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "double", output = u32)]
struct Double {
    number: u32,
}

async fn double(job: Double, _cx: Context) -> Result<u32, Failure> {
    Ok(2 * job.number)
}

async fn a_job_is_done_with_what_it_was_given_last(subject: Subject) {
    let client = &subject.client;
    let later = Timestamp::from_micros(i64::MAX / 4);
    let job = client.job(&Double { number: 1 }).at(later).await.unwrap();
    let input = Edit::default().input(Payload::json(&Double { number: 21 }).unwrap());
    let edit = input.priority(3).due(Timestamp::ZERO);
    assert_eq!(client.edit(job.id(), edit.clone(), "ann", "wrong number").await.unwrap(), Changed::Edited);
    let worker = Worker::builder(client).handle(double).start().unwrap();
    assert_eq!(client.output(&job).await.unwrap(), 42);
    worker.shutdown().await;
    let ended = Changed::Left(JobState::Ended(End::Succeeded));
    assert_eq!(client.edit(job.id(), edit, "ann", "").await.unwrap(), ended);
    let nothing = client.edit(job.id(), Edit::default(), "ann", "").await.unwrap_err().to_string();
    assert!(nothing.contains("give an input, a priority or an instant"), "{nothing}");
}

async fn many_jobs_are_changed_at_once_and_counted_before(subject: Subject) {
    let client = &subject.client;
    let jobs: Vec<Double> = (0..1_203).map(|number| Double { number }).collect();
    client.enqueue_all(&jobs).await.unwrap();
    let other = client.job(&Double { number: 7 }).queue("other").await.unwrap();
    let filter = || JobFilter { queue: Some(Queue::default()), ..JobFilter::default() };
    let edit = BulkChange::Edit(Edit::default().priority(-5));
    assert_eq!(client.bulk(filter()).count(&edit).await.unwrap(), 1_203);
    let all = BulkDone { matched: 1_203, changed: 1_203, left: 0 };
    assert_eq!(client.bulk(filter()).apply(&edit, "ann", "they can wait").await.unwrap(), all);
    assert_eq!(client.bulk(filter()).apply(&BulkChange::Cancel, "ann", "never mind").await.unwrap(), all);
    assert_eq!(client.bulk(filter()).count(&BulkChange::Cancel).await.unwrap(), 0);
    let back = client.bulk(filter()).apply(&BulkChange::Requeue, "ann", "").await.unwrap();
    assert_eq!(back, BulkDone::default(), "what was cancelled comes back only if it is named");
    let cancelled = JobFilter { state: Some(JobState::Ended(End::Cancelled)), ..filter() };
    assert_eq!(client.bulk(cancelled).apply(&BulkChange::Requeue, "ann", "").await.unwrap(), all);
    let line = client.inspect().job(other.id()).await.unwrap().unwrap().line;
    assert_eq!((line.state, line.priority), (JobState::Ready, 0), "a job of another queue");
    let refused = client.bulk(JobFilter::default()).apply(&edit, "ann", "").await.unwrap_err().to_string();
    assert!(refused.contains("the filter says nothing"), "{refused}");
    let running = JobFilter { state: Some(JobState::Running), ..filter() };
    let refused = client.bulk(running).apply(&edit, "ann", "").await.unwrap_err().to_string();
    assert!(refused.contains("does not apply to jobs that are running"), "{refused}");
    let kind = JobFilter { kind: Some(Kind::new("nobody").unwrap()), ..JobFilter::default() };
    assert_eq!(client.bulk(kind).apply(&edit, "ann", "").await.unwrap(), BulkDone::default());
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "brief", keep = "1h", keep_failed = "90d")]
struct Brief;

async fn how_long_a_job_stays_is_said_by_its_kind_and_by_itself(subject: Subject) {
    let client = &subject.client;
    let hour = 3_600_000_000;
    let usual = client.enqueue(&Brief).await.unwrap();
    let own = client.job(&Brief).keep(std::time::Duration::from_secs(1)).await.unwrap();
    let rules = |detail: Option<towpath::inspect::JobDetail>| detail.map(|d| (d.rules.keep_us, d.rules.keep_failed_us));
    let of_kind = rules(client.inspect().job(usual.id()).await.unwrap());
    assert_eq!(of_kind, Some((Some(hour), Some(90 * 24 * hour))));
    let of_job = rules(client.inspect().job(own.id()).await.unwrap());
    assert_eq!(of_job, Some((Some(1_000_000), Some(90 * 24 * hour))));
}
