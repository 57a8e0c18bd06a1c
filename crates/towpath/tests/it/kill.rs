//! A worker process is killed again and again in the middle of a graph. Every node succeeds in the end, and an
//! outside log shows that no life of the process ran a node twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use towpath::{Context, Failure, Graph, GraphEnd, Job, Node, Worker};

use crate::stores::{self, Subject};

const NODES: usize = 2_000;
const KILLS: u32 = 50;
const STORE: &str = "TOWPATH_KILL_STORE";
const LOG: &str = "TOWPATH_KILL_LOG";
const LIFE: &str = "TOWPATH_KILL_LIFE";

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "kill-node", output = u32, crash_limit = 50)]
struct Work {
    number: usize,
}

/// The worker process: this test binary, started by the tests below with the environment that names its store. Run by
/// itself it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let life = std::env::var(LIFE).unwrap();
    let log = std::env::var(LOG).unwrap();
    let client = stores::open(&url).await;
    let worker = Worker::builder(&client)
        .queue("default", 4)
        .handle(move |job: Work, _cx: Context| {
            let mut file = OpenOptions::new().append(true).open(&log).unwrap();
            let line = format!("{life} {}\n", job.number);
            async move {
                // One write to a file opened for append: lines of several processes do not mix.
                file.write_all(line.as_bytes()).unwrap();
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, Failure>(1)
            }
        })
        .start()
        .unwrap();
    worker.join().await;
}

fn spawn(url: &str, log: &Path, life: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::worker_process", "--nocapture"])
        .env(STORE, url)
        .env(LOG, log)
        .env(LIFE, life.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Layers of 50 nodes, each after two nodes of the layer before.
fn layered() -> Graph {
    let graph = Graph::builder("killed");
    let mut nodes: Vec<Node<'_, Work>> = Vec::new();
    for n in 0..NODES {
        let node = graph.node(format!("n{n}"), &Work { number: n });
        if n >= 50 {
            let above = n / 50 * 50 - 50;
            let first = above + (n * 7) % 50;
            let second = above + (n * 13 + 5) % 50;
            node.after(nodes[first]);
            if second != first {
                node.after(nodes[second]);
            }
        }
        nodes.push(node);
    }
    graph.build().unwrap()
}

/// A random wait, from a seed that is printed.
fn waits(seed: u64) -> impl FnMut() -> Duration {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Duration::from_millis(20 + state % 80)
    }
}

async fn kill_and_count(subject: Subject) {
    let seed = std::env::var("TOWPATH_SEED").map_or_else(|_| std::process::id().into(), |s| s.parse().unwrap());
    println!("TOWPATH_SEED={seed}");
    let client = &subject.client;
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("executions");
    std::fs::write(&log, "").unwrap();
    let id = layered().enqueue(client).await.unwrap().id();
    let mut wait = waits(seed);
    for life in 0..KILLS {
        let before = lines(&log).len();
        let mut child = spawn(&subject.url, &log, life);
        // The kill falls on a process that is at work, not on one that starts.
        let started = Instant::now();
        while lines(&log).len() == before && started.elapsed() < Duration::from_secs(20) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(wait()).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let executed = lines(&log).len();
    let mut child = spawn(&subject.url, &log, KILLS);
    let end = tokio::time::timeout(Duration::from_secs(120), client.wait_graph(id)).await.expect("it hangs").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(end, GraphEnd::Succeeded);
    assert!(executed < NODES, "the kills came after the work was done: {executed}");

    let mut lives: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines(&log) {
        let (life, node) = line.split_once(' ').unwrap();
        assert!(lives.entry(node.into()).or_default().insert(life.into()), "life {life} ran node {node} twice");
    }
    assert_eq!(lives.len(), NODES, "every node ran");
    let census = client.inspect().census().await.unwrap();
    assert_eq!((census.ready, census.later, census.blocked, census.undecided), (0, 0, 0, 0));
    assert_eq!((census.running, census.ended), (0, NODES as u64 + 1));
    assert_eq!(client.recount(id, "test").await.unwrap(), 0);
}

fn lines(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_sqlite() {
    kill_and_count(stores::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_kills_postgres() {
    if let Some(subject) = stores::postgres().await {
        kill_and_count(subject).await;
    }
}
