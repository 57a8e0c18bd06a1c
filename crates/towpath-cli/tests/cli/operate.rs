//! What operators do to queues and to jobs.

use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Failure, Job, Progress, Worker};

use crate::{Folder, wait_until};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", queue = "mail")]
struct Greet;

async fn folder() -> (Folder, Client) {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    (folder, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_and_resumed_and_says_by_whom() {
    let (folder, client) = folder().await;
    client.enqueue(&Greet).await.unwrap();
    let paused = folder.run(&["queues", "pause", "mail", "--actor", "ann", "--reason", "no relay"]);
    assert_eq!((paused.code, paused.stdout.as_str()), (0, "queue mail: paused\n"), "{}", paused.stderr);
    let line = folder.json(&["queues"])[0].clone();
    assert_eq!((&line["queue"], &line["ready"]), (&"mail".into(), &1.into()));
    assert_eq!((&line["paused"]["actor"], &line["paused"]["why"]), (&"ann".into(), &"no relay".into()));
    assert!(folder.run(&["queues"]).stdout.contains("by ann: no relay"));
    assert_eq!(folder.json(&["queues", "resume", "mail"])["paused"], false);
    assert!(folder.json(&["queues"])[0]["paused"].is_null());
    let audit = folder.json(&["audit"]);
    assert_eq!((&audit[1]["action"], &audit[1]["target"]), (&"pause".into(), &"mail".into()));
    let wrong = folder.run(&["queues", "pause", "Not A Queue"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_edited_by_name_and_by_filter_and_a_dry_run_changes_nothing() {
    let (folder, client) = folder().await;
    let job = client.enqueue(&Greet).await.unwrap().id().to_string();
    client.enqueue(&Greet).await.unwrap();
    folder.write("input.json", "{\"n\": 1}");
    let at = "2100-01-01T00:00:00Z";
    let edited = folder.run(&["edit", &job, "--input", "input.json", "--priority", "-3", "--at", at]);
    assert_eq!((edited.code, edited.stdout), (0, format!("job {job}: edited\n")), "{}", edited.stderr);
    let shown = folder.json(&["job", &job]);
    assert_eq!((&shown["input"]["n"], &shown["priority"]), (&1.into(), &(-3).into()));
    assert_eq!(shown["due"], "2100-01-01T00:00:00.000Z");

    let dry = folder.json(&["cancel", "--kind", "greet", "--state", "ready", "--dry-run"]);
    assert_eq!((&dry["matched"], &dry["changed"]), (&2.into(), &0.into()));
    let done = folder.json(&["edit", "--queue", "mail", "--priority", "9"]);
    assert_eq!((&done["matched"], &done["changed"], &done["left"]), (&2.into(), &2.into(), &0.into()));
    let cancelled = folder.run(&["cancel", "--kind", "greet"]);
    assert_eq!(cancelled.stdout, "2 jobs: 2 cancelled or asked to stop, 0 left as they are\n", "{}", cancelled.stderr);
    let requeued = folder.json(&["requeue", "--state", "cancelled"]);
    assert_eq!(requeued["changed"], 2);
    assert_eq!(folder.run(&["edit", "nobody", "--priority", "1"]).code, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_found_by_tags_and_a_job_says_how_far_it_is_and_what_it_keeps() {
    let (folder, client) = folder().await;
    let handler = |_: Greet, cx: Context| async move {
        cx.cursor::<u32>("rows").await?.set(&3).await?;
        cx.tag("seen").await?;
        cx.progress(Progress::of(3, 12).say("rows"));
        Err::<(), _>(Failure::permanent("no relay"))
    };
    let worker = Worker::builder(&client).queue("mail", 5).handle(handler).start().unwrap();
    let job = client.job(&Greet).tag_value("customer", 7).await.unwrap().id();
    let other = client.job(&Greet).tag_value("customer", 8).await.unwrap().id();
    for job in [job, other] {
        client.wait(job).await.unwrap();
    }
    worker.shutdown().await;
    let shown = folder.json(&["job", &job.to_string()]);
    assert_eq!(shown["tags"], serde_json::json!(["customer=7", "seen"]));
    assert_eq!((&shown["progress"]["fraction"], &shown["progress"]["message"]), (&0.25.into(), &"rows".into()));
    assert_eq!((&shown["keeps"][0]["name"], &shown["keeps"][0]["value"]), (&"cursor/rows".into(), &3.into()));
    let text = folder.run(&["job", &job.to_string()]).stdout;
    for line in ["progress  3 of 12 (25 %): rows, ", "tags      customer=7, seen\n", "keeps     cursor/rows = 3\n"] {
        assert!(text.contains(line), "{text}");
    }
    let found = folder.json(&["jobs", "--tag", "seen", "--tag", "customer=8"]);
    assert_eq!((found.as_array().unwrap().len(), &found[0]["id"]), (1, &other.to_string().into()));
    let tags = folder.run(&["tags", "--prefix", "customer="]);
    assert_eq!(tags.stdout.lines().count(), 3, "{}", tags.stdout);
    assert_eq!(folder.json(&["tags"])[2], serde_json::json!({ "tag": "seen", "jobs": 2, "may_be_more": false }));
    assert_eq!(folder.json(&["requeue", "--tag", "customer=8", "--dry-run"])["matched"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_process_is_made_quiet_resumed_and_drained() {
    let (folder, client) = folder().await;
    let handler = |_: Greet, _: Context| async { Ok::<_, Failure>(()) };
    let worker = Worker::builder(&client).name("app/7").queue("mail", 5).handle(handler).build().unwrap();
    let gone = tokio::spawn(worker.run_until(std::future::pending()));
    wait_until("it is there", || folder.json(&["workers"]).as_array().is_some_and(|all| all.len() == 1));
    let id = folder.json(&["workers"])[0]["worker"].as_str().unwrap().to_owned();
    let quiet = folder.run(&["workers", "quiet", "app/7", "--actor", "ann", "--reason", "a deploy"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, "worker app/7: asked to be quiet\n"), "{}", quiet.stderr);
    let asked = folder.json(&["workers"])[0]["asked"].clone();
    assert_eq!((&asked["to"], &asked["actor"], &asked["why"]), (&"quiet".into(), &"ann".into(), &"a deploy".into()));
    assert!(folder.run(&["workers"]).stdout.contains("to be quiet by ann: a deploy"));
    // Whether it has heard of it shows where nothing is claimed: what comes waits until it resumes.
    assert_eq!(folder.json(&["workers", "resume", &id])["asked"], "resume");
    let job = client.job(&Greet).await.unwrap().id();
    client.wait(job).await.unwrap();
    assert_eq!(folder.run(&["workers", "drain", &id]).code, 0);
    // `run_until` answers once the worker has left.
    gone.await.unwrap();
    assert_eq!(folder.json(&["workers"]).as_array().unwrap().len(), 0);
    let nobody = folder.run(&["workers", "drain", "app/7"]);
    assert!(nobody.code != 0 && nobody.stderr.contains("there is no worker app/7"), "{}", nobody.stderr);
}

#[test]
fn what_a_bulk_cannot_mean_is_refused_with_the_remedy() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 6] = [
        (&["cancel"], "which jobs is not said"),
        (&["cancel", "--dry-run"], "--dry-run is of a filter"),
        (&["cancel", "a", "--kind", "greet"], "jobs are named and a filter is given too"),
        (&["cancel", "--kind", "greet", "--terminate"], "--terminate is of one job or run"),
        (&["edit", "a"], "nothing is to change"),
        (&["edit", "a", "--at", "tomorrow"], "it is no instant such as"),
    ];
    for (args, problem) in cases {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{args:?}: {}", ran.stderr);
    }
}
