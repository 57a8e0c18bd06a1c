//! Pictures of a graph: what stands after what, for people and for other programs' eyes.
//!
//! A picture has no numbers that change from look to look (times, ids): a graph that stands the same always gives the same text.

mod dot;
mod fold;
mod mermaid;
mod order;
mod text;

use std::collections::HashMap;

use super::{Condition, NewEdge, PreparedNode, Role};
use crate::lifecycle::{End, State};
use crate::name::NodeName;
use crate::store::GraphDetail;
use crate::time::Timestamp;

/// A graph as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    nodes: Vec<Drawn>,
    lines: Vec<Line>,
}

/// A node, or several that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    name: String,
    /// Empty if all nodes are of one kind.
    kind: String,
    role: Role,
    /// How many parents it needs, if that is not all of them.
    at_least: Option<u32>,
    /// The last name, if it stands for several.
    last: Option<String>,
    /// Whether its undo has succeeded.
    is_undone: bool,
    /// How the nodes for which it stands stand, in the order of the lifecycle. Empty before the graph is stored.
    states: Vec<Stands>,
}

/// So many nodes that stand the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stands {
    state: State,
    /// The state in the words of people: of what is ready, what it waits for.
    word: &'static str,
    nodes: usize,
}

/// An edge between the places of two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Line {
    parent: usize,
    child: usize,
    /// What it asks for, in words; empty where it asks for success.
    asks: String,
}

impl Picture {
    /// The picture of a graph as it stands in a store. What is ready, and could not be claimed before `now`, is told apart, as
    /// [`NodeLine::word`](crate::store::NodeLine::word) does.
    pub fn of_stored(detail: &GraphDetail, now: Timestamp) -> Self {
        let nodes = detail.nodes.iter().map(|node| Drawn {
            name: node.name.to_string(),
            kind: node.kind.to_string(),
            role: node.role,
            at_least: node.role.has(Role::AT_LEAST).then_some(node.parents.need),
            last: None,
            is_undone: false,
            states: vec![Stands { state: node.state, word: node.word(now), nodes: 1 }],
        });
        let edges = detail.edges.iter().map(|edge| {
            let asks = edge.condition().map_or_else(|| "other".to_owned(), |condition| asks(&condition));
            (&edge.parent, &edge.child, asks)
        });
        let undos =
            detail.nodes.iter().filter_map(|node| Some((node.guards.as_ref()?, &node.name, UNDONE_BY.to_owned())));
        let mut picture = Self::new(nodes.collect(), edges.chain(undos));
        picture.mark_undone();
        picture
    }

    /// The picture of a graph that is checked and not stored yet.
    pub fn of_new(nodes: &[PreparedNode], edges: &[NewEdge]) -> Self {
        let undos = nodes.iter().filter_map(|node| {
            let guarded = nodes.get(node.guards?)?;
            Some((&guarded.name, &node.name, UNDONE_BY.to_owned()))
        });
        let drawn = nodes.iter().filter(|node| !node.role.has(Role::END)).map(|node| Drawn {
            name: node.name.to_string(),
            kind: node.job.kind.to_string(),
            role: node.role,
            at_least: node.role.has(Role::AT_LEAST).then_some(node.counters.need),
            last: None,
            is_undone: false,
            states: Vec::new(),
        });
        let edges = edges.iter().map(|edge| (&edge.parent, &edge.child, asks(&edge.condition)));
        Self::new(drawn.collect(), edges.chain(undos))
    }

    /// Marks the nodes whose undos have succeeded.
    fn mark_undone(&mut self) {
        for line in self.lines.iter().filter(|line| line.is_undo()) {
            let is_done =
                matches!(self.nodes[line.child].states[..], [Stands { state: State::Ended(End::Succeeded), .. }]);
            self.nodes[line.parent].is_undone |= is_done;
        }
    }

    fn new<'a>(mut nodes: Vec<Drawn>, edges: impl Iterator<Item = (&'a NodeName, &'a NodeName, String)>) -> Self {
        let places: HashMap<&str, usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
        let lines = edges.filter_map(|(parent, child, asks)| {
            Some(Line { parent: *places.get(parent.as_str())?, child: *places.get(child.as_str())?, asks })
        });
        let lines = lines.collect();
        // A kind that all nodes have says nothing of any of them.
        if nodes.iter().all(|node| node.kind == nodes[0].kind) {
            nodes.iter_mut().for_each(|node| node.kind.clear());
        }
        Self { nodes, lines }
    }
}

/// What stands at the line from a node to its undo.
const UNDONE_BY: &str = "undone by";

/// What an edge asks for, in words. Success goes without saying.
pub(super) fn asks(condition: &Condition) -> String {
    match condition {
        Condition::Succeeded => String::new(),
        Condition::Branch(label) => label.to_string(),
        other => other.to_string(),
    }
}

impl Line {
    /// Whether it leads from a node to its undo.
    fn is_undo(&self) -> bool {
        self.asks == UNDONE_BY
    }
}

impl Drawn {
    /// What is written on it: its name, and its kind if that says more.
    fn title(&self) -> String {
        let name = match &self.last {
            Some(last) => format!("{} … {last} ({} nodes)", self.name, self.count()),
            None => self.name.clone(),
        };
        if self.kind.is_empty() || self.kind == self.name { name } else { format!("{name} [{}]", self.kind) }
    }

    fn count(&self) -> usize {
        self.states.iter().map(|stands| stands.nodes).sum()
    }

    /// What is special about it, in words.
    fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        marks.extend(self.at_least.map(|need| format!("at least {need}")));
        if self.role.has(Role::GATE) {
            marks.push("gate".into());
        }
        if self.role.has(Role::MAY_FAIL) {
            marks.push("may fail".into());
        }
        if self.is_undone {
            marks.push("undone".into());
        }
        marks
    }

    /// How it stands, in words: of several nodes, how many stand how.
    fn stands(&self) -> String {
        match self.states.as_slice() {
            [] => String::new(),
            [stands] if self.last.is_none() => stands.word.to_owned(),
            states => {
                let words = states.iter().map(|stands| format!("{} {}", stands.nodes, stands.word));
                words.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The state that a person looks for first: what went wrong, then what is going on, then what is done.
    fn telling(&self) -> Option<State> {
        let urgent = |state: &State| match state.word() {
            "dead" | "quarantined" => 0,
            "blocked" => 1,
            "running" => 2,
            "ready" => 3,
            "waiting" => 4,
            "cancelled" => 5,
            "succeeded" => 6,
            _ => 7,
        };
        self.states.iter().map(|stands| stands.state).min_by_key(urgent)
    }
}

#[cfg(test)]
mod tests;
