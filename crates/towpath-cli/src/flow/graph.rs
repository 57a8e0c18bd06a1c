//! From a flow to a graph, and what the graph remembers of its file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use towpath::Job as _;
use towpath::{
    Client, GraphId, GraphRules, InvalidName, JobRules, Kind, NewEdge, NewGraph, NewJob, NewNode, Payload, Queue,
};

use super::{Flow, FlowFile, Node};
use crate::exec::Exec;

/// Where a stored graph came from. It is the graph's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlowSource {
    /// The flow file, from the root.
    pub(crate) file: PathBuf,
    /// The hash of its content.
    pub(crate) hash: String,
    /// Who started it.
    pub(crate) actor: String,
}

impl FlowSource {
    pub(crate) fn new(file: &FlowFile, actor: &str) -> Self {
        Self { file: file.path.clone(), hash: file.hash(), actor: actor.to_owned() }
    }
}

impl Flow {
    /// The graph to enqueue.
    ///
    /// # Errors
    /// A payload cannot be written; the flow was checked, so this is a fault of ours.
    pub(crate) fn into_graph(self, id: GraphId, source: &FlowSource) -> Result<NewGraph, String> {
        let input = Payload::json(source).map_err(|e| e.to_string())?;
        let queue = queue_of(id).map_err(|e| e.to_string())?;
        let mut graph = NewGraph {
            id,
            name: self.name,
            rules: GraphRules::default(),
            input: Some(input),
            unique: None,
            nodes: Vec::with_capacity(self.nodes.len()),
            edges: Vec::new(),
        };
        for node in self.nodes {
            for (parent, condition) in &node.after {
                graph.edges.push(NewEdge {
                    parent: parent.clone(),
                    child: node.name.clone(),
                    condition: condition.clone(),
                });
            }
            let job = job(&node, &queue)?;
            graph.nodes.push(NewNode::new(node.name, job));
        }
        Ok(graph)
    }
}

fn job(node: &Node, queue: &Queue) -> Result<NewJob, String> {
    let input = Payload::json(&node.exec).map_err(|e| e.to_string())?;
    let rules = JobRules {
        retry: node.retry,
        timeout_us: node.timeout.and_then(|t| u64::try_from(t.as_micros()).ok()),
        crash_limit: CRASH_LIMIT,
        ..JobRules::default()
    };
    let kind = Kind::new(Exec::KIND).map_err(|e| e.to_string())?;
    Ok(NewJob::new(Client::new_job_id(), kind).queue(queue.clone()).rules(rules).input(input))
}

/// The queue of a flow's commands: its own, so that a process runs the flow that it was asked to run and no
/// other, whose files may lie on another machine.
pub(crate) fn queue_of(graph: GraphId) -> Result<Queue, InvalidName> {
    Queue::new(&format!("flow.{graph}"))
}

/// A kill of `towpath` counts as a crash of what it ran, and carrying on is a person's decision each time: a
/// command is never put aside for it.
const CRASH_LIMIT: u32 = 1_000_000;

/// FNV-1a, 64 bits: tells a changed file from an unchanged one; nobody gains by a collision.
pub(super) fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
