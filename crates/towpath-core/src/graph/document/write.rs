//! Graphs written as JSON: the text that [`NewGraph::from_json`] reads.

mod held;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::builtin::{self, Gate, Given, Nested, Scope, Wait};
use crate::defaults;
use crate::graph::{Condition, FailureMode, GraphProblem, InvalidGraph, Need, NewEdge, NewGraph, NewNode};
use crate::job::Due;
use crate::name::NodeName;
use crate::payload::Payload;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

#[derive(Serialize)]
struct Graph<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fail_fast: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_failed: Option<String>,
    nodes: Vec<Node<'a>>,
}

#[derive(Serialize, Default)]
struct Node<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Branches>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<held::Map>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    given: BTreeMap<String, Given>,
    #[serde(skip_serializing_if = "Scope::is_empty")]
    scope: Scope,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    may_fail: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash_limit: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<&'a BTreeMap<String, String>>,
}

/// Labels and expressions, in their order: it counts.
struct Branches(Vec<(String, String)>);

impl Serialize for Branches {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(label, when)| (label, when)))
    }
}

impl NewGraph {
    /// Writes the graph as JSON, to be kept in a file, compared, or enqueued again by
    /// [`from_json`](Self::from_json). Ids are left out, so that it becomes another graph then.
    ///
    /// # Errors
    /// An input that is not JSON, or a rule that has no written form (a time with a fraction of a millisecond, a wait
    /// with a jitter of its own): each with its node.
    pub fn to_json(&self) -> Result<String, InvalidGraph> {
        let mut problems = Vec::new();
        let nodes = self.nodes.iter().map(|node| Writer { node, problems: &mut problems }.write(&self.edges)).collect();
        let duration = |us: Option<u64>| us.map(|us| written(Duration::from_micros(us))).transpose();
        let (keep, keep_failed) = (duration(self.rules.keep_us), duration(self.rules.keep_failed_us));
        let retry = self.rules.retry.map(|retry| {
            let delay = written(retry.delay())?;
            Ok::<_, String>(json!({ "attempts": retry.attempts, "delay": delay }))
        });
        let retry = retry.transpose();
        let graph = Graph {
            name: self.name.as_str(),
            input: self.input.as_ref().and_then(|input| match raw(input) {
                Ok(json) => json,
                Err(problem) => {
                    problems.push(GraphProblem::Input(problem));
                    None
                }
            }),
            fail_fast: self.rules.fail_fast,
            retry: retry.clone().unwrap_or_default(),
            keep: keep.clone().unwrap_or_default(),
            keep_failed: keep_failed.clone().unwrap_or_default(),
            nodes,
        };
        problems.extend([retry.err(), keep.err(), keep_failed.err()].into_iter().flatten().map(GraphProblem::Document));
        if !problems.is_empty() {
            return Err(InvalidGraph { graph: self.name.to_string(), problems });
        }
        // Texts, numbers and raw JSON always have a JSON form.
        Ok(serde_json::to_string_pretty(&graph).unwrap_or_default())
    }
}

struct Writer<'a, 'p> {
    node: &'a NewNode,
    problems: &'p mut Vec<GraphProblem>,
}

