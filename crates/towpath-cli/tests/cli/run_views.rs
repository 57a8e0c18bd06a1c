//! Runs of durable functions on the command line: looked at, signalled, cancelled, and taken away as a history.

use std::sync::Arc;
use std::time::Duration;

use towpath::testing::{History, assert_replays};
use towpath::{
    Client, Context, Cx, Durable, Failure, GraphEnd, Job, Signal, Step, StepCx, Stream, Update, Worker, WorkerHandle,
};

use crate::{Folder, wait_until};

pub(crate) const PAID: Signal<u32> = Signal::new("paid");
const NOTE: Step<u64, u64, Failure> = Step::new("note", &note);
async fn note(_cx: StepCx, number: u64) -> Result<u64, Failure> {
    Ok(number)
}

const ORDER: Durable<String, u32, Failure> = Durable::new("order", 1, Duration::from_secs(600), &order);
async fn order(cx: Cx<'_>, _what: String) -> Result<u32, Failure> {
    // The number is of the run and its place: a history with another seed would not replay.
    let number = cx.random();
    cx.step(NOTE, &number).await?;
    Ok(cx.signal(PAID).await)
}

const ADD: Update<u32, u32> = Update::new("add");
const SUMS: Stream<u32> = Stream::new("sums");
const TALLY: Durable<u32, u32, Failure> = Durable::new("tally", 1, Duration::from_secs(600), &tally);
async fn tally(cx: Cx<'_>, mut sum: u32) -> Result<u32, Failure> {
    loop {
        let (n, reply) = cx.update(ADD).await;
        if n == 0 {
            return Ok(sum);
        }
        sum += n;
        cx.emit(SUMS, &sum);
        cx.publish(&sum);
        reply.send(&sum);
    }
}

/// A folder with the run `o-1`, that waits for its signal.
pub(crate) async fn waiting() -> (Folder, Client, WorkerHandle) {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    let worker = Worker::builder(&client).durable(ORDER).durable(TALLY).start().unwrap();
    client.start(ORDER, "o-1", &"tea".to_owned()).await.unwrap();
    wait_until("it parks", || {
        let shown = folder.json(&["job", "o-1"]);
        shown["state"] == "ready" && shown["run"]["entries"].as_u64() > Some(2)
    });
    (folder, client, worker)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_what_it_waits_for_and_ends_by_a_signal() {
    let (folder, client, worker) = waiting().await;
    let shown = folder.run(&["job", "o-1"]).stdout;
    for part in ["\nrun o-1, chapter 1\n", "in its journal, 0 arrivals\n", "\nopen: signal paid\n", " step note at "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("\nstate     parked\n"), "{shown}");
    let listed = folder.run(&["jobs", "--runs"]).stdout;
    assert!(listed.contains(" parked ") && !listed.contains("unserved"), "{listed}");
    assert_eq!(folder.json(&["jobs"])[0]["parked"], true);
    let run = &folder.json(&["job", "o-1"])["run"];
    assert_eq!((&run["id"], &run["open"][0]["op"]), (&"o-1".into(), &"signal paid".into()));

    for refused in [&["signal", "o-1", "paid", "{7"][..], &["signal", "", "paid"], &["signal", "o-1", "No Name"]] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    folder.run(&["signal", "o-1", "paid", "\"seven\""]);
    wait_until("it has looked", || {
        let shown = folder.run(&["job", "o-1"]).stdout;
        shown.contains("not taken: signal paid of ") && shown.contains(", \"seven\": it does not fit the wait")
    });
    assert_eq!(folder.json(&["job", "o-1"])["run"]["not_taken"][0]["payload"], "seven");
    let sent = folder.run(&["signal", "o-1", "paid", "7", "--dedup", "x"]);
    assert_eq!(sent.stdout, "run o-1: paid is in its inbox, for its next wait of that name\n");
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 7);
    assert!(client.run::<u32, Failure>("o-2").await.unwrap().is_none());
    assert_eq!(folder.json(&["signal", "o-1", "paid", "7", "--dedup", "x"])["delivery"], "duplicate");
    let late = folder.run(&["signal", "o-1", "paid", "8"]);
    assert_eq!((late.code, late.stdout.as_str()), (1, "run o-1: it has ended, so paid was not sent\n"));
    let over = client.start(ORDER, "o-0", &"tea".to_owned()).keep(Duration::ZERO).signal(PAID, &7).await.unwrap();
    assert_eq!(client.result(&over).await.unwrap(), 7);
    while !client.store().prune(100).await.unwrap().is_empty() {}
    for (code, args) in [(2, &["job", "o-0"][..]), (2, &["history", "o-0"]), (1, &["requeue", "o-0"])] {
        let told = folder.run(args);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert_eq!(told.code, code, "{args:?}: {said}");
        assert!(said.contains("the run o-0 of order succeeded at ") && said.contains("has been pruned"), "{said}");
    }
    let cancelled = folder.run(&["cancel", "o-0"]).stdout;
    assert!(cancelled.contains("had ended already, and has been pruned"), "{cancelled}");
    let early = folder.run(&["signal", "o-2", "paid", "8"]);
    assert_eq!(early.stdout, "run o-2: there is none yet; paid is kept for 30 days, if it starts\n");
    worker.shutdown().await;
    // Without a worker it is not missed before something has come for it.
    client.start(ORDER, "o-3", &"tea".to_owned()).await.unwrap();
    let listed = folder.run(&["jobs", "--runs"]).stdout;
    assert!(listed.contains("ready, unserved"), "{listed}");
}

