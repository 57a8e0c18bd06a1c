//! The shape of a graph: its nodes and edges without ids, inputs and states, and how two shapes differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::picture::asks;
use super::{NewEdge, PreparedNode, Role};
use crate::id::GraphId;
use crate::name::NodeName;
use crate::store::GraphDetail;

/// The nodes of a graph by name, and its edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    nodes: BTreeMap<NodeName, ShapeNode>,
    edges: BTreeSet<ShapeEdge>,
}

/// What is compared of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ShapeNode {
    kind: String,
    /// Without the id of the graph, where its name has that.
    queue: String,
    is_gate: bool,
    may_fail: bool,
    at_least: Option<u32>,
}

/// What is compared of an edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ShapeEdge {
    parent: NodeName,
    child: NodeName,
    /// What it asks for, in words; empty where it asks for success.
    asks: String,
}

/// One thing in which two graphs differ: of the second, as seen from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// It has a node more.
    NodeAdded {
        /// The node.
        node: NodeName,
        /// Its kind.
        kind: String,
    },
    /// It lacks a node.
    NodeRemoved {
        /// The node.
        node: NodeName,
        /// Its kind.
        kind: String,
    },
    /// A node is not the same.
    NodeChanged {
        /// The node.
        node: NodeName,
        /// What has changed, each with what it was and is.
        changes: Vec<String>,
    },
    /// It has an edge more.
    EdgeAdded {
        /// The parent.
        parent: NodeName,
        /// The child.
        child: NodeName,
        /// What it asks for, in words; empty where it asks for success.
        asks: String,
    },
    /// It lacks an edge.
    EdgeRemoved {
        /// The parent.
        parent: NodeName,
        /// The child.
        child: NodeName,
        /// What it asks for, in words; empty where it asks for success.
        asks: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = |asks: &str| if asks.is_empty() { String::new() } else { format!(" ({asks})") };
        match self {
            Self::NodeAdded { node, kind } => write!(f, "+ {node} [{kind}]"),
            Self::NodeRemoved { node, kind } => write!(f, "- {node} [{kind}]"),
            Self::NodeChanged { node, changes } => write!(f, "~ {node}: {}", changes.join(", ")),
            Self::EdgeAdded { parent, child, asks } => write!(f, "+ {parent} -> {child}{}", asked(asks)),
            Self::EdgeRemoved { parent, child, asks } => write!(f, "- {parent} -> {child}{}", asked(asks)),
        }
    }
}

impl Shape {
    /// The shape of a graph as it stands in a store.
    pub fn of_stored(detail: &GraphDetail) -> Self {
        let nodes = detail.nodes.iter().map(|node| {
            let at_least = node.role.has(Role::AT_LEAST).then_some(node.parents.need);
            let queue = of_graph(node.queue.as_str(), detail.line.id);
            (node.name.clone(), ShapeNode::new(node.kind.to_string(), queue, node.role, at_least))
        });
        let edges = detail.edges.iter().map(|edge| {
            let asks = edge.condition().map_or_else(|| "other".to_owned(), |condition| asks(&condition));
            ShapeEdge { parent: edge.parent.clone(), child: edge.child.clone(), asks }
        });
        Self { nodes: nodes.collect(), edges: edges.collect() }
    }

    /// The shape of a graph that is checked and not stored yet.
    pub fn of_new(graph: GraphId, nodes: &[PreparedNode], edges: &[NewEdge]) -> Self {
        let nodes = nodes.iter().filter(|node| !node.role.has(Role::END)).map(|node| {
            let at_least = node.role.has(Role::AT_LEAST).then_some(node.counters.need);
            let queue = of_graph(node.job.queue.as_str(), graph);
            (node.name.clone(), ShapeNode::new(node.job.kind.to_string(), queue, node.role, at_least))
        });
        let edge = |edge: &NewEdge| {
            let asks = asks(&edge.condition);
            ShapeEdge { parent: edge.parent.clone(), child: edge.child.clone(), asks }
        };
        Self { nodes: nodes.collect(), edges: edges.iter().map(edge).collect() }
    }

