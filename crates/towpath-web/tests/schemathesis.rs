//! The API under requests that its own description makes up, well formed and not, with a fixed seed, on a store with work in
//! it: nothing is answered with a 5xx, and nothing off its description.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "browser/served.rs"]
mod served;
#[path = "it/stores.rs"]
#[allow(dead_code, unused_macros, unused_imports, reason = "shared with the other tests")]
mod stores;
#[path = "it/works.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod works;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use towpath_web::WebOptions;

use served::Served;
use stores::Subject;
use works::{NASTY, Works};

/// Where the program is; without it the tests say that they were left out.
const PROGRAM: &str = "TOWPATH_TEST_SCHEMATHESIS";
/// The same each time, so that a red run is red again. `TOWPATH_SEED` draws others.
const SEED: &str = "20260";
/// So many requests at least.
const CASES: usize = 2_000;
/// So many of them at least must come through to an answer, or the description asks for what is refused.
const GOOD: usize = 400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_answers_as_described_whatever_is_asked() {
    answers_as_described(stores::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_answers_as_described_whatever_is_asked() {
    if let Some(subject) = stores::postgres().await {
        answers_as_described(subject).await;
    }
}

async fn answers_as_described(subject: Subject) {
    let Ok(program) = std::env::var(PROGRAM) else {
        eprintln!("left out: schemathesis (set {PROGRAM}, or run `cargo xtask test`)");
        return;
    };
    let works = Works::start(&subject.client).await;
    let family = Works::family(&subject.client).await;
    let served = Served::start(&subject.client, WebOptions::default()).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("schemathesis.toml"), config(&works, &family.to_string())).unwrap();
    let url = served.url.clone();
    let (folder, answers) = tokio::task::spawn_blocking(move || {
        let answers = ask(&program, &url, folder.path());
        (folder, answers)
    })
    .await
    .unwrap();
    let total: usize = answers.values().sum();
    assert!(total >= CASES, "only {total} requests: {answers:?}");
    assert!(answers.keys().all(|status| *status < 500), "{answers:?}");
    let good = answers.get(&200).copied().unwrap_or_default();
    assert!(good >= GOOD, "only {good} came through: {answers:?}");
    drop(folder);
    works.worker.shutdown().await;
}

/// Names of what is there, since nobody guesses a UUID: for each order one that it may apply to.
fn config(works: &Works, family: &str) -> String {
    let of = |path: &str, name: &str, id: &str| {
        format!("[[operations]]\ninclude-path-regex = \"^/api/{path}\"\nparameters = {{ \"path.{name}\" = {id:?} }}\n")
    };
    [
        of("jobs/.*(requeue|cancel)$", "id", &works.dead.to_string()),
        of("jobs/.*(edit|terminate)$", "id", &works.unserved.to_string()),
        of("jobs/[^/]*$", "id", &works.succeeded.to_string()),
        of("graphs/", "id", &works.graph.to_string()),
        of("runs/.*(signals|streams.*|journal|pause|resume)$", "id", family),
        of("runs/.*(cancel|terminate|retry|fork|updates)$", "id", &works.run.to_string()),
        of("runs/[^/]*$", "id", NASTY),
        of("schedules/", "name", "yearly"),
        of("queues/", "name", "lonely"),
    ]
    .concat()
}

/// Runs the program, and counts the answers by status.
fn ask(program: &str, url: &str, folder: &Path) -> BTreeMap<u64, usize> {
    let seed = std::env::var("TOWPATH_SEED").unwrap_or_else(|_| SEED.into());
    let report = folder.join("report.ndjson");
    let done = Command::new(program)
        .args(["--config-file", "schemathesis.toml", "run"])
        .arg(format!("{url}/api/openapi.json"))
        .args(["--url", url, "--seed", &seed, "--max-examples", "25", "--phases", "coverage,fuzzing"])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance", "--continue-on-failure", "--warnings", "off"])
        .args(["--report", "ndjson", "--report-ndjson-path"])
        .arg(&report)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "seed {seed}: {said}\n{}", String::from_utf8_lossy(&done.stderr));
    let mut answers = BTreeMap::new();
    for line in std::fs::read_to_string(&report).unwrap().lines() {
        count(&serde_json::from_str(line).unwrap(), &mut answers);
    }
    eprintln!("seed {seed}: {answers:?}");
    answers
}

/// Answers lie at several depths of the report.
fn count(value: &Value, answers: &mut BTreeMap<u64, usize>) {
    match value {
        Value::Object(fields) => {
            if let Some(status) = fields.get("status_code").and_then(Value::as_u64) {
                *answers.entry(status).or_default() += 1;
            }
            fields.values().for_each(|value| count(value, answers));
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, answers)),
        _ => {}
    }
}
