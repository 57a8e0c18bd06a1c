//! What a graph is refused for, and what a prepared one looks like.

use super::*;
use crate::limits;
use crate::time::Timestamp;

fn name(text: &str) -> NodeName {
    NodeName::from_stored(text)
}

fn graph(nodes: &[&str], edges: &[(&str, &str)]) -> NewGraph {
    NewGraph {
        id: GraphId::from_parts(Timestamp::ZERO, [3; 10]),
        name: GraphName::from_stored("g"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: nodes
            .iter()
            .enumerate()
            .map(|(at, n)| {
                NewNode::new(name(n), NewJob::new(JobId::from_bytes([at as u8; 16]), Kind::from_stored("k")))
            })
            .collect(),
        edges: edges.iter().map(|(p, c)| NewEdge::new(name(p), name(c))).collect(),
    }
}

fn problems(graph: NewGraph) -> Vec<String> {
    graph.prepare().unwrap_err().problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_cycle_shows_its_path_in_the_direction_of_the_edges() {
    let found = problems(graph(&["x", "a", "b", "c"], &[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")]));
    assert_eq!(found, ["these nodes wait for each other: a -> b -> c -> a: remove one of the edges"]);
}

#[test]
fn all_problems_are_said_at_once() {
    let found = problems(graph(
        &["load", "load", "end", "send"],
        &[("laod", "send"), ("send", "send"), ("load", "send"), ("load", "send"), ("qqqqqq", "send")],
    ));
    assert_eq!(
        found,
        [
            "two nodes are named load: rename one",
            "the name end is kept for the graph's own last node: choose another",
            "send has an edge with laod, and no node is named so: did you mean load?",
            "send waits for itself: remove that edge",
            "send waits for load twice in the same way: remove one edge",
            "send has an edge with qqqqqq, and no node is named so: add it or remove the edge",
        ]
    );
    assert_eq!(problems(graph(&[], &[])), ["it has no node: add one"]);
}

#[test]
fn edges_that_never_hold_together_are_refused_unless_one_is_enough() {
    let mut twice = graph(&["a", "b"], &[("a", "b"), ("a", "b"), ("a", "b")]);
    twice.edges[1].condition = Condition::Failed;
    twice.edges[2].condition = Condition::Failed;
    assert_eq!(
        problems(twice.clone()),
        [
            "b waits for a twice in the same way: remove one edge",
            "b would never run: it waits for a as succeeded and as failed, and no end is all of it: keep one edge, wait for \
             it as finished, or ask for at least 1 parent",
        ]
    );
    twice.edges.pop();
    twice.nodes[1].need = Need::AtLeast(1);
    assert!(twice.clone().prepare().is_ok(), "either will do");
    twice.nodes[1].need = Need::All;
    twice.edges[0].condition = Condition::Finished;
    assert!(twice.prepare().is_ok(), "a failure is an end");
}

#[test]
fn every_tag_and_every_limit_that_a_job_breaks_is_said() {
    let mut wrong = graph(&["a"], &[]);
    wrong.nodes[0].job.tags = vec!["".into(), "fine".into(), "x".repeat(129)];
    wrong.nodes[0].job.rules.timeout_us = Some(0);
    let found = problems(wrong);
    assert_eq!(found.len(), 3, "{found:?}");
    for (problem, said) in found.iter().zip(["an empty tag", "of 129 bytes", "a timeout of 0"]) {
        assert!(problem.contains(said), "{found:?}");
    }
}

#[test]
fn a_new_node_with_the_name_of_what_it_waits_for_is_to_be_renamed() {
    let NewGraph { id, nodes, edges, .. } = graph(&["a", "b"], &[("b", "b")]);
    let refused = NewAppend { graph: id, nodes, edges }.prepare().unwrap_err();
    assert_eq!(
        refused.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["the new node b has the name of a stored node that is waited for: rename the new one"]
    );
}

#[test]
fn the_end_waits_for_the_leaves_and_is_never_ready_by_itself() {
    let prepared = graph(&["a", "b", "c"], &[("a", "b"), ("a", "c")]).prepare().unwrap();
    let end = prepared.nodes().last().unwrap();
    assert_eq!((end.name.as_str(), end.counters.left), ("end", 2));
    let mut counters = end.counters;
    counters.add(crate::graph::Verdict::Ok, 0);
    counters.add(crate::graph::Verdict::Ok, 1);
    assert_eq!(counters.standing(), crate::graph::Standing::Undecided);
    assert_eq!(prepared.nodes()[0].counters.need, 0);
    assert_eq!(prepared.nodes()[1].counters.need, 1);
}

#[test]
fn the_end_waits_for_parents_that_a_node_may_start_without() {
    let mut g = graph(&["a", "b", "c"], &[("a", "c"), ("b", "c")]);
    g.nodes[2].need = Need::AtLeast(1);
    let prepared = g.prepare().unwrap();
    assert_eq!(prepared.nodes().last().unwrap().counters.left, 3);
    assert!(prepared.nodes()[0].role.has(Role::SPARE));
    assert!(prepared.nodes()[2].role.has(Role::AT_LEAST));
}

#[test]
fn a_need_that_cannot_be_met_is_refused() {
    let mut g = graph(&["a", "b"], &[("a", "b")]);
    g.nodes[1].need = Need::AtLeast(2);
    assert_eq!(problems(g), ["b needs at least 2 of its 1 parents: ask for 1 to 1"]);
}

#[test]
fn a_branch_that_the_gate_does_not_have_is_refused() {
    let mut g = graph(&["gate", "a", "b"], &[]);
    g.nodes[0].job.rules.labels = vec![Label::from_stored("yes"), Label::from_stored("no")];
    let to = |child: &str, label: &str| NewEdge {
        parent: name("gate"),
        child: name(child),
        condition: Condition::Branch(Label::from_stored(label)),
    };
    g.edges = vec![to("a", "yes"), to("b", "maybe")];
    assert_eq!(problems(g), ["b waits for the branch maybe of gate, which has only yes, no: ask for one of these"]);
}

#[test]
fn in_a_graph_that_fails_fast_what_an_edge_of_a_failure_leads_to_is_marked() {
    let mut g = graph(&["a", "b", "handler", "after", "spare"], &[("a", "b"), ("handler", "after")]);
    g.rules.fail_fast = true;
    g.nodes[4].failure = FailureMode::MayFail;
    g.edges.push(NewEdge { parent: name("b"), child: name("handler"), condition: Condition::Failed });
    let prepared = g.prepare().unwrap();
    let marked = |mark: fn(&PreparedNode) -> bool| {
        prepared.nodes().iter().filter(|n| mark(n)).map(|n| n.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(marked(|node| node.role.has(Role::HANDLER)), ["handler", "after"]);
    assert_eq!(marked(|node| node.job.rules.fail_fast), ["a", "b", "handler", "after"]);
}

#[test]
fn limits_hold_at_the_limit_and_one_past_it() {
    let many: Vec<String> = (0..=limits::GRAPH_NODES_MAX).map(|n| format!("n{n}")).collect();
    let make = |count: usize| NewGraph {
        nodes: many[..count]
            .iter()
            .enumerate()
            .map(|(at, n)| {
                let mut id = [0; 16];
                id[..8].copy_from_slice(&(at as u64).to_be_bytes());
                NewNode::new(name(n), NewJob::new(JobId::from_bytes(id), Kind::from_stored("k")))
            })
            .collect(),
        ..graph(&[], &[])
    };
    assert!(make(limits::GRAPH_NODES_MAX).prepare().is_ok());
    assert_eq!(
        problems(make(limits::GRAPH_NODES_MAX + 1)),
        ["it has 20001 nodes, at most 20000 are allowed: split it, or raise the graph limit `nodes`"]
    );
}

#[test]
fn an_append_looks_for_its_parents_in_the_store() {
    let g = graph(&["new"], &[("old", "new")]);
    let append = NewAppend { graph: g.id, nodes: g.nodes, edges: g.edges }.prepare().unwrap();
    assert_eq!(append.edges()[0].parent, ParentRef::Existing(name("old")));
    assert_eq!(append.edges()[1].child, 1, "the new leaf leads to end");
    let g = graph(&["new"], &[("new", "old")]);
    let refused = NewAppend { graph: g.id, nodes: g.nodes, edges: g.edges }.prepare().unwrap_err();
    assert_eq!(refused.problems, [GraphProblem::ExistingChild(name("old"))]);
}
