//! What is wrong with a graph: all of it at once, each problem naming its nodes.

use std::fmt;

use super::Condition;
use super::limits::remedy;
use crate::id::JobId;
use crate::name::{InvalidName, Label, NodeName, UniqueKey};

/// One thing wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphProblem {
    /// It has no node.
    Empty,
    /// Nodes that wait for each other, each for the one before, the first again at the end.
    Cycle(Vec<NodeName>),
    /// A name borne by two nodes.
    DuplicateName(NodeName),
    /// A job id borne by two nodes.
    DuplicateJob(JobId, NodeName, NodeName),
    /// A name kept for the product.
    ReservedName(NodeName),
    /// An edge from or to a node that is not there.
    UnknownNode {
        /// The name that nobody bears.
        missing: NodeName,
        /// The node at the other side.
        edge_with: NodeName,
        /// A node with a similar name, if there is one.
        similar: Option<NodeName>,
    },
    /// An edge from a node to itself.
    SelfEdge(NodeName),
    /// A new node with the name of a stored one that new nodes wait for.
    Namesake(NodeName),
    /// The same edge twice.
    DuplicateEdge(NodeName, NodeName),
    /// Edges between two nodes that ask for ends of which the parent can only have one.
    NeverBoth {
        /// The node that waits.
        child: NodeName,
        /// The node that it waits for.
        parent: NodeName,
        /// As what it waits for it.
        conditions: Vec<Condition>,
    },
    /// A node that needs more parents than it has.
    NeedTooLarge {
        /// The node.
        node: NodeName,
        /// What it needs.
        need: u32,
        /// What it has.
        parents: u32,
    },
    /// A node that waits for a branch of another one, or joins branches of it, which has none.
    NotAGate {
        /// The node that is no gate.
        node: NodeName,
        /// The node that waits for it.
        child: NodeName,
    },
    /// An edge that asks for a branch which its gate does not have.
    UnknownBranch {
        /// The gate.
        gate: NodeName,
        /// The node that waits for the branch.
        child: NodeName,
        /// The branch asked for.
        label: Label,
        /// Those that the gate has.
        labels: Vec<Label>,
    },
    /// An edge from a node of another graph.
    OtherGraph {
        /// The node that was to wait.
        child: NodeName,
        /// The node of the other graph.
        parent: NodeName,
        /// The other graph.
        graph: String,
    },
    /// An undo of a node that is not there, or was in the graph before the undo.
    UndoOfNothing {
        /// The undo.
        undo: NodeName,
        /// The name that no node beside it bears.
        missing: NodeName,
        /// A node with a similar name, if there is one.
        similar: Option<NodeName>,
    },
    /// An undo of an undo.
    UndoOfUndo(NodeName, NodeName),
    /// Two undos of one node.
    TwoUndos {
        /// The node.
        node: NodeName,
        /// The undos, in the order in which they were added.
        undos: [NodeName; 2],
    },
    /// An edge from or to an undo.
    UndoWithEdge {
        /// The undo.
        undo: NodeName,
        /// The node at the other side.
        edge_with: NodeName,
    },
    /// A name that cannot be one.
    Name(InvalidName),
    /// An edge to a node that was there before.
    ExistingChild(NodeName),
    /// It has more than the client allows.
    TooMany {
        /// Of what: the limit's name.
        what: &'static str,
        /// How many it has.
        have: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A node's job breaks a limit.
    Job(NodeName, String),
    /// The graph's own input breaks a limit.
    Input(String),
    /// Its policy of retries breaks a limit.
    Retry(String),
    /// A unique key that a graph cannot have like this.
    Unique(UniqueKey, &'static str),
    /// The text that describes it is wrong, beside its nodes.
    Document(String),
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it has no node: add one"),
            Self::Retry(problem) => f.write_str(problem),
            Self::Cycle(path) => {
                f.write_str("these nodes wait for each other: ")?;
                for (at, node) in path.iter().enumerate() {
                    let arrow = if at == 0 { "" } else { " -> " };
                    write!(f, "{arrow}{node}")?;
                }
                f.write_str(": remove one of the edges")
            }
            Self::DuplicateName(node) => write!(f, "two nodes are named {node}: rename one"),
            Self::DuplicateJob(id, a, b) => write!(f, "nodes {a} and {b} have the same job id {id}: draw another"),
            Self::ReservedName(node) => {
                write!(f, "the name {node} is kept for the graph's own last node: choose another")
            }
            Self::UnknownNode { missing, edge_with, similar } => {
                write!(f, "{edge_with} has an edge with {missing}, and no node is named so")?;
                match similar {
                    Some(similar) => write!(f, ": did you mean {similar}?"),
                    None => f.write_str(": add it or remove the edge"),
                }
            }
            Self::SelfEdge(node) => write!(f, "{node} waits for itself: remove that edge"),
            Self::Namesake(node) => {
                write!(f, "the new node {node} has the name of a stored node that is waited for: rename the new one")
            }
            Self::DuplicateEdge(parent, child) => {
                write!(f, "{child} waits for {parent} twice in the same way: remove one edge")
            }
            Self::NeverBoth { child, parent, conditions } => {
                write!(f, "{child} would never run: it waits for {parent}")?;
                for (at, condition) in conditions.iter().enumerate() {
                    write!(f, "{} {condition}", if at == 0 { " as" } else { " and as" })?;
                }
                f.write_str(
                    ", and no end is all of it: keep one edge, wait for it as finished, or ask for at least 1 parent",
                )
            }
            Self::NeedTooLarge { node, need, parents: 0 } => {
                write!(f, "{node} needs at least {need} of its parents, and has none: give it some, or ask for none")
            }
            Self::NeedTooLarge { node, need, parents } => {
                write!(f, "{node} needs at least {need} of its {parents} parents: ask for 1 to {parents}")
            }
            Self::NotAGate { node, child } => {
                write!(f, "{child} waits for a branch of {node}, which is no gate: let its job declare its branches")
            }
            Self::UnknownBranch { gate, child, label, labels } => {
                let labels: Vec<&str> = labels.iter().map(Label::as_str).collect();
                let labels = labels.join(", ");
                write!(
                    f,
                    "{child} waits for the branch {label} of {gate}, which has only {labels}: ask for one of these"
                )
            }
            Self::OtherGraph { child, parent, graph } => {
                write!(
                    f,
                    "{child} has an edge with {parent}, a node of another graph ({graph}): use nodes of one graph"
                )
            }
            Self::UndoOfNothing { undo, missing, similar } => {
                write!(f, "{undo} undoes {missing}, and no node added with it is named so")?;
                match similar {
                    Some(similar) => write!(f, ": did you mean {similar}?"),
                    None => f.write_str(": add both together"),
                }
            }
            Self::UndoOfUndo(undo, other) => {
                write!(f, "{undo} undoes {other}, which is an undo itself: undo the node that {other} undoes")
            }
            Self::TwoUndos { node, undos: [a, b] } => {
                write!(f, "{a} and {b} both undo {node}: a node has one undo, do both in it")
            }
            Self::UndoWithEdge { undo, edge_with } => {
                write!(
                    f,
                    "{undo} has an edge with {edge_with}, and is an undo: undos run after all nodes, remove the edge"
                )
            }
            Self::Name(problem) => problem.fmt(f),
            Self::ExistingChild(node) => write!(f, "{node} was in the graph before and can get no new parent"),
            Self::TooMany { what, have, max } => {
                write!(f, "it has {have} {what}, at most {max} are allowed{}", remedy(what, *max, "split it"))
            }
            Self::Job(node, problem) => write!(f, "node {node}: {problem}"),
            Self::Input(problem) => write!(f, "the graph's input: {problem}"),
            Self::Unique(key, problem) => write!(f, "the unique key {key:?}: {problem}"),
            Self::Document(problem) => f.write_str(problem),
        }
    }
}

/// A graph that was refused, with everything that is wrong with it: as text a line for each, if there are several. Nothing
/// was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidGraph {
    /// The graph's name or id.
    pub graph: String,
    /// At least one problem.
    pub problems: Vec<GraphProblem>,
}

impl InvalidGraph {
    /// What stands for the name of a graph that has none.
    pub(super) const NAMELESS: &'static str = "without a name";

    /// A text that is no graph.
    pub(super) fn document(problem: String) -> Self {
        Self { graph: "of this text".into(), problems: vec![GraphProblem::Document(problem)] }
    }
}

impl fmt::Display for InvalidGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {} is invalid:", self.graph)?;
        // Several are read one by one.
        let before = if self.problems.len() > 1 { "\n  " } else { " " };
        for problem in &self.problems {
            write!(f, "{before}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidGraph {}
