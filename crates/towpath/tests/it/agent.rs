//! The example of an agent, with its worker killed at every stage: it comes to its answer, no recorded answer of the model is asked
//! for again, and what needs a person waits for one.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use example::Call;

use crate::stores::{self, Subject};

#[allow(dead_code, reason = "the example's own main")]
#[path = "../../examples/agent.rs"]
mod example;

const STORE: &str = "TOWPATH_AGENT_STORE";
const OUTSIDE: &str = "TOWPATH_AGENT_OUTSIDE";

/// The worker process: this test binary, started below with the environment that names its store. Run by itself it has
/// nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let outside = std::env::var(OUTSIDE).unwrap();
    let client = stores::open(&url).await;
    example::worker(&client, example::Outside::at(outside.as_ref())).unwrap().join().await;
}

fn spawn(url: &str, outside: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "agent::worker_process", "--nocapture"])
        .env(STORE, url)
        .env(OUTSIDE, outside)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_survives_kills_and_waits_for_a_person() {
    let Subject { client, url, _dir } = stores::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.txt");
    let task = ("give it back".to_owned(), Duration::from_secs(3_600));
    let run = client.start(example::AGENT, "agent", &task).await.unwrap();

    // Killed in each of the first two thoughts, and while it waits.
    let lines = || std::fs::read_to_string(&outside).unwrap_or_default();
    for seen in ["think 1\n", "think 3\n"] {
        let mut process = spawn(&url, &outside);
        while !lines().contains(seen) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let mut process = spawn(&url, &outside);
    let asks = loop {
        if let Some(Some(call)) = client.published::<Option<Call>>("agent").await.unwrap() {
            break call;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(asks, Call { tool: "refund".into(), argument: "order-7".into() });
    assert!(!lines().contains("refund"), "it does not act before it may: {}", lines());
    process.kill().unwrap();
    process.wait().unwrap();
    client.signal("agent", example::DECIDED, &true).await.unwrap();

    let mut process = spawn(&url, &outside);
    assert_eq!(client.result(&run).await.unwrap(), "done: refunded order-7");
    process.kill().unwrap();
    process.wait().unwrap();

    let mut done: BTreeMap<String, u32> = BTreeMap::new();
    let text = lines();
    let mut all: Vec<&str> = text.lines().collect();
    for line in &all {
        *done.entry((*line).to_owned()).or_default() += 1;
    }
    // A step that was cut off is begun again; what was recorded is never done again, so the order is that of the talk.
    all.dedup();
    let way = ["think 1", "find_order 7 by agent/1/2", "think 3", "refund order-7 by agent/1/6", "think 5"];
    assert_eq!(all, way, "{done:?}");
    assert!(done.values().all(|times| *times <= 2), "two kills hit steps: {done:?}");
    assert_eq!(client.published::<Option<Call>>("agent").await.unwrap(), Some(None));

    let mut thoughts = client.stream("agent", example::THOUGHTS);
    let mut told = Vec::new();
    while let Some(line) = thoughts.next().await.unwrap() {
        told.push(line.value);
    }
    let acts: Vec<&String> = told.iter().filter(|line| line.contains(" -> ")).collect();
    assert_eq!(
        acts,
        ["find_order -> order-7", "refund -> refunded order-7"],
        "the function's own lines are there once"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_nobody_allows_does_nothing_grave() {
    let Subject { client, .. } = stores::memory();
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.txt");
    let worker = example::worker(&client, example::Outside::at(&outside)).unwrap();
    let run = client.start(example::AGENT, "agent", &("give it back".to_owned(), Duration::ZERO)).await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), "nobody allowed the refund");
    assert!(!std::fs::read_to_string(&outside).unwrap().contains("refund"));
    worker.shutdown().await;
}
