//! Nodes that stand for more work than one job: a graph inside a graph, and the same thing done for each element of a
//! list. Both are runs, which start children. What their inputs hold is said here; how they are performed is the runtime's.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::{Scope, run_of};
use crate::defaults;
use crate::graph::NewNode;
use crate::id::{GraphId, JobId};
use crate::job::NewJob;
use crate::limits;
use crate::name::{InvalidName, Kind, NodeName, Queue};
use crate::payload::{EncodeError, Payload};
use crate::replay::Ident;
use crate::rules::JobRules;
use crate::store::{Child, Parent};

/// The kind of a node that holds a graph. Such a node is a run.
pub const GRAPH: &str = "towpath.graph";
/// The kind of a node that does something for each element of a list. Such a node is a run.
pub const MAP: &str = "towpath.map";

/// The input of a node that holds a graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nested {
    /// The graph, as [`NewGraph::from_json`](crate::NewGraph::from_json) reads it.
    pub graph: Box<RawValue>,
    /// The expression whose value is the inner graph's input; if there is none, the graph has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_from: Option<String>,
    /// Parameters of the graph that are known only when it is started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, Given>,
    /// What the expressions see besides outputs and the outer graph's input.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
}

/// The input of a node that does something for each element of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Map {
    /// The expression whose value is the list.
    pub over: String,
    /// What is done for each element.
    pub each: Each,
    /// How many elements are at work at once, at most.
    #[serde(default = "concurrency", skip_serializing_if = "is_concurrency")]
    pub concurrency: u32,
    /// What the failure of an element means.
    #[serde(default, skip_serializing_if = "OnFailure::is_fail")]
    pub on_failure: OnFailure,
    /// If a graph is done for each element, its parameters, whose expressions see the element as `each`. They are what its
    /// input has, in place of the element.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, Given>,
    /// What the expressions see besides outputs and the graph's input.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
    /// In a later chapter of its run, how far it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub come: Option<Box<Come>>,
}

/// A parameter of a graph that a node holds, known only when that is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The expression whose value it is.
    pub from: String,
    /// What it must be.
    #[serde(rename = "type", default, skip_serializing_if = "ParamType::is_json")]
    pub kind: ParamType,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamType {
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// Anything.
    #[default]
    Json,
}

impl ParamType {
    /// Whether a value, as JSON, is of this type.
    pub fn takes(self, value: &RawValue) -> bool {
        let first = value.get().as_bytes().first().copied();
        match self {
            Self::Text => first == Some(b'"'),
            Self::Number => first.is_some_and(|byte| byte == b'-' || byte.is_ascii_digit()),
            Self::Flag => matches!(first, Some(b't' | b'f')),
            Self::Json => true,
        }
    }

    /// The type in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::Json => "JSON",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

/// The input of a graph that a node holds, with its parameters in it.
///
/// # Errors
/// Its own input is no object.
pub fn with_params(graph: &RawValue, params: &RawValue) -> Result<Box<RawValue>, String> {
    #[derive(Deserialize)]
    struct Own<'a> {
        #[serde(default, borrow)]
        input: Option<&'a RawValue>,
    }
    let own = serde_json::from_str::<Own<'_>>(graph.get()).ok().and_then(|own| own.input);
    let text = match own {
        Some(input) => put(input, "/params", params)
            .map_err(|_| "it is given parameters, and its own `input` is no object".to_owned())?,
        None => format!("{{\"params\":{}}}", params.get()),
    };
    RawValue::from_string(text).map_err(|e| e.to_string())
}

/// How far a run has come with its elements: what a chapter hands to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Come {
    /// The chapter in which it began: the ids of its children follow from it.
    pub began: u32,
    /// How many elements there are.
    pub of: u32,
    /// The number of the first one that is not begun.
    pub next: u32,
    /// Those that are at work, by their numbers.
    pub open: Vec<(u32, Box<RawValue>)>,
    /// The queue of the node.
    pub queue: Queue,
    /// The chapters in which earlier tries began, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<u32>,
    /// How many have ended.
    pub done: u32,
    /// How many of these have not succeeded.
    pub failed: u32,
    /// What they have left, by their numbers; null for those at work.
    pub left: Vec<Box<RawValue>>,
}

/// What is done for each element of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// A job.
    Job(Box<EachJob>),
    /// A graph, whose input is the element.
    Graph(Box<RawValue>),
}

