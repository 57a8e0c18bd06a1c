//! Nodes that the product performs itself: gates whose branches are expressions, waits for a signal, timers, graphs inside
//! a graph, and the same thing for each element of a list.
//!
//! They are ordinary jobs of kinds that no application may take, served by every worker beside its own. What their
//! inputs hold is said here; how they are performed is the runtime's.

mod nested;

pub use nested::{
    Come, Each, EachJob, GRAPH, Given, INNER_PLACE, Inner, MAP, Map, Nested, OnFailure, ParamType, Progress,
    check_concurrency, element_graph, element_job, element_label, element_name, held_by, inner_graph, with_params,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::graph::{Condition, NewEdge, NewNode};
use crate::id::{GraphId, JobId};
use crate::job::{Due, NewJob};
use crate::limits;
use crate::name::{InvalidName, Kind, Label, NodeName, RunId};
use crate::payload::{EncodeError, Payload};

/// The kind of a gate whose branches are expressions.
pub const GATE: &str = "towpath.gate";
/// The kind of a wait for a signal. Such a node is a run.
pub const SIGNAL: &str = "towpath.signal";
/// The kind of a timer: it does nothing, when it is due.
pub const TIMER: &str = "towpath.timer";
/// The branch of a guard ([`guard`]) on which the guarded node runs.
pub const GUARD_LABEL: &str = "yes";
/// The branch of a guard on which nothing runs.
pub const GUARD_OTHER: &str = "no";

/// Whether a node may be of this kind, though it is kept for the product.
pub fn is_kind(kind: &Kind) -> bool {
    [GATE, SIGNAL, TIMER, GRAPH, MAP].contains(&kind.as_str())
}

/// Whether a node of this kind is a run, named by its graph and node ([`run_of`]).
pub fn is_run(kind: &Kind) -> bool {
    [SIGNAL, GRAPH, MAP].contains(&kind.as_str())
}

/// The input of a gate whose branches are expressions: the first that holds is taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gate {
    /// Labels and their expressions, in the order in which they are tried.
    pub branches: Vec<(Label, String)>,
    /// What the expressions see besides outputs and the graph's input.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
}

/// What the expressions of a part of a graph see under names of their own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Scope {
    /// What stands before the names of the part's nodes; empty for the whole graph.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The variable `params`: values as JSON, byte by byte.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Box<RawValue>>,
    /// Further parameters, and the field of `params` in the graph's input that each is: they were not known when the node was
    /// written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// The variable `each`: of a job that is done for an element of a list, the element.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "even_null")]
    pub each: Option<Box<RawValue>>,
}

impl Scope {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.prefix.is_empty() && self.params.is_empty() && self.given.is_empty() && self.each.is_none()
    }

    /// Whether there is a parameter of this name.
    pub fn has_param(&self, name: &str) -> bool {
        self.params.contains_key(name) || self.given.contains_key(name)
    }
}

/// The input of a wait for a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The signal's name.
    pub signal: Label,
    /// How long it is waited for, in microseconds; `None` is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_us: Option<u64>,
}

impl NewNode {
    /// A gate whose branches are expressions; the first that holds is taken, and if none does its attempt fails for good.
    ///
    /// # Errors
    /// The input holds a NUL character.
    pub fn gate(name: NodeName, job: JobId, gate: &Gate) -> Result<Self, EncodeError> {
        let mut job = NewJob::new(job, Kind::from_stored(GATE)).input(Payload::json(gate)?);
        job.rules.labels = gate.branches.iter().map(|(label, _)| label.clone()).collect();
        Ok(Self::new(name, job))
    }

    /// A wait for a signal, whose payload becomes its output. It is a run: who signals it names [`run_of`].
    ///
    /// # Errors
    /// The names do not fit into the id of a run.
    pub fn wait(graph: GraphId, name: NodeName, job: JobId, wait: &Wait) -> Result<Self, InvalidName> {
        let run = run_of(graph, &name)?;
        // Labels and numbers always have a JSON form without NUL.
        let input = Payload::json(wait).unwrap_or_default();
        Ok(Self::new(name, NewJob::new(job, Kind::from_stored(SIGNAL)).input(input).run(run)))
    }

