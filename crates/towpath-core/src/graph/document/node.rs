//! One node of a graph that is written as JSON.

use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

use super::fields::{Fields, Reader, Whose, what};
use super::{holds, micros};
use crate::builtin::{self, Each, Gate, Given, Map, Nested, Scope, Wait};
use crate::graph::{Condition, FailureMode, Need, NewEdge, NewGraph, NewNode};
use crate::id::JobId;
use crate::job::{Due, NewJob};
use crate::limits;
use crate::name::{Kind, Label, NodeName, Queue};
use crate::payload::Payload;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// The fields of a node, in the order in which they are written.
pub(super) const FIELDS: [&str; 28] = [
    "name",
    "kind",
    "version",
    "input",
    "labels",
    "branches",
    "signal",
    "timer",
    "graph",
    "input_from",
    "given",
    "map",
    "scope",
    "after",
    "if",
    "at_least",
    "may_fail",
    "undoes",
    "queue",
    "priority",
    "delay",
    "at",
    "deadline",
    "retry",
    "timeout",
    "crash_limit",
    "tags",
    "headers",
];
/// Those of which a node has exactly one: they say what it does.
const DOES: [&str; 6] = ["kind", "branches", "signal", "timer", "graph", "map"];

/// A node's fields as read. What is `None` was left out, or was wrong and said so.
#[derive(Default)]
struct Draft {
    kind: Option<Kind>,
    version: Option<u16>,
    input: Option<Payload>,
    labels: Vec<Label>,
    branches: Vec<(Label, String)>,
    signal: Option<Wait>,
    timer: Option<Due>,
    graph: Option<Box<RawValue>>,
    input_from: Option<String>,
    given: BTreeMap<String, Given>,
    map: Option<Map>,
    scope: Scope,
    after: Vec<(NodeName, Condition)>,
    guard: Option<String>,
    need: Need,
    may_fail: bool,
    undoes: Option<NodeName>,
    queue: Option<Queue>,
    priority: i16,
    delay: Option<Duration>,
    at: Option<Timestamp>,
    deadline: Option<Timestamp>,
    retry: Option<RetryPolicy>,
    timeout: Option<Duration>,
    crash_limit: Option<u32>,
    tags: Vec<String>,
    headers: BTreeMap<String, String>,
}

/// Reads a node and adds it to the graph.
pub(super) fn read(reader: &mut Reader, graph: &mut NewGraph, place: usize, value: &RawValue) {
    let whose = Whose::Place(place);
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(value.get()) else {
        reader.problem(&whose, format!("it must be an object, and is {}", what(value)));
        return;
    };
    let name = fields.0.iter().find(|(field, _)| field == "name").map(|(_, value)| *value);
    let Some(name) = name else {
        reader.problem(&whose, "it has no `name`: add one");
        return;
    };
    let Some(name) = reader.parsed::<NodeName>(&whose, "name", name) else { return };
    let whose = Whose::Node(name.clone());
    let does: Vec<&str> = DOES.into_iter().filter(|does| fields.0.iter().any(|(field, _)| field == does)).collect();
    match does.as_slice() {
        [_] => {}
        [] => reader.problem(&whose, "it says nothing of what it does: add `kind`"),
        several => reader.problem(&whose, format!("it has {}: keep one of them", several.join(" and "))),
    }
    let mut draft = Draft::default();
    reader.fields(&fields, &whose, &FIELDS, |reader, field, value| draft.field(reader, &whose, field, value));
    for (field, is_there) in
        [("version", draft.version.is_some()), ("input", draft.input.is_some()), ("labels", !draft.labels.is_empty())]
    {
        if is_there && matches!(does.as_slice(), [other] if *other != "kind") {
            reader.problem(&whose, format!("`{field}` is for a node with a `kind`: remove it"));
        }
    }
    if draft.input_from.is_some() && !does.contains(&"graph") {
        reader.problem(&whose, "`input_from` is for a node with a `graph`: remove it");
    }
    let holds_graph =
        does.contains(&"graph") || draft.map.as_ref().is_some_and(|map| matches!(map.each, Each::Graph(_)));
    if !draft.given.is_empty() && !holds_graph {
        reader.problem(&whose, "`given` is for a node with a `graph`, or with a `map` of one: remove it");
    }
    if !draft.given.is_empty() && draft.input_from.is_some() {
        reader.problem(&whose, "it has `given` and `input_from`: keep one of them");
    }
    if !draft.scope.is_empty() && matches!(does.as_slice(), ["kind" | "signal" | "timer"]) && draft.guard.is_none() {
        reader.problem(&whose, "`scope` is for expressions, and it has none: remove it");
    }
    if draft.delay.is_some() && draft.at.is_some() {
        reader.problem(&whose, "it has `delay` and `at`: keep one of them");
    }
    if draft.timer.is_some() && (draft.delay.is_some() || draft.at.is_some()) {
        reader.problem(&whose, "it has `timer` and a delay or an instant: keep `timer`");
    }
    if draft.guard.is_some() && draft.need != Need::All {
        reader.problem(&whose, "it has `if` and `at_least`: put the expression into a node with `branches` after it");
        draft.guard = None;
    }
    draft.add(reader, graph, &whose, name);
}

