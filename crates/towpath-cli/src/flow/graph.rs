//! From a flow to a graph, and what the graph remembers of its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath::Job as _;
use towpath::core::builtin::{self, EachJob, Gate, Map, Nested, Scope};
use towpath::{
    Client, Condition, Due, FailureMode, GraphId, GraphRules, InvalidName, JobRules, Kind, Label, Need, NewEdge,
    NewGraph, NewJob, NewNode, NodeName, Payload, Queue,
};

use super::{Does, Flow, FlowFile, Held, Node};
use crate::exec::{Exec, Http};

/// Where a stored graph came from. It is the graph's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlowSource {
    /// The flow file, from the root.
    pub(crate) file: PathBuf,
    /// The hash of its content.
    pub(crate) hash: String,
    /// Who started it.
    pub(crate) actor: String,
    /// How many nodes of a queue run at once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) queues: BTreeMap<String, u16>,
}

impl FlowSource {
    pub(crate) fn new(file: &FlowFile, flow: &Flow, actor: &str) -> Self {
        Self { file: file.path.clone(), hash: file.hash(), actor: actor.to_owned(), queues: flow.queues.clone() }
    }
}

impl Flow {
    /// The graph to enqueue.
    ///
    /// # Errors
    /// A payload cannot be written; the flow was checked, so this is a fault of ours.
    pub(crate) fn into_graph(self, id: GraphId, source: &FlowSource) -> Result<NewGraph, String> {
        self.graph(id, source, source)
    }

    /// The graph; nodes of one that another holds stand in the queues of the outermost, whose source this is.
    fn graph(&self, id: GraphId, input: &impl Serialize, source: &FlowSource) -> Result<NewGraph, String> {
        let input = Payload::json(input).map_err(|e| e.to_string())?;
        let mut graph = NewGraph {
            id,
            name: self.name.clone(),
            rules: GraphRules { fail_fast: self.fail_fast, retry: self.retry, ..GraphRules::default() },
            input: Some(input),
            unique: None,
            nodes: Vec::with_capacity(self.nodes.len()),
            edges: Vec::new(),
        };
        for node in &self.nodes {
            add(&mut graph, node, source)?;
        }
        Ok(graph)
    }
}

/// What a flow that another one runs knows of itself, beside the parameters that it is given.
#[derive(Serialize)]
struct HeldSource<'a> {
    file: &'a Path,
    actor: &'a str,
}

impl Held {
    /// The size of what is stored of it.
    pub(super) fn bytes(&self) -> usize {
        let source =
            FlowSource { file: PathBuf::new(), hash: String::new(), actor: String::new(), queues: BTreeMap::new() };
        // One that cannot be written is said to be wrong when it is to be stored.
        self.text(Client::new_graph_id(), &source).map_or(0, |text| text.get().len())
    }

    /// Its graph, as a node holds it.
    fn text(&self, outermost: GraphId, source: &FlowSource) -> Result<Box<RawValue>, String> {
        let input = HeldSource { file: &self.file, actor: &source.actor };
        let graph = self.flow.graph(outermost, &input, source)?;
        let text = graph.to_json().map_err(|invalid| invalid.to_string())?;
        RawValue::from_string(text).map_err(|e| e.to_string())
    }
}

/// Adds a node with its edges, and the gate before it if it has one.
fn add(graph: &mut NewGraph, node: &Node, source: &FlowSource) -> Result<(), String> {
    let queue = match &node.queue {
        Some(queue) => Queue::new(&format!("{}.{queue}", queue_of(graph.id).map_err(|e| e.to_string())?)),
        None => queue_of(graph.id),
    };
    let queue = queue.map_err(|e| e.to_string())?;
    let edge = |(parent, condition): &(NodeName, Condition)| NewEdge {
        parent: parent.clone(),
        child: node.name.clone(),
        condition: condition.clone(),
    };
    let mut edges: Vec<NewEdge> = node.after.iter().map(edge).collect();
    if let Some(when) = &node.guard {
        let (gate, branches) = builtin::guard(&node.name, when, &mut edges).map_err(|e| e.to_string())?;
        let gate = gate_node(gate, branches, &node.scope)?;
        graph.nodes.push(NewNode { job: gate.job.queue(queue.clone()), ..gate });
    }
    graph.edges.extend(edges);
    let name = node.name.clone();
    let mut new = match &node.does {
        Does::Exec(exec) => of_job(graph.id, name, job(Exec::KIND, exec, node)?, node)?,
        Does::Http(http) => of_job(graph.id, name, job(Http::KIND, http, node)?, node)?,
        Does::Flow(held) => of_flow(graph.id, name, held, node, source)?,
        Does::Branches(branches) => gate_node(name, branches.clone(), &node.scope)?,
        Does::Signal(wait) => NewNode::wait(graph.id, name, Client::new_job_id(), wait).map_err(|e| e.to_string())?,
        Does::Timer(due) => NewNode::timer(name, Client::new_job_id(), *due),
    };
    new.job.queue = queue;
    if let Some(delay) = node.delay {
        new.job.due = Due::After(delay);
    }
    new.guards.clone_from(&node.guards);
    if let Some(need) = node.at_least {
        new.need = Need::AtLeast(need);
    }
    if node.may_fail {
        new.failure = FailureMode::MayFail;
    }
    graph.nodes.push(new);
    Ok(())
}

