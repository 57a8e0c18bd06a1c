//! A node that holds a graph: it starts the graph, waits for it, and ends as it ends.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath_core::builtin::{self, Given, INNER_PLACE, Inner, Nested, Scope};
use towpath_core::store::{GraphDetail, Inspect, NodeLine};
use towpath_core::{
    GraphEnd, GraphId, GraphLimits, JobId, NewGraph, Payload, PreparedGraph, State, fingerprint, limits,
};

use super::again::{self, AGAIN, Earlier};
use super::source;
use crate::durable::{ChildError, Cx, Step, StepCx};
use crate::failure::Failure;
use crate::graph;

/// What a node reads from above.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    job: JobId,
    from: String,
    scope: Scope,
    /// The graph's parameters, in place of that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    given: BTreeMap<String, Given>,
}

pub(super) const INPUT: Step<Asked, Box<RawValue>, Failure> = Step::new("input", &input);

async fn input(cx: StepCx, asked: Asked) -> Result<Box<RawValue>, Failure> {
    let Asked { job, from, scope, given } = asked;
    if given.is_empty() {
        return source::value(cx.client(), job, &from, &scope).await;
    }
    let mut params = source::given(cx.client(), job, &given, &scope, &[None]).await?;
    // One for the one that was asked for.
    Ok(params.pop().unwrap_or_else(|| RawValue::NULL.to_owned()))
}

/// The function of such a node.
pub(super) async fn run(cx: Cx<'_>, nested: Nested) -> Result<Box<RawValue>, Failure> {
    let job = cx.job_id();
    let (graph, given, scope) = (&nested.graph, nested.given, nested.scope);
    let given = match nested.input_from {
        None if given.is_empty() => None,
        None => {
            let asked = Asked { job, from: String::new(), scope, given };
            let params = cx.step(INPUT, &asked).await?;
            Some(builtin::with_params(graph, &params).map_err(cannot_start)?)
        }
        Some(from) => Some(cx.step(INPUT, &Asked { job, from, scope, given: BTreeMap::new() }).await?),
    };
    let (chapter, text) = (cx.chapter(), fingerprint(graph.get()).unwrap_or_default());
    let earlier = match chapter {
        1 => Earlier::Nothing,
        _ => cx.step(AGAIN, &again::Asked { job, text, input: given.clone() }).await?,
    };
    let (id, began, has_ended) = match earlier {
        Earlier::Nothing => (builtin::inner_graph(job, chapter), chapter, false),
        Earlier::GoesOn { graph, began } => (graph, began, false),
        Earlier::Succeeded { graph, began } => (graph, began, true),
    };
    let shows = Inner { graph: id, began, text, is_over: false };
    cx.publish(&shows);
    if !has_ended {
        let graph = inner(graph, id, given)?;
        let name = graph.name().to_string();
        ended(&cx, graph, &name, began, INNER_PLACE).await?;
    }
    let left = left(&cx, id).await?;
    cx.publish(&Inner { is_over: true, ..shows });
    Ok(left)
}

/// A graph that a node holds, as it is to be started.
pub(super) fn inner(text: &RawValue, id: GraphId, input: Option<Box<RawValue>>) -> Result<PreparedGraph, Failure> {
    let mut graph = NewGraph::inner(text, id).map_err(cannot_start)?;
    if let Some(input) = input {
        graph.input = Some(Payload::json_bytes(String::from(Box::<str>::from(input))));
    }
    // Judged by the limits when it is started, and not again whenever its run is rebuilt.
    graph::prepare(graph, &GraphLimits::HIGHEST).map_err(cannot_start)
}

fn cannot_start(why: impl std::fmt::Display) -> Failure {
    Failure::permanent(format!("its graph cannot be started: {why}"))
}

/// Starts a graph and waits for it to end, however.
pub(super) async fn ended(
    cx: &Cx<'_>,
    graph: PreparedGraph,
    name: &str,
    began: u32,
    place: u32,
) -> Result<GraphId, Failure> {
    let id = graph.id();
    match cx.held_graph(graph, name, builtin::element_label(began, place)).await {
        Ok(()) | Err(ChildError::Graph(_)) => Ok(id),
        Err(error) => Err(Failure::permanent(error)),
    }
}