/// The job that is done for an element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EachJob {
    /// Its kind.
    pub kind: Kind,
    /// The version of its input.
    #[serde(default = "first_version", skip_serializing_if = "is_first_version")]
    pub version: u16,
    /// What its input holds besides the element; if there is nothing, the input is the element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// Where in `input` the element is put: fields with a slash before each, such as `/file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// Its queue; that of the node, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Its priority.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i16,
    /// Its retry, its timeout and so on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: JobRules,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// What the failure of an element means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The node fails, and the elements at work are cancelled.
    #[default]
    Fail,
    /// The other elements go on; the node's output has `{"ok": …}` or `{"error": "…"}` for each element.
    Collect,
}

/// How far the elements of a node have come: what such a run publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// How many elements there are.
    pub of: u32,
    /// How many have ended.
    pub done: u32,
    /// How many of these have not succeeded.
    #[serde(default)]
    pub failed: u32,
    /// The chapters in which its tries began, the last one being this: a retry looks there for what need not be done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<u32>,
}

/// Which graph a node that holds one has started: what such a run publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inner {
    /// The graph.
    pub graph: GraphId,
    /// The chapter in which it was started. A retry of the node goes on with it.
    pub began: u32,
    /// The fingerprint of its text.
    pub text: u64,
    /// Whether the node has succeeded with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_over: bool,
}

impl Progress {
    /// `12 of 40 done, 1 failed`.
    pub fn words(&self) -> String {
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        format!("{} of {} done{failed}", self.done, self.of)
    }
}

impl OnFailure {
    const fn is_fail(&self) -> bool {
        matches!(self, Self::Fail)
    }
}

impl Map {
    /// What an earlier chapter of the run of this node has left at work.
    pub fn left_at_work(&self, node: JobId) -> Vec<Child> {
        let come = self.come.as_deref();
        let numbers = come.into_iter().flat_map(|come| come.open.iter().map(|(number, _)| (come.began, *number)));
        let child = |(began, number)| match self.each {
            Each::Job(_) => Child::Job(element_job(node, began, number)),
            Each::Graph(_) => Child::Graph(element_graph(node, began, number)),
        };
        numbers.map(child).collect()
    }

    /// A map with every default.
    pub fn new(over: impl Into<String>, each: Each) -> Self {
        let (concurrency, on_failure) = (concurrency(), OnFailure::default());
        let (given, scope) = (BTreeMap::new(), Scope::default());
        Self { over: over.into(), each, concurrency, on_failure, given, scope, come: None }
    }
}

impl EachJob {
    /// A job whose input is the element.
    pub fn new(kind: Kind) -> Self {
        let job = NewJob::new(JobId::from_bytes([0; 16]), kind);
        Self::of(job, None, None)
    }

    /// What this job is, for each element. If it stands in the default queue, it is to stand in that of the node.
    pub fn of(job: NewJob, input: Option<Box<RawValue>>, into: Option<String>) -> Self {
        let NewJob { kind, version, queue, priority, rules, tags, headers, .. } = job;
        let queue = (queue != Queue::default()).then_some(queue);
        Self { kind, version, input, into, queue, priority, rules, tags, headers }
    }

    /// The job for an element of a node that stands in this queue.
    ///
    /// # Errors
    /// The element cannot be put where it belongs.
    pub fn job(&self, id: JobId, element: &RawValue, queue: &Queue) -> Result<NewJob, String> {
        let input = match (&self.input, &self.into) {
            (None, _) => element.get().to_owned(),
            (Some(input), into) => put(input, into.as_deref().unwrap_or_default(), element)?,
        };
        Ok(NewJob {
            version: self.version,
            queue: self.queue.as_ref().unwrap_or(queue).clone(),
            priority: self.priority,
            rules: self.rules.clone(),
            tags: self.tags.clone(),
            headers: self.headers.clone(),
            ..NewJob::new(id, self.kind.clone()).input(Payload::json_bytes(input))
        })
    }

    /// Checks what can be known before there is an element.
    ///
    /// # Errors
    /// The kind is kept for the product, or an element has no place in the input.
    pub fn check(&self) -> Result<(), String> {
        if self.kind.is_reserved() {
            return Err(format!("the kind {} is kept for the product: choose another", self.kind));
        }
        match (&self.input, &self.into) {
            (None, Some(_)) => Err("`into` says where in `input` the element is put, and there is no `input`".into()),
            (Some(_), None) => {
                Err("`input` needs `into`, which says where in it the element is put: \"/element\"".into())
            }
            (Some(input), Some(into)) => put(input, into, RawValue::NULL).map(|_| ()),
            (None, None) => Ok(()),
        }
    }
}

