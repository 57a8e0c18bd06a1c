//! Graphs as JSON: a text is read into the same [`NewGraph`] that the builder makes, or says everything that is wrong.
//!
//! The text is not trusted: unknown fields are refused, and the jobs' ids follow from the graph's own, so that none of
//! its nodes can be another graph's. What the nodes mean to each other is checked by [`NewGraph::prepare`], as ever.

mod fields;
mod holds;
mod node;
mod schema;
mod write;

pub use schema::schema;

use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::time::Duration;

use super::{GraphLimits, GraphProblem, GraphRetry, GraphRules, InvalidGraph, NewGraph, PreparedGraph, nested};
use crate::builtin;
use crate::defaults;
use crate::id::GraphId;
use crate::limits;
use crate::name::{GraphName, NodeName};
use crate::payload::Payload;
use fields::{Fields, Reader, Whose, what};

/// The fields of a graph, in the order in which they are written.
const FIELDS: [&str; 8] = ["id", "name", "input", "fail_fast", "retry", "keep", "keep_failed", "nodes"];

impl NewGraph {
    /// Reads a graph that is written as JSON; `docs/graph.schema.json` describes the text. `fresh` is its id if it names
    /// none.
    ///
    /// ```
    /// # use towpath_core::{GraphId, NewGraph};
    /// let fresh = GraphId::from_bytes([7; 16]);
    /// let text = r#"{
    ///     "name": "checkout",
    ///     "nodes": [
    ///         { "name": "price", "kind": "price", "input": { "cart": 7 } },
    ///         { "name": "charge", "kind": "charge", "after": "price", "retry": 3 }
    ///     ]
    /// }"#;
    /// let graph = NewGraph::from_json(text, fresh)?;
    /// assert_eq!((graph.nodes.len(), graph.edges.len()), (2, 1));
    /// # Ok::<_, towpath_core::InvalidGraph>(())
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with it: with the text, and with the graph as far as it could be read.
    pub fn from_json(text: &str, fresh: GraphId) -> Result<Self, InvalidGraph> {
        Self::from_json_within(text, fresh, &GraphLimits::default())
    }

    /// The same within other limits: of a text that is wrong, they are judged too.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_json_within(text: &str, fresh: GraphId, limits: &GraphLimits) -> Result<Self, InvalidGraph> {
        Self::from_json_at(text, fresh, 0, limits)
    }

    /// The same of a graph that stands inside so many others.
    pub(super) fn from_json_at(
        text: &str,
        fresh: GraphId,
        depth: u32,
        within: &GraphLimits,
    ) -> Result<Self, InvalidGraph> {
        let GraphText { graph, shown, mut problems, .. } = GraphText::read(text, fresh)?;
        if problems.is_empty() {
            return Ok(graph);
        }
        // What the graph is to itself is said as well, beside what could not be read.
        if let Err(invalid) = graph.prepare_at(depth, within) {
            problems.extend(GraphText::beside(invalid.problems));
        }
        Err(InvalidGraph { graph: shown, problems })
    }
}

/// What could be read of a graph that is written as JSON, and what could not. For whoever has more to say of a graph, so that
/// all that is wrong is said at once; others ask [`NewGraph::from_json`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GraphText {
    /// The graph, without what could not be read of it.
    pub graph: NewGraph,
    /// How it is named in errors.
    pub shown: String,
    /// What is wrong with the text.
    pub problems: Vec<GraphProblem>,
    /// Nodes that were read in part, with the gates of their `if`: their edges and parameters may not be all.
    pub partial: BTreeSet<NodeName>,
}