/// What a graph that has ended has left.
pub(super) async fn left(cx: &Cx<'_>, id: GraphId) -> Result<Box<RawValue>, Failure> {
    Ok(match cx.step(END, &id).await? {
        End::Left(outputs) => outputs,
        End::Failed(problem) => return Err(Failure::permanent(problem)),
        End::Cancelled(why) => return Err(Failure::revoke(why)),
    })
}

/// How a graph ended, with what its node says of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Left(Box<RawValue>),
    Failed(String),
    Cancelled(String),
}

pub(super) const END: Step<GraphId, End, Failure> = Step::new("end", &end);

async fn end(cx: StepCx, id: GraphId) -> Result<End, Failure> {
    let inspect = cx.client().inspect();
    let detail = inspect.graph(id).await?.ok_or_else(|| Failure::permanent(format!("the graph {id} is not there")))?;
    match detail.line.end {
        None => Err(Failure::new(format!("the graph {id} goes on"))),
        Some(GraphEnd::Succeeded) => outputs(inspect, &detail).await.map(End::Left),
        Some(GraphEnd::Cancelled) => {
            let by = detail.stopped.map(|stop| format!(" by {}: {}", stop.actor, stop.why)).unwrap_or_default();
            Ok(End::Cancelled(format!("its graph {id} was cancelled{by}")))
        }
        Some(GraphEnd::Failed) => {
            let mut failed = Vec::new();
            let has_failed =
                |node: &&NodeLine| node.guards.is_none() && matches!(node.state, State::Ended(end) if end.is_failure());
            for node in detail.nodes.iter().filter(has_failed).take(SHOWN) {
                let last = inspect.attempts(node.job).await?.pop().and_then(|attempt| attempt.error);
                let error = last.map(|error| format!(": {}", limits::cut(&error, ERROR_BYTES_MAX))).unwrap_or_default();
                failed.push(format!("node {} is {}{error}", node.name, node.state));
            }
            Ok(End::Failed(format!("its graph {id} failed: {}", failed.join("; "))))
        }
    }
}

/// What the last nodes have left, by name: those that succeeded and that no other waits for.
async fn outputs(inspect: &dyn Inspect, detail: &GraphDetail) -> Result<Box<RawValue>, Failure> {
    let parents: HashSet<&str> = detail.edges.iter().map(|edge| edge.parent.as_str()).collect();
    let last = detail
        .nodes
        .iter()
        .filter(|node| node.guards.is_none() && !parents.contains(node.name.as_str()) && node.state == SUCCEEDED);
    let (mut outputs, mut bytes) = (BTreeMap::new(), 0);
    for node in last {
        let output = inspect.job(node.job).await?.and_then(|job| job.output);
        let output: Box<RawValue> = match output {
            Some(output) => output.decode().map_err(|e| Failure::permanent(format!("node {}: {e}", node.name)))?,
            None => RawValue::NULL.to_owned(),
        };
        bytes += node.name.as_str().len() + output.get().len() + 4;
        if bytes > limits::PAYLOAD_BYTES_MAX - OVERHEAD_BYTES {
            let max = limits::PAYLOAD_BYTES_MAX;
            return Err(Failure::permanent(format!(
                "the outputs of the last nodes of its graph {} have more than {max} bytes together, at most {max} are allowed: let them \
                 leave less, or a last node that leaves where they are",
                detail.line.id
            )));
        }
        outputs.insert(node.name.as_str(), output);
    }
    serde_json::value::to_raw_value(&outputs).map_err(|e| Failure::permanent(e.to_string()))
}

const SUCCEEDED: State = State::Ended(towpath_core::End::Succeeded);
/// Nodes that an error names.
const SHOWN: usize = 3;
/// Bytes of a node's error in that of its graph.
const ERROR_BYTES_MAX: usize = 1 << 10;
/// What is recorded around an output.
const OVERHEAD_BYTES: usize = 64;