/// The node of a job, or of one for each element of a list: those stand in the queue of the node.
fn of_job(graph: GraphId, name: NodeName, job: NewJob, node: &Node) -> Result<NewNode, String> {
    if node.each.is_none() {
        return Ok(NewNode::new(name, job));
    }
    let input: Box<RawValue> = job.input.decode().map_err(|e| e.problem)?;
    let job = EachJob::of(job, Some(input), Some(INTO.to_owned()));
    of_elements(graph, name, builtin::Each::Job(Box::new(job)), BTreeMap::new(), node)
}

/// The node of a flow, or of one for each element of a list. `graph` is the outermost: its nodes stand in the queues of that.
fn of_flow(graph: GraphId, name: NodeName, held: &Held, node: &Node, source: &FlowSource) -> Result<NewNode, String> {
    let (text, given) = (held.text(graph, source)?, held.given.clone());
    if node.each.is_some() {
        return of_elements(graph, name, builtin::Each::Graph(text), given, node);
    }
    let nested = Nested { graph: text, input_from: None, given, scope: node.scope.clone() };
    let mut node = NewNode::nested(graph, name, Client::new_job_id(), &nested).map_err(|e| e.to_string())?;
    node.job.rules.crash_limit = CRASH_LIMIT;
    Ok(node)
}

/// The node of something that is done for each element of its list.
fn of_elements(
    graph: GraphId,
    name: NodeName,
    does: builtin::Each,
    given: BTreeMap<String, builtin::Given>,
    node: &Node,
) -> Result<NewNode, String> {
    let each = node.each.as_ref().ok_or("it has no list")?;
    let map = Map {
        concurrency: each.concurrency,
        on_failure: each.on_failure,
        given,
        scope: node.scope.clone(),
        ..Map::new(each.over.clone(), does)
    };
    let mut node = NewNode::map(graph, name, Client::new_job_id(), &map).map_err(|e| e.to_string())?;
    node.job.rules.crash_limit = CRASH_LIMIT;
    Ok(node)
}

fn gate_node(name: NodeName, branches: Vec<(Label, String)>, scope: &Scope) -> Result<NewNode, String> {
    let gate = Gate { branches, scope: scope.clone() };
    NewNode::gate(name, Client::new_job_id(), &gate).map_err(|e| e.to_string())
}

fn job(kind: &str, input: &impl Serialize, node: &Node) -> Result<NewJob, String> {
    let input = Payload::json(input).map_err(|e| e.to_string())?;
    let rules = JobRules {
        retry: node.retry,
        timeout_us: node.timeout.map(builtin::limit_us),
        crash_limit: CRASH_LIMIT,
        ..JobRules::default()
    };
    let kind = Kind::new(kind).map_err(|e| e.to_string())?;
    Ok(NewJob::new(Client::new_job_id(), kind).rules(rules).input(input))
}

/// The queue of a flow's commands: its own, so that a process runs the flow that it was asked to run and no
/// other, whose files may lie on another machine.
pub(crate) fn queue_of(graph: GraphId) -> Result<Queue, InvalidName> {
    Queue::new(&format!("flow.{graph}"))
}

/// The flow whose nodes stand in a queue, which `towpath` itself runs: those of flows inside it stand there too.
pub(crate) fn flow_of(queue: &Queue) -> Option<GraphId> {
    queue.as_str().strip_prefix("flow.")?.split('.').next()?.parse().ok()
}

/// The queues of a flow besides its own, and how many of each run at once.
pub(crate) fn queues_of(graph: GraphId, source: &FlowSource) -> Vec<(String, u16)> {
    source.queues.iter().map(|(queue, slots)| (format!("flow.{graph}.{queue}"), *slots)).collect()
}

/// A kill of `towpath` counts as a crash of what it ran, and carrying on is a person's decision each time: a
/// command is never put aside for it.
const CRASH_LIMIT: u32 = 1_000_000;

/// Where in the input of a command or a call the element is put.
const INTO: &str = "/scope/each";

/// FNV-1a, 64 bits: tells a changed file from an unchanged one; nobody gains by a collision.
pub(super) fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