/// The JSON of an object, with a value put in at a path of fields. What it does not touch stays byte by byte.
fn put(object: &RawValue, path: &str, value: &RawValue) -> Result<String, String> {
    let (field, rest) = match path.strip_prefix('/').map(|path| path.split_once('/')) {
        None => return Err(format!("`into` is {path:?}: write a slash before each field, as in \"/element\"")),
        Some(None) => (&path[1..], None),
        Some(Some((field, _))) => (field, Some(&path[1 + field.len()..])),
    };
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(object.get())
        .map_err(|_| format!("`into` is {path:?}, and what is to hold the field {field:?} is no object"))?;
    let text = match rest {
        None => value.get().to_owned(),
        Some(rest) => {
            let inner = fields.remove(field);
            let empty = RawValue::from_string("{}".into()).unwrap_or_else(|_| RawValue::NULL.to_owned());
            put(&inner.unwrap_or(empty), rest, value)?
        }
    };
    let inner = RawValue::from_string(text).map_err(|e| e.to_string())?;
    fields.insert(field.to_owned(), inner);
    serde_json::to_string(&fields).map_err(|e| e.to_string())
}

impl NewNode {
    /// A node that holds a graph. It is a run.
    ///
    /// # Errors
    /// The input holds a NUL character.
    pub fn nested(graph: GraphId, name: NodeName, job: JobId, nested: &Nested) -> Result<Self, EncodeError> {
        Self::of_run(graph, name, job, GRAPH, Payload::json(nested)?)
    }

    /// A node that does something for each element of a list. It is a run.
    ///
    /// # Errors
    /// The input holds a NUL character.
    pub fn map(graph: GraphId, name: NodeName, job: JobId, map: &Map) -> Result<Self, EncodeError> {
        Self::of_run(graph, name, job, MAP, Payload::json(map)?)
    }

    fn of_run(graph: GraphId, name: NodeName, job: JobId, kind: &str, input: Payload) -> Result<Self, EncodeError> {
        let too_long = |e: InvalidName| EncodeError { problem: e.to_string() };
        let run = run_of(graph, &name).map_err(too_long)?;
        Ok(Self::new(name, NewJob::new(job, Kind::from_stored(kind)).input(input).run(run)))
    }
}

/// The place of the graph that a node holds, among what the node's run starts.
pub const INNER_PLACE: u32 = 0;

/// The graph that a node which holds one starts in this chapter of its run, unless it goes on with that of an earlier one
/// ([`Inner`]).
pub fn inner_graph(node: JobId, chapter: u32) -> GraphId {
    GraphId::child_of(node, chapter, INNER_PLACE)
}

/// The job that is done for an element, counted from 0, of a node whose run began with this chapter.
pub fn element_job(node: JobId, began: u32, element: u32) -> JobId {
    JobId::child_of(node, began, element, 0)
}

/// The graph that is done for an element.
pub fn element_graph(node: JobId, began: u32, element: u32) -> GraphId {
    GraphId::child_of(node, began, element)
}

/// How what is done for an element is called in the journal of its node.
pub fn element_name(name: &str, element: u32) -> String {
    format!("{name} {element}")
}

/// What a map has started for an element: `op` is a line of a chapter that began with this input.
pub fn held_by(node: JobId, chapter: u32, input: &Map, op: &Ident) -> Option<Child> {
    let began = input.come.as_ref().map_or(chapter, |come| come.began);
    let element = op.name.rsplit_once(' ')?.1.parse().ok()?;
    // A graph has no version.
    Some(if op.version == 0 {
        Child::Graph(element_graph(node, began, element))
    } else {
        Child::Job(element_job(node, began, element))
    })
}

/// How a run is told of the end of what it does for an element: the same in all of its chapters.
pub fn element_label(began: u32, element: u32) -> crate::name::Label {
    Parent::label(began, element)
}

