//! Hooks on what a client enqueues.

use serde::{Deserialize, Serialize};
use towpath::{Client, Cx, Durable, Failure, Graph, Job, JobId};

use crate::stores::{Subject, on_every_store, sqlite};

on_every_store!(a_hook_sees_every_job_of_an_enqueue_and_may_refuse_it);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "ship", tag = "goods")]
struct Ship(u32);

const ONBOARD: Durable<(), (), Failure> = Durable::new("onboard", 1, std::time::Duration::from_secs(60), &onboard);
async fn onboard(_: Cx<'_>, (): ()) -> Result<(), Failure> {
    Ok(())
}

async fn a_hook_sees_every_job_of_an_enqueue_and_may_refuse_it(subject: Subject) {
    let client = subject.client.clone().before_enqueue(|job| {
        job.tag_value("release", 7);
        job.tag("goods");
        job.header("tenant", "ann");
        Ok(())
    });
    let client = client.before_enqueue(|job| {
        if job.input().bytes[..] == b"13"[..] { Err("thirteen is not shipped".into()) } else { Ok(()) }
    });
    let tags = async |job: JobId| {
        let detail = subject.client.inspect().job(job).await.unwrap().unwrap();
        assert_eq!(detail.headers.get("tenant").map(String::as_str), Some("ann"));
        detail.tags
    };
    let lone = client.enqueue(&Ship(1)).await.unwrap().id();
    assert_eq!(tags(lone).await, ["goods", "release=7"]);
    let (graph, node) = (Graph::builder("parcels"), Client::new_job_id());
    graph.node("one", &Ship(2)).id(node);
    graph.build().unwrap().enqueue(&client).await.unwrap();
    assert_eq!(tags(node).await, ["goods", "release=7"]);
    let run = client.start(ONBOARD, "ann", &()).await.unwrap();
    let job = client.inspect().run(run.id().clone()).await.unwrap().unwrap();
    assert_eq!(tags(job).await, ["release=7", "goods"]);

    // All or nothing, and told which and why.
    let before = client.inspect().census().await.unwrap();
    let refused = client.enqueue_all(&[Ship(3), Ship(13)]).await.unwrap_err().to_string();
    assert!(refused.contains("(ship) is refused by a hook of this client: thirteen is not shipped"), "{refused}");
    let chatty = subject.client.clone().before_enqueue(|job| {
        (0..40).for_each(|n| job.tag_value("n", n));
        Ok(())
    });
    let refused = chatty.enqueue(&Ship(1)).await.unwrap_err().to_string();
    assert!(refused.contains("41 tags, at most 32"), "{refused}");
    assert_eq!(client.inspect().census().await.unwrap().jobs, before.jobs);
}

#[tokio::test]
async fn a_hook_sees_what_rides_on_a_transaction() {
    let subject = sqlite();
    let client = subject.client.clone().before_enqueue(|job| {
        job.tag_value("release", 7);
        if job.input().bytes[..] == b"13"[..] { Err("thirteen is not shipped".into()) } else { Ok(()) }
    });
    let db = towpath::rusqlite::Connection::open(subject.url.strip_prefix("sqlite:").unwrap()).unwrap();
    db.execute_batch("begin immediate").unwrap();
    let mut within = client.within(&db);
    let job = within.enqueue(&Ship(1)).await.unwrap().id();
    let refused = within.enqueue(&Ship(13)).await.unwrap_err().to_string();
    assert!(refused.contains("is refused by a hook of this client: thirteen is not shipped"), "{refused}");
    drop(within.done());
    db.execute_batch("commit").unwrap();
    let tags = client.inspect().job(job).await.unwrap().unwrap().tags;
    assert_eq!(tags, ["goods", "release=7"]);
    assert_eq!(client.inspect().census().await.unwrap().jobs, 1);
}
