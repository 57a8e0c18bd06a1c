//! Texts that are read, refused and written again.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::builtin;
use crate::graph::Condition;
use crate::id::JobId;
use crate::name::NodeName;

fn fresh() -> GraphId {
    GraphId::from_bytes([7; 16])
}

fn problems(text: &str) -> Vec<String> {
    NewGraph::from_json(text, fresh()).unwrap_err().problems.iter().map(ToString::to_string).collect()
}

/// Every field once.
const FULL: &str = r#"{
  "name": "checkout",
  "input": {"cart": 7, "price": 1.50},
  "fail_fast": true,
  "retry": {"attempts": 3, "delay": "90s"},
  "keep": "2d",
  "keep_failed": "3d",
  "nodes": [
    {
      "name": "price",
      "kind": "price",
      "version": 3,
      "input": {"z": 1.10, "a": 12345678901234567890123},
      "labels": ["x", "y"],
      "queue": "stock",
      "priority": -3,
      "delay": "90s",
      "deadline": "2030-01-31T09:30:00Z",
      "retry": {"attempts": 3, "backoff": "2s", "cap": "1m"},
      "timeout": "500ms",
      "crash_limit": 7,
      "tags": ["a", "b"],
      "headers": {"trace": "1"}
    },
    {
      "name": "route",
      "branches": {"fast": "outputs.price.total < 10", "slow": "true"},
      "scope": {"prefix": "pre.", "params": {"max": 1.50}, "given": {"file": "name"}},
      "after": [{"node": "price", "on": "finished"}]
    },
    {"name": "approve", "signal": {"name": "approved", "timeout": "2d"}, "after": [{"node": "route", "branch": "slow"}], "may_fail": true},
    {"name": "rest", "timer": "10m", "after": [{"node": "approve", "on": "failed"}]},
    {"name": "until", "timer": {"at": "2030-01-31T09:30:00Z"}, "after": ["rest"]},
    {"name": "ship", "kind": "ship", "after": ["route", {"node": "until", "on": "joined"}], "at_least": 1, "at": "2030-01-31T09:30:00Z", "retry": 5},
    {"name": "parcels", "graph": {"name": "inner", "nodes": [{"name": "pack", "kind": "pack"}]}, "input_from": "outputs.price", "after": ["ship"]},
    {"name": "mails", "map": {"over": "input.to", "each": {"kind": "mail", "version": 2, "input": {"text": 1.50}, "into": "/to", "queue": "slow", "priority": 1, "retry": 3, "timeout": "5s", "crash_limit": 9, "tags": ["t"], "headers": {"h": "1"}}, "concurrency": 4, "on_failure": "collect"}},
    {"name": "sheets", "map": {"over": "input.sheets", "each": {"graph": {"name": "sheet", "nodes": [{"name": "print", "kind": "print"}]}}}, "given": {"sheet": {"from": "each.name", "type": "text"}}},
    {"name": "index", "graph": {"name": "index", "nodes": [{"name": "sort", "kind": "sort"}]}, "given": {"all": {"from": "input.all"}}, "scope": {"prefix": "p."}},
    {"name": "recall", "kind": "recall", "undoes": "ship", "retry": 50}
  ]
}"#;

#[test]
fn a_graph_that_is_written_and_read_again_is_the_same() {
    let graph = NewGraph::from_json(FULL, fresh()).unwrap();
    let written = graph.to_json().unwrap();
    let again = NewGraph::from_json(&written, fresh()).unwrap();
    assert_eq!(format!("{again:?}"), format!("{graph:?}"));
    assert_eq!(again.to_json().unwrap(), written);
    graph.prepare().unwrap();
}

