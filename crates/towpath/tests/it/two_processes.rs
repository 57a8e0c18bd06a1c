//! Two processes drain one SQLite file: each job once, and neither process is starved.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::{Context, Failure, Job, Worker};

use crate::stores;

const JOBS: usize = 10_000;
const STORE: &str = "TOWPATH_TWO_STORE";
const LOG: &str = "TOWPATH_TWO_LOG";

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "two", queue = "two")]
struct Two(usize);

/// One of the processes: this test binary, started by the test below. Run by itself it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_process() {
    let Ok(url) = std::env::var(STORE) else { return };
    let log = std::env::var(LOG).unwrap();
    let client = stores::open(&url).await;
    let pid = std::process::id();
    // Both wait for the first job, so that neither has done all before the other has started.
    let worker = Worker::builder(&client)
        .queue("two", 20)
        .handle(move |job: Two, _cx: Context| {
            let mut file = OpenOptions::new().append(true).open(&log).unwrap();
            let line = format!("{pid} {}\n", job.0);
            async move {
                file.write_all(line.as_bytes()).unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok::<_, Failure>(())
            }
        })
        .start()
        .unwrap();
    worker.join().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_one_file() {
    let subject = stores::sqlite();
    let client = &subject.client;
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    std::fs::write(&log, "").unwrap();
    let spawn = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "two_processes::worker_process", "--nocapture"])
            .env(STORE, &subject.url)
            .env(LOG, &log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut processes = [spawn(), spawn()];
    while client.inspect().workers().await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let jobs: Vec<Two> = (0..JOBS).map(Two).collect();
    let handles = client.enqueue_all(&jobs).await.unwrap();
    for handle in &handles {
        tokio::time::timeout(Duration::from_secs(60), client.wait(handle.id())).await.expect("it hangs").unwrap();
    }
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let mut by_job: BTreeMap<&str, u32> = BTreeMap::new();
    let mut by_process: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines() {
        let (pid, job) = line.split_once(' ').unwrap();
        *by_job.entry(job).or_default() += 1;
        *by_process.entry(pid).or_default() += 1;
    }
    assert_eq!(by_job.len(), JOBS);
    assert!(by_job.values().all(|n| *n == 1), "each job once");
    assert_eq!(by_process.len(), 2, "{by_process:?}");
    assert!(by_process.values().all(|n| *n >= JOBS / 4), "neither under a quarter: {by_process:?}");
}