impl Draft {
    fn field(&mut self, reader: &mut Reader, whose: &Whose, field: &'static str, value: &RawValue) {
        match field {
            "kind" => self.kind = kind(reader, whose, value),
            "version" => self.version = reader.value(whose, field, "a number from 0 to 65535", value),
            "input" => self.input = Some(Payload::json_bytes(value.get().to_owned())),
            "labels" => {
                self.labels = reader
                    .list(whose, field, value)
                    .into_iter()
                    .filter_map(|v| reader.parsed(whose, "labels", v))
                    .collect()
            }
            "branches" => self.branches = branches(reader, whose, value),
            "signal" => self.signal = signal(reader, whose, value),
            "timer" => self.timer = timer(reader, whose, value),
            "graph" => self.graph = holds::graph(reader, whose, value),
            "input_from" => self.input_from = holds::expression(reader, whose, field, value),
            "given" => self.given = holds::given(reader, whose, value),
            "scope" => {
                let want = "an object with `prefix`, `params` and `given`";
                self.scope = reader.value(whose, field, want, value).unwrap_or_default();
            }
            "map" => self.map = holds::map(reader, whose, value),
            "after" => self.after = after(reader, whose, value),
            "if" => {
                self.guard = reader.text(whose, field, value);
                if let Some(Err(problem)) = self.guard.as_deref().map(builtin::check_expression) {
                    reader.problem(whose, format!("`if`: {problem}"));
                }
            }
            "at_least" => {
                let need = reader.value::<u32>(whose, field, "a number of parents", value);
                self.need = need.map_or(Need::All, Need::AtLeast);
            }
            "may_fail" => self.may_fail = reader.flag(whose, field, value),
            "undoes" => self.undoes = reader.parsed(whose, field, value),
            "queue" => self.queue = reader.parsed(whose, field, value),
            "priority" => {
                self.priority = reader.value(whose, field, "a number from -32768 to 32767", value).unwrap_or(0)
            }
            "delay" => self.delay = reader.duration(whose, field, value),
            "at" => self.at = reader.instant(whose, field, value),
            "deadline" => self.deadline = reader.instant(whose, field, value),
            "retry" => self.retry = retry(reader, whose, value),
            "timeout" => self.timeout = reader.duration(whose, field, value),
            "crash_limit" => self.crash_limit = crash_limit(reader, whose, value),
            "tags" => self.tags = reader.value(whose, field, "a list of texts", value).unwrap_or_default(),
            "headers" => self.headers = reader.value(whose, field, "an object of texts", value).unwrap_or_default(),
            // The name was read before.
            _ => {}
        }
    }

    fn add(self, reader: &mut Reader, graph: &mut NewGraph, whose: &Whose, name: NodeName) {
        let first_edge = graph.edges.len();
        for (parent, condition) in &self.after {
            graph.edges.push(NewEdge { parent: parent.clone(), child: name.clone(), condition: condition.clone() });
        }
        if let Some(when) = &self.guard {
            let mut edges = graph.edges.split_off(first_edge);
            match builtin::guard(&name, when, &mut edges) {
                Ok((gate, branches)) => {
                    if let Some(mut node) = self.gate_node(reader, graph, whose, gate, branches) {
                        self.place(&mut node.job);
                        graph.nodes.push(node);
                    }
                }
                Err(problem) => reader.problem(whose, format!("`if` adds a node before it: {problem}")),
            }
            graph.edges.extend(edges);
        }
        let Some(mut node) = self.node(reader, graph, whose, name) else { return };
        self.place(&mut node.job);
        self.finish(&mut node);
        graph.nodes.push(node);
    }