fn concurrency() -> u32 {
    defaults::MAP_CONCURRENCY
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_concurrency(concurrency: &u32) -> bool {
    *concurrency == defaults::MAP_CONCURRENCY
}

fn first_version() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_first_version(version: &u16) -> bool {
    *version == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(priority: &i16) -> bool {
    *priority == 0
}

fn is_default(rules: &JobRules) -> bool {
    *rules == JobRules::default()
}

/// Checks how many elements may be at work at once.
///
/// # Errors
/// None, or too many.
pub fn check_concurrency(concurrency: u32) -> Result<(), String> {
    let max = limits::MAP_CONCURRENCY_MAX;
    if (1..=max).contains(&concurrency) {
        return Ok(());
    }
    Err(format!("{concurrency} elements at once are out of range: use 1 to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn an_element_is_the_input_or_put_into_it() {
        let id = JobId::from_bytes([1; 16]);
        let kind = || Kind::from_stored("resize");
        let element = raw(r#"{"z":1.10,"a":12345678901234567890123}"#);
        let plain = EachJob::new(kind()).job(id, &element, &Queue::from_stored("slow")).unwrap();
        assert_eq!(&plain.input.bytes[..], element.get().as_bytes(), "byte by byte");
        assert_eq!(plain.queue.as_str(), "slow", "it has none of its own");
        let input = Some(raw(r#"{"width":1.50,"scope":{"x":1}}"#));
        let each = EachJob { input: input.clone(), into: Some("/scope/each".into()), ..EachJob::new(kind()) };
        each.check().unwrap();
        let text = r#"{"scope":{"each":{"z":1.10,"a":12345678901234567890123},"x":1},"width":1.50}"#;
        assert_eq!(std::str::from_utf8(&each.job(id, &element, &Queue::default()).unwrap().input.bytes).unwrap(), text);
        for (input, into, said) in [
            (input.clone(), Some("each"), "a slash before each field"),
            (input.clone(), Some("/width/each"), "no object"),
            (input, None, "needs `into`"),
            (None, Some("/each"), "there is no `input`"),
        ] {
            let each = EachJob { input, into: into.map(str::to_owned), ..EachJob::new(kind()) };
            let problem = each.check().unwrap_err();
            assert!(problem.contains(said), "{problem}");
        }
        let own = EachJob::new(Kind::from_stored("towpath.map")).check().unwrap_err();
        assert!(own.contains("kept for the product"), "{own}");
    }

    #[test]
    fn a_map_says_only_what_is_not_the_default() {
        let map = Map::new("outputs.list", Each::Job(Box::new(EachJob::new(Kind::from_stored("resize")))));
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, r#"{"over":"outputs.list","each":{"job":{"kind":"resize"}}}"#);
        let read: Map = serde_json::from_str(&text).unwrap();
        assert_eq!((read.concurrency, read.on_failure), (defaults::MAP_CONCURRENCY, OnFailure::Fail));
        assert!(check_concurrency(0).is_err() && check_concurrency(limits::MAP_CONCURRENCY_MAX + 1).is_err());
        assert!(check_concurrency(1).is_ok());
    }

    #[test]
    fn a_node_of_either_sort_is_a_run_named_by_its_graph_and_node() {
        let graph = GraphId::from_bytes([3; 16]);
        let nested = Nested { graph: raw("{}"), input_from: None, given: BTreeMap::new(), scope: Scope::default() };
        let name = NodeName::from_stored("import");
        let node = NewNode::nested(graph, name.clone(), JobId::of_node(graph, &name), &nested).unwrap();
        assert_eq!(node.job.run.unwrap().as_str(), format!("{graph}/import"));
    }

    #[test]
    fn parameters_are_put_into_the_graphs_own_input() {
        let params = raw(r#"{"file":"a","n":1.50}"#);
        let put = |graph: &str| with_params(&raw(graph), &params);
        assert_eq!(put(r#"{"name": "g"}"#).unwrap().get(), r#"{"params":{"file":"a","n":1.50}}"#);
        let own = put(r#"{"input": {"z": 2.0, "params": {"old": 1}}}"#).unwrap();
        assert_eq!(own.get(), r#"{"params":{"file":"a","n":1.50},"z":2.0}"#);
        assert!(put(r#"{"input": [1]}"#).unwrap_err().contains("is no object"));
    }

    #[test]
    fn a_parameter_is_of_a_type() {
        let all = [ParamType::Text, ParamType::Number, ParamType::Flag, ParamType::Json];
        let takes = |value: &str| all.map(|kind| kind.takes(&raw(value)));
        assert_eq!(takes("\"a\""), [true, false, false, true]);
        assert_eq!(takes("-1.5"), [false, true, false, true]);
        assert_eq!(takes("false"), [false, false, true, true]);
        assert_eq!(takes("null"), [false, false, false, true]);
        let given: Given = serde_json::from_str(r#"{"from": "each", "type": "text"}"#).unwrap();
        assert_eq!(given, Given { from: "each".into(), kind: ParamType::Text });
    }
}
