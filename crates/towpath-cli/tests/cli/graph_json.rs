//! Graphs written as JSON, from a file into a store.

use std::path::Path;
use std::process::Stdio;

use crate::Folder;

fn example() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graphs/checkout.json").display().to_string()
}

/// A folder with a store in it, which holds one graph.
fn stored() -> Folder {
    let mut folder = Folder::with_flow("[node.a]\nexec = [\"true\"]");
    folder.store = Some(format!("sqlite:{}", folder.file("s.db").display()));
    assert_eq!(folder.run(&["run", "flow.toml"]).code, 0);
    folder
}

#[test]
fn the_example_is_enqueued_and_shown() {
    let folder = stored();
    let enqueued = folder.json(&["graph", "enqueue", &example()]);
    assert_eq!(enqueued["enqueued"], true);
    let show = folder.json(&["graph", "show", enqueued["id"].as_str().unwrap()]);
    assert_eq!(show["nodes"].as_array().unwrap().len(), 9);
    assert_eq!(show["nodes"][3]["kind"], "towpath.gate");
    let express = show["edges"].as_array().unwrap().iter().find(|e| e["child"] == "approve").unwrap();
    assert_eq!((express["condition"].as_str(), express["branch"].as_str()), (Some("branch"), Some("express")));
}

#[test]
fn a_graph_on_stdin_with_an_id_is_enqueued_once() {
    let folder = stored();
    folder.write(
        "g.json",
        r#"{"id": "0197a0b0-0000-7000-8000-000000000001", "name": "g", "nodes": [{"name": "a", "kind": "a"}]}"#,
    );
    let from_stdin = || {
        let mut command = folder.towpath(&["graph", "enqueue", "-"]);
        command.stdin(Stdio::from(std::fs::File::open(folder.file("g.json")).unwrap()));
        crate::Ran::from(command.output().unwrap()).stdout
    };
    let (first, second) = (from_stdin(), from_stdin());
    assert!(first.starts_with("g is enqueued: towpath graph show --store sqlite:"), "{first}");
    assert!(second.starts_with("g was there already: "), "{second}");
}

#[test]
fn everything_that_is_wrong_with_a_graph_is_said_and_nothing_is_written() {
    let folder = stored();
    folder.write(
        "g.json",
        r#"{"name": "g", "nodes": [{"name": "a", "knid": "a"}, {"name": "b", "kind": "b", "after": "aa", "if": "outputs.x > 1"}]}"#,
    );
    let ran = folder.run(&["graph", "enqueue", "g.json"]);
    assert_eq!(ran.code, 2);
    for said in [
        "g.json has 4 problems; nothing was enqueued",
        "node a: it says nothing of what it does: add `kind`",
        "node a: unknown field `knid`: did you mean `kind`?",
        "b has an edge with aa, and no node is named so: did you mean a?",
    ] {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
    assert_eq!(folder.json(&["graph", "list"]).as_array().unwrap().len(), 1);
    let missing = folder.run(&["graph", "enqueue", "gone.json"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("cannot read the graph gone.json"), "{}", missing.stderr);
}

#[test]
fn the_schema_of_a_graph_is_that_of_the_docs() {
    let printed = Folder::new().run(&["schema", "graph"]).stdout;
    assert_eq!(printed, include_str!("../../../../docs/graph.schema.json"));
}

#[test]
fn the_shapes_of_stored_graphs_and_files_are_compared() {
    let folder = stored();
    let graph = folder.newest_graph();
    let same = folder.run(&["graph", "diff", &graph, "flow.toml"]);
    assert_eq!((same.code, same.stdout.as_str()), (0, "the same shape\n"), "{}", same.stderr);
    folder.write(
        "other.toml",
        "[node.a]\nexec = [\"true\"]\nmay_fail = true\n[node.b]\nafter = [\"a\"]\ntimer = \"1s\"\n",
    );
    let other = folder.run(&["graph", "diff", &graph, "other.toml"]);
    assert_eq!(other.code, 1);
    assert_eq!(other.stdout, "~ a: may fail no -> yes\n+ b [towpath.timer]\n+ a -> b\n");
    let json = folder.run(&["graph", "diff", "other.toml", &graph, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json[2], serde_json::json!({ "change": "removed", "parent": "a", "child": "b", "asks": "succeeded" }));
    assert_eq!(folder.run(&["graph", "diff", &example(), &example()]).code, 0);
    let gone = folder.run(&["graph", "diff", "0197a0b0-0000-7000-8000-000000000009", &example()]);
    assert_eq!(gone.code, 2, "{}", gone.stderr);
}

#[test]
fn a_store_that_is_named_is_made_by_what_writes_to_it() {
    let folder = Folder::new();
    let store = format!("sqlite:{}", folder.file("made.db").display());
    assert_eq!(folder.run(&["jobs", "--store", &store]).code, 2, "to look at it, it must be there");
    let ran = folder.run(&["graph", "enqueue", "--store", &store, &example()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let other = format!("sqlite:{}", folder.file("other.db").display());
    assert_eq!(folder.run(&["migrate", "--store", &other]).code, 0);
    assert!(folder.file("other.db").exists());
}
