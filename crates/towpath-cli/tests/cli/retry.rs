//! Work that ended badly is put back on the command line.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Failure, Job, Worker};

use crate::{Folder, steady, wait_until};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "halve", output = u64, attempts = 1)]
struct Halve(u64);

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_requeued_with_another_input_from_a_file() {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    let halve = |job: Halve, _: Context| async move {
        if job.0.is_multiple_of(2) { Ok(job.0 / 2) } else { Err(Failure::new("odd")) }
    };
    let worker = Worker::builder(&client).handle(halve).start().unwrap();
    let handle = client.enqueue(&Halve(7)).await.unwrap();
    let id = handle.id().to_string();
    client.wait(handle.id()).await.unwrap();

    for (file, text) in [("bad.json", "seven"), ("eight.json", "8")] {
        std::fs::write(folder.file(file), text).unwrap();
    }
    for refused in [
        &["requeue"][..],
        &["requeue", &id, "--input", "none.json"],
        &["requeue", &id, "--input", "bad.json"],
        &["requeue", &id, &id, "--input", "eight.json"],
    ] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    let done = folder.run(&["requeue", &id, "--input", "eight.json", "--reason", "odd", "--actor", "ann"]);
    assert_eq!((done.code, done.stdout), (0, format!("job {id}: requeued\n")));
    wait_until("it succeeds", || folder.json(&["job", &id])["output"] == 4);
    let audit = &folder.json(&["audit"])[0];
    assert_eq!((&audit["actor"], &audit["reason"]), (&"ann".into(), &"odd".into()));

    let refused = folder.run(&["requeue", &id, "nobody", "--json"]);
    assert_eq!(refused.code, 1);
    let lines: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(lines[0]["requeued"], false);
    assert!(lines[0]["outcome"].as_str().unwrap().contains("it has succeeded: add --even-succeeded"), "{lines}");
    assert_eq!(lines[1]["outcome"], "there is no such job or run; `towpath jobs` lists them");
    assert_eq!(folder.json(&["requeue", &id, "--even-succeeded"])[0]["requeued"], true);
    worker.shutdown().await;
}

const FLOW: &str = "name = \"nightly\"\n[node.a]\nexec = [\"echo\", \"1\"]\n[node.b]\nexec = [\"test\", \"-e\", \"ready\"]\nafter = [\"a\"]\n[node.c]\nexec = [\"echo\", \"3\"]\nafter = [\"b\"]";

#[test]
fn a_flow_is_retried_in_place_and_resumed() {
    let folder = Folder::with_flow(FLOW);
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    for refused in [
        &["retry", "nonsense"][..],
        &["retry", "01a22971-e74f-7541-ba52-cf137f70019b"],
        &["retry", &graph, "--from", "z"],
        &["retry", &graph, "--from", "No Name"],
        &["retry", &graph, "--from", "a", "--all"],
    ] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    std::fs::write(folder.file("ready"), "").unwrap();
    let retried = folder.run(&["retry", &graph, "--reason", "the file is there"]);
    let told = format!("graph {graph}: 2 nodes run again, in generation 2\ncarry on with: towpath resume {graph}\n");
    assert_eq!((retried.code, retried.stdout), (0, told));
    let resumed = folder.run(&["resume"]);
    assert_eq!(resumed.code, 0);
    assert!(
        steady(&resumed.stdout).ends_with("nightly succeeded 0.0s after it was resumed: 3 succeeded\n"),
        "{}",
        resumed.stdout
    );
    let shown = folder.run(&["graph", "show", &graph]).stdout;
    assert!(shown.contains("\nretried, in generation 2\n"), "{shown}");
    assert_eq!(folder.json(&["graph", "show", &graph])["generation"], 2);
    let again = folder.run(&["retry", &graph]);
    assert!(again.code == 2 && again.stderr.contains("nothing to retry"), "{}", again.stderr);
    let node = folder.json(&["graph", "show", &graph])["nodes"][2]["job"].as_str().unwrap().to_owned();
    assert_eq!(folder.json(&["requeue", &node, "--even-succeeded"])[0]["requeued"], true);
    assert!(folder.run(&["job", &node]).stdout.contains("\nattempts  1, 0 failed\n"));
    assert_eq!(folder.run(&["resume"]).code, 0);
    // What had failed before it was put back does not count against it any more.
    let failed = folder.json(&["graph", "show", &graph])["nodes"][1]["job"].as_str().unwrap().to_owned();
    assert!(folder.run(&["job", &failed]).stdout.contains("\nattempts  2, 0 failed since it was put back\n"));
    assert_eq!(folder.json(&["graph", "show", &graph])["generation"], 3);
}

#[test]
fn a_flow_whose_wait_ran_out_is_retried_and_waits_anew() {
    let folder = Folder::with_flow("name = \"ask\"\n[node.ask]\nsignal = { name = \"yes\", timeout = \"50ms\" }\n");
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    assert_eq!(folder.run(&["retry", &graph]).code, 0);
    assert_eq!(folder.run(&["signal", &format!("{graph}/ask"), "yes", "7"]).code, 0);
    assert_eq!(folder.run(&["resume"]).code, 0);
    assert_eq!(folder.json(&["graph", "show", &graph])["end"], "succeeded");
}

