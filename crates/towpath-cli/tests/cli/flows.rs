//! The flows under `examples/`, and what a flow file can say.

use std::path::Path;

use crate::{Folder, steady};

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows").join(name).display().to_string()
}

#[test]
fn the_sources_are_listed_split_counted_and_summarised() {
    let folder = Folder::new();
    let store = format!("sqlite:{}", folder.file("s.db").display());
    let ran = folder.run(&["run", &example("sources.toml"), "--store", &store]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let table = ran.stdout.split_once("\nnode ").unwrap().1;
    assert_eq!(table.matches("  succeeded  1 ").count(), 23);
    assert!(steady(&ran.stdout).ends_with("sources succeeded in 0.0s: 23 succeeded\n"), "{}", ran.stdout);

    let graph = folder.json(&["graph", "list", "--store", &store])[0]["id"].as_str().unwrap().to_owned();
    let show = folder.json(&["graph", "show", &graph, "--store", &store]);
    let job_of = |name: &str| {
        let node = show["nodes"].as_array().unwrap().iter().find(|n| n["name"] == name).unwrap();
        folder.json(&["job", node["job"].as_str().unwrap(), "--store", &store])
    };
    let (list, summary) = (job_of("list"), job_of("summary"));
    assert!(list["output"]["files"].as_u64().unwrap() > 50);
    assert_eq!(summary["output"]["files"], list["output"]["files"], "no file was lost on the way");
    assert_eq!(summary["output"]["sha256"].as_str().unwrap().len(), 64);
    assert!(summary["output"]["lines"].as_u64().unwrap() > 10_000);
}

#[test]
fn a_flow_that_takes_its_time_passes_on_what_was_said() {
    let folder = Folder::new();
    let store = format!("sqlite:{}", folder.file("s.db").display());
    let ran = folder.run(&["run", &example("patient.toml"), "--store", &store]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let jobs = folder.json(&["jobs", "--store", &store]);
    let jobs = jobs.as_array().unwrap();
    let last = jobs.iter().find(|job| job["node"] == "last" || job["node"]["name"] == "last").unwrap();
    let last = folder.json(&["job", last["id"].as_str().unwrap(), "--store", &store]);
    assert_eq!(last["output"]["third"]["output"]["said"], "third", "{last}");
}

#[test]
fn a_failing_flow_reports_and_cleans_up() {
    let folder = Folder::new();
    std::fs::copy(example("cleanup.toml"), folder.file("cleanup.toml")).unwrap();
    let ran = folder.run(&["run", "cleanup.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    insta::assert_snapshot!("cleanup", steady(&ran.stdout));
    assert!(!folder.file(".towpath/cleanup/tmp").exists(), "it has tidied up");
    let report: serde_json::Value = serde_json::from_str(&folder.read(".towpath/cleanup/report.json")).unwrap();
    assert_eq!(report["load"]["state"], "dead");
    assert_eq!(report["load"]["error"], "exit status 3: file 3 is empty");
    assert_eq!(folder.read(".towpath/.gitignore"), "*\n");
}

#[test]
fn a_command_gets_its_parents_its_variables_and_its_folder() {
    let folder = Folder::with_flow(
        r#"
        [node.a]
        exec = ["sh", "-c", "echo working; echo '{ \"n\": 1.50 }'"]
        [node.b]
        exec = ["sh", "-c", "echo no json"]
        [node.c]
        after = ["a", { node = "b", on = "finished" }]
        dir = "sub"
        env = { GREETING = "hello world" }
        shell = true
        exec = 'cat > in.json; echo "$GREETING $TOWPATH_NODE $TOWPATH_ATTEMPT $TOWPATH_JOB $TOWPATH_GRAPH" > env'
        "#,
    );
    std::fs::create_dir(folder.file("sub")).unwrap();
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        folder.read("sub/in.json"),
        "{\"a\":{\"state\":\"succeeded\",\"output\":{ \"n\": 1.50 },\"error\":null},\
         \"b\":{\"state\":\"succeeded\",\"output\":null,\"error\":null}}\n"
    );
    assert_eq!(steady(&folder.read("sub/env")), "hello world c 1 ID ID\n");
    assert_eq!(folder.json(&["graph", "list"])[0]["name"], "flow", "it is named after its file");
}

#[test]
fn a_timeout_fails_the_attempt_and_ends_the_command() {
    let folder = Folder::with_flow(
        r#"
        [node.slow]
        exec = ["sh", "-c", "echo begun; sleep 100 & sleep 100"]
        timeout = "200ms"
        "#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("it took longer than its timeout of 200ms"), "{}", ran.stdout);
    let graph = folder.newest_graph();
    assert_eq!(crate::left_behind(&graph), [] as [String; 0]);
    let job = folder.json(&["graph", "show", &graph])["nodes"][0]["job"].as_str().unwrap().to_owned();
    assert_eq!(folder.json(&["job", &job])["attempts"][0]["log"], "--- stdout ---\nbegun\n");
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let folder = Folder::with_flow(
        r#"
        [node.a]
        exec = ["sh", "-c", "sleep 100 & sleep 101 >/dev/null 2>&1 </dev/null & exit 0"]
        "#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(crate::left_behind(&folder.newest_graph()), [] as [String; 0]);
}

#[test]
fn a_program_that_an_earlier_node_makes_is_found_when_its_turn_comes() {
    let folder = Folder::with_flow(
        r#"
        [node.make]
        exec = ["sh", "-c", "mkdir out; printf '#!/bin/sh\necho 7\n' > out/prog; chmod +x out/prog"]
        [node.use]
        after = ["make"]
        dir = "out"
        exec = ["./prog"]
        [node.gone]
        after = [{ node = "use", on = "finished" }]
        retry = 3
        exec = ["./never-made"]
        "#,
    );
    let ran = folder.run(&["run", "flow.toml"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    let gone = ran.stdout.lines().find(|l| l.starts_with("gone")).unwrap();
    assert!(gone.starts_with("gone  dead       1 "), "it is not tried again: {gone}");
    assert!(gone.contains("cannot start \"./never-made\": there is no "), "{gone}");
}