#[test]
fn a_graphs_retry_is_a_number_or_an_object_and_said_to_be_wrong_otherwise() {
    let with = |retry: &str| format!(r#"{{"name": "g", "retry": {retry}, "nodes": [{{"name": "a", "kind": "k"}}]}}"#);
    let read = |retry: &str| NewGraph::from_json(&with(retry), fresh()).unwrap().rules.retry;
    assert_eq!(read("3"), Some(GraphRetry::new(3, defaults::GRAPH_RETRY_DELAY)));
    assert_eq!(read(r#"{"attempts": 2}"#), Some(GraphRetry::new(2, defaults::GRAPH_RETRY_DELAY)));
    for (retry, said) in [
        (r#""often""#, "`retry` must be a number of attempts from 1, or an object with `attempts` and `delay`"),
        (r#"{"delay": "1s"}"#, "`retry` has no `attempts`: add it"),
        (r#"{"attempts": 2, "delay": "soon"}"#, "`retry.delay` is no duration"),
        (r#"{"attempts": 2, "backoff": "1s"}"#, "unknown field `backoff`"),
    ] {
        let problems = problems(&with(retry));
        assert!(problems.iter().any(|problem| problem.contains(said)), "{retry}: {problems:?}");
    }
    let none = NewGraph::from_json(&with("0"), fresh()).unwrap().prepare().unwrap_err();
    assert!(none.to_string().contains("0 attempts of the graph are out of range: use 1 to 1000"), "{none}");
}

#[test]
fn what_is_read_is_what_the_builder_would_make() {
    let graph = NewGraph::from_json(FULL, fresh()).unwrap();
    let price = &graph.nodes[0];
    assert_eq!(&price.job.input.bytes[..], br#"{"z": 1.10, "a": 12345678901234567890123}"#, "byte by byte");
    assert_eq!(price.job.id, JobId::of_node(fresh(), &price.name), "its id is bound to the graph's");
    assert_eq!((price.job.rules.retry.attempts_max, price.job.rules.retry.base_us), (3, 2_000_000));
    assert_eq!(graph.rules.retry, Some(GraphRetry::new(3, Duration::from_secs(90))));
    assert_eq!(graph.nodes[1].job.kind.as_str(), builtin::GATE);
    assert_eq!(graph.nodes[1].job.rules.labels.len(), 2);
    assert_eq!(graph.nodes[2].job.run.as_ref().unwrap().as_str(), format!("{}/approve", fresh()));
    let asks: Vec<String> = graph.edges.iter().map(|e| format!("{} {} {}", e.parent, e.child, e.condition)).collect();
    assert_eq!(
        asks,
        [
            "price route finished",
            "route approve branch slow",
            "approve rest failed",
            "rest until succeeded",
            "route ship succeeded",
            "until ship joined",
            "ship parcels succeeded"
        ]
    );
}

#[test]
fn a_graph_that_names_its_id_keeps_it_and_its_nodes_follow() {
    let id = "0197a0b0-0000-7000-8000-000000000001";
    let text = format!(r#"{{"nodes": [{{"name": "a", "kind": "a"}}], "name": "g", "id": "{id}"}}"#);
    let graph = NewGraph::from_json(&text, fresh()).unwrap();
    assert_eq!(graph.id.to_string(), id);
    assert_eq!(graph.nodes[0].job.id, JobId::of_node(graph.id, &NodeName::from_stored("a")));
}

#[test]
fn an_if_puts_a_gate_before_its_node() {
    let text = r#"{"name": "g", "nodes": [
        {"name": "a", "kind": "a"},
        {"name": "b", "kind": "b", "after": {"node": "a", "on": "finished"}, "if": "outputs.a.ok", "queue": "q"}
    ]}"#;
    let graph = NewGraph::from_json(text, fresh()).unwrap();
    let names: Vec<&str> = graph.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["a", "b?", "b"]);
    assert_eq!(graph.nodes[1].job.queue.as_str(), "q", "it stands where its node stands");
    let guarded = graph.edges.iter().find(|e| e.parent.as_str() == "b?").unwrap();
    assert!(matches!(&guarded.condition, Condition::Branch(label) if label.as_str() == "yes"));
    graph.prepare().unwrap();
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_node() {
    let found = problems(
        r#"{
        "nmae": "checkout", "keep": "soon", "input": 1, "input": 2,
        "nodes": [
            {"name": "a", "kind": "Send Mail", "afer": "b", "retry": 0, "priority": 40000},
            {"kind": "x"},
            7,
            {"name": "b", "kind": "b", "branches": {"yes": "true"}, "timeout": "10 minutes", "after": ["a", {"on": "ended"}, 3, {"node": "a", "on": "failed", "branch": "yes"}]},
            {"name": "c", "branches": {}, "input": 1},
            {"name": "d", "signal": {"timeout": 3}, "delay": "1s", "at": "tomorrow"},
            {"name": "e"},
            {"name": "f", "kind": "towpath.end"},
            {"name": "g", "kind": "g", "after": ["gg", "c"], "if": " ", "at_least": 1},
            {"name": "end", "kind": "k", "input": "\u0000"}
        ]}"#,
    );
    insta::assert_snapshot!(found.join("\n"));
}

#[test]
fn a_text_that_is_no_graph_says_why() {
    insta::assert_snapshot!(
        ["", "{", "[]", "7", "{}", r#"{"name": "g", "nodes": []}"#, r#"{"name": "g", "nodes": {"a": 1}}"#]
            .map(|text| format!("{text:?}: {}", problems(text).join("; ")))
            .join("\n")
    );
}

#[test]
fn what_has_no_written_form_is_named() {
    let mut graph = NewGraph::from_json(r#"{"name": "g", "nodes": [{"name": "a", "kind": "a"}]}"#, fresh()).unwrap();
    graph.nodes[0].job.input = Payload::raw(&b"\x01"[..]);
    graph.nodes[0].job.rules.timeout_us = Some(1_500);
    graph.rules.keep_us = Some(1);
    let problems: Vec<String> = graph.to_json().unwrap_err().problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "node a: 1.5ms has no written form: durations are whole milliseconds, at least one",
            "node a: its input cannot be written: it is raw bytes, not JSON",
            "1µs has no written form: durations are whole milliseconds, at least one",
        ]
    );
}

#[test]
fn the_schema_has_every_field_and_no_other() {
    let schema = schema();
    let fields = |of: &serde_json::Value| -> BTreeSet<String> {
        of["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(fields(&schema), FIELDS.into_iter().map(str::to_owned).collect());
    assert_eq!(fields(&schema["$defs"]["node"]), node::FIELDS.into_iter().map(str::to_owned).collect());
}

#[test]
fn the_schema_in_the_docs_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/graph.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("TOWPATH_UPDATE").is_some() {
        std::fs::write(&page, &text).unwrap();
    }
    let stored = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        stored == text,
        "docs/graph.schema.json is out of date: run TOWPATH_UPDATE=1 cargo test -p towpath-core document"
    );
}

#[test]
fn a_graph_at_the_limits_is_read_and_one_past_them_is_not() {
    let nodes = |count: usize| {
        let nodes: Vec<String> = (0..count).map(|n| format!(r#"{{"name":"n{n}","kind":"k"}}"#)).collect();
        format!(r#"{{"name":"g","nodes":[{}]}}"#, nodes.join(","))
    };
    let graph = NewGraph::from_json(&nodes(limits::GRAPH_NODES_MAX), fresh()).unwrap();
    assert!(graph.prepare().is_ok());
    let graph = NewGraph::from_json(&nodes(limits::GRAPH_NODES_MAX + 1), fresh()).unwrap();
    assert!(graph.prepare().is_err());
    let long = format!(r#"{{"name":"g","nodes":[],"input":"{}"}}"#, "x".repeat(limits::BATCH_BYTES_MAX));
    assert!(problems(&long)[0].starts_with("it has 167772"));
}

#[test]
fn the_nodes_that_the_page_shows_are_right() {
    let page = include_str!("../../../../../docs/graph-json.md");
    let shown: Vec<&str> = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(shown.len() >= 2, "the page shows {} nodes", shown.len());
    for node in shown {
        let parent = serde_json::from_str::<serde_json::Value>(node).unwrap()["after"].as_str().unwrap().to_owned();
        let text = format!(r#"{{"name": "g", "nodes": [{{"name": "{parent}", "kind": "k"}}, {node}]}}"#);
        let graph = NewGraph::from_json(&text, fresh()).and_then(NewGraph::prepare);
        assert!(graph.is_ok(), "{node}: {graph:?}");
    }
}

#[test]
fn two_nodes_of_a_name_are_one_problem_and_an_edge_says_how_a_branch_is_asked_for() {
    let node = r#"{"name":"a","kind":"k"}"#;
    let text = format!(r#"{{"name":"g","nodes":[{node},{node}]}}"#);
    let graph = NewGraph::from_json(&text, fresh()).unwrap();
    let invalid = graph.prepare().unwrap_err();
    assert_eq!(
        invalid.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["two nodes are named a: rename one"]
    );
    let text =
        format!(r#"{{"name":"g","nodes":[{node},{{"name":"b","kind":"k","after":[{{"node":"a","on":"branch"}}]}}]}}"#);
    assert!(problems(&text)[0].ends_with("or \"joined\", or a `branch` in its place"), "{:?}", problems(&text));
}

#[test]
fn a_graph_without_a_name_is_named_so_and_several_problems_have_a_line_each() {
    let refused = |text: &str| NewGraph::from_json(text, fresh()).unwrap_err().to_string();
    assert_eq!(
        refused(r#"{"nodes": [{"name": "a", "kind": "k"}]}"#),
        "graph without a name is invalid: it has no `name`: add one, for people"
    );
    assert_eq!(
        refused(r#"{"name": "g", "nodes": [{"name": "a", "kind": "k", "x": 1, "y": 2}]}"#)
            .lines()
            .collect::<Vec<_>>()
            .len(),
        3
    );
}