    /// A timer: it succeeds when it is due, and leaves nothing.
    pub fn timer(name: NodeName, job: JobId, due: Due) -> Self {
        Self::new(name, NewJob::new(job, Kind::from_stored(TIMER)).due(due))
    }
}

/// The id of the run that a node is, if it is one ([`is_run`]): `GRAPH-ID/NODE`.
///
/// # Errors
/// It is too long; names of nodes and ids of graphs never make it so.
pub fn run_of(graph: GraphId, node: &NodeName) -> Result<RunId, InvalidName> {
    RunId::new(&format!("{graph}/{node}"))
}

/// What runs a node only if an expression holds: a gate before it, which waits for what the node waits for and is named
/// `NODE?`. The node gets an edge from the gate; if the expression does not hold it is skipped.
///
/// # Errors
/// The name with its question mark is too long.
pub fn guard(
    node: &NodeName,
    when: &str,
    edges: &mut Vec<NewEdge>,
) -> Result<(NodeName, Vec<(Label, String)>), InvalidName> {
    let gate = guard_of(node)?;
    let of_node: Vec<NewEdge> = edges.iter().filter(|edge| edge.child == *node).cloned().collect();
    edges.extend(of_node.into_iter().map(|edge| NewEdge { child: gate.clone(), ..edge }));
    let label = Label::from_stored(GUARD_LABEL);
    edges.push(NewEdge { parent: gate.clone(), child: node.clone(), condition: Condition::Branch(label.clone()) });
    Ok((gate, vec![(label, when.to_owned()), (Label::from_stored(GUARD_OTHER), "true".to_owned())]))
}

/// The name of a node's guard.
///
/// # Errors
/// It is too long.
pub fn guard_of(node: &NodeName) -> Result<NodeName, InvalidName> {
    NodeName::new(&format!("{node}?"))
}

/// Checks what can be known of an expression without reading it.
///
/// # Errors
/// It is empty or too long.
pub fn check_expression(text: &str) -> Result<(), String> {
    let max = limits::EXPRESSION_BYTES_MAX;
    if text.trim().is_empty() {
        return Err("the expression is empty".into());
    }
    if text.len() > max {
        return Err(format!("the expression has {} bytes, at most {max} are allowed", text.len()));
    }
    Ok(())
}

/// A limit of time in whole microseconds.
pub fn limit_us(limit: Duration) -> u64 {
    u64::try_from(limit.as_micros()).unwrap_or(u64::MAX)
}

/// An element that is null is one.
fn even_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn name(text: &str) -> NodeName {
        NodeName::from_stored(text)
    }

    #[test]
    fn a_guard_waits_for_what_its_node_waits_for_and_the_node_for_the_guard() {
        let mut edges = vec![
            NewEdge { parent: name("a"), child: name("b"), condition: Condition::Finished },
            NewEdge::new(name("a"), name("c")),
        ];
        let (gate, branches) = guard(&name("b"), "outputs.a > 1", &mut edges).unwrap();
        assert_eq!(gate, name("b?"));
        assert_eq!(branches[0], (Label::from_stored("yes"), "outputs.a > 1".to_owned()));
        let told: Vec<String> = edges.iter().map(|e| format!("{} {} {}", e.parent, e.child, e.condition)).collect();
        assert_eq!(told, ["a b finished", "a c succeeded", "a b? finished", "b? b branch yes"]);
    }

    #[test]
    fn a_wait_is_a_run_named_by_its_graph_and_node() {
        let graph = GraphId::from_parts(Timestamp::ZERO, [3; 10]);
        let wait = Wait { signal: Label::from_stored("approved"), timeout_us: Some(5) };
        let node = NewNode::wait(graph, name(&"n".repeat(128)), JobId::of_node(graph, &name("n")), &wait).unwrap();
        assert_eq!(node.job.run.unwrap().as_str(), format!("{graph}/{}", "n".repeat(128)));
        assert_eq!(node.job.input.decode::<Wait>().unwrap(), wait);
    }
}
