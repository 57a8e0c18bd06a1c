//! Work that nobody takes: seen in the lists, with the remedy.

use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Cx, Durable, Failure, Job, Worker};

use crate::{Folder, wait_until};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet")]
struct Greet;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "send-mail", queue = "mail")]
struct SendMail;

/// A kind of another program.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "resize", version = 3)]
struct Resize;

/// An older release of it.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "resize", version = 2)]
struct OldResize;

async fn nothing<J: Job>(_job: J, _cx: Context) -> Result<(), Failure> {
    Ok(())
}

async fn open(folder: &Folder) -> Client {
    Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap()
}

/// The remarks about a table: stderr has them, so that stdout is the table alone.
fn notes(folder: &Folder, args: &[&str]) -> Vec<String> {
    let ran = folder.run(args);
    assert_eq!((ran.code, ran.stdout.contains("\n\n")), (0, false), "{}", ran.stdout);
    ran.stderr.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn folder() -> Folder {
    Folder { store: Some("sqlite:s.db".into()), ..Folder::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_nobody_serves_shows_as_such_with_the_remedy() {
    let folder = folder();
    let client = open(&folder).await;
    client.enqueue(&Greet).await.unwrap();
    client.enqueue(&Greet).await.unwrap();
    let greet = "no living worker serves the queue default: 2 ready jobs of kind greet; start a worker with a handler \
                 for greet that serves the queue, .queue(\"default\", 20)";
    for args in [&["jobs"][..], &["queues"], &["workers"]] {
        assert_eq!(notes(&folder, args), [greet], "{args:?}");
    }
    assert_eq!(folder.json(&["jobs"])[0]["served"], false);
    assert_eq!(folder.json(&["queues"])[0]["workers"], 0);

    let worker = Worker::builder(&client).name("w").handle(nothing::<OldResize>).start().unwrap();
    wait_until("the worker registers", || folder.json(&["workers"])[0]["kinds"]["resize"] == 2);
    let greet = "no living worker of the queue default has a handler for greet: 2 ready jobs of kind greet; register a \
                 handler for greet in a worker of the queue, or cancel them";
    for args in [&["jobs"][..], &["queues"], &["workers"]] {
        assert_eq!(notes(&folder, args), [greet], "{args:?}");
    }
    assert!(folder.run(&["jobs"]).stdout.contains("  ready, unserved  "));
    assert_eq!(folder.json(&["queues"])[0]["workers"], 1);

    let newer = client.enqueue(&Resize).await.unwrap();
    let shown = folder.run(&["job", &newer.id().to_string()]).stdout;
    let said = "\nunserved  the living workers take resize up to version 2; start a worker of the newer release\n";
    assert!(shown.contains(said), "{shown}");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_version_nobody_has_shows_as_such() {
    let folder = folder();
    let client = open(&folder).await;
    let minute = std::time::Duration::from_secs(60);
    let old: Durable<(), (), Failure> = Durable::new("onboard", 1, minute, &onboard);
    let run = client.start(old, "run-1", &()).await.unwrap();
    let worker =
        Worker::builder(&client).name("w").durable(Durable::new("onboard", 2, minute, &onboard)).start().unwrap();
    wait_until("the worker registers", || folder.json(&["workers"])[0]["kinds"]["onboard"] == serde_json::json!([2]));
    let said = "the living workers take onboard in version 2 only: 1 ready job of kind onboard v1; start a worker that has \
                this version too, until its runs have ended";
    assert!(include_str!("../../../../docs/guide/durable.md").contains(said), "the guide shows the same");
    for args in [&["jobs"][..], &["queues"], &["workers"]] {
        assert_eq!(notes(&folder, args), [said], "{args:?}");
    }
    let shown = folder.run(&["job", &run.job().to_string()]).stdout;
    assert!(shown.contains("\nunserved  the living workers take onboard in version 2 only; "), "{shown}");
    worker.shutdown().await;
}

async fn onboard(_cx: Cx<'_>, (): ()) -> Result<(), Failure> {
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_its_own_worker_does_not_serve_names_the_worker() {
    let folder = folder();
    let client = open(&folder).await;
    let worker = Worker::builder(&client).name("w").handle(nothing::<SendMail>).start().unwrap();
    client.enqueue(&SendMail).await.unwrap();
    wait_until("the worker registers", || folder.json(&["workers"])[0]["name"] == "w");
    let said = "no living worker serves the queue mail: 1 ready job of kind send-mail; w has a handler for send-mail: let \
                it serve the queue, .queue(\"mail\", 20)";
    assert_eq!(notes(&folder, &["workers"]), [said]);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_served_has_no_note() {
    let folder = folder();
    let client = open(&folder).await;
    let worker = Worker::builder(&client).handle(nothing::<Greet>).start().unwrap();
    wait_until("the worker registers", || folder.json(&["workers"])[0]["lives"] == true);
    worker.quiet();
    client.enqueue(&Greet).await.unwrap();
    for args in [&["jobs"][..], &["queues"], &["workers"]] {
        assert!(notes(&folder, args).is_empty(), "{args:?}");
    }
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_lease_has_ended_is_marked_dead() {
    use towpath::core::Incarnation;
    use towpath::core::store::{Beat, HostId, Intent, WorkerIdentity};
    let folder = folder();
    let client = open(&folder).await;
    let identity = WorkerIdentity {
        name: "gone".into(),
        host: HostId::default(),
        build: 1,
        queues: vec!["default".into()],
        kinds: Default::default(),
    };
    let worker = Incarnation::from_bytes([7; 16]);
    let lease = std::time::Duration::ZERO;
    let beat = Beat { worker, identity, lease, acknowledged: 0, holds: Vec::new(), intent: Intent::Stay };
    client.store().extend(beat).await.unwrap();
    client.enqueue(&Greet).await.unwrap();
    let shown = folder.run(&["workers"]);
    assert!(shown.stdout.contains("\ngone  dead "), "{}", shown.stdout);
    assert!(shown.stderr.contains("no living worker serves the queue default"), "{}", shown.stderr);
    assert_eq!(folder.json(&["workers"])[0]["lives"], false);
}

#[test]
fn commands_of_an_interrupted_flow_are_carried_on_by_resume() {
    let folder =
        Folder::with_flow("[node.a]\nexec = [\"sleep\", \"100\"]\n[node.b]\nexec = [\"true\"]\nafter = [\"a\"]");
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("it runs", || {
        folder.file(".towpath/store.db").exists()
            && folder.run(&["jobs", "--state", "running"]).stdout.contains("flow.")
    });
    let pid = rustix::process::Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let graph = folder.newest_graph();
    let said = format!("nobody runs 1 ready command: carry on with `towpath resume {graph}`");
    assert_eq!(notes(&folder, &["jobs"]), [said]);
    assert_eq!(folder.run(&["cancel", &graph]).code, 0);
}

#[test]
fn a_killed_process_of_this_machine_is_dead_before_its_lease_ends() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"sleep\", \"100\"]");
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("it runs", || {
        folder.file(".towpath/store.db").exists()
            && folder.run(&["jobs", "--state", "running"]).stdout.contains("flow.")
    });
    assert_eq!(folder.json(&["workers"])[0]["lives"], true);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(folder.json(&["workers"])[0]["lives"], false);
    assert_eq!(folder.run(&["cancel", &folder.newest_graph()]).code, 0);
}