impl<'a> Writer<'a, '_> {
    fn write(mut self, edges: &[NewEdge]) -> Node<'a> {
        let (node, job) = (self.node, &self.node.job);
        let mut written = Node {
            name: node.name.as_str(),
            after: edges.iter().filter(|edge| edge.child == node.name).map(edge).collect(),
            at_least: if let Need::AtLeast(need) = node.need { Some(need) } else { None },
            may_fail: node.failure == FailureMode::MayFail,
            undoes: node.guards.as_ref().map(NodeName::as_str),
            queue: (job.queue.as_str() != crate::name::Queue::DEFAULT).then_some(job.queue.as_str()),
            priority: (job.priority != 0).then_some(job.priority),
            deadline: job.deadline.map(instant),
            timeout: self.duration(job.rules.timeout_us.map(Duration::from_micros)),
            retry: self.retry(&job.rules.retry),
            crash_limit: (job.rules.crash_limit != defaults::CRASH_LIMIT).then_some(job.rules.crash_limit),
            tags: &job.tags,
            headers: (!job.headers.is_empty()).then_some(&job.headers),
            ..Node::default()
        };
        self.due(&mut written);
        self.does(&mut written);
        written
    }

    /// What it does.
    fn does(&mut self, written: &mut Node<'a>) {
        let job = &self.node.job;
        match job.kind.as_str() {
            builtin::GATE => match job.input.decode::<Gate>() {
                Ok(gate) => {
                    let branches = gate.branches.into_iter().map(|(l, w)| (l.to_string(), w)).collect();
                    (written.branches, written.scope) = (Some(Branches(branches)), gate.scope);
                }
                Err(e) => self.problem(e.problem),
            },
            builtin::SIGNAL => match job.input.decode::<Wait>() {
                Ok(wait) => {
                    let limit = self.duration(wait.timeout_us.map(Duration::from_micros));
                    written.signal = Some(match limit {
                        Some(timeout) => json!({ "name": wait.signal, "timeout": timeout }),
                        None => json!(wait.signal),
                    });
                }
                Err(e) => self.problem(e.problem),
            },
            builtin::TIMER => {
                written.timer = match (written.delay.take(), written.at.take()) {
                    (_, Some(at)) => Some(json!({ "at": at })),
                    (Some(delay), _) => Some(json!(delay)),
                    (None, None) => Some(json!("1ms")),
                }
            }
            builtin::GRAPH => match job.input.decode::<Nested>() {
                Ok(nested) => {
                    (written.graph, written.input_from) = (Some(nested.graph), nested.input_from);
                    (written.given, written.scope) = (nested.given, nested.scope);
                }
                Err(e) => self.problem(e.problem),
            },
            builtin::MAP => self.map(written),
            kind => {
                written.kind = Some(kind);
                written.version = (job.version != 1).then_some(job.version);
                written.labels = job.rules.labels.iter().map(|label| label.as_str()).collect();
                match raw(&job.input) {
                    Ok(input) => written.input = input,
                    Err(problem) => self.problem(problem),
                }
            }
        }
    }

    fn due(&mut self, written: &mut Node<'a>) {
        match self.node.job.due {
            Due::Now => {}
            Due::After(delay) => written.delay = self.duration(Some(delay)),
            Due::At(at) => written.at = Some(instant(at)),
        }
    }

    fn retry(&mut self, policy: &RetryPolicy) -> Option<Value> {
        let plain = RetryPolicy::default();
        if *policy == plain {
            return None;
        }
        if policy.jitter_percent != plain.jitter_percent {
            self.problem(format!("its retry has a jitter of {} %, which has no written form", policy.jitter_percent));
        }
        if (policy.base_us, policy.cap_us) == (plain.base_us, plain.cap_us) {
            return Some(json!(policy.attempts_max));
        }
        let backoff = self.duration(Some(Duration::from_micros(policy.base_us)));
        let cap = self.duration(Some(Duration::from_micros(policy.cap_us)));
        Some(json!({ "attempts": policy.attempts_max, "backoff": backoff, "cap": cap }))
    }

    fn duration(&mut self, duration: Option<Duration>) -> Option<String> {
        match duration.map(written).transpose() {
            Ok(text) => text,
            Err(problem) => {
                self.problem(problem);
                None
            }
        }
    }

    fn problem(&mut self, problem: String) {
        let name: NodeName = self.node.name.clone();
        self.problems.push(GraphProblem::Job(name, problem));
    }
}

fn edge(edge: &NewEdge) -> Value {
    match &edge.condition {
        Condition::Succeeded => json!(edge.parent),
        Condition::Branch(label) => json!({ "node": edge.parent, "branch": label }),
        other => json!({ "node": edge.parent, "on": other.to_string() }),
    }
}

/// A payload's JSON as it stands; nothing where there is none.
fn raw(payload: &Payload) -> Result<Option<Box<RawValue>>, String> {
    if payload.bytes.is_empty() {
        return Ok(None);
    }
    payload.decode().map(Some).map_err(|e| format!("its input cannot be written: {}", e.problem))
}

fn instant(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// A duration in its largest whole unit.
fn written(duration: Duration) -> Result<String, String> {
    let millis = duration.as_millis();
    if !duration.subsec_nanos().is_multiple_of(1_000_000) || millis == 0 {
        return Err(format!("{duration:?} has no written form: durations are whole milliseconds, at least one"));
    }
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let (size, unit) = units.into_iter().find(|(size, _)| millis.is_multiple_of(*size)).unwrap_or((1, "ms"));
    Ok(format!("{}{unit}", millis / size))
}