impl GraphText {
    /// Reads as far as it goes. `fresh` is the graph's id if it names none.
    ///
    /// # Errors
    /// The text is no JSON object, or too long: nothing can be read.
    pub fn read(text: &str, fresh: GraphId) -> Result<Self, InvalidGraph> {
        let unnamed = InvalidGraph::document;
        if text.len() > limits::BATCH_BYTES_MAX {
            let (bytes, max) = (text.len(), limits::BATCH_BYTES_MAX);
            return Err(unnamed(format!("it has {bytes} bytes, at most {max} are allowed")));
        }
        let fields: Fields<'_> = serde_json::from_str(text).map_err(|e| {
            let what = if e.is_data() { "it is no JSON object with fields" } else { "it is no JSON" };
            unnamed(format!("{what}: {e}"))
        })?;
        let mut reader = Reader::default();
        let (graph, shown) = read(&mut reader, &fields, fresh);
        let problems = reader.into_problems();
        let faulty = problems.iter().filter_map(|problem| match problem {
            GraphProblem::Job(node, _) => Some(node.clone()),
            _ => None,
        });
        let partial = faulty.flat_map(|node| [builtin::guard_of(&node).ok(), Some(node)]).flatten().collect();
        Ok(Self { graph, shown, problems, partial })
    }

    /// The same of a graph that stands in another, as [`NewGraph::inner`].
    ///
    /// # Errors
    /// As [`read`](Self::read); and it names an id of its own.
    pub fn inner(text: &RawValue, id: GraphId) -> Result<Self, InvalidGraph> {
        nested::has_no_id(text)?;
        Self::read(text.get(), id)
    }

    /// Checks what could be read, with what somebody else finds wrong with it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn prepare_within(
        self,
        limits: &GraphLimits,
        besides: Vec<GraphProblem>,
    ) -> Result<PreparedGraph, InvalidGraph> {
        let Self { graph, shown, mut problems, .. } = self;
        let is_whole = problems.is_empty();
        let prepared = graph.prepare_within(limits);
        match prepared {
            Ok(prepared) if is_whole && besides.is_empty() => return Ok(prepared),
            Ok(_) => {}
            Err(invalid) if is_whole => problems.extend(invalid.problems),
            Err(invalid) => problems.extend(Self::beside(invalid.problems)),
        }
        problems.extend(besides);
        Err(InvalidGraph { graph: shown, problems })
    }

    /// What is wrong with a graph that was read in part: that nothing is left of it need not be said.
    fn beside(problems: Vec<GraphProblem>) -> impl Iterator<Item = GraphProblem> {
        problems.into_iter().filter(|problem| *problem != GraphProblem::Empty)
    }
}

/// What can be read of the graph, and how it is shown in errors.
fn read(reader: &mut Reader, fields: &Fields<'_>, fresh: GraphId) -> (NewGraph, String) {
    let mut name = None;
    let mut graph = NewGraph {
        id: fresh,
        name: GraphName::from_stored("graph"),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    // The ids of nodes follow from the graph's, which may stand anywhere.
    let mut nodes: Option<&RawValue> = None;
    let whose = Whose::Graph;
    reader.fields(fields, &whose, &FIELDS, |reader, field, value| match field {
        "id" => graph.id = reader.parsed::<GraphId>(&whose, field, value).unwrap_or(fresh),
        "name" => name = Some(reader.parsed::<GraphName>(&whose, field, value)),
        "input" => graph.input = Some(Payload::json_bytes(value.get().to_owned())),
        "fail_fast" => graph.rules.fail_fast = reader.flag(&whose, field, value),
        "retry" => graph.rules.retry = retry(reader, value),
        "keep" => graph.rules.keep_us = reader.duration(&whose, field, value).map(micros),
        "keep_failed" => graph.rules.keep_failed_us = reader.duration(&whose, field, value).map(micros),
        _ => nodes = Some(value),
    });
    let mut shown = InvalidGraph::NAMELESS.to_owned();
    match name {
        Some(Some(name)) => {
            shown = name.to_string();
            graph.name = name;
        }
        Some(None) => {}
        None => reader.problem(&whose, "it has no `name`: add one, for people"),
    }
    match nodes {
        Some(nodes) => {
            for (place, value) in reader.list(&whose, "nodes", nodes).into_iter().enumerate() {
                node::read(reader, &mut graph, place, value);
            }
            if graph.nodes.is_empty() && !reader.has_problems() {
                reader.problem(&whose, "it has no node: add one to `nodes`");
            }
        }
        None => reader.problem(&whose, "it has no `nodes`: add the list of its nodes"),
    }
    (graph, shown)
}

/// `3`, or `{ "attempts": 3, "delay": "30s" }`.
fn retry(reader: &mut Reader, value: &RawValue) -> Option<GraphRetry> {
    let whose = Whose::Graph;
    let want = "a number of attempts from 1, or an object with `attempts` and `delay`";
    if what(value) != "an object" {
        let attempts = reader.value::<u32>(&whose, "retry", want, value)?;
        return Some(GraphRetry::new(attempts, defaults::GRAPH_RETRY_DELAY));
    }
    let fields = reader.object(&whose, "retry", "an object", value)?;
    let (mut attempts, mut delay) = (None, Some(defaults::GRAPH_RETRY_DELAY));
    reader.fields(&fields, &whose, &["attempts", "delay"], |reader, field, value| match field {
        "attempts" => attempts = Some(reader.value::<u32>(&whose, "retry.attempts", "a whole number from 1", value)),
        _ => delay = reader.duration(&whose, "retry.delay", value),
    });
    if attempts.is_none() {
        reader.problem(&whose, "`retry` has no `attempts`: add it");
    }
    Some(GraphRetry::new(attempts??, delay?))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