#[test]
fn a_flow_is_restarted_as_a_new_one_and_resumed() {
    let folder = Folder::with_flow(FLOW);
    std::fs::write(folder.file("ready"), "").unwrap();
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    let old = folder.newest_graph();
    let answer = folder.json(&["restart", &old, "--actor", "ann", "--reason", "once more"]);
    let audit = &folder.json(&["audit"])[0];
    assert_eq!(
        (&audit["actor"], &audit["action"], &audit["reason"]),
        (&"ann".into(), &"restart".into(), &"once more".into())
    );
    assert_eq!(audit["target"], old.as_str());
    let new = answer["id"].as_str().unwrap();
    assert_eq!(answer["restart_of"], old.as_str());
    assert_eq!(folder.run(&["resume", new]).code, 0);
    let shown = folder.json(&["graph", "show", new]);
    assert_eq!((&shown["end"], &shown["restart_of"]), (&"succeeded".into(), &old.as_str().into()));
    assert!(folder.run(&["graph", "show", &old]).stdout.contains(&format!("\nrestarted as {new}\n")));
    assert_eq!(folder.run(&["restart", "01a22971-e74f-7541-ba52-cf137f70019b"]).code, 2);
}

#[test]
fn a_flow_that_fails_is_tried_again_by_its_own_rules() {
    let folder = Folder::with_flow(
        r#"
name = "nightly"
retry = { attempts = 3, delay = "10ms" }
[node.a]
exec = ["sh", "-c", "echo a >> log"]
undo = { exec = ["sh", "-c", "echo undone >> log"] }
[node.b]
after = ["a"]
exec = ["sh", "-c", "echo b >> log; test $(grep -c b log) -ge 3"]
[node.c]
after = ["b"]
exec = ["sh", "-c", "echo c >> log"]
"#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(folder.read("log"), "a\nb\nb\nb\nc\n", "what succeeded does not run again, and nothing is undone");
    let shown = folder.json(&["graph", "show", &folder.newest_graph()]);
    assert_eq!((&shown["generation"], &shown["stopped"]), (&3.into(), &serde_json::Value::Null));
    assert_eq!(shown["retry"], serde_json::json!({ "attempts": 3, "delay_us": 10_000 }));
    let text = folder.run(&["graph", "show", &folder.newest_graph()]).stdout;
    assert!(text.contains("in generation 3 of 3\n"), "{text}");
}

#[test]
fn a_flow_that_waits_for_its_retry_survives_a_kill_and_is_retried_at_once_by_hand() {
    let folder =
        Folder::with_flow("retry = { attempts = 2, delay = \"1h\" }\n[node.a]\nexec = [\"test\", \"-e\", \"ready\"]\n");
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::piped()).spawn().unwrap();
    // It says so itself, once it has looked.
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.find(|line| line.contains("it has failed and is tried again")).unwrap();
    assert!(told.ends_with("its rules: generation 2 of 2, after 3600s"), "{told}");
    run.kill().unwrap();
    run.wait().unwrap();
    let graph = folder.newest_graph();
    let shown = folder.run(&["graph", "show", &graph]).stdout;
    assert!(shown.contains("stopped to retry by towpath at 2"), "{shown}");
    assert!(shown.contains("goes on at 2"), "{shown}");
    assert!(folder.json(&["graph", "show", &graph])["stopped"]["due"].is_string());
    folder.write("ready", "");
    assert_eq!(folder.run(&["retry", &graph]).code, 0);
    let resumed = folder.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn a_flow_that_is_killed_while_it_fails_or_waits_is_resumed() {
    let folder = Folder::with_flow(
        "retry = { attempts = 2, delay = \"2s\" }\n[node.a]\nexec = [\"sh\", \"-c\", \"echo a >> log; test -e ready\"]\n",
    );
    let mut run = folder.towpath(&["run", "flow.toml"]).stdout(Stdio::null()).spawn().unwrap();
    wait_until("its node has run", || !folder.read("log").is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    folder.write("ready", "");
    let resumed = folder.run(&["resume"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn what_is_wrong_with_the_retry_of_a_flow_is_said() {
    let node = "[node.a]\nexec = [\"true\"]\n";
    for (retry, said) in [
        ("0", "`retry` is out of range"),
        ("\"often\"", "`retry` of a flow must be a number of attempts or a table"),
        ("{ delay = \"1s\" }", "`retry` has no `attempts`"),
        ("{ attempts = 2, backoff = \"1s\" }", "`retry` of a flow has no such field"),
        ("{ attempts = 2, delay = 1 }", "`delay` must be a duration"),
    ] {
        let ran = Folder::with_flow(&format!("retry = {retry}\n{node}")).run(&["check", "flow.toml"]);
        assert_eq!(ran.code, 2, "{retry}");
        assert!(ran.stderr.contains(said), "{retry}: {}", ran.stderr);
    }
}