/// Its journal has one step less than that of `ORDER`.
const SHORT: Durable<String, u32, Failure> = Durable::new("order", 1, Duration::from_secs(600), &short);
async fn short(cx: Cx<'_>, _what: String) -> Result<u32, Failure> {
    Ok(cx.signal(PAID).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cancels_a_blocked_run_is_told_that_it_must_wait() {
    let (folder, client, worker) = waiting().await;
    worker.shutdown().await;
    let worker = Worker::builder(&client).durable(SHORT).start().unwrap();
    client.signal("o-1", PAID, &7).await.unwrap();
    wait_until("it is blocked", || folder.json(&["job", "o-1"])["state"] == "blocked");
    let said = folder.run(&["cancel", "o-1"]).stdout;
    let wanted =
        "run o-1: it is blocked: it is asked to stop once it can go on; --terminate ends it now, without its undos\n";
    assert_eq!(said, wanted);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_answers_a_shell_and_shows_what_it_publishes() {
    let (folder, client, worker) = waiting().await;
    client.start(TALLY, "t-1", &40).await.unwrap();
    assert_eq!(folder.run(&["update", "t-1", "add", "2", "--id", "x"]).stdout, "42\n");
    assert_eq!(folder.run(&["update", "t-1", "add", "2", "--id", "x"]).stdout, "42\n", "it is asked once");
    let shown = folder.run(&["job", "t-1"]).stdout;
    assert!(shown.contains("\npublished 42 at "), "{shown}");
    assert_eq!(folder.json(&["job", "t-1"])["run"]["published"], 42);
    assert_eq!(folder.json(&["job", "o-1"])["run"]["published"], serde_json::Value::Null);

    let none = folder.run(&["update", "t-1", "no-such", "--timeout", "1ms"]);
    assert_eq!(none.code, 1, "{}", none.stderr);
    assert!(none.stderr.contains("run t-1 has not answered within 1ms"), "{}", none.stderr);
    for refused in [&["update", "t-1", "add", "{7"][..], &["update", "t-2", "add", "1"], &["update", "t-1", "No Name"]]
    {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    let ended = folder.run(&["update", "t-1", "add", "0"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("run t-1 is succeeded, and has not answered"), "{}", ended.stderr);
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_reads_a_stream() {
    let (folder, client, worker) = waiting().await;
    let folder = Arc::new(folder);
    let run = client.start(TALLY, "t-1", &40).await.unwrap();
    assert_eq!(folder.run(&["stream", "t-1", "sums"]).stdout, "", "there is none yet, and it does not wait");
    for n in [2, 3] {
        client.update("t-1", ADD, &n).await.unwrap();
    }
    assert_eq!(folder.run(&["stream", "t-1", "sums"]).stdout, "42\n45\n");
    let line = folder.run(&["stream", "t-1", "sums", "--after", "1", "--json"]).stdout;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["number"], &line["value"]), (&2.into(), &45.into()));
    let follows = tokio::task::spawn_blocking({
        let folder = Arc::clone(&folder);
        move || folder.run(&["stream", "t-1", "sums", "--follow"]).stdout
    });
    client.update("t-1", ADD, &1).await.unwrap();
    client.update::<u32, u32>("t-1", ADD, &0).await.unwrap_err();
    client.result(&run).await.unwrap();
    assert_eq!(follows.await.unwrap(), "42\n45\n46\n", "until the run ends");
    for refused in [&["stream", "nobody", "sums"][..], &["stream", "t-1", "No Name"], &["stream", "", "sums"]] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    worker.shutdown().await;
}

/// The second version of the order.
const ORDER_2: Durable<String, u32, Failure> = Durable::new("order", 2, Duration::from_secs(600), &order);

#[tokio::test(flavor = "multi_thread")]
async fn versions_that_nothing_is_open_of_may_be_removed() {
    let (folder, client, worker) = waiting().await;
    let shown = folder.run(&["versions"]).stdout;
    assert!(shown.lines().any(|line| line.starts_with("order  1        1     1     20")), "{shown}");
    worker.shutdown().await;
    let shown = folder.run(&["versions"]).stdout;
    assert!(shown.contains("no living worker takes it"), "{shown}");

    let worker = Worker::builder(&client).durable(ORDER).durable(ORDER_2).start().unwrap();
    wait_until("it serves", || folder.json(&["versions"])[0]["served_by"] == 1);
    let first = |folder: &Folder| folder.json(&["versions"])[0].clone();
    assert_eq!((&first(&folder)["version"], &first(&folder)["open"]), (&1.into(), &1.into()));
    client.signal("o-1", PAID, &7).await.unwrap();
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    client.result(&run).await.unwrap();
    assert_eq!((&first(&folder)["version"], &first(&folder)["open"]), (&1.into(), &0.into()));
    assert!(folder.run(&["versions"]).stdout.contains("may be removed"));
    worker.shutdown().await;
    assert_eq!(folder.run(&["versions"]).stdout, "nothing is open\n");
}

/// The order as it was before a patch, and as it is.
const PATCHED: Durable<String, u32, Failure> = Durable::new("order", 1, Duration::from_secs(600), &patched);

async fn patched(cx: Cx<'_>, to: String) -> Result<u32, Failure> {
    let number = cx.random();
    cx.step(NOTE, &number).await?;
    if cx.patched("survey") {
        cx.run_with("survey", &to, |_, _| async move { Ok::<_, Failure>(()) }).await?;
    }
    Ok(cx.signal(PAID).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_listed_until_no_run_is_without_it() {
    let (folder, client, worker) = waiting().await;
    assert_eq!(folder.run(&["versions", "--patches"]).stdout, "no live run has recorded a patch\n");
    worker.shutdown().await;
    let worker = Worker::builder(&client).durable(PATCHED).start().unwrap();
    client.start(PATCHED, "o-2", &"bob".to_owned()).await.unwrap();
    wait_until("it has come to the patch", || !folder.json(&["versions", "--patches"]).as_array().unwrap().is_empty());
    let line = folder.json(&["versions", "--patches"])[0].clone();
    let told = (&line["function"], &line["patch"], &line["runs"], &line["others"]);
    assert_eq!(told, (&"order".into(), &"survey".into(), &1.into(), &1.into()));
    let old = folder.json(&["job", "o-1"])["enqueued_at"].as_str().unwrap().to_owned();
    assert_eq!(line["oldest_other"].as_str().unwrap()[..19], old[..19], "the one from before");
    assert!(!folder.run(&["versions", "--patches"]).stdout.contains("may be made the only way"));
    client.signal("o-1", PAID, &7).await.unwrap();
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    client.result(&run).await.unwrap();
    let shown = folder.run(&["versions", "--patches"]).stdout;
    assert!(shown.contains("survey") && shown.contains("may be made the only way"), "{shown}");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_paused_and_resumed() {
    let (folder, client, worker) = waiting().await;
    assert_eq!(
        folder.run(&["runs", "pause", "o-1", "--reason", "a look", "--actor", "ann"]).stdout,
        "run o-1: paused\n"
    );
    let shown = folder.run(&["job", "o-1"]).stdout;
    assert!(shown.contains("\npaused at ") && shown.contains(" by ann: a look\n"), "{shown}");
    let paused = &folder.json(&["job", "o-1"])["run"]["paused"];
    assert_eq!((&paused["actor"], &paused["why"]), (&"ann".into(), &"a look".into()));
    assert_eq!(folder.json(&["runs", "resume", "o-1"])["outcome"], "resumed");
    assert_eq!(folder.json(&["job", "o-1"])["run"]["paused"], serde_json::Value::Null);
    assert_eq!(folder.json(&["audit"])[0]["action"], "resume run");
    for refused in [&["runs", "pause", "nobody"][..], &["runs", "resume", "nobody"], &["runs", "pause", ""]] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    folder.run(&["signal", "o-1", "paid", "7"]);
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    client.result(&run).await.unwrap();
    assert_eq!(folder.run(&["runs", "pause", "o-1"]).stdout, "run o-1: had ended already\n");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_taken_away_replays() {
    let (folder, client, worker) = waiting().await;
    client.signal("o-1", PAID, &7).await.unwrap();
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    client.result(&run).await.unwrap();
    worker.shutdown().await;
    let printed = folder.run(&["history", "o-1"]).stdout;
    let history = History::from_json_lines(&printed).unwrap();
    assert_eq!(history.entries.len(), client.history("o-1").await.unwrap().unwrap().entries.len());
    assert_replays(ORDER, &history);
    let refused = folder.run(&["history", "o-2"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("there is no run o-2"), "{}", refused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_or_terminated_by_its_id() {
    let (folder, client, worker) = waiting().await;
    let said = folder.run(&["cancel", "o-1", "--actor", "ann", "--reason", "no tea"]).stdout;
    assert_eq!(said, "run o-1: it has begun, and was asked to stop; it ends after its undos\n");
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    let result = client.result(&run).await;
    assert!(result.as_ref().is_err_and(|e| e.to_string().contains("no tea")), "{result:?}");
    assert_eq!(folder.run(&["cancel", "o-1"]).stdout, "run o-1: had ended already\n");
    worker.shutdown().await;

    client.start(ORDER, "o-2", &"tea".to_owned()).await.unwrap();
    assert_eq!(folder.run(&["cancel", "o-2", "--terminate"]).stdout, "run o-2: terminated\n");
    assert_eq!(folder.json(&["audit"])[0]["action"], "terminate");
    assert_eq!(folder.run(&["cancel", "o-3"]).code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_forked_and_retried() {
    let (folder, client, worker) = waiting().await;
    let fork = folder.run(&["fork", "o-1", "--at", "2", "--key", "o-2"]);
    assert_eq!(
        (fork.code, fork.stdout.as_str()),
        (0, "run o-2: forked from run o-1 at operation 2\n"),
        "{}",
        fork.stderr
    );
    let shown = folder.run(&["job", "o-2"]).stdout;
    assert!(shown.contains("\nforked from run o-1, at operation 2\n"), "{shown}");
    assert_eq!(folder.json(&["job", "o-2"])["run"]["forked_from"]["run"], "o-1");
    let taken = folder.run(&["fork", "o-1", "--at", "2", "--key", "o-2"]);
    assert!(taken.code == 2 && taken.stderr.contains("the run o-2 is there already"), "{}", taken.stderr);
    for refused in [&["fork", "o-1", "--at", "7", "--key", "x"][..], &["fork", "nobody", "--at", "1", "--key", "x"]] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    assert_eq!(folder.run(&["retry", "o-1"]).code, 2, "it has not ended");

    folder.run(&["cancel", "o-1"]);
    wait_until("it is cancelled", || folder.json(&["job", "o-1"])["state"] == "cancelled");
    let retried = folder.run(&["retry", "o-1", "--reason", "a slip"]);
    assert_eq!((retried.code, retried.stdout.as_str()), (0, "run o-1: it goes on\n"), "{}", retried.stderr);
    for run in ["o-1", "o-2"] {
        client.signal(run, PAID, &7).await.unwrap();
        let run = client.run::<u32, Failure>(run).await.unwrap().unwrap();
        assert_eq!(client.result(&run).await.unwrap(), 7);
    }
    let again = folder.run(&["retry", "o-1", "--at", "2", "--even-succeeded", "--json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let run = client.run::<u32, Failure>("o-1").await.unwrap().unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 7);
    assert!(folder.run(&["audit"]).stdout.contains("retry run"));
    assert_eq!(folder.run(&["retry", "o-1", "--from", "a"]).code, 2, "a run has no nodes");
    worker.shutdown().await;
}

/// What towpath itself runs as durable functions: a wait, a list, a graph in a graph.
#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_towpaths_own_functions_is_replayed() {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    let double = |job: Double, _: Context| async move { Ok::<u32, Failure>(2 * job.0) };
    let worker = Worker::builder(&client).handle(double).durable(ORDER).start().unwrap();
    let graph = r#"{ "name": "g", "input": [1, 2, 3], "nodes": [
        { "name": "wait", "signal": "go" },
        { "name": "list", "map": { "over": "input", "each": { "kind": "double" } } },
        { "name": "inner", "input_from": "outputs.list", "after": "list",
          "graph": { "name": "i", "nodes": [{ "name": "one", "kind": "double", "input": 7 }] } } ] }"#;
    let graph = client.enqueue_graph_json(graph).await.unwrap();
    folder.run(&["signal", &format!("{}/wait", graph.id()), "go", "7"]);
    assert_eq!(graph.wait(&client).await.unwrap(), GraphEnd::Succeeded);
    let mut files = Vec::new();
    for node in ["wait", "list", "inner"] {
        let history = folder.run(&["history", &format!("{}/{node}", graph.id())]).stdout;
        std::fs::write(folder.file(&format!("{node}.jsonl")), &history).unwrap();
        files.push(format!("{node}.jsonl"));
    }
    let all = folder.run(&[&["replay"][..], &files.iter().map(String::as_str).collect::<Vec<_>>()].concat());
    assert_eq!((all.code, all.stdout.matches(" goes on: ").count()), (0, 3), "{}{}", all.stdout, all.stderr);
    // An operation that this build would not ask for.
    let list = std::fs::read_to_string(folder.file("list.jsonl")).unwrap();
    let other = list.replacen("\"kind\":\"step\",\"name\":\"", "\"kind\":\"step\",\"name\":\"no-", 1);
    assert_ne!(list, other);
    std::fs::write(folder.file("list.jsonl"), other).unwrap();
    let other = folder.run(&["replay", "wait.jsonl", "list.jsonl"]);
    assert_eq!(other.code, 1, "{}{}", other.stdout, other.stderr);
    assert!(other.stdout.contains("does not replay: the code and the journal disagree"), "{}", other.stdout);
    let order = client.start(ORDER, "o-1", &"tea".to_owned()).signal(PAID, &7).await.unwrap();
    client.result(&order).await.unwrap();
    std::fs::write(folder.file("order.jsonl"), folder.run(&["history", "o-1"]).stdout).unwrap();
    for file in ["order.jsonl", "nowhere.jsonl", "s.db"] {
        let refused = folder.run(&["replay", file]);
        assert_eq!(refused.code, 2, "{file}: {}{}", refused.stdout, refused.stderr);
    }
    worker.shutdown().await;
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Double(u32);

impl Job for Double {
    const KIND: &'static str = "double";
    type Output = u32;
}
