//! `--follow`: a line for each change as it comes, until it is over, with the exit code of how.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towpath::{Failure, Graph, Job, Worker};

use crate::Folder;
use crate::run_views::{PAID, waiting};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "part", attempts = 1)]
struct Part(bool);

struct Followed {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

fn follow(folder: &Folder, args: &[&str]) -> Followed {
    let mut command = folder.towpath(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    Followed { child, lines }
}

impl Followed {
    /// The first line that has this in it. It comes or the test's time is over.
    fn until(&mut self, part: &str) -> String {
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line.contains(part) {
                return line;
            }
            seen.push(line);
        }
        panic!("no {part:?} among {seen:#?}")
    }

    fn code(mut self) -> i32 {
        assert_eq!(self.lines.next().map(Result::unwrap), None, "it ends with the end");
        self.child.wait().unwrap().code().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_followed_to_its_end() {
    let (folder, client, worker) = waiting().await;
    let (mut plain, mut json) =
        (follow(&folder, &["job", "o-1", "--follow"]), follow(&folder, &["job", "o-1", "--follow", "--json"]));
    tokio::task::block_in_place(|| plain.until("opened signal paid"));
    tokio::task::block_in_place(|| plain.until("parked"));
    client.signal("o-1", PAID, &7).await.unwrap();
    tokio::task::block_in_place(|| {
        assert!(plain.until("signal paid at").ends_with(": 7"));
        plain.until("returned");
        plain.until(" succeeded");
        assert_eq!(plain.code(), 0);
        let last: Value = serde_json::from_str(&json.until("\"succeeded\"")).unwrap();
        assert_eq!(last["state"], "succeeded");
        assert_eq!(json.code(), 0);
    });
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_is_followed_and_a_failure_is_the_exit_code() {
    let (folder, client, worker) = waiting().await;
    worker.shutdown().await;
    let graph = Graph::builder("parts");
    let bad = graph.node("first", &Part(true)).then("bad", &Part(false));
    bad.then("never", &Part(true));
    let graph = graph.enqueue(&client).await.unwrap();
    let id = graph.id().to_string();
    let mut followed = follow(&folder, &["graph", "show", &id, "--follow"]);
    tokio::task::block_in_place(|| followed.until("first  ready"));
    let worker = Worker::builder(&client)
        .handle(|part: Part, _cx| async move { if part.0 { Ok(()) } else { Err(Failure::new("on purpose")) } })
        .start()
        .unwrap();
    graph.wait(&client).await.unwrap();
    tokio::task::block_in_place(|| {
        followed.until("first  succeeded");
        followed.until("bad    dead");
        followed.until("never  skipped");
        followed.until("parts failed");
        assert_eq!(followed.code(), 1);
    });
    // What has ended is told of at once.
    let again = tokio::task::block_in_place(|| folder.run(&["graph", "show", &id, "--follow", "--json"]));
    assert_eq!(again.code, 1);
    let lines: Vec<Value> = again.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[3]["end"]), (4, &Value::from("failed")), "{lines:#?}");
    worker.shutdown().await;
}