    /// The node as what it does makes it.
    fn node(&self, reader: &mut Reader, graph: &NewGraph, whose: &Whose, name: NodeName) -> Option<NewNode> {
        let id = JobId::of_node(graph.id, &name);
        if !self.branches.is_empty() {
            return self.gate_node(reader, graph, whose, name, self.branches.clone());
        }
        if let Some(wait) = &self.signal {
            let node = NewNode::wait(graph.id, name, id, wait);
            return node.map_err(|problem| reader.problem(whose, problem.to_string())).ok();
        }
        if let Some(due) = self.timer {
            return Some(NewNode::timer(name, id, due));
        }
        if let Some(inner) = &self.graph {
            let (input_from, given) = (self.input_from.clone(), self.given.clone());
            let nested = Nested { graph: inner.clone(), input_from, given, scope: self.scope.clone() };
            let node = NewNode::nested(graph.id, name, id, &nested);
            return node.map_err(|problem| reader.problem(whose, problem.to_string())).ok();
        }
        if let Some(map) = &self.map {
            let map = Map { given: self.given.clone(), scope: self.scope.clone(), ..map.clone() };
            let node = NewNode::map(graph.id, name, id, &map);
            return node.map_err(|problem| reader.problem(whose, problem.to_string())).ok();
        }
        // A kind that was wrong was said to be; the node stays, so that what waits for it is not said to wait for nothing.
        let kind = self.kind.clone().unwrap_or_else(|| Kind::from_stored("unknown"));
        let mut job = NewJob::new(id, kind);
        job.version = self.version.unwrap_or(1);
        job.input = self.input.clone().unwrap_or_default();
        job.rules.labels.clone_from(&self.labels);
        Some(NewNode::new(name, job))
    }

    /// Where the job stands, and before which others.
    fn place(&self, job: &mut NewJob) {
        if let Some(queue) = &self.queue {
            job.queue = queue.clone();
        }
        job.priority = self.priority;
    }

    /// Everything else that any node may have.
    fn finish(self, node: &mut NewNode) {
        node.need = self.need;
        if self.may_fail {
            node.failure = FailureMode::MayFail;
        }
        node.guards = self.undoes;
        let job = &mut node.job;
        match (self.delay, self.at) {
            (Some(delay), _) => job.due = Due::After(delay),
            (None, Some(at)) => job.due = Due::At(at),
            (None, None) => {}
        }
        job.deadline = self.deadline;
        if let Some(retry) = self.retry {
            job.rules.retry = retry;
        }
        if let Some(timeout) = self.timeout {
            job.rules.timeout_us = Some(micros(timeout));
        }
        if let Some(crashes) = self.crash_limit {
            job.rules.crash_limit = crashes;
        }
        job.tags = self.tags;
        job.headers = self.headers;
    }

    /// A gate whose branches are expressions, named and placed by whoever asks.
    fn gate_node(
        &self,
        reader: &mut Reader,
        graph: &NewGraph,
        whose: &Whose,
        name: NodeName,
        branches: Vec<(Label, String)>,
    ) -> Option<NewNode> {
        let id = JobId::of_node(graph.id, &name);
        let node = NewNode::gate(name, id, &Gate { branches, scope: self.scope.clone() });
        node.map_err(|problem| reader.problem(whose, format!("`branches`: {problem}"))).ok()
    }
}

