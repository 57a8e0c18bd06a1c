//! What `--json` answers has the shape that the reference shows.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towpath::{Client, Context, Failure, Job, Kind, NewJob, Schedule, Worker};

use crate::{Folder, wait_until};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet")]
struct Greet;

/// The examples of the reference: a command, and one line of answer.
fn examples() -> Vec<(String, Value)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## What `--json` answers\n").unwrap();
    let mut examples = Vec::new();
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("$ towpath ") {
            examples.push((command.to_owned(), serde_json::from_str(lines.next().unwrap()).unwrap()));
        }
    }
    examples
}

/// Where two answers differ in shape: in fields, or in what stands in one. Of a list the first item is looked at; what may
/// be null has the other's shape.
fn difference(at: &str, shown: &Value, answered: &Value) -> Option<String> {
    match (shown, answered) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Object(shown), Value::Object(answered)) => {
            let free = ["input", "output", "headers", "kinds", "cause", "params"];
            if free.iter().any(|name| at.ends_with(&format!(".{name}"))) {
                return None;
            }
            if let Some(name) = shown.keys().find(|name| !answered.contains_key(*name)) {
                return Some(format!("{at}.{name} is shown, and not answered"));
            }
            if let Some(name) = answered.keys().find(|name| !shown.contains_key(*name)) {
                return Some(format!("{at}.{name} is answered, and not shown"));
            }
            shown.iter().find_map(|(name, value)| difference(&format!("{at}.{name}"), value, &answered[name]))
        }
        (Value::Array(shown), Value::Array(answered)) => match (shown.first(), answered.first()) {
            (Some(shown), Some(answered)) => difference(&format!("{at}[]"), shown, answered),
            (Some(_), None) => Some(format!("{at} is empty in this test")),
            _ => None,
        },
        _ if std::mem::discriminant(shown) == std::mem::discriminant(answered) => None,
        _ => Some(format!("{at} is shown as {shown}, and answered as {answered}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_the_shape_that_the_reference_shows() {
    let folder = Folder::with_flow(
        "name = \"tour\"\n[node.a]\nexec = [\"echo\", \"1\"]\n[node.b]\nexec = [\"false\"]\nafter = [\"a\"]",
    );
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    let dead = folder.json(&["jobs", "--state", "dead"])[0]["id"].as_str().unwrap().to_owned();
    let url = format!("sqlite:{}", folder.file(".towpath/store.db").display());
    let client = Client::open(&url).await.unwrap();
    let worker = Worker::builder(&client)
        .name("app/7")
        .handle(|_: Greet, cx: Context| async move {
            cx.cancelled().await;
            Err::<(), _>(Failure::stopped())
        })
        .start()
        .unwrap();
    let long = client.job(&Greet).tag("urgent").await.unwrap().id().to_string();
    wait_until("it runs", || folder.json(&["queues"])[0]["running"] == 1);
    let report = NewJob::new(Client::new_job_id(), Kind::new("report").unwrap());
    client.schedules().put(Schedule::of("nightly", "@daily", Ok(report)), "ann", "").await.unwrap();
    client.schedules().trigger("nightly", "ann", "").await.unwrap();
    let examples = examples();
    assert!(examples.len() >= 9, "{examples:?}");
    for (command, shown) in examples {
        let args: Vec<&str> = command.split(' ').collect();
        let args: Vec<&str> = args
            .iter()
            .map(|arg| match *arg {
                "GRAPH-ID" => &*graph,
                "JOB-ID" if args[0] == "cancel" => &*long,
                "JOB-ID" => &*dead,
                arg => arg,
            })
            .collect();
        let ran = folder.run(&args);
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        let answered: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(difference(&command, &shown, &answered), None, "{answered}");
    }
    worker.shutdown().await;
}