    /// What another graph has and lacks, and what is not the same in it: nodes by name, then edges.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let names: BTreeSet<&NodeName> = self.nodes.keys().chain(other.nodes.keys()).collect();
        for name in names {
            let node = name.clone();
            match (self.nodes.get(name), other.nodes.get(name)) {
                (Some(old), None) => found.push(Difference::NodeRemoved { node, kind: old.kind.clone() }),
                (None, Some(new)) => found.push(Difference::NodeAdded { node, kind: new.kind.clone() }),
                (Some(old), Some(new)) if old != new => {
                    found.push(Difference::NodeChanged { node, changes: old.changes(new) });
                }
                _ => {}
            }
        }
        let edges: BTreeSet<&ShapeEdge> = self.edges.symmetric_difference(&other.edges).collect();
        found.extend(edges.into_iter().map(|edge| {
            let ShapeEdge { parent, child, asks } = edge.clone();
            if other.edges.contains(edge) {
                Difference::EdgeAdded { parent, child, asks }
            } else {
                Difference::EdgeRemoved { parent, child, asks }
            }
        }));
        found
    }
}

impl ShapeNode {
    fn new(kind: String, queue: String, role: Role, at_least: Option<u32>) -> Self {
        Self { kind, queue, is_gate: role.has(Role::GATE), may_fail: role.has(Role::MAY_FAIL), at_least }
    }

    fn changes(&self, new: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        let mut note = |what: &str, old: String, new: String| {
            if old != new {
                changes.push(format!("{what} {old} -> {new}"));
            }
        };
        let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
        let need = |need: Option<u32>| need.map_or_else(|| "all".to_owned(), |need| format!("at least {need}"));
        note("kind", self.kind.clone(), new.kind.clone());
        note("queue", self.queue.clone(), new.queue.clone());
        note("gate", yes(self.is_gate), yes(new.is_gate));
        note("may fail", yes(self.may_fail), yes(new.may_fail));
        note("parents", need(self.at_least), need(new.at_least));
        changes
    }
}

/// A queue's name in which the graph's own id does not tell two graphs of one shape apart.
fn of_graph(queue: &str, graph: GraphId) -> String {
    queue.replace(&graph.to_string(), "GRAPH-ID")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NewGraph;

    fn shape(id: u8, nodes: &str) -> Shape {
        let id = GraphId::from_bytes([id; 16]);
        let text = format!(r#"{{"name": "g", "nodes": [{}]}}"#, nodes.replace("GRAPH-ID", &id.to_string()));
        let new = NewGraph::from_json(&text, id).unwrap();
        let edges = new.edges.clone();
        let prepared = new.prepare().unwrap();
        Shape::of_new(id, prepared.nodes(), &edges)
    }

    #[test]
    fn differences_name_nodes_and_edges() {
        let old = r#"{"name": "a", "kind": "a"}, {"name": "b", "kind": "b", "after": "a"}, {"name": "c", "kind": "c", "after": ["a", "b"]}"#;
        let new = r#"{"name": "a", "kind": "x", "queue": "q", "may_fail": true, "labels": ["y"]},
            {"name": "c", "kind": "c", "after": ["a", {"node": "d", "on": "failed"}], "at_least": 1}, {"name": "d", "kind": "d"}"#;
        let told: Vec<String> = shape(1, old).differences(&shape(2, new)).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "~ a: kind a -> x, queue default -> q, gate no -> yes, may fail no -> yes",
                "- b [b]",
                "~ c: parents all -> at least 1",
                "+ d [d]",
                "- a -> b",
                "- b -> c",
                "+ d -> c (failed)",
            ]
        );
    }

    #[test]
    fn the_same_shape_under_two_ids_is_the_same() {
        let nodes = r#"{"name": "a", "kind": "a", "queue": "flow.GRAPH-ID", "input": 1}, {"name": "b", "kind": "b", "after": "a"}"#;
        assert_eq!(shape(1, nodes).differences(&shape(2, &nodes.replace("\"input\": 1", "\"input\": 2"))), []);
    }
}
