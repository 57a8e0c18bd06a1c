//! What arrives from other languages as one JSON text, and is judged by the core before anything of it is written.
//!
//! A text that was accepted by SQL is a job of the kind [`Kind::INTAKE`](crate::Kind::INTAKE); the worker that claims it reads it
//! here, and what is wrong with it is that job's error. Unknown fields are refused: a misspelt one would be lost in silence.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

use crate::fingerprint::fingerprint;
use crate::graph::{Condition, FailureMode, GraphRules, Need, NewEdge, NewGraph, NewNode, PreparedGraph};
use crate::id::{GraphId, JobId};
use crate::job::NewJob;
use crate::name::{GraphName, Kind, Label, NodeName, Queue, UniqueKey};
use crate::payload::Payload;
use crate::retry::RetryPolicy;
use crate::unique::Unique;

/// What an intake job asks for.
#[derive(Clone, Debug)]
pub enum Intake {
    /// A graph to enqueue.
    Graph(Box<PreparedGraph>),
    /// A job to cancel.
    Cancel {
        /// The job.
        job: JobId,
        /// Who asks.
        actor: String,
        /// Why.
        reason: String,
    },
}

impl Intake {
    /// Reads and checks what an intake job was given. The same text gives the same ids, so that it may be taken twice.
    ///
    /// # Errors
    /// What is wrong with it, for whoever sent it: it will not get better.
    pub fn read(input: &Payload) -> Result<Self, String> {
        match input.decode::<Sent>().map_err(|e| e.problem)? {
            Sent::Graph { id, graph } => Ok(Self::Graph(Box::new(graph.prepare(id)?))),
            Sent::Cancel { job, actor, reason } => Ok(Self::Cancel { job, actor, reason }),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Sent {
    Graph { id: GraphId, graph: SentGraph },
    Cancel { job: JobId, actor: String, reason: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentGraph {
    name: GraphName,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    unique_key: Option<UniqueKey>,
    #[serde(default)]
    fail_fast: bool,
    nodes: Vec<SentNode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentNode {
    name: NodeName,
    kind: Kind,
    #[serde(default = "one")]
    version: u16,
    #[serde(default)]
    queue: Option<Queue>,
    #[serde(default)]
    priority: i16,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    attempts: Option<u32>,
    #[serde(default)]
    at_least: Option<u32>,
    #[serde(default)]
    may_fail: bool,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    after: Vec<SentEdge>,
}

/// The name of the parent, or how it is to end besides.
#[derive(Deserialize)]
#[serde(untagged)]
enum SentEdge {
    Succeeded(NodeName),
    On(SentCondition),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentCondition {
    node: NodeName,
    #[serde(default)]
    on: On,
    #[serde(default)]
    branch: Option<Label>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum On {
    #[default]
    Succeeded,
    Finished,
    Failed,
    Joined,
}

fn one() -> u16 {
    1
}

impl SentGraph {
    fn prepare(self, id: GraphId) -> Result<PreparedGraph, String> {
        let (mut nodes, mut edges) = (Vec::with_capacity(self.nodes.len()), Vec::new());
        for sent in self.nodes {
            let child = sent.name.clone();
            for edge in &sent.after {
                let (parent, condition) = edge.parts();
                edges.push(NewEdge { parent, child: child.clone(), condition });
            }
            nodes.push(sent.node(id)?);
        }
        let rules = GraphRules { fail_fast: self.fail_fast, ..GraphRules::default() };
        let input = self.input.as_ref().map(Payload::json).transpose().map_err(|e| e.problem)?;
        let unique = self.unique_key.map(|key| Box::new(Unique::new(key)));
        let graph = NewGraph { id, name: self.name, rules, input, unique, nodes, edges };
        graph.prepare().map_err(|e| e.to_string())
    }
}

impl SentNode {
    fn node(self, graph: GraphId) -> Result<NewNode, String> {
        let input = Payload::json(&self.input).map_err(|e| format!("node {}: {}", self.name, e.problem))?;
        let mut job = NewJob::new(id_of(graph, &self.name), self.kind).input(input).priority(self.priority);
        job.version = self.version;
        job.queue = self.queue.unwrap_or_default();
        (job.tags, job.headers) = (self.tags, self.headers);
        if let Some(attempts) = self.attempts {
            job.rules.retry = RetryPolicy { attempts_max: attempts, ..RetryPolicy::default() };
        }
        let need = self.at_least.map_or(Need::All, Need::AtLeast);
        let failure = if self.may_fail { FailureMode::MayFail } else { FailureMode::Counts };
        Ok(NewNode { need, failure, ..NewNode::new(self.name, job) })
    }
}

impl SentEdge {
    fn parts(&self) -> (NodeName, Condition) {
        match self {
            Self::Succeeded(node) => (node.clone(), Condition::Succeeded),
            Self::On(SentCondition { node, branch: Some(label), .. }) => {
                (node.clone(), Condition::Branch(label.clone()))
            }
            Self::On(SentCondition { node, on, branch: None }) => {
                let condition = match on {
                    On::Succeeded => Condition::Succeeded,
                    On::Finished => Condition::Finished,
                    On::Failed => Condition::Failed,
                    On::Joined => Condition::Joined,
                };
                (node.clone(), condition)
            }
        }
    }
}

/// The id of a node's job: it follows from the graph's id and the node's name, so that a graph that is taken twice is the
/// same graph.
fn id_of(graph: GraphId, node: &NodeName) -> JobId {
    let half = |salt: u8| fingerprint(&(salt, graph.to_string(), node.as_str())).unwrap_or_default().to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&half(1));
    bytes[8..].copy_from_slice(&half(2));
    JobId::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Intake, String> {
        Intake::read(&Payload::json_bytes(text.as_bytes().to_vec()))
    }

    const ID: &str = "018bcfe5-6800-7000-8000-000000000007";

    #[test]
    fn a_graph_is_read_with_its_edges_and_the_same_ids_each_time() {
        let text = format!(
            r#"{{"graph":{{"id":"{ID}","graph":{{"name":"etl","nodes":[
                {{"name":"a","kind":"extract","input":{{"n":1}},"attempts":3}},
                {{"name":"b","kind":"load","after":["a"],"queue":"slow"}},
                {{"name":"c","kind":"alarm","after":[{{"node":"a","on":"failed"}},{{"node":"b","on":"finished"}}]}}]}}}}}}"#
        );
        let (Ok(Intake::Graph(graph)), Ok(Intake::Graph(again))) = (read(&text), read(&text)) else { panic!() };
        assert_eq!(graph.id().to_string(), ID);
        let ids = |graph: &PreparedGraph| graph.nodes().iter().map(|node| node.job.id).collect::<Vec<_>>();
        assert_eq!(ids(&graph), ids(&again));
        assert_eq!(graph.nodes()[1].job.queue.as_str(), "slow");
        assert_eq!(graph.nodes()[0].job.rules.retry.attempts_max, 3);
        let to_c = graph.edges().iter().filter(|edge| edge.child == 2).count();
        assert_eq!(to_c, 2);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let nodes = |nodes: &str| format!(r#"{{"graph":{{"id":"{ID}","graph":{{"name":"g","nodes":[{nodes}]}}}}}}"#);
        let problem = |text: &str| read(text).unwrap_err();
        assert!(problem(&nodes(r#"{"name":"a","kind":"x","after":["z"]}"#)).contains("no node is named so"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"x","quue":"mail"}"#)).contains("unknown field `quue`"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"Bad Kind"}"#)).contains("kind"));
        assert!(problem(&nodes(r#"{"name":"a","kind":"towpath.intake"}"#)).contains("kept for the product"));
        assert!(problem(r#"{"delete":{}}"#).contains("unknown variant"));
    }
}
