//! The commands that show what a store holds.

use crate::{Folder, steady};

#[test]
fn what_ran_is_listed_and_shown() {
    let folder = Folder::with_flow(
        "name = \"two\"\n[node.a]\nexec = [\"echo\", \"1\"]\n[node.b]\nafter = [\"a\"]\nexec = [\"false\"]",
    );
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 1);
    let graph = folder.newest_graph();
    assert_eq!(folder.states(&graph), [("a".into(), "succeeded".into()), ("b".into(), "dead".into())]);
    let shown = folder.run(&["graph", "show", &graph]);
    assert!(shown.stdout.starts_with("two failed: 1 succeeded, 1 dead\n"), "{}", shown.stdout);
    assert!(steady(&shown.stdout).contains("b     dead       1         0.0s  exit status 1\n"), "{}", shown.stdout);

    assert_eq!(folder.json(&["jobs"]).as_array().unwrap().len(), 2);
    let dead = folder.json(&["jobs", "--state", "dead"]);
    assert_eq!((&dead[0]["node"], dead.as_array().unwrap().len()), (&"b".into(), 1));
    let job = dead[0]["id"].as_str().unwrap();
    let shown = folder.run(&["job", job]);
    assert!(shown.stdout.contains("state     dead\ncause     its attempts are exhausted\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nattempt 1: failed after "), "{}", shown.stdout);

    assert_eq!(folder.run(&["queues"]).stdout, "no live work\n");
    assert_eq!(folder.run(&["workers"]).stdout, "no workers\n");
    assert_eq!(folder.run(&["cancel", &graph]).stdout, format!("graph {graph}: had ended already\n"));
    assert_eq!(folder.run(&["migrate"]).stdout, "sqlite:.towpath/store.db has schema version 1\n");
}

#[test]
fn a_store_is_found_from_below_or_by_the_environment() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    std::fs::create_dir_all(folder.file("deep/er")).unwrap();
    let below = folder.towpath(&["graph", "list"]).current_dir(folder.file("deep/er")).output().unwrap();
    assert!(String::from_utf8(below.stdout).unwrap().contains("succeeded"));
    let url = format!("sqlite:{}", folder.file(".towpath/store.db").display());
    let by_env = folder.towpath(&["graph", "list"]).current_dir("/").env("TOWPATH_STORE", url).output().unwrap();
    assert!(String::from_utf8(by_env.stdout).unwrap().contains("succeeded"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    let script = format!("{} run flow.toml | head -n 0", env!("CARGO_BIN_EXE_towpath"));
    let ran = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!((ran.status.code(), String::from_utf8(ran.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_graph_is_drawn_and_written_for_programs_that_draw() {
    let folder = Folder::with_flow(
        "[node.load]\nexec = [\"true\"]\n[node.check]\nexec = [\"false\"]\nafter = [\"load\"]\n\
         [node.report]\nexec = [\"true\"]\nafter = [\"load\"]\n\
         [node.tell]\nexec = [\"true\"]\nafter = [\"report\", { node = \"check\", on = \"finished\" }]\n",
    );
    folder.run(&["run", "flow.toml"]);
    let graph = folder.newest_graph();
    let show = |format: &str| folder.run(&["graph", "show", &graph, "--format", format]).stdout;
    let drawing = "● load  succeeded\n├─┐\n✗ │ check  dead\n│ ● report  succeeded\n├─┘\n● tell  succeeded  after check finished\n";
    assert!(show("text").contains(drawing), "{}", show("text"));
    assert!(show("mermaid").contains("    n1[\"check\"]:::dead\n"), "{}", show("mermaid"));
    assert!(show("mermaid").contains("    n1 -->|\"finished\"| n3\n"), "{}", show("mermaid"));
    assert!(show("dot").contains("    n1 -> n3 [label=\"finished\"];\n"), "{}", show("dot"));
    let json: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    let edges = json["edges"].as_array().unwrap();
    let finished = serde_json::json!({"parent": "check", "child": "tell", "condition": "finished", "branch": null});
    assert!(edges.contains(&finished), "{edges:?}");
}