pub(super) fn kind(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Kind> {
    let kind = reader.parsed::<Kind>(whose, "kind", value)?;
    if kind.is_reserved() {
        reader.problem(whose, format!("the kind {kind} is kept for the product: choose another"));
        return None;
    }
    Some(kind)
}

fn branches(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Vec<(Label, String)> {
    let want = "an object of labels and expressions";
    let Some(fields) = reader.object(whose, "branches", want, value) else { return Vec::new() };
    if fields.0.is_empty() || fields.0.len() > limits::BRANCHES_MAX {
        let (count, max) = (fields.0.len(), limits::BRANCHES_MAX);
        reader.problem(whose, format!("`branches` has {count} branches: write 1 to {max}"));
    }
    let mut read: Vec<(Label, String)> = Vec::new();
    for (label, value) in &fields.0 {
        let label = match Label::new(label) {
            Ok(label) => label,
            Err(problem) => {
                reader.problem(whose, format!("`branches`: {problem}"));
                continue;
            }
        };
        let Some(when) = reader.text(whose, &format!("branches.{label}"), value) else { continue };
        if let Err(problem) = builtin::check_expression(&when) {
            reader.problem(whose, format!("`branches.{label}`: {problem}"));
        }
        if read.iter().any(|(other, _)| *other == label) {
            reader.problem(whose, format!("`branches.{label}` is there twice: remove one"));
            continue;
        }
        read.push((label, when));
    }
    read
}

/// `"approved"`, or `{ "name": "approved", "timeout": "2d" }`.
fn signal(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Wait> {
    if what(value) == "a text" {
        let signal = reader.parsed(whose, "signal", value)?;
        return Some(Wait { signal, timeout_us: None });
    }
    let fields = reader.object(whose, "signal", "a name, or an object with `name` and `timeout`", value)?;
    let (mut name, mut timeout) = (None, None);
    let mut is_named = false;
    reader.fields(&fields, whose, &["name", "timeout"], |reader, field, value| match field {
        "name" => {
            is_named = true;
            name = reader.parsed(whose, "signal.name", value);
        }
        _ => timeout = reader.duration(whose, "signal.timeout", value),
    });
    if !is_named {
        reader.problem(whose, "`signal` has no `name`: add it");
    }
    Some(Wait { signal: name?, timeout_us: timeout.map(micros) })
}

/// `"10m"`, counted from when its parents allow it, or `{ "at": "2026-01-31T09:30:00Z" }`.
fn timer(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Due> {
    if what(value) == "a text" {
        return reader.duration(whose, "timer", value).map(Due::After);
    }
    let fields = reader.object(whose, "timer", "a duration, or an object with `at`", value)?;
    let (mut at, mut is_there) = (None, false);
    reader.fields(&fields, whose, &["at"], |reader, _, value| {
        is_there = true;
        at = reader.instant(whose, "timer.at", value);
    });
    if !is_there {
        reader.problem(whose, "`timer` has no `at`: add it, or write a duration");
    }
    at.map(Due::At)
}

/// A number of attempts, or `{ "attempts": 3, "backoff": "1s", "cap": "1m" }`.
pub(super) fn retry(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<RetryPolicy> {
    let attempts = |reader: &mut Reader, value: &RawValue| {
        let read = serde_json::from_str::<u32>(value.get()).ok().filter(|attempts| *attempts > 0);
        if read.is_none() {
            reader.wrong_type(whose, "retry", "a number of attempts from 1, or an object with `attempts`", value);
        }
        read
    };
    if what(value) != "an object" {
        return attempts(reader, value).map(RetryPolicy::attempts);
    }
    let fields = reader.object(whose, "retry", "an object", value)?;
    let (mut count, mut backoff, mut cap, mut is_there) = (None, None, None, false);
    reader.fields(&fields, whose, &["attempts", "backoff", "cap"], |reader, field, value| match field {
        "attempts" => {
            is_there = true;
            count = attempts(reader, value);
        }
        "backoff" => backoff = reader.duration(whose, "retry.backoff", value),
        _ => cap = reader.duration(whose, "retry.cap", value),
    });
    if !is_there {
        reader.problem(whose, "`retry` has no `attempts`: add it");
    }
    let mut policy = RetryPolicy::attempts(count?);
    if let Some(backoff) = backoff {
        policy.base_us = micros(backoff);
        policy.cap_us = policy.cap_us.max(policy.base_us);
    }
    if let Some(cap) = cap {
        policy.cap_us = micros(cap);
        if policy.cap_us < policy.base_us {
            reader.problem(whose, "`retry.cap` is shorter than the first wait, `retry.backoff`");
        }
    }
    Some(policy)
}

/// How often in a row its worker may die under it.
pub(super) fn crash_limit(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<u32> {
    let want = "a number of crashes from 1";
    let limit = reader.value::<u32>(whose, "crash_limit", want, value)?;
    if limit == 0 {
        reader.wrong_type(whose, "crash_limit", want, value);
    }
    Some(limit)
}

/// A parent, or a list of them.
fn after(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Vec<(NodeName, Condition)> {
    match what(value) {
        "a list" => reader.list(whose, "after", value).into_iter().filter_map(|one| edge(reader, whose, one)).collect(),
        _ => edge(reader, whose, value).into_iter().collect(),
    }
}

/// `"a"`, `{ "node": "a", "on": "finished" }`, or `{ "node": "gate", "branch": "yes" }`.
fn edge(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<(NodeName, Condition)> {
    if what(value) == "a text" {
        return Some((reader.parsed(whose, "after", value)?, Condition::Succeeded));
    }
    let fields = reader.object(whose, "after", "a node, or an object with `node`", value)?;
    let (mut node, mut on, mut branch, mut is_named) = (None, None, None, false);
    reader.fields(&fields, whose, &["node", "on", "branch"], |reader, field, value| match field {
        "node" => {
            is_named = true;
            node = reader.parsed(whose, "after.node", value);
        }
        "on" => on = condition(reader, whose, value),
        _ => branch = reader.parsed::<Label>(whose, "after.branch", value),
    });
    if !is_named {
        reader.problem(whose, "an item of `after` names no `node`: add it");
    }
    let condition = match (on, branch) {
        (Some(_), Some(_)) => {
            reader.problem(whose, "an item of `after` has `on` and `branch`: keep one of them");
            return None;
        }
        (Some(on), None) => on,
        (None, Some(label)) => Condition::Branch(label),
        (None, None) => Condition::Succeeded,
    };
    Some((node?, condition))
}

fn condition(reader: &mut Reader, whose: &Whose, value: &RawValue) -> Option<Condition> {
    let text = reader.text(whose, "after.on", value)?;
    let condition = [Condition::Succeeded, Condition::Finished, Condition::Failed, Condition::Joined]
        .into_iter()
        .find(|condition| condition.to_string() == text);
    if condition.is_none() {
        let text: String = text.chars().take(64).collect();
        reader.problem(
            whose,
            format!("`after.on` is {text:?}: write \"succeeded\", \"finished\", \"failed\" or \"joined\", or a `branch` in its place"),
        );
    }
    condition
}
