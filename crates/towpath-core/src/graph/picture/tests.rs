//! Pictures of graphs of several shapes.

use super::*;
use crate::graph::{FailureMode, GraphRules, Need, NewGraph, NewNode};
use crate::id::{GraphId, JobId};
use crate::job::NewJob;
use crate::lifecycle::{End, SkipKind};
use crate::name::{GraphName, Kind, Label};
use crate::time::Timestamp;

fn stands(state: State) -> Stands {
    Stands { state, word: state.word(), nodes: 1 }
}

/// A picture of `nodes` with edges written as `parent>child` or `parent>child condition`.
fn picture(nodes: &[&str], edges: &[&str], change: impl FnOnce(&mut NewGraph)) -> Picture {
    let name = NodeName::from_stored;
    let node = |(at, n): (usize, &&str)| {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&(at as u64).to_be_bytes());
        NewNode::new(name(n), NewJob::new(JobId::from_bytes(id), Kind::from_stored("work")))
    };
    let edge = |text: &&str| {
        let (parent, rest) = text.split_once('>').unwrap();
        let (child, condition) = rest.split_once(' ').unwrap_or((rest, "succeeded"));
        let condition = match condition {
            "succeeded" => Condition::Succeeded,
            "finished" => Condition::Finished,
            "failed" => Condition::Failed,
            "joined" => Condition::Joined,
            label => Condition::Branch(Label::from_stored(label)),
        };
        NewEdge { parent: name(parent), child: name(child), condition }
    };
    let edges: Vec<NewEdge> = edges.iter().map(edge).collect();
    let mut graph = NewGraph {
        id: GraphId::from_parts(Timestamp::ZERO, [3; 10]),
        name: GraphName::from_stored("g"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: nodes.iter().enumerate().map(node).collect(),
        edges: edges.clone(),
    };
    for edge in &edges {
        if let (Condition::Branch(label), Some(gate)) =
            (&edge.condition, graph.nodes.iter_mut().find(|node| node.name == edge.parent))
        {
            gate.job.rules.labels.push(label.clone());
        }
    }
    change(&mut graph);
    Picture::of_new(graph.prepare().unwrap().nodes(), &edges)
}

fn checkout() -> Picture {
    let nodes = ["price", "reserve", "notify", "charge", "refund", "route", "fly", "load", "drive", "hand-over"];
    let edges = [
        "price>reserve",
        "price>notify",
        "reserve>charge",
        "notify>charge finished",
        "charge>refund failed",
        "charge>route",
        "route>fly express",
        "route>load standard",
        "load>drive",
        "route>hand-over",
        "fly>hand-over joined",
        "drive>hand-over joined",
    ];
    picture(&nodes, &edges, |graph| {
        graph.nodes[2].failure = FailureMode::MayFail;
        graph.nodes[5].job.kind = Kind::from_stored("choose");
    })
}

/// The checkout, stored and at work: shipped by road.
fn at_work() -> Picture {
    let mut picture = checkout();
    let untaken = State::Ended(End::Skipped(SkipKind::Untaken));
    let done = State::Ended(End::Succeeded);
    let states =
        [done, done, State::Ended(End::Dead), done, untaken, done, untaken, done, State::Running, State::Waiting];
    for (node, state) in picture.nodes.iter_mut().zip(states) {
        node.states = vec![stands(state)];
    }
    picture
}

#[test]
fn a_checkout_in_text() {
    insta::assert_snapshot!(at_work().text());
}

#[test]
fn a_checkout_in_mermaid() {
    insta::assert_snapshot!(at_work().mermaid());
}

#[test]
fn a_checkout_in_dot() {
    insta::assert_snapshot!(at_work().dot());
}

#[test]
fn shapes_in_text() {
    let diamond = picture(&["a", "b", "c", "d"], &["a>b", "a>c", "b>d", "c>d"], |_| ());
    let many_to_many = picture(
        &["a", "b", "c", "x", "y", "z"],
        &["a>x", "a>y", "a>z", "b>x", "b>y", "b>z", "c>x", "c>y", "c>z"],
        |_| (),
    );
    let crossing = picture(&["a", "b", "c", "d", "e"], &["a>c", "b>d", "a>e", "b>e", "c>e", "d>e", "a>d"], |_| ());
    let spare = picture(&["eu", "us", "go-on", "alone"], &["eu>go-on", "us>go-on"], |graph| {
        graph.nodes[2].need = Need::AtLeast(1);
    });
    let chains = picture(&["a", "b", "c", "d"], &["a>b", "c>d"], |_| ());
    let beside = picture(&["a", "b", "lone", "c", "d"], &["a>b", "a>c", "b>d", "c>d"], |_| ());
    let all = [diamond, many_to_many, crossing, spare, chains, beside].map(|picture| picture.text());
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_fan_is_three_lines_however_wide() {
    let names: Vec<String> = (0..2_000).map(|n| format!("page-{n}")).collect();
    let mut nodes = vec!["split"];
    nodes.extend(names.iter().map(String::as_str));
    nodes.push("bind");
    let edges: Vec<String> = names.iter().flat_map(|n| [format!("split>{n}"), format!("{n}>bind")]).collect();
    let mut fan = picture(&nodes, &edges.iter().map(String::as_str).collect::<Vec<_>>(), |_| ());
    for (at, node) in fan.nodes.iter_mut().enumerate() {
        let state = if at < 1_500 { State::Ended(End::Succeeded) } else { State::Waiting };
        node.states = vec![stands(state)];
    }
    insta::assert_snapshot!(fan.text());
    assert_eq!(fan.folded(5).mermaid().lines().filter(|line| line.contains("-->")).count(), 2);
}

#[test]
fn what_is_ready_says_what_it_waits_for_also_where_it_is_folded() {
    let mut fan = picture(&["a", "b", "c", "d", "e", "f"], &[], |_| ());
    for (node, word) in fan.nodes.iter_mut().zip(["parked", "ready", "parked", "scheduled", "parked", "ready"]) {
        node.states = vec![Stands { state: State::Ready, word, nodes: 1 }];
    }
    assert!(fan.text().contains("a … f (6 nodes)  3 parked, 2 ready, 1 scheduled"), "{}", fan.text());
    assert!(fan.dot().contains("[label=\"a\\nparked\"]"), "{}", fan.dot());
}

#[test]
fn names_cannot_break_out_of_a_picture() {
    let odd = picture(&["a\"];<b>&`x`#1", "b\\n\""], &[], |_| ());
    insta::assert_snapshot!(format!("{}\n{}", odd.mermaid(), odd.dot()));
}

#[test]
fn every_node_stands_after_its_parents() {
    let picture = checkout();
    let order = picture.order();
    let place = |node: usize| order.iter().position(|at| *at == node).unwrap();
    assert_eq!(order.len(), picture.nodes.len());
    assert!(picture.lines.iter().all(|line| place(line.parent) < place(line.child)));
}
